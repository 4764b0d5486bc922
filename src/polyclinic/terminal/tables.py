"""Tables in the terminal, and how numbers stand in them."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import measure_renderables
from rich.table import Table
from rich.text import Text

from polyclinic.statistics.uncertainty import Difference, Estimate
from polyclinic.terminal.figures import NOTHING, ShownFigure, low_to_high, number
from polyclinic.terminal.screen import are_tables_kept, plain

_SHOWN = 8
_BETWEEN = 3  # letters from one column to the next
_FEW_LETTERS = 8
_WORD = 16  # letters of a word in the heading of numbers that is not broken
_WHOLE = "\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uff60"  # signs of Chinese, each of which may begin a line
_WORDS = re.compile(rf"[{_WHOLE}]|[^\s{_WHOLE}]+")
_PIECES = re.compile(r"\S*\s*")
_PARTS = re.compile(rf"[{_WHOLE}]|[^\s/_:,(={_WHOLE}-]*[/_:,(=-]+|[^\s/_:,(={_WHOLE}-]+")
_PARTS_AND_BLANKS = re.compile(r"[^\s/_:,(=-]*[/_:,(=-]+\s*|[^\s/_:,(=-]+\s*")


class NumberTable(Table):
    """A table that breaks no number: where it is too wide, headings fold, and the last columns stand below.

    Nor does it break a word of a label: where words would leave less than half of the room to numbers, they are broken
    behind a slash, an underscore and the like, and elsewhere only if no number had room beside them.
    """

    called = ""

    def add_row(self, *cells: object, **how: Any) -> None:
        """Adds a row of values, as `cell` shows them."""
        super().add_row(*map(cell, cells), **how)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        def width(*cells: RenderableType) -> int:
            return measure_renderables(console, options.update_width(1000), cells).maximum

        most, columns = options.max_width, list(self.columns)
        whole = {place: width(one.header, *one.cells) for place, one in enumerate(columns)}
        if sum(whole.values()) + _BETWEEN * (len(columns) - 1) <= most:
            yield from super().__rich_console__(console, options)
            return
        sizes: dict[int, int] = {}
        for place, column in enumerate(columns):
            if column.justify != "left":
                words = [min(width(word), _WORD) for word in str(column.header).split()]
                sizes[place] = size = max(1, *words, *map(width, column.cells))
                columns[place] = replace(column, header=broken(Text(str(column.header)), size), no_wrap=size <= most)
        labels = [place for place in whole if place not in sizes]
        room = most - max(sizes.values()) if sizes else most + _BETWEEN
        least: dict[int, int] = {}
        for parts in (_WORDS, _PARTS):  # words are broken only where they would leave less than half to numbers
            for place in labels:
                column = self.columns[place]
                texts = map(str, (column.header, *column.cells))
                pieces = texts if column.no_wrap else (one for text in texts for one in parts.findall(text))
                least[place] = max(map(width, pieces), default=1)
            if sum(least.values()) + _BETWEEN * len(labels) <= (min(room, most // 2) if sizes else room):
                break
        if sum(least.values()) + _BETWEEN * len(labels) > room:
            share = max(1, min(room, most // 2) // len(labels) - _BETWEEN)
            least = {place: min(whole[place], share) for place in labels}
        taken = sum(least.values()) + _BETWEEN * len(labels)
        for nth, group in enumerate(column_groups(sizes, most - taken) or [[]]):
            part = copy.copy(self)
            left = most - taken + _BETWEEN - sum(sizes[place] + _BETWEEN for place in group)
            for place, size in _widths_in(left, least, whole).items():
                column = self.columns[place]
                cells = [broken(one, size) for one in column.cells]
                columns[place] = replace(column, header=broken(column.header, size), _cells=cells, width=size)
            shown = [one for place, one in enumerate(columns) if place in group or place not in sizes]
            part.columns = [replace(one, _index=place) for place, one in enumerate(shown)]
            if nth:
                part.title = None
                yield ""
            yield from Table.__rich_console__(part, console, options)


def _widths_in(spare: int, least: Mapping[int, int], whole: Mapping[int, int]) -> dict[int, int]:
    """Returns how wide columns are that share what is left over evenly; who lacks a few letters has them first."""
    widths = dict(least)
    in_turn = sorted(widths, key=lambda place: whole[place] - least[place])
    for left, place in zip(range(len(in_turn), 0, -1), in_turn, strict=True):
        lacks = whole[place] - least[place]
        more = lacks if lacks <= min(spare, _FEW_LETTERS) else min(lacks, spare // left)
        widths[place] += more
        spare -= more
    return widths


def broken(cell: RenderableType, size: int) -> RenderableType:
    """Returns a text in lines of so many letters, broken in a word only where a part of it is longer than a line."""
    text = Text(cell) if isinstance(cell, str) else cell
    if not isinstance(text, Text) or size < 1 or all(cell_len(line) <= size for line in text.plain.split("\n")):
        return cell
    lines = [line for one in text.split("\n", allow_blank=True) for line in one.divide(_breaks(one.plain, size))]
    for line in lines:
        line.rstrip()
    return Text("\n").join(lines)


def _breaks(line: str, size: int) -> list[int]:
    """Returns where a line is broken."""
    found: list[int] = []
    begin = at = 0
    for word in _PIECES.finditer(line):
        parts = [word.group()] if cell_len(word.group().rstrip()) <= size else _PARTS_AND_BLANKS.findall(word.group())
        for part in parts:
            if at > begin and cell_len(line[begin:at] + part.rstrip()) > size:
                found.append(begin := at)
            at += len(part)
            while cell_len(line[begin:at].rstrip()) > size:
                fits = next(n for n in range(at, begin, -1) if n == begin + 1 or cell_len(line[begin:n]) <= size)
                found.append(begin := fits)
    return [one for one in found if one < len(line)]


def column_groups(sizes: Mapping[int, int], room: int) -> list[list[int]]:
    """Returns columns in groups that fit side by side in so much room."""
    groups: list[list[int]] = []
    left = 0
    for place, size in sizes.items():
        if size > left or not groups:
            groups.append([])
            left = room
        groups[-1].append(place)
        left -= size + _BETWEEN
    return groups


def table(
    title: str | None,
    columns: Sequence[str],
    rows: Iterable[Iterable[object]] = (),
    *,
    left: int = 1,
    right: Collection[str] | None = None,
    called: str = "",
) -> NumberTable:
    """Returns a table without a frame, to which rows can be added; titles are shown as text, whoever wrote them.

    The first `left` columns stand to the left; the others, or those named by `right`, hold numbers. `called` is what it
    is called in files, where its heading is no part of it.
    """
    above = None if title is None else Text(plain(title))
    made = NumberTable(show_edge=False, pad_edge=False, title=above, title_justify="left")
    made.called = called
    for place, name in enumerate(columns):
        numbers = place >= left if right is None else name in right
        # What is too long for its column goes on below, and is never cut.
        made.add_column(Text(plain(name)), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


Column = str | Callable[[Any], object] | tuple[str | Callable[[Any], object], str]
"""What a column shows of a row: an attribute, by its path, or a function of the row; and the format of its numbers."""


def cell(value: Any, form: str = ".2f") -> RenderableType:
    """Returns a value as a cell: an estimate as `mean ± se`, a number as in `form` (".1f %"), and a dash for None."""
    match value:
        case None:
            return NOTHING
        case Estimate():
            return mean_and_error(value, form)
        case float():
            form, blank, unit = form.partition(" ")
            return number(value, form, blank + unit)
        case ShownFigure():
            return value
        case str() | int():
            return plain(str(value))
        case _:
            renderable: RenderableType = value
            return renderable


def table_of(
    title: str | None,
    rows: Iterable[object],
    columns: Mapping[str, Column],
    *,
    left: int = 1,
    optional: Collection[str] = (),
) -> NumberTable:
    """Returns a table with a row for each thing and a column for each heading.

    The `optional` columns are left out if they have nothing of any row: None, 0 or "".
    """
    shown = list(rows)
    values = {heading: [_value(column, row) for row in shown] for heading, column in columns.items()}
    kept = {heading: some for heading, some in values.items() if heading not in optional or any(some)}
    forms = {heading: column[1] if isinstance(column, tuple) else ".2f" for heading, column in columns.items()}
    cells = {heading: [cell(value, forms[heading]) for value in some] for heading, some in kept.items()}
    return table(title, list(cells), zip(*cells.values(), strict=True), left=left)


def crossed(
    title: str | None,
    rows: Mapping[Any, Mapping[Any, object]],
    *,
    corner: str = "",
    form: str = ".2f",
    missing: str = "",
    called: str = "",
) -> NumberTable:
    """Returns a table of values by row and column; `called` and `corner` are as in `table`, whose first cell it is."""
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    cells = (
        (str(name), *(cell(row[one], form) if one in row else missing for one in columns)) for name, row in rows.items()
    )
    return table(title, (corner, *map(str, columns)), cells, called=called)


def _value(column: Column, row: object) -> object:
    value = column[0] if isinstance(column, tuple) else column
    return attrgetter(value)(row) if isinstance(value, str) else value(row)


def counted(n: int, what: str) -> str:
    """Returns how many there are: "1 question", "2 questions"."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


_SURE = 0.05
DETECTABLE = "detectable, where none was found: the smallest difference that so many cases show four times in five."
"""What the last of the cells of a difference is."""

DIFFERENCE_COLUMNS = ("difference", "95 % interval", "p", "p (Holm)", "n", "detectable")
"""The headings of `difference_cells`."""

_FEW = 6
_COMPARISONS = 10


def few_line(numbers: Iterable[int], what: str) -> str:
    """Returns what to say below intervals of which the fewest are over so few things; "" of others."""
    fewest = min((n for n in numbers if n), default=_FEW)
    return f"an interval over {counted(fewest, what)} says little" if fewest < _FEW else ""


def few_comparisons(numbers: Iterable[int]) -> str:
    """Returns what to say below strengths of Bradley and Terry of which the fewest are from so few; "" of others."""
    fewest = min(numbers, default=_COMPARISONS)
    few = f"strengths from {counted(fewest, 'comparison')} lean on their prior, half a win and half a loss"
    return f"{few}, and say little" if fewest < _COMPARISONS else ""


def mean_and_error(estimate: Estimate, form: str = ".2f") -> str:
    """Returns `mean ± standard error`; the mean alone where how sure it is cannot be said so."""
    if estimate.mean is None or estimate.stderr is None:
        return number(estimate.mean, form)
    parts = {"": estimate.mean, "stderr": estimate.stderr}
    return ShownFigure(f"{estimate.mean:{form}} ± {estimate.stderr:{form}}", parts)


def interval(estimate: Estimate, form: str = ".2f") -> str:
    """Returns `low-high`, the ends of the 95 % interval."""
    return low_to_high(estimate.low, estimate.high, form)


def p_value(value: float | None) -> str:
    """Returns a p value as it is printed."""
    if value is None:
        return NOTHING
    return ShownFigure(f"{value:.4f}" if value >= 0.0001 else "< 0.0001", {"": value})


def tokens(value: float, calls: float) -> str:
    """Returns how many tokens calls took; a dash where no endpoint said how many."""
    return NOTHING if calls and not value else number(value, ",.0f")


def show_problems(screen: Console, problems: Iterable[tuple[str, str]]) -> None:
    """Prints each problem once, with how many it is and the first of whose it is, from pairs of problem and id."""
    ids_of: dict[str, list[str]] = {}
    for problem, id in problems:
        ids_of.setdefault(problem, []).append(id)
    for problem, ids in ids_of.items():
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        told = plain(f"  {len(ids)} {problem}: {', '.join(ids[:_SHOWN])}{more}")
        screen.print(told, style="yellow", soft_wrap=True)


def difference_cells(difference: Difference, p_holm: float | None, form: str = "+.2f") -> tuple[str, ...]:
    """Returns a difference as six cells: its mean, `low to high`, p, p after Holm's correction, n, and `DETECTABLE`."""
    d = difference
    ends = low_to_high(d.low, d.high, form, " to ")
    found = p_holm is not None and p_holm < _SURE
    detectable = NOTHING if found else number(d.detectable, form.removeprefix("+"))
    return number(d.mean, form), ends, p_value(d.p), p_value(p_holm), str(d.n), detectable


def print_rows(
    screen: Console, columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[str]
) -> None:
    """Prints rows too many for a table, each on a line of its own; `right` are the columns that are numbers."""
    if are_tables_kept():
        screen.print(table(None, columns, rows, right=right))
        return
    widths = [max(cell_len(name), *(cell_len(row[at]) for row in rows)) for at, name in enumerate(columns)]
    for row in (columns, *rows):
        cells = [
            f"{' ' * (width - cell_len(cell))}{cell}" if name in right else set_cell_size(cell, width)
            for name, cell, width in zip(columns, row, widths, strict=True)
        ]
        screen.file.write("  ".join(cells).rstrip() + "\n")


_WIDTH = 51  # columns of the chart's axis: one for every two percent, both ends included


def chart(rows: Sequence[tuple[str, Estimate]]) -> str:
    """Returns percentages as a chart: a row each, the mean as a point between the ends of its interval."""
    wide = max((len(label) for label, _ in rows), default=0)
    lines = []
    for label, estimate in rows:
        axis = [" "] * _WIDTH
        if estimate.low is not None and estimate.high is not None:
            low, high = _column(estimate.low), _column(estimate.high)
            axis[low : high + 1] = "├" + "─" * (high - low - 1) + "┤" if high > low else "│"
        if estimate.mean is not None:
            axis[_column(estimate.mean)] = "●"
        lines.append(f"  {label:>{wide}} {number(estimate.mean, '5.1f'):>4} {''.join(axis)}".rstrip())
    quarter = _WIDTH // 4
    scale = "".join(f"{percent:<{quarter}}" for percent in (0, 25, 50, 75)) + "100 %"
    return "\n".join([*lines, f"  {'':>{wide}}       {scale}"])


def _column(percent: float) -> int:
    return round(percent / 100 * (_WIDTH - 1))
