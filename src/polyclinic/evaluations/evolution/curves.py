"""Lines over patients as SVG, drawn by hand: no script, the same bytes for the same numbers.

Colours come from the page, so that they follow its light or dark; a line has its own dashes and its name at its end,
so that nothing is said by colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from polyclinic.evaluations.evolution.ablations import thinned
from polyclinic.terminal.html import shown

_WIDTH, _HEIGHT = 680, 310
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 204, 12, 40
_APART = 14  # Between two names at the right, so that none covers another
_KINDS = 8  # Kinds of lines that a page tells apart
_MOST = 140  # Points of a line; of more, so many are drawn, evenly


class CurveLine(NamedTuple):
    """A line: its name, and its points from left to right.

    `level` draws it as a bound, dotted; `band` is what lies between two heights at each place, as (x, low, high).
    """

    name: str
    points: Sequence[tuple[float, float]]
    kind: int = 0
    level: bool = False
    band: Sequence[tuple[float, float, float]] = ()


def curves(lines: Sequence[CurveLine], *, across: str, up: str, says: str, top: float | None = None) -> str:
    """Returns lines as an SVG."""
    every = [point for line in lines for point in line.points]
    right, highest = max((x for x, _ in every), default=1) or 1, top or max((y for _, y in every), default=1) or 1
    x_ticks, y_ticks = _ticks(right), _ticks(highest)
    most = top or max(highest, y_ticks[-1])
    wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def at(x: float, y: float) -> tuple[float, float]:
        return _LEFT + wide * x / right, _TOP + high * (1 - y / most)

    parts = []
    for tick in y_ticks:
        y = at(0, tick)[1]
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_LEFT + wide}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(tick)}</text>')
    for tick in x_ticks:
        x = at(tick, 0)[0]
        parts.append(f'<text x="{x:.1f}" y="{_TOP + high + 16}" text-anchor="middle">{_number(tick)}</text>')
    parts.append(f'<path class="axis" d="M{_LEFT} {_TOP}V{_TOP + high}H{_LEFT + wide}"/>')
    parts.append(f'<text x="{_LEFT + wide / 2:g}" y="{_HEIGHT - 6}" text-anchor="middle">{shown(across)}</text>')
    middle = _TOP + high / 2
    parts.append(
        f'<text transform="rotate(-90 12 {middle:g})" x="12" y="{middle:g}" text-anchor="middle">{shown(up)}</text>'
    )
    for line in lines:
        edge = [(x, high) for x, _, high in line.band] + [(x, low) for x, low, _ in reversed(line.band)]
        if edge:
            around = " ".join("{:.1f},{:.1f}".format(*at(x, min(max(y, 0), most))) for x, y in edge)
            parts.append(f'<polygon class="band b{line.kind % _KINDS}" points="{around}"/>')
    for line in lines:
        way = " ".join("{:.1f},{:.1f}".format(*at(*point)) for point in thinned(line.points, _MOST))
        look = f"line k{line.kind % _KINDS}" + (" level" if line.level else "")
        parts.append(f'<polyline class="{look}" points="{way}"/>')
    ends = [(at(*line.points[-1])[1], line) for line in lines if line.points]
    for y, line in zip(_spread([y for y, _ in ends], _TOP + 4, _TOP + high), (line for _, line in ends), strict=True):
        x, value = _LEFT + wide + 8, line.points[-1][1]
        parts.append(
            f'<path class="line k{line.kind % _KINDS}{" level" if line.level else ""}" d="M{x} {y - 4:.1f}h14"/>'
        )
        parts.append(f'<text x="{x + 18}" y="{y:.1f}">{shown(line.name)} {_number(round(value, 1))}</text>')
    view = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{shown(says)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {view}><title>{shown(says)}</title>{"".join(parts)}</svg>'


def _ticks(highest: float) -> list[float]:
    """Returns round numbers from 0 up to the highest, some five of them."""
    rough = highest / 5
    scale = 10 ** math.floor(math.log10(rough)) if rough > 0 else 1
    step = next(scale * one for one in (1, 2, 2.5, 5, 10) if scale * one >= rough)
    return [step * n for n in range(math.floor(highest / step + 1e-9) + 1)]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def _spread(wanted: Sequence[float], first: float, last: float) -> list[float]:
    """Returns heights near those that are wanted, in their order, with room between them."""
    heights = [0.0] * len(wanted)
    free = first
    for left, n in zip(
        range(len(wanted) - 1, -1, -1), sorted(range(len(wanted)), key=lambda n: wanted[n]), strict=True
    ):
        # Those that come after need room, too.
        heights[n] = min(max(wanted[n] + 4, free), max(last - _APART * left, free))
        free = heights[n] + _APART
    return heights
