"""Joined results and their differences as tables for people: the terminal, a page, Markdown and LaTeX show the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec
from rich.console import Console

from polyclinic.results.folder import OwnCode, RunRecord
from polyclinic.results.joining import JoinedRow, JoinedTable, ResultsComparison
from polyclinic.statistics.uncertainty import Estimate
from polyclinic.terminal.figures import NOTHING, ShownFigure, money, number, with_ends
from polyclinic.terminal.tables import DETECTABLE, counted, difference_cells, table, tokens

_MANY_MEASURES = 5  # beyond which measures are rows, if there are no more entrants than columns have room for
_FEW_ENTRANTS = 5
_FEW = 3  # measures up to which the terminal shows intervals
_MARK = " (published)"

INTERVALS = (
    "intervals of 95 %, over cases: Wilson's of shares, of other numbers by bootstrap from 6 cases on; "
    "calls, tokens, s: an item"
)
SHARED = "shared: calls that other entrants of the run need too; they are in several rows, and once in the run's sum"
PUBLISHED = "(published): what the paper prints; nobody ran it here"
AVERAGE = "average: of the sets, each counting the same; intervals of 95 %, over cases"
COMPARED = (
    "item by item, over cases; p: McNemar's exact test of shares with one item a case, else by turning the signs of "
    "cases, exactly where the ways can be counted, as of shares, whole scores and below 20 cases, else by 10,000 ways "
    "drawn"
)


class TableColumns(StrEnum):
    """The columns of a joined table."""

    MEASURES = "measures"
    ENTRANTS = "entrants"
    SETS = "sets"


class PrintedTable(NamedTuple):
    """A table of texts.

    Attributes:
        rows: the cells; a number is followed by its interval, as in `52.00 [40.00, 60.00]`.
        left: how many columns are labels, which others may have named; the rest are numbers.
        ends: whether the terminal shows intervals; files always have them.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    notes: tuple[str, ...] = ()
    ends: bool = True


def show(screen: Console, tables: Iterable[PrintedTable]) -> None:
    """Prints tables and their notes."""
    for place, one in enumerate(tables):
        if place:
            screen.print()
        rows = one.rows if one.ends else (tuple(map(_without_ends, row)) for row in one.rows)
        screen.print(table(one.title or None, one.columns, rows, left=one.left))
        for note in one.notes:
            screen.print(note, style="dim")


def _without_ends(cell: str) -> str:
    return ShownFigure(cell.partition(" [")[0], cell.parts) if isinstance(cell, ShownFigure) else cell


def columns_of(joined: JoinedTable, wanted: TableColumns | None = None) -> TableColumns:
    """Returns the columns: those wanted, or else entrants if few of them have many measures."""
    turned = len(joined.measures) > _MANY_MEASURES and len(joined.rows) <= _FEW_ENTRANTS
    return wanted or (TableColumns.ENTRANTS if turned else TableColumns.MEASURES)


def printed(joined: JoinedTable, columns: TableColumns | None = None) -> list[PrintedTable]:
    """Returns a joined table as people read it, with its notes below the last.

    It is one table if all entrants have measures in common, else one for each group that has; with sets in the columns,
    one for each measure.
    """
    if columns is TableColumns.SETS:
        first, tables = AVERAGE, [_by_set(joined, measure) for measure in joined.measures]
    else:
        first, tables = INTERVALS, [_by_entrant(one, columns_of(one, columns)) for one in _grouped(joined)]
    notes = {SHARED: any(row.shared for row in joined.rows), PUBLISHED: any(row.published for row in joined.rows)}
    told = (first, *(note for note, holds in notes.items() if holds), *joined.notes)
    return [one._replace(notes=told if one is tables[-1] else ()) for one in tables]


def _grouped(joined: JoinedTable) -> list[JoinedTable]:
    """Returns the rows that have measures in common as a table each; a row without any is with others of its set."""
    groups: list[tuple[set[str], list[JoinedRow]]] = []
    for row in joined.rows:
        near = [one for one in groups if one[0] & row.measures.keys()]
        if not row.measures:
            near = [one for one in groups if any(other.set == row.set for other in one[1])]
        names = {*row.measures}.union(*(one[0] for one in near))
        rows = [other for one in near for other in one[1]]
        groups = [one for one in groups if one not in near] + [(names, [*rows, row])]
    if len(groups) < 2:
        return [joined]
    order = {id(row): place for place, row in enumerate(joined.rows)}
    groups.sort(key=lambda group: min(order[id(row)] for row in group[1]))
    return [
        msgspec.structs.replace(
            joined,
            rows=tuple(sorted(rows, key=lambda row: order[id(row)])),
            measures=tuple(name for name in joined.measures if name in names),
        )
        for names, rows in groups
    ]


def differences(compared: ResultsComparison) -> PrintedTable:
    """Returns comparisons as a table; a set or a measure that all rows share is in its title."""
    names = {name: {getattr(row, name) for row in compared.rows} for name in ("set", "measure")}
    title = ", ".join(next(iter(found)) for found in names.values() if len(found) == 1)
    labels = (*(name for name, found in names.items() if len(found) > 1), "first", "second")
    rows = []
    for row in compared.rows:
        one = row.difference
        _, _, *rest = difference_cells(one, row.p_holm)
        rows.append((*(getattr(row, name) for name in labels), with_ends(one.mean, one.low, one.high, "+.2f"), *rest))
    corrected = f"; corrected by Holm over all {len(rows)} rows" if len(rows) > 1 else ""
    columns = (*labels, "difference", "p", "p (Holm)", "n", "detectable")
    return PrintedTable(title, columns, tuple(rows), len(labels), (f"{COMPARED}{corrected}; {DETECTABLE}",))


def _figure(one: Estimate | None) -> str:
    return NOTHING if one is None else with_ends(one.mean, one.low, one.high)


def _model(row: JoinedRow) -> str:
    # Earlier versions kept the mark as a part of the name.
    return f"{row.model.removesuffix(_MARK)}{_MARK}".strip() if row.published else row.model


Columns = dict[str, tuple[Callable[[JoinedRow], object], Callable[[JoinedRow], str]]]
"""By name: the value for which a column is shown if any row has it, and the cell."""

_COUNTS: Columns = {
    "n": (lambda _: True, lambda row: str(row.n)),
    "failed": (lambda _: True, lambda row: str(row.failed)),
    "calls": (lambda row: row.calls, lambda row: number(row.calls, ",.1f")),
    "shared": (lambda row: row.shared, lambda row: number(row.shared, ",.1f")),
    "tokens": (lambda row: row.tokens, lambda row: tokens(row.tokens, row.calls)),
    "cost": (lambda row: row.cost is not None, lambda row: money(row.cost)),
    "s": (lambda row: row.seconds >= 0.005, lambda row: number(row.seconds)),
}
_LABELS: Columns = {
    "set": (lambda _: True, lambda row: row.set),
    "model": (lambda _: True, _model),
    "method": (lambda row: row.method, lambda row: row.method),
    "seeds": (lambda row: row.seeds[1:], lambda row: " ".join(map(str, row.seeds))),
}


def _by_entrant(joined: JoinedTable, columns: TableColumns) -> PrintedTable:
    """Returns a row for each entrant, or a column."""
    labels, counts = (
        {name: cell for name, (shown, cell) in table.items() if any(map(shown, joined.rows))}
        for table in (_LABELS, _COUNTS)
    )
    if len({row.seeds for row in joined.rows if not row.published}) > 1:
        labels["seeds"] = _LABELS["seeds"][1]
    rows = []
    for row in joined.rows:
        figures = [_figure(row.measures.get(name)) for name in joined.measures]
        figures += [NOTHING if row.published else cell(row) for cell in counts.values()]
        rows.append((*(cell(row) for cell in labels.values()), *figures))
    heads = (*joined.measures, *counts)
    if columns is TableColumns.MEASURES:
        return PrintedTable("", (*labels, *heads), tuple(rows), len(labels), ends=len(joined.measures) <= _FEW)
    names = (", ".join(filter(None, (row.set, _model(row), row.method))) for row in joined.rows)
    turned = zip(heads, *(row[len(labels) :] for row in rows), strict=True)
    return PrintedTable("", ("measure", *names), tuple(turned))


def _by_set(joined: JoinedTable, measure: str) -> PrintedTable:
    """Returns a row for each model and method, a column for each set that has the measure, as papers print it."""
    having = [row for row in joined.rows if measure in row.measures]
    sets = list(dict.fromkeys(row.set for row in having))
    found: dict[tuple[str, ...], dict[str, Estimate]] = {}
    with_method = any(row.method for row in having)
    for row in having:
        found.setdefault((_model(row), row.method)[: 1 + with_method], {})[row.set] = row.measures[measure]
    rows = []
    for names, of_names in found.items():
        means = [one.mean for one in of_names.values() if one.mean is not None]
        average = number(sum(means) / len(sets)) if len(means) == len(sets) else NOTHING
        rows.append((*names, *(_figure(of_names.get(name)) for name in sets), average))
    columns = ("model", *["method"] * with_method, *sets, "average")
    if len(sets) < 2:  # whose average is itself
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return PrintedTable(measure, columns, tuple(rows), 1 + with_method)


_LONGEST = 80  # letters of a value that is shown


def record_facts(record: RunRecord) -> dict[str, str]:
    """Returns the facts of a run by name: its command, versions, options, data and models."""
    asked: dict[str, list[str]] = {}
    for one in record.models:
        how = ", ".join(f"{name} {value}" for name, value in one.parameters.items())
        at = f" at {', '.join(one.base_url)}" if one.base_url else ""
        asked.setdefault(f"{one.name}{at}{f' ({how})' if how else ''}", []).append(one.role)
    facts = {
        "command": " ".join(["polyclinic", *record.command]) if record.command else record.kind,
        "stopped" if record.stopped else "finished": ", ".join(filter(None, (record.finished, record.stopped))),
        "seed": str(record.seed),
        "versions": ", ".join(f"{name} {version}" for name, version in record.versions.items()),
        "options": _options(record.configuration),
        "data": "; ".join(f"{one.file} (SHA-256 {one.sha256})" for one in record.data),
        "code": "; ".join(_code(one) for one in record.code),
        "cases": "; ".join(map(str, record.cases)),
        "models": "; ".join(f"{name} as {', '.join(roles)}" for name, roles in asked.items()),
        "calls": _calls(record),
        "other than in the paper": "; ".join(record.departures),
    }
    return {name: text for name, text in facts.items() if text}


def _code(own: OwnCode) -> str:
    said = (own.package, f"SHA-256 {own.sha256[:12]}…" if own.sha256 else "")
    return f"{own.name} ({', '.join(filter(None, said))})"


def _calls(record: RunRecord) -> str:
    """Returns what all calls of the run came to, each counted once."""
    calls, used = sum(one.calls for one in record.calls), sum(one.tokens_in + one.tokens_out for one in record.calls)
    costs, unpriced = costs_of(record)
    replayed = sum(one.replayed for one in record.calls)
    whose = "asked by the parts of --on, or earlier" if "--on" in record.command else "which cost nothing now"
    kept = f"{replayed:,} of them answered from a journal, {whose}" if replayed else ""
    cost = f"cost {money(costs, unpriced)}" if costs is not None else ""
    cost += f", without {counted(unpriced, 'call')} that took tokens without a price" if cost and unpriced else ""
    told = (f"{calls:,} in all", kept, f"{used:,} tokens" if used else "", cost)
    return ", ".join(filter(None, told)) if calls else ""


def costs_of(record: RunRecord) -> tuple[float | None, int]:
    """Returns what all calls of the run cost, and how many took tokens of which nobody knows what they cost."""
    costs = [one.cost for one in record.calls if one.cost is not None]
    return (sum(costs) if costs else None), sum(one.unpriced for one in record.calls)


_NO_OPTIONS = ("setup", "made_of", "api_key_env", "traces", "lookahead")
"""Keys of a configuration that hold options, or that no answer depends on."""


def _options(configuration: Mapping[str, Any]) -> str:
    """Returns options and values in one line; of long values the names alone."""
    short, long = list[str](), list[str]()
    for name, value in {**configuration.get("setup", {}), **configuration}.items():
        if name in _NO_OPTIONS or value is None or value is False or value in ("", [], {}):
            continue
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        if isinstance(value, Mapping) or len(text) > _LONGEST:
            long.append(name)
        else:
            short.append(f"{name} {text}")
    return ", ".join(short) + (f"; in the folder's results.json also {', '.join(long)}" if long else "")
