"""Joined results and their differences in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from polyclinic.results.comparing import ResultsComparison
from polyclinic.results.joining import JoinedTable
from polyclinic.results.printed import PrintedTable, TableColumns, columns_of, differences, grouped, printed
from polyclinic.terminal.figures import NOTHING, ShownFigure, only_value
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import table

_FEW = 3  # measures up to which each interval has a column of its own; of more they are left to files


def show_joined(screen: Console, joined: JoinedTable, columns: TableColumns | None = None) -> None:
    """Prints the table, with the intervals where there are few measures; many measures of few entrants stand below."""
    tables = printed(joined, columns)
    groups = [joined] * len(tables) if columns is TableColumns.SETS else grouped(joined)
    for place, (one, group) in enumerate(zip(tables, groups, strict=True)):
        if place:
            screen.print()
        if columns_of(group, columns) is TableColumns.MEASURES:
            screen.print(beside(one, "-") if len(group.measures) <= _FEW else _within(one, ends=False))
        else:
            screen.print(_within(one))
        for note in one.notes:
            known = note in joined.notes
            screen.print(plain(note), style="yellow" if known else "dim", soft_wrap=True if known else None)


def show_compared(screen: Console, compared: ResultsComparison) -> None:
    """Prints differences, and what could have been found where nothing was."""
    told = differences(compared)
    screen.print(beside(told, " to "))
    for note in told.notes:
        screen.print(note, style="dim")


def beside(told: PrintedTable, between: str) -> Table:
    """Returns a table in which intervals have columns of their own."""
    heads = [head for place, name in enumerate(told.heads) for head in _heads(name, place in told.spans)]
    shown = table(told.title or None, (*told.labels, *heads), left=len(told.labels))
    for row in told.rows:
        cells: list[str] = []
        for place, one in enumerate(row.figures):
            parts = {"low": only_value(one.low), "high": only_value(one.high)}
            ends = ShownFigure(f"{one.low}{between}{one.high}", parts) if one.low else NOTHING
            cells += [one.text, ends] if place in told.spans else [one.text]
        shown.add_row(*(Text(plain(name)) for name in row.labels), *cells, style="italic" if row.published else None)
    return shown


def _heads(name: str, spans: bool) -> tuple[str, ...]:
    return (name, "95 % interval") if spans else (name,)


def _within(told: PrintedTable, *, ends: bool = True) -> Table:
    """Returns a table in which intervals stand beside their numbers, or are left out."""
    shown = table(told.title or None, (*told.labels, *told.heads), left=len(told.labels))
    for row in told.rows:
        if row.apart:
            shown.add_section()
        cells = (one.shown(ends=ends) for one in row.figures)
        shown.add_row(*(Text(plain(name)) for name in row.labels), *cells, style="italic" if row.published else None)
    return shown
