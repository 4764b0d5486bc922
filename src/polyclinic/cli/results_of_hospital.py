"""`polyclinic results compare` of the hospital: two runs with the same patients, held against one another."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from polyclinic.cli.results_tables import beside
from polyclinic.cli.results_writing import write_tables
from polyclinic.hospital.record.comparison import PairedBy, RunComparison, compare_runs
from polyclinic.results.export import TableLayout
from polyclinic.results.printed import PrintedNumber, PrintedRow, PrintedTable, difference_figure
from polyclinic.terminal.figures import number
from polyclinic.terminal.screen import console, plain, print_json
from polyclinic.terminal.tables import p_value

_TITLES: dict[PairedBy, str] = {
    "patients": "patient by patient: illnesses with which they came to both",
    "days": "day by day",
    "runs": "run by run: means of the patients of each seed",
}
_HOW = (
    "means over pairs that have the measure in both; intervals by bootstrap over residents, days or runs, p by turning "
    "signs, adjusted over the measures of a table by Holm"
)


def compare_hospital(
    first: Path, second: Path, *, json: bool = False, to: TableLayout | None = None, out: Path | None = None
) -> None:
    """Prints by how much the second is above the first, with intervals and p values that count how many were asked."""
    compared = compare_runs(first, second)
    if to is not None or out is not None:
        write_tables(_tables(compared), compared.as_rows(), to, out)
    elif json:
        print_json(compared)
    else:
        _show(console(), compared)


def _show(screen: Console, compared: RunComparison) -> None:
    seeds = ", ".join(map(str, compared.seeds))
    screen.print(plain(f"1: {compared.first}\n2: {compared.second}"), style="bold", soft_wrap=True)
    alone = f"{compared.only_first:,} only in 1, {compared.only_second:,} only in 2"
    why = (
        ": with the other their residents were ill already, or dead"
        if compared.only_first + compared.only_second
        else ""
    )
    screen.print(f"seed {seeds}: {compared.onsets:,} onsets are the same in both; {alone}{why}")
    for name, (one, other) in compared.differs.items():
        screen.print(plain(f"{name}: {one} → {other}"), soft_wrap=True)
    if not compared.differs:
        screen.print("begun alike: what differs comes from versions of the package, or of models", style="yellow")
    for told in _tables(compared):
        screen.print()
        screen.print(beside(told, " to "))
    screen.print(_HOW, style="dim")


def _tables(compared: RunComparison) -> list[PrintedTable]:
    """Returns a table for each way in which measures are paired, with what is to be said below the last."""
    tables = []
    for by, title in _TITLES.items():
        rows = [
            PrintedRow(
                (one.name,),
                (
                    PrintedNumber(number(one.first)),
                    PrintedNumber(number(one.second)),
                    difference_figure(one.difference),
                    PrintedNumber(p_value(one.p_holm)),
                    PrintedNumber(number(one.difference.n, ",")),
                ),
            )
            for one in compared.measures
            if one.by == by
        ]
        if rows:
            heads = ("1", "2", "2 − 1", "p (Holm)", "pairs")
            tables.append(PrintedTable(title, ("",), heads, tuple(rows)))
    tables[-1:] = [one._replace(notes=(_HOW,)) for one in tables[-1:]]
    return tables
