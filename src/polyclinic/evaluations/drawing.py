"""Panels of bars with lines over the turns, as an SVG file: no script, the same bytes each time.

Colours are those of Okabe and Ito. Nothing is said by colour alone: a line has its dashes and its name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from polyclinic.terminal.html import shown

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8c6d31", "#555555")
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4", "10 4", "4 2 1 2", "12 3 3 3")
_LINES = "".join(
    f".k{n}{{stroke:{colour};fill:none;stroke-dasharray:{dash or 'none'}}}"
    for n, (colour, dash) in enumerate(zip(COLOURS, _DASHES, strict=True))
)
_STYLE = (
    "text{font:11px sans-serif;fill:#222}.head{font-weight:bold}.grid{stroke:#e4e4e4;fill:none}"
    f".axis{{stroke:#666;fill:none}}.line{{stroke-width:2}}{_LINES}"
)


class MeasurePanel(NamedTuple):
    """One figure: its title, each one's mean in percent, and each one's values by turn."""

    title: str
    means: Mapping[str, float]
    by_turn: Mapping[str, Sequence[tuple[int, float]]]


_PANEL_WIDE, _PANEL_HIGH, _IN_ROW = 210, 150, 3


def panels(drawn: Sequence[MeasurePanel], *, across: str, says: str) -> str:
    """Returns panels beside one another: a bar for each mean, and before the bars each one's line over the turns."""
    every = list(dict.fromkeys(name for panel in drawn for name in panel.means))
    parts = [f'<text x="12" y="18" class="head">{shown(says)}</text>']
    for place, panel in enumerate(drawn):
        left = 40 + (_PANEL_WIDE + 30) * (place % _IN_ROW)
        top = 50 + (_PANEL_HIGH + 60) * (place // _IN_ROW)
        inner = "".join(_panel(panel, every, across))
        parts.append(f'<g transform="translate({left} {top})">{inner}</g>')
    below = 50 + (_PANEL_HIGH + 60) * math.ceil(len(drawn) / _IN_ROW)
    for kind, name in enumerate(every):
        x = 40 + 220 * kind
        parts.append(f'<path class="line k{kind % 8}" d="M{x} {below}h26"/>')
        parts.append(f'<text x="{x + 32}" y="{below + 4}">{shown(name)}</text>')
    return _svg(40 + (_PANEL_WIDE + 30) * _IN_ROW, below + 20, parts, says)


def _panel(panel: MeasurePanel, every: Sequence[str], across: str) -> Iterator[str]:
    """Yields what a panel is made of, from its upper left corner."""
    turns = [turn for line in panel.by_turn.values() for turn, _ in line]
    first, last = (min(turns), max(turns)) if turns else (0, 0)

    def at(turn: float, percent: float) -> tuple[float, float]:
        return _PANEL_WIDE * (turn - first) / (last - first or 1), _PANEL_HIGH * (1 - percent / 100)

    yield f'<text y="-8" class="head">{shown(panel.title)}</text>'
    yield f'<path class="axis" d="M0 0v{_PANEL_HIGH}h{_PANEL_WIDE}"/>'
    for percent in (0, 50, 100):
        yield f'<text x="-5" y="{at(first, percent)[1] + 4:g}" text-anchor="end">{percent}</text>'
    for number, (name, mean) in enumerate(panel.means.items()):
        kind, y = every.index(name), at(first, max(0.0, min(mean, 100.0)))[1]
        x = 14 + (_PANEL_WIDE - 28) * (number + 0.5) / len(panel.means) - 14
        box = f'x="{x:.1f}" y="{y:.1f}" width="28" height="{_PANEL_HIGH - y:.1f}" fill="{COLOURS[kind % 8]}"'
        yield f'<rect {box} opacity=".25"><title>{shown(f"{name}: {mean:.1f}")}</title></rect>'
        if way := [at(turn, value) for turn, value in panel.by_turn.get(name, ())]:
            yield f'<polyline class="line k{kind % 8}" points="{_points(way)}"/>'
    ends = f"{across} {first}-{last}" if last > first else f"{across} {first}"
    yield f'<text y="{_PANEL_HIGH + 16}">{shown(ends)}</text>'


def _points(way: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in way)


def _svg(wide: float, high: float, parts: Sequence[str], says: str) -> str:
    view = f'viewBox="0 0 {wide:g} {high:g}" role="img" aria-label="{shown(says)}"'
    background = f'<rect width="{wide:g}" height="{high:g}" fill="#fff"/>'
    style = f"<style>{_STYLE}</style><title>{shown(says)}</title>"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {view}>{style}{background}{"".join(parts)}</svg>'
