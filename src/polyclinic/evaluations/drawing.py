"""The papers' figures as SVG files: shares by turn, a radar, bars with lines. No script, the same bytes each time.

Lines over something are drawn by `evolution.curves`; here is what stands beside it, and the style of a picture that is
a file of its own. Colours are those of Okabe and Ito; nothing is said by colour alone: a bar has its code in it or a
pattern of its own, and a line its dashes and its name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from polyclinic.evaluations.evolution.curves import CurveLine, curves
from polyclinic.terminal.html import shown

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8c6d31", "#555555")
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4", "10 4", "4 2 1 2", "12 3 3 3")
_LINES = "".join(
    f".k{n}{{stroke:{colour};fill:none;stroke-dasharray:{dash or 'none'}}}"
    for n, (colour, dash) in enumerate(zip(COLOURS, _DASHES, strict=True))
)
_STYLE = (
    "text{font:11px sans-serif;fill:#222}.head{font-weight:bold}.grid{stroke:#e4e4e4;fill:none}"
    f".axis{{stroke:#666;fill:none}}.line{{stroke-width:2}}.code{{fill:#fff;font-size:9px}}{_LINES}"
    ".level{opacity:.7;stroke-dasharray:2 4}"
)
_BAR, _HIGH, _LEFT, _TOP = 34, 220, 44, 34


def lines(drawn: Sequence[CurveLine], *, across: str, up: str, says: str) -> str:
    """Returns lines in percent as a picture that is a file of its own."""
    svg = curves(drawn, across=across, up=up, says=says, top=100)
    return svg.replace("<title>", f"<style>{_STYLE}</style><title>", 1)


def shares(columns: Mapping[int, Mapping[str, float]], names: Mapping[str, str], *, across: str, says: str) -> str:
    """Returns stacked columns of shares in percent, each share with its code in it where it is high enough.

    `names` has what each code means, in the order in which they are stacked.
    """
    wide = _LEFT + (_BAR + 6) * len(columns) + 250
    parts = [f'<text x="{_LEFT}" y="18" class="head">{shown(says)}</text>']
    for percent in (0, 25, 50, 75, 100):
        y = _TOP + _HIGH * (1 - percent / 100)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:g}H{wide - 240}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:g}" text-anchor="end">{percent} %</text>')
    for place, (turn, of_turn) in enumerate(columns.items()):
        x, top = _LEFT + 4 + (_BAR + 6) * place, float(_TOP + _HIGH)
        middle = f'x="{x + _BAR / 2:g}" text-anchor="middle"'
        for code in (code for code in names if of_turn.get(code)):
            high = _HIGH * of_turn[code] / 100
            top -= high
            told = shown(f"{names[code]}: {of_turn[code]:.0f} %")
            box = f'x="{x}" y="{top:.1f}" width="{_BAR}" height="{high:.1f}" fill="{_colour(code, names)}"'
            parts.append(f'<rect {box} stroke="#fff"><title>{told}</title></rect>')
            if high >= 12:
                parts.append(f'<text class="code" y="{top + high / 2 + 3:.1f}" {middle}>{shown(code)}</text>')
        parts.append(f'<text y="{_TOP + _HIGH + 15}" {middle}>{turn}</text>')
    parts.append(f'<text x="{_LEFT}" y="{_TOP + _HIGH + 32}">{shown(across)}</text>')
    for place, (code, name) in enumerate(names.items()):
        y = _TOP + 10 + 20 * place
        parts.append(f'<rect x="{wide - 228}" y="{y - 9}" width="12" height="12" fill="{_colour(code, names)}"/>')
        parts.append(f'<text x="{wide - 210}" y="{y + 1}">{shown(f"{code}: {name}")}</text>')
    return _svg(wide, max(_TOP + _HIGH + 44, _TOP + 20 * len(names) + 20), parts, says)


def _colour(code: str, names: Mapping[str, str]) -> str:
    return (*COLOURS, "#999999", "#222222")[list(names).index(code) % 10]


def radar(axes: Sequence[str], values: Mapping[str, Sequence[float | None]], *, says: str) -> str:
    """Returns a radar: of each axis the best is at the rim, all others as a share of it; None is at the middle.

    `values` has the doctors' values on each axis, none of them negative.
    """
    size, reach = 460, 150
    middle = size / 2

    def at(place: int, share: float) -> tuple[float, float]:
        angle = 2 * math.pi * place / len(axes) - math.pi / 2
        return middle + reach * share * math.cos(angle), middle + 20 + reach * share * math.sin(angle)

    parts = [f'<text x="12" y="18" class="head">{shown(says)}</text>']
    for ring in (0.25, 0.5, 0.75, 1.0):
        parts.append(f'<polygon class="grid" points="{_points([at(n, ring) for n in range(len(axes))])}"/>')
    for place, axis in enumerate(axes):
        (x, y), (end, low) = at(place, 1), at(place, 1.12)
        parts.append(f'<path class="grid" d="M{middle:g} {middle + 20:g}L{x:.1f} {y:.1f}"/>')
        side = "middle" if abs(end - middle) < 10 else "start" if end > middle else "end"
        parts.append(f'<text x="{end:.1f}" y="{low + 4:.1f}" text-anchor="{side}">{shown(axis)}</text>')
    best = [max((v[n] or 0.0 for v in values.values()), default=0.0) or 1.0 for n in range(len(axes))]
    for kind, (name, theirs) in enumerate(values.items()):
        way = [at(n, (theirs[n] or 0.0) / best[n]) for n in range(len(axes))]
        parts.append(
            f'<polygon class="line k{kind % 8}" points="{_points(way)}"><title>{shown(name)}</title></polygon>'
        )
        y = 50 + 18 * kind
        parts.append(f'<path class="line k{kind % 8}" d="M{size} {y}h26"/>')
        parts.append(f'<text x="{size + 32}" y="{y + 4}">{shown(name)}</text>')
    return _svg(size + 200, size, parts, says)


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
