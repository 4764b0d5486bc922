"""Tables in the terminal, and how numbers stand in them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import measure_renderables
from rich.table import Column, Table
from rich.text import Text

from polyclinic.statistics.uncertainty import Difference, Estimate
from polyclinic.terminal.screen import plain

NOTHING = "–"
"""Stands where nothing was measured."""

_SHOWN = 8
_BETWEEN = 3  # letters from one column to the next
_WORD = 16  # letters of a word in the heading of numbers that is not broken


class _NumberTable(Table):
    """A table that breaks no number: where it is too wide, headings fold, and the last columns stand below.

    Nor does it break a word of a label, as long as such words leave half of the room to numbers.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        def width(*cells: RenderableType) -> int:
            return measure_renderables(console, options.update_width(1000), cells).maximum

        most, columns = options.max_width, list(self.columns)
        if sum(width(one.header, *one.cells) + _BETWEEN for one in columns) - _BETWEEN <= most:
            yield from super().__rich_console__(console, options)
            return
        sizes = {}
        for place, column in enumerate(columns):
            if column.justify != "left":
                words = [min(width(word), _WORD) for word in str(column.header).split()]
                sizes[place] = size = max(1, *words, *map(width, column.cells))
                lines = Text(str(column.header)).wrap(console, size)
                heading = Text("\n".join(line.plain.rstrip() for line in lines))
                columns[place] = replace(column, header=heading, no_wrap=size <= most)
        labels = {place: one for place, one in enumerate(self.columns) if place not in sizes}
        longest = {place: _longest_word(one, width) for place, one in labels.items()}
        taken = sum(longest.values()) + _BETWEEN * len(longest)
        if taken <= most // 2:
            columns = [
                replace(one, min_width=longest[place]) if place in longest else one for place, one in enumerate(columns)
            ]
            groups = _groups(sizes, most - taken)
        else:
            whole = [width(one.header, *one.cells) for one in labels.values()]
            for least in (most // 10, most // 5):
                groups = _groups(sizes, most - sum(min(label, least) + _BETWEEN for label in whole))
                if len(groups) <= 1:
                    break
        for number, group in enumerate(groups or [[]]):
            part = copy.copy(self)
            shown = [one for place, one in enumerate(columns) if place in group or place not in sizes]
            part.columns = [replace(one, _index=place) for place, one in enumerate(shown)]
            if number:
                part.title = None
                yield ""
            yield from Table.__rich_console__(part, console, options)


def _longest_word(column: Column, width: Callable[[RenderableType], int]) -> int:
    """Returns how wide the longest word of a column of labels is."""
    return max(
        (width(word) for cell in (column.header, *column.cells) for word in str(cell).split()),
        default=1,
    )


def _groups(sizes: Mapping[int, int], room: int) -> list[list[int]]:
    """Returns the columns of numbers that stand side by side, each with its size, in so much room."""
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
    rows: Iterable[Sequence[RenderableType]] = (),
    *,
    left: int = 1,
    right: Collection[str] | None = None,
) -> Table:
    """Returns a table without a frame, to which rows can be added; titles are shown as text, whoever wrote them.

    The first `left` columns stand to the left; the others, or those named by `right`, hold numbers.
    """
    above = None if title is None else Text(plain(title))
    made = _NumberTable(show_edge=False, pad_edge=False, title=above, title_justify="left")
    for number, name in enumerate(columns):
        numbers = number >= left if right is None else name in right
        # What is too long for its column goes on below, and is never cut.
        made.add_column(Text(plain(name)), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def counted(n: int, what: str) -> str:
    """Returns how many there are: "1 question", "2 questions"."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


_SURE = 0.05
DETECTABLE = "detectable, where none was found: the smallest difference that so many cases show four times in five."
"""What the last of the cells of a difference is."""

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
    return f"{estimate.mean:{form}} ± {estimate.stderr:{form}}"


def interval(estimate: Estimate, form: str = ".2f") -> str:
    """Returns `low-high`, the ends of the 95 % interval."""
    return NOTHING if estimate.low is None else f"{estimate.low:{form}}-{estimate.high:{form}}"


def p_value(value: float | None) -> str:
    """Returns a p value as it is printed."""
    return NOTHING if value is None else f"{value:.4f}" if value >= 0.0001 else "< 0.0001"


def tokens(value: float, calls: float) -> str:
    """Returns how many tokens calls took; a dash where no endpoint said how many."""
    return NOTHING if calls and not value else f"{value:,.0f}"


def number(value: float | None, form: str = ".2f", unit: str = "") -> str:
    """Returns a number, or a dash where there is none."""
    return NOTHING if value is None else f"{value:{form}}{unit}"


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
    ends = NOTHING if d.low is None else f"{d.low:{form}} to {d.high:{form}}"
    found = p_holm is not None and p_holm < _SURE
    detectable = NOTHING if found else number(d.detectable, form.removeprefix("+"))
    return number(d.mean, form), ends, p_value(d.p), p_value(p_holm), str(d.n), detectable


def print_rows(
    screen: Console, columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[str]
) -> None:
    """Prints rows too many for a table, each on a line of its own; `right` are the columns that are numbers."""
    widths = [max(cell_len(name), *(cell_len(row[at]) for row in rows)) for at, name in enumerate(columns)]
    for row in (columns, *rows):
        cells = [
            f"{' ' * (width - cell_len(cell))}{cell}" if name in right else set_cell_size(cell, width)
            for name, cell, width in zip(columns, row, widths, strict=True)
        ]
        screen.file.write("  ".join(cells).rstrip() + "\n")
