"""A figure of a joined table: a point and an interval for each entrant of a set, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

from polyclinic.results.joining import JoinedRow
from polyclinic.statistics.student import student
from polyclinic.statistics.uncertainty import Estimate, wilson
from polyclinic.terminal.html import shown

_LABEL, _WIDE, _ROW, _TOP = 300, 420, 22, 34
_LETTERS = 44
_Z = 1.959964  # of the intervals that a table has
_MANY = 1_000  # cases, of which Student's t is the normal distribution


def simultaneous(one: Estimate, of: int, *, share: bool, seeds: int = 1) -> tuple[float, float] | None:
    """Returns the ends of one of so many intervals that hold together with 95 % (Bonferroni); None without any.

    Those of a mean are drawn out as Student's are, as the farther out, the more few cases spread. A case has as many
    values as there are seeds.
    """
    if one.mean is None or one.low is None or one.high is None or not one.n:
        return None
    beyond = 0.05 / max(of, 1)
    if share:
        z = NormalDist().inv_cdf(1 - beyond / 2)
        n = _values(one.mean, one.low, one.high)
        low, high = wilson(one.mean / 100 * n, n, z=z)
        return max(0.0, low), min(100.0, high)
    df = min(max(one.n // seeds, 2), _MANY) - 1
    longer = student(df, share=1 - beyond) / student(df)
    return one.mean - (one.mean - one.low) * longer, one.mean + (one.high - one.mean) * longer


def _values(mean: float, low: float, high: float) -> float:
    """Returns of how many values Wilson's interval of a share is: several of a case are fewer than there are.

    Its ends solve (x - mean)² = z² x (100 - x) ÷ n, so that they say n; from the end of the scale that is farther.
    """
    far, ends = (mean, low * high) if mean > 50 else (100 - mean, (100 - low) * (100 - high))
    return _Z**2 / max(far**2 / ends - 1, 1e-9)


def forest(rows: Sequence[JoinedRow], measure: str, *, share: bool) -> str:
    """Returns the figure of one measure of one set; published figures are hollow, and have no interval."""
    having = [row for row in rows if measure in row.measures and row.measures[measure].mean is not None]
    ours = sum(not row.published for row in having)
    ends = [simultaneous(row.measures[measure], ours, share=share, seeds=max(len(row.seeds), 1)) for row in having]
    means = [float(row.measures[measure].mean or 0) for row in having]
    reached = [*means, *(end for pair in ends if pair is not None for end in pair)]
    low, high = (0.0, 100.0) if share else (min([0.0, *reached]), max([*reached, 1e-9]))
    height = _TOP + _ROW * len(having)

    def x(value: float) -> float:
        return round(_LABEL + (value - low) / (high - low) * (_WIDE - 20), 1)

    parts = [
        f'<line x1="{x(low + part * (high - low) / 4)}" x2="{x(low + part * (high - low) / 4)}" y1="{_TOP - 8}" '
        f'y2="{height}" class="grid"/><text x="{x(low + part * (high - low) / 4)}" y="{_TOP - 14}" '
        f'text-anchor="middle">{low + part * (high - low) / 4:.3g}</text>'
        for part in range(5)
    ]
    for number, (row, mean, pair) in enumerate(zip(having, means, ends, strict=True)):
        y = _TOP + _ROW * number + _ROW // 2
        name = ", ".join(filter(None, (row.model, row.method)))
        label = name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"
        parts.append(f'<text x="{_LABEL - 12}" y="{y + 4}" text-anchor="end">{shown(label)}</text>')
        if pair is not None:
            parts.append(f'<line x1="{x(pair[0])}" x2="{x(pair[1])}" y1="{y}" y2="{y}" class="span"/>')
        kind = "published" if row.published else "ours"
        parts.append(f'<circle cx="{x(mean)}" cy="{y}" r="4.5" class="{kind}"><title>{mean:.2f}</title></circle>')
    width = _LABEL + _WIDE
    return f'<svg viewBox="0 0 {width} {height + 8}" width="{width}" role="img">{"".join(parts)}</svg>'
