"""Joined results and their differences, in the terminal and as files."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from polyclinic.errors import UserError
from polyclinic.files import check_writable, write_text
from polyclinic.hospital.record.comparison import PairedBy
from polyclinic.results.comparing import ResultsComparison
from polyclinic.results.export import TableLayout, as_latex, as_markdown, as_text, write_table
from polyclinic.results.joining import JoinedTable
from polyclinic.results.printed import (
    PrintedNumber,
    PrintedRow,
    PrintedTable,
    TableColumns,
    columns_of,
    difference_figure,
    differences,
    grouped,
    printed,
)
from polyclinic.terminal.figures import NOTHING, ShownFigure, number, only_value
from polyclinic.terminal.screen import console, plain
from polyclinic.terminal.tables import counted, p_value, table

_ENDINGS = {".md": TableLayout.MARKDOWN, ".tex": TableLayout.LATEX}
_ENDINGS |= {f".{one}": one for one in (TableLayout.CSV, TableLayout.JSON, TableLayout.PARQUET)}
_FEW = 3  # measures up to which each interval has a column of its own; of more they are left to files


def show_joined(screen: Console, joined: JoinedTable, columns: TableColumns | None = None) -> None:
    """Prints the table; intervals have columns of their own if there are few measures."""
    tables = printed(joined, columns)
    groups = [joined] * len(tables) if columns is TableColumns.SETS else grouped(joined)
    for place, (one, group) in enumerate(zip(tables, groups, strict=True)):
        if place:
            screen.print()
        by_measure = columns_of(group, columns) is TableColumns.MEASURES
        screen.print(
            as_table(one, between="-" if by_measure and len(group.measures) <= _FEW else "", ends=not by_measure)
        )
        for note in one.notes:
            known = note in joined.notes
            screen.print(plain(note), style="yellow" if known else "dim", soft_wrap=True if known else None)


def show_compared(screen: Console, compared: ResultsComparison) -> None:
    """Prints differences, and for those without one the smallest that could have been found."""
    shown = differences(compared)
    screen.print(as_table(shown, between=" to "))
    for note in shown.notes:
        screen.print(note, style="dim")


def as_table(printed: PrintedTable, *, between: str = "", ends: bool = True) -> Table:
    """Returns a table for the terminal.

    Args:
        printed: its rows.
        between: separates the ends of intervals, which then have columns of their own.
        ends: whether intervals are shown with their numbers otherwise.
    """
    heads: list[str] = []
    for place, name in enumerate(printed.heads):
        heads += [name, "95 % interval"] if between and place in printed.spans else [name]
    shown = table(printed.title or None, (*printed.labels, *heads), left=len(printed.labels))
    for row in printed.rows:
        if row.apart:
            shown.add_section()
        cells: list[str] = []
        for place, one in enumerate(row.figures):
            if not between:
                cells.append(one.shown(ends=ends))
                continue
            cells.append(one.text)
            if place in printed.spans:
                parts = {"low": only_value(one.low), "high": only_value(one.high)}
                cells.append(ShownFigure(f"{one.low}{between}{one.high}", parts) if one.low else NOTHING)
        shown.add_row(*(Text(plain(name)) for name in row.labels), *cells, style="italic" if row.published else None)
    return shown


def write_tables(
    tables: Sequence[PrintedTable],
    rows: Sequence[Mapping[str, Any]],
    to: TableLayout | None,
    out: Path | None,
    *,
    otherwise: TableLayout | None = None,
) -> None:
    """Writes tables as people read them where the layout is for people, and there are any; else plain rows.

    `otherwise` is the layout where neither `to` nor the name of the file says one.
    """
    layout = to or _ENDINGS.get("" if out is None else out.suffix.lower(), otherwise)
    if layout is None:
        raise UserError(f"{out}: its ending says no layout; name one with --format, or end it in {', '.join(_ENDINGS)}")
    if out is not None:
        check_writable(out)
    typeset = {TableLayout.MARKDOWN: as_markdown, TableLayout.LATEX: as_latex}.get(layout)
    if out is None:
        sys.stdout.write(as_text(rows, layout) if typeset is None or not tables else typeset(tables))
        return
    if typeset is None or not tables:
        write_table(out, rows, layout)
    else:
        write_text(out, typeset(tables))
    console().print(plain(f"{counted(len(rows), 'row')}: {out}"))


_TITLES: dict[PairedBy, str] = {
    "patients": "patient by patient: illnesses with which they came to both",
    "runs": "run by run: means of the patients of each seed",
}
_HOW = (
    "means over pairs that have the measure in both; intervals by bootstrap over residents or runs, p by turning "
    "signs, adjusted over the measures of a table by Holm"
)


def show_hospitals(screen: Console, compared: dict[str, Any]) -> None:
    """Prints by how much the second run is above the first, with intervals and adjusted p values."""
    seeds = ", ".join(map(str, compared["seeds"]))
    screen.print(plain(f"1: {compared['first']}\n2: {compared['second']}"), style="bold", soft_wrap=True)
    alone = f"{compared['only_first']:,} only in 1, {compared['only_second']:,} only in 2"
    why = (
        ": with the other their residents were ill already, or dead"
        if compared["only_first"] + compared["only_second"]
        else ""
    )
    screen.print(f"seed {seeds}: {compared['onsets']:,} onsets are the same in both; {alone}{why}")
    for name, (one, other) in compared["differs"].items():
        screen.print(plain(f"{name}: {one} → {other}"), soft_wrap=True)
    if not compared["differs"]:
        screen.print("begun alike: what differs comes from versions of the package, or of models", style="yellow")
    for told in hospital_tables(compared):
        screen.print()
        screen.print(as_table(told, between=" to "))
    screen.print(_HOW, style="dim")


def hospital_tables(compared: dict[str, Any]) -> list[PrintedTable]:
    """Returns a table for each way in which measures are paired, with what is to be said below the last."""
    tables = []
    for by, title in _TITLES.items():
        rows = [
            PrintedRow(
                (one["name"],),
                (
                    PrintedNumber(number(one["first"])),
                    PrintedNumber(number(one["second"])),
                    difference_figure(one["difference"]),
                    PrintedNumber(p_value(one["p_holm"])),
                    PrintedNumber(number(one["difference"].n, ",")),
                ),
            )
            for one in compared["measures"]
            if one["by"] == by
        ]
        if rows:
            heads = ("1", "2", "2 − 1", "p (Holm)", "pairs")
            tables.append(PrintedTable(title, ("",), heads, tuple(rows)))
    tables[-1:] = [one._replace(notes=(_HOW,)) for one in tables[-1:]]
    return tables
