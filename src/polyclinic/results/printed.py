"""Joined results and their differences as tables for people: what stands in which row and column, and how numbers do.

The terminal, a page, Markdown and LaTeX show the same tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from polyclinic.results.comparing import ResultsComparison
from polyclinic.results.joining import JoinedRow, JoinedTable
from polyclinic.statistics.uncertainty import Difference, Estimate
from polyclinic.terminal.figures import NOTHING, ShownFigure, number, only_value
from polyclinic.terminal.tables import DETECTABLE, difference_cells, tokens

_MANY_MEASURES = 5  # beyond which measures stand in rows, where there are no more entrants than columns have room for
_FEW_ENTRANTS = 5
_MARK = " (published)"
_LEAST_SECONDS = 0.005  # which are printed as more than none

INTERVALS = (
    "intervals of 95 %, over cases: Wilson's of shares, of other numbers by bootstrap from 6 cases on; "
    "calls, tokens, s: an item"
)
SHARED = "shared: calls that others of the run need as well; they stand in several rows, and once in the run's sum"
PUBLISHED = "(published): what the paper prints; nobody ran it here"
AVERAGE = "average: of the sets, each counting the same; intervals of 95 %, over cases"
COMPARED = (
    "item by item, over cases; p: McNemar's exact test of shares with one item a case, else by turning the signs of "
    "cases, exactly where the ways can be counted, as of shares, whole scores and below 20 cases, else by 10,000 ways "
    f"drawn; corrected by Holm over all rows; {DETECTABLE}"
)


class TableColumns(StrEnum):
    """What stands in the columns of a joined table."""

    MEASURES = "measures"
    ENTRANTS = "entrants"
    SETS = "sets"


class PrintedNumber(NamedTuple):
    """A number as it is printed, and the ends of its interval; "" where it has none."""

    text: str
    low: str = ""
    high: str = ""

    @property
    def ends(self) -> str:
        """The interval, "" where there is none."""
        return f"[{self.low}, {self.high}]" if self.low else ""

    def shown(self, *, ends: bool = True) -> str:
        """Returns the number, with its interval or without it where it is to be read; files have both."""
        one, low, high = (only_value(text) for text in self)
        parts = {"": one, "low": low, "high": high} if self.low else {"": one}
        return ShownFigure(str(self) if ends else self.text, parts)

    def __str__(self) -> str:
        return f"{self.text} {self.ends}".rstrip()


class PrintedRow(NamedTuple):
    """What it is of, as others may have named it, and its numbers."""

    labels: tuple[str, ...]
    figures: tuple[PrintedNumber, ...]
    published: bool = False
    apart: bool = False
    """Whether a line stands above it."""


class PrintedTable(NamedTuple):
    """A table: the headings of its labels and of its numbers, its rows, and what to say below.

    `spans` are the numbers that have intervals, by their place.
    """

    title: str
    labels: tuple[str, ...]
    heads: tuple[str, ...]
    rows: tuple[PrintedRow, ...]
    notes: tuple[str, ...] = ()

    @property
    def spans(self) -> frozenset[int]:
        """The columns of numbers that have intervals, by their place."""
        return frozenset(place for row in self.rows for place, one in enumerate(row.figures) if one.low)


def columns_of(joined: JoinedTable, wanted: TableColumns | None = None) -> TableColumns:
    """Returns what stands in the columns: what is wanted, or else many measures of few entrants below one another."""
    if wanted is not None:
        return wanted
    turned = len(joined.measures) > _MANY_MEASURES and len(joined.rows) <= _FEW_ENTRANTS
    return TableColumns.ENTRANTS if turned else TableColumns.MEASURES


def printed(joined: JoinedTable, columns: TableColumns | None = None) -> list[PrintedTable]:
    """Returns a joined table as people read it; what is to be said stands below the last.

    It is one table where all that were run have measures in common, else one for each kind of them; of sets in columns,
    one for each measure.
    """
    if columns is TableColumns.SETS:
        return [_by_set(joined, measure, last=measure == joined.measures[-1]) for measure in joined.measures]
    tables = [
        _by_measure(one) if columns_of(one, columns) is TableColumns.ENTRANTS else _by_entrant(one)
        for one in grouped(joined)
    ]
    notes = tuple(dict.fromkeys(note for one in tables for note in one.notes))
    return [one._replace(notes=notes if one is tables[-1] else ()) for one in tables]


def grouped(joined: JoinedTable) -> list[JoinedTable]:
    """Returns the rows that have measures in common as a table each, with these measures alone.

    Whoever has none, as all failed, stands with the others of the set.
    """
    groups: list[tuple[set[str], list[JoinedRow]]] = []
    for row in joined.rows:
        near = [one for one in groups if one[0] & row.measures.keys()]
        if not row.measures:
            near = [one for one in groups if any(other.set == row.set for other in one[1])]
        names = {*row.measures}.union(*(one[0] for one in near))
        rows = [other for one in near for other in one[1]]
        groups = [one for one in groups if one not in near] + [(names, [*rows, row])]
    order = {id(row): place for place, row in enumerate(joined.rows)}
    found = [
        msgspec.structs.replace(
            joined,
            rows=tuple(sorted(rows, key=lambda row: order[id(row)])),
            measures=tuple(name for name in joined.measures if name in names) if len(groups) > 1 else joined.measures,
        )
        for names, rows in groups
    ]
    return sorted(found, key=lambda one: order[id(one.rows[0])]) or [joined]


def differences(compared: ResultsComparison) -> PrintedTable:
    """Returns comparisons as a table: what all rows share stands in its title."""
    names = {name: {getattr(row, name) for row in compared.rows} for name in ("set", "measure")}
    title = ", ".join(next(iter(found)) for found in names.values() if len(found) == 1)
    labels = (*(name for name, found in names.items() if len(found) > 1), "first", "second")
    rows = []
    for row in compared.rows:
        _, _, *rest = difference_cells(row.difference, row.p_holm)
        figures = (difference_figure(row.difference), *map(PrintedNumber, rest))
        rows.append(PrintedRow(tuple(getattr(row, name) for name in labels), figures))
    heads = ("difference", "p", "p (Holm)", "n", "detectable")
    return PrintedTable(title, labels, heads, tuple(rows), (COMPARED,))


def figure_of(one: Estimate | None) -> PrintedNumber:
    """Returns a mean with its interval."""
    if one is None or one.mean is None:
        return PrintedNumber(NOTHING)
    if one.low is None or one.high is None:
        return PrintedNumber(number(one.mean))
    return PrintedNumber(number(one.mean), number(one.low), number(one.high))


def difference_figure(one: Difference) -> PrintedNumber:
    """Returns a difference with its interval, each with its sign."""
    if one.low is None or one.high is None:
        return PrintedNumber(number(one.mean, "+.2f"))
    return PrintedNumber(number(one.mean, "+.2f"), number(one.low, "+.2f"), number(one.high, "+.2f"))


def _model(row: JoinedRow) -> str:
    # Earlier versions kept the mark as a part of the name.
    return f"{row.model.removesuffix(_MARK)}{_MARK}".strip() if row.published else row.model


def _notes(joined: JoinedTable, *first: str) -> tuple[str, ...]:
    shared = [SHARED] if any(row.shared for row in joined.rows) else []
    published = [PUBLISHED] if any(row.published for row in joined.rows) else []
    return (*first, *shared, *published, *joined.notes)


def _by_entrant(joined: JoinedTable) -> PrintedTable:
    """Returns a row for each entrant."""
    # Seeds are shown if several are pooled in a row, or if rows differ in them.
    ran = [row.seeds for row in joined.rows if not row.published]
    seeds = len({*ran}) > 1 or any(one[1:] for one in ran)
    columns = {
        "set": True,
        "model": True,
        "method": any(row.method for row in joined.rows),
        "seeds": seeds,
    }
    counts = _counts(joined)
    rows = []
    for row in joined.rows:
        texts = {"set": row.set, "model": _model(row), "method": row.method, "seeds": " ".join(map(str, row.seeds))}
        labels = tuple(texts[name] for name, is_shown in columns.items() if is_shown)
        figures = [figure_of(row.measures.get(name)) for name in joined.measures]
        figures += [PrintedNumber(NOTHING if row.published else count(row)) for count in counts.values()]
        rows.append(PrintedRow(labels, tuple(figures), published=row.published))
    shown = tuple(name for name, is_shown in columns.items() if is_shown)
    return PrintedTable("", shown, (*joined.measures, *counts), tuple(rows), _notes(joined, INTERVALS))


def _by_measure(joined: JoinedTable) -> PrintedTable:
    """Returns a row for each measure, a column for each entrant."""
    turned = _by_entrant(joined)
    names = [", ".join(filter(None, (row.set, _model(row), row.method))) for row in joined.rows]
    rows = [
        PrintedRow((head,), tuple(row.figures[at] for row in turned.rows), apart=at == len(joined.measures))
        for at, head in enumerate(turned.heads)
    ]
    return PrintedTable("", ("measure",), tuple(names), tuple(rows), turned.notes)


def _by_set(joined: JoinedTable, measure: str, *, last: bool) -> PrintedTable:
    """Returns a row for each model and method, a column for each set that has the measure, as papers print it."""
    sets = list(dict.fromkeys(row.set for row in joined.rows if measure in row.measures))
    found: dict[tuple[str, str, bool], dict[str, Estimate]] = {}
    for row in joined.rows:
        if measure in row.measures:
            found.setdefault((_model(row), row.method, row.published), {})[row.set] = row.measures[measure]
    methods = any(method for _, method, _ in found)
    rows = [
        PrintedRow(
            (model, *([method] if methods else [])),
            (
                *(figure_of(means.get(name)) for name in sets),
                *([PrintedNumber(_average(means, sets))] if len(sets) > 1 else []),
            ),
            published,
        )
        for (model, method, published), means in found.items()
    ]
    labels = ("model", *(["method"] if methods else []))
    heads = (*sets, *(["average"] if len(sets) > 1 else []))
    return PrintedTable(measure, labels, heads, tuple(rows), _notes(joined, AVERAGE) if last else ())


def _average(means: dict[str, Estimate], sets: Sequence[str]) -> str:
    """Returns the mean over the sets; nothing where one is missing."""
    there = [one.mean for one in means.values() if one.mean is not None]
    return number(sum(there) / len(sets)) if len(there) == len(sets) else NOTHING


def _counts(joined: JoinedTable) -> dict[str, Callable[[JoinedRow], str]]:
    """Returns the columns of items, calls and costs, without those that are empty."""
    found: dict[str, Callable[[JoinedRow], str]] = {"n": lambda row: str(row.n), "failed": lambda row: str(row.failed)}
    if any(row.calls for row in joined.rows):
        found["calls"] = lambda row: number(row.calls, ",.1f")
    if any(row.shared for row in joined.rows):
        found["shared"] = lambda row: number(row.shared, ",.1f")
    if any(row.tokens for row in joined.rows):
        found["tokens"] = lambda row: tokens(row.tokens, row.calls)
    if any(row.cost is not None for row in joined.rows):
        found["cost"] = lambda row: number(row.cost, ".5f")
    if any(row.seconds >= _LEAST_SECONDS for row in joined.rows):
        found["s"] = lambda row: number(row.seconds, ".2f")
    return found
