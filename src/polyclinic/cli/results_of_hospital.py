"""`polyclinic results compare` of the hospital: two runs with the same patients, held against one another."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from polyclinic.hospital.record.comparison import PairedBy, RunComparison, compare_runs
from polyclinic.terminal.screen import console, plain, print_json
from polyclinic.terminal.tables import NOTHING, number, p_value, table

_TITLES: dict[PairedBy, str] = {
    "patients": "patient by patient: illnesses with which they came to both",
    "days": "day by day",
    "runs": "run by run: means of the patients of each seed",
}


def compare_hospital(first: Path, second: Path, *, json: bool = False) -> None:
    """Prints by how much the second is above the first, with intervals and p values that count how many were asked."""
    compared = compare_runs(first, second)
    if json:
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
    for by, title in _TITLES.items():
        measures = [one for one in compared.measures if one.by == by]
        if measures:
            shown = table(title, ("", "1", "2", "2 − 1", "95 % interval", "p (Holm)", "pairs"))
            for measured in measures:
                found = measured.difference
                span = NOTHING if found.low is None else f"{found.low:+.2f} to {found.high:+.2f}"
                shown.add_row(
                    measured.name,
                    number(measured.first),
                    number(measured.second),
                    number(found.mean, "+.2f"),
                    span,
                    p_value(measured.p_holm),
                    f"{found.n:,}",
                )
            screen.print()
            screen.print(shown)
    screen.print(
        "means over pairs that have the measure in both; intervals by bootstrap over residents, days or runs, p by "
        "turning signs, adjusted over the measures of a table by Holm",
        style="dim",
    )
