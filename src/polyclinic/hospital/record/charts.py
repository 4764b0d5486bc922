"""The pictures of a report, as SVG: drawn without a screen, the same bytes for the same run.

Colours are those of Okabe and Ito, which people with any colour vision can tell apart; nothing is said by colour alone.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from polyclinic.errors import MissingExtra
from polyclinic.hospital.record.figures import Day, Hour, Proportion, Treated, Waits, Work, proportion
from polyclinic.hospital.record.happenings import Acuity, FollowUpOutcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, RED, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9"
_STYLE: dict[str, Any] = {
    "axes.edgecolor": "#666666",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelcolor": "#333333",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "font.family": "sans-serif",
    "font.size": 10,
    "grid.color": "#e4e4e4",
    "legend.frameon": False,
    "svg.fonttype": "none",  # words stay words: to be found, copied and read aloud
    "text.parse_math": False,  # a "$" in a name is a dollar
    "xtick.color": "#333333",
    "ytick.color": "#333333",
}
_WIDTH = 7.4  # inches, the text's width on paper
_MANY_DAYS = 42  # more are shown week by week


class Charts:
    """Draws pictures; each has ids of its own, so that many can stand in one page.

    Raises:
        MissingExtra: what draws them is not installed.
    """

    def __init__(self) -> None:
        try:
            import matplotlib  # noqa: PLC0415
        except ImportError:
            raise MissingExtra("what draws the pictures is not installed: pip install 'polyclinic[report]'") from None
        self._matplotlib = matplotlib
        self._drawn = 0
        self._svg = ""  # the last picture

    def arrivals(self, days: Sequence[Day]) -> str:
        """Draws how many came on each day, and how their visits ended."""
        rows = _weeks(days) if len(days) > _MANY_DAYS else [[day] for day in days]

        def mean(name: str) -> list[float]:
            return [sum(getattr(day, name) for day in row) / len(row) for row in rows]

        with self._picture(2.7) as axes:
            x = [row[0].day + (len(row) - 1) / 2 for row in rows]
            _stack(
                partial(axes.bar, x, width=[0.8 * len(row) for row in rows]),
                "bottom",
                [
                    ("treated", BLUE, "", mean("seen")),
                    ("left untreated", ORANGE, "///", mean("left")),
                    ("failed", RED, "xxx", mean("failed")),
                ],
            )
            axes.plot(x, mean("arrived"), "o", color="black", markersize=3.5, label="arrived", clip_on=False)
            axes.set(xlabel="day", ylabel="visits" if rows and len(rows[0]) == 1 else "visits a day, by week")
            axes.grid(axis="x", visible=False)
            _whole_days(axes)
            _legend(axes, columns=4)
        return self._svg

    def census(self, hours: Sequence[Hour]) -> str:
        """Draws how many are in the hospital at each hour of the day."""
        with self._picture(2.7) as axes:
            x = [hour.hour for hour in hours]
            _stack(
                partial(axes.bar, x, width=0.8),
                "bottom",
                [
                    ("waiting", ORANGE, "///", [hour.waiting for hour in hours]),
                    ("with staff", BLUE, "", [hour.served for hour in hours]),
                    ("on the way inside", SKY, "\\\\\\", [hour.other for hour in hours]),
                    ("in a bed", GREEN, "..", [hour.lying for hour in hours]),
                ],
            )
            most = [hour.most or math.nan for hour in hours]
            axes.plot(x, most, "_", color="black", markersize=11, label="most on any day")
            axes.set(xlabel="hour of the day", ylabel="people, mean over days", xticks=range(0, 24, 2))
            axes.grid(axis="x", visible=False)
            _legend(axes, columns=5)
        return self._svg

    def waits(self, waits: Mapping[str, Waits]) -> str:
        """Draws how long people waited for the first talk with a doctor."""
        names = sorted(waits, key=lambda name: waits[name].median)
        with self._picture(_height(names)) as axes:
            y = range(len(names))
            medians, p90 = ([getattr(waits[name], part) / 60 for name in names] for part in ("median", "p90"))
            axes.hlines(y, medians, p90, color=SKY, linewidth=5, label="to the time within which 90 % were called")
            axes.plot(medians, y, "o", color=BLUE, label="median", clip_on=False)
            axes.set(xlabel="minutes")
            axes.set_xlim(left=0)
            _rows(axes, [f"{name} ({waits[name].n})" for name in names])
            axes.set_ylim(-0.6, len(names) - 0.4)
            _legend(axes, columns=2)
        return self._svg

    def shares(self, shares: Mapping[str, Proportion]) -> str:
        """Draws shares with their intervals, one a row."""
        names = sorted((n for n in shares if shares[n].percent is not None), key=lambda name: shares[name].percent or 0)
        with self._picture(_height(names)) as axes:
            there = [shares[name] for name in names]
            middle = [share.percent or 0.0 for share in there]
            axes.errorbar(middle, range(len(names)), xerr=_errors(there), fmt="o", color=BLUE, capsize=3)
            axes.set(xlabel="% right, with 95 % interval", xlim=(-2, 102))
            _rows(axes, [f"{name} ({shares[name].n})" for name in names])
            axes.set_ylim(-0.6, len(names) - 0.4)
        return self._svg

    def by_day(self, days: Sequence[tuple[float, Proportion]], *, each: str) -> str:
        """Draws a share over time, with its intervals; `each` says what a point stands for."""
        there = [(day, share) for day, share in days if share.percent is not None]
        with self._picture(2.7) as axes:
            x, shares = [day for day, _ in there], [share for _, share in there]
            middle = [share.percent or 0.0 for share in shares]
            axes.errorbar(x, middle, yerr=_errors(shares), fmt="o-", color=BLUE, ecolor=SKY, capsize=2, linewidth=1)
            axes.set(xlabel="day", ylabel=f"% right, {each}", ylim=(-3, 103))
            axes.set_xlim(min(x, default=0) - 0.9, max(x, default=0) + 0.9)
            _whole_days(axes)
        return self._svg

    def outcomes(self, outcomes: Mapping[str, Mapping[str, int]]) -> str:
        """Draws how patients were at their first follow-up, by how they were treated."""
        names = [t.value for t in reversed(Treated) if sum(outcomes[t.value].values())]

        def percent(outcome: FollowUpOutcome) -> list[float]:
            return [100 * outcomes[n][outcome.value] / sum(outcomes[n].values()) for n in names]

        with self._picture(_height(names)) as axes:
            looks = ((GREEN, ""), (SKY, "\\\\\\"), (RED, "///"))
            parts = [(o.value, *look, percent(o)) for o, look in zip(FollowUpOutcome, looks, strict=True)]
            _stack(partial(axes.barh, range(len(names)), height=0.62), "left", parts)
            axes.set(xlabel="% of first follow-ups", xlim=(0, 100))
            _rows(axes, [f"{name} ({sum(outcomes[name].values())})" for name in names])
            _legend(axes, columns=3)
        return self._svg

    def occupancy(self, work: Mapping[str, Work]) -> str:
        """Draws for which part of its time at work each member of the staff was with somebody."""
        there = {name: 100 * w.busy / w.at_work for name, w in work.items() if w.at_work}
        names = sorted(there, key=there.__getitem__)
        with self._picture(_height(names)) as axes:
            axes.barh(range(len(names)), [there[name] for name in names], 0.62, color=BLUE)
            for y, name in enumerate(names):
                axes.text(there[name] + 1, y, f"{there[name]:.0f} %", va="center", fontsize=8)
            axes.set(xlabel="% of the time at work spent with patients", xlim=(0, 108))
            _rows(axes, names)
            axes.set_xticks(range(0, 101, 20))
            axes.set_ylim(-0.6, len(names) - 0.4)
        return self._svg

    def triage(self, acuity: Mapping[str, Mapping[str, int]]) -> str:
        """Draws acuity as judged against as it should have been."""
        names = [a.value for a in Acuity]
        rows = [[acuity[right][given] for given in names] for right in names]
        shares = [[100 * n / sum(row) if sum(row) else 0.0 for n in row] for row in rows]
        with self._picture(2.7) as axes:
            axes.pcolormesh(range(3), range(3), shares, cmap="Blues", vmin=0, vmax=130, shading="nearest")
            axes.invert_yaxis()
            for y, row in enumerate(rows):
                for x, n in enumerate(row):
                    sort = ("right", "under-triage", "over-triage")[(x > y) - (x < y)]
                    colour, weight = "white" if shares[y][x] > 85 else "black", "bold" if x == y else "normal"
                    text = f"{shares[y][x]:.0f} % ({n})\n{sort}"
                    axes.text(x, y, text, ha="center", va="center", color=colour, fontsize=9, fontweight=weight)
            axes.set(xlabel="as the nurse judged", ylabel="as it should be", xticks=range(3), yticks=range(3))
            axes.set_xticklabels(names)
            axes.set_yticklabels(names)
            axes.grid(visible=False)
        return self._svg

    @contextmanager
    def _picture(self, height: float) -> Iterator[Axes]:
        from matplotlib.figure import Figure  # noqa: PLC0415

        self._drawn += 1
        prefix = f"chart{self._drawn}-"
        out = io.StringIO()
        style: dict[Any, Any] = {**_STYLE, "svg.hashsalt": prefix}
        with self._matplotlib.rc_context(style), warnings.catch_warnings():
            # The reader's own fonts draw the words; the one that measures them here need not have every sign.
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            figure = Figure(figsize=(_WIDTH, height))
            yield figure.subplots()
            figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        svg = out.getvalue()
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
        svg = re.sub(r'\bid="', f'id="{prefix}', svg)
        self._svg = re.sub(r'(url\(|href=")#', rf"\1#{prefix}", svg)


def by_time(days: Sequence[Day]) -> tuple[list[tuple[float, Proportion]], str]:
    """Returns right diagnoses over time, by day, or by week where there are many days; and which it is."""
    if len(days) <= _MANY_DAYS:
        return [(float(day.day), day.diagnosis) for day in days], "each day"
    weeks = _weeks(days)
    pooled = [proportion(sum(d.diagnosis.right for d in week), sum(d.diagnosis.n for d in week)) for week in weeks]
    return [(week[0].day + (len(week) - 1) / 2, s) for week, s in zip(weeks, pooled, strict=True)], "each week"


def _weeks(days: Sequence[Day]) -> list[Sequence[Day]]:
    return [days[start : start + 7] for start in range(0, len(days), 7)]


def _errors(shares: Sequence[Proportion]) -> list[list[float]]:
    low = [(s.percent or 0.0) - (s.low or 0.0) for s in shares]
    high = [(s.high or 0.0) - (s.percent or 0.0) for s in shares]
    return [[max(0.0, e) for e in low], [max(0.0, e) for e in high]]


def _height(rows: Sequence[str]) -> float:
    return 1.1 + 0.27 * max(1, len(rows))


def _stack(bar: Callable[..., Any], side: str, parts: Iterable[tuple[str, str, str, list[float]]]) -> None:
    """Draws bars on bars: label, colour, hatch and lengths of each part; `side` is where a bar begins."""
    below: list[float] | None = None
    for label, colour, hatch, values in parts:
        begins = below or [0.0] * len(values)
        bar(values, **{side: begins}, label=label, color=colour, hatch=hatch, edgecolor="white")
        below = [a + b for a, b in zip(begins, values, strict=True)]


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set(yticks=range(len(names)))
    axes.set_yticklabels(names)
    axes.grid(axis="y", visible=False)


def _legend(axes: Axes, *, columns: int) -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, fontsize=9, borderaxespad=0.2)


def _whole_days(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=15))
