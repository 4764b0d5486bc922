"""What came of AIE, as tables, as a document, and as files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from polyclinic.benchmarks.aie.evaluation import Doctor, Evaluation
    from polyclinic.benchmarks.aie.studies import ByLength, BySource

_TURNS_SHOWN = 4  # Doctors whose turns are shown; all are in --json.
_SOURCES_SHOWN = 12  # Generated cases have a source each; a table of them says nothing.


def evaluation_document(evaluation: Evaluation) -> dict[str, Any]:
    """Returns what `--json` prints of an evaluation."""
    return {
        "doctors": [
            {
                "name": one.name,
                "metrics": one.summary.metrics,
                "second": one.summary.second,
                "mcqe": one.mcqe,
                "mcqe_failed": one.mcqe_failed,
                "by_length": {str(n): length for n, length in one.by_length.items()},
                "by_turn": {str(turn): shares for turn, shares in one.by_turn.items()},
                "by_source": one.by_source,
                "unreadable": one.summary.unreadable,
                "failed": one.summary.failed,
                "left_out": one.summary.left_out,
                "cases": [{"id": score.id, **score.values} for score in one.summary.scores],
            }
            for one in evaluation.doctors
        ],
        "comparisons": evaluation.comparisons,
    }


def write_evaluation(folder: Path, evaluation: Evaluation, document: dict[str, Any]) -> None:
    """Writes each doctor's traces and the summary into a folder."""
    import msgspec

    from polyclinic.files import write_text

    for one in evaluation.doctors:
        # A mind's name may hold strokes and colons; it must stay a file of this folder.
        name = re.sub(r"[^\w.-]+", "-", one.name).strip(".-")
        write_text(folder / f"{name}.jsonl", "".join(visit.trace.lines() for visit in one.visits))
    write_text(folder / "summary.json", msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n")


def show_evaluation(screen: Console, evaluation: Evaluation) -> None:
    """Prints the metrics side by side, the looks by length, turn and source, and the comparisons."""
    from rich.table import Table
    from rich.text import Text

    from polyclinic.benchmarks.aie.dialogue_tables import show_compared, show_left_out
    from polyclinic.terminal.screen import plain
    from polyclinic.terminal.tables import mean_and_error

    table = Table(show_edge=False, pad_edge=False, title="AIE, mean ± se", title_justify="left")
    table.add_column("metric")
    for one in evaluation.doctors:
        table.add_column(Text(plain(one.name)), justify="right")
    for metric in evaluation.doctors[0].summary.metrics:
        table.add_row(metric, *(mean_and_error(one.summary.metrics[metric]) for one in evaluation.doctors))
    table.add_section()
    table.add_row("MCQE", *(mean_and_error(one.mcqe) for one in evaluation.doctors))
    for name, count in _COUNTS.items():
        table.add_row(name, *(str(count(one)) for one in evaluation.doctors), style="dim")
    screen.print(table)
    screen.print()
    for one in evaluation.doctors:
        show_left_out(screen, one.summary.left_out)
    _show_studies(screen, evaluation)
    if len(evaluation.doctors) > 1:
        show_compared(screen, evaluation.comparisons)


_COUNTS: dict[str, Callable[[Doctor], int]] = {
    "dialogues": lambda one: len(one.summary.scores),
    "failed, outside the means": lambda one: one.summary.failed,
    "no usable choice, counted as wrong": lambda one: one.summary.unreadable,
    "MCQE failed, outside its mean": lambda one: one.mcqe_failed,
}


def _show_studies(screen: Console, evaluation: Evaluation) -> None:
    lengths = sorted({n for one in evaluation.doctors for n in one.by_length})
    _show_pairs(
        screen,
        "DIAGNOSIS and COVERAGE by the doctor's turns",
        evaluation,
        [(str(n), [one.by_length.get(n) for one in evaluation.doctors]) for n in lengths],
    )
    for one in evaluation.doctors[:_TURNS_SHOWN]:
        _show_turns(screen, one)
    sources = dict.fromkeys(source for one in evaluation.doctors for source in one.by_source)
    if len(sources) > 1 and len(sources) <= _SOURCES_SHOWN:
        _show_pairs(
            screen,
            "DIAGNOSIS and MCQE by source",
            evaluation,
            [(source, [one.by_source.get(source) for one in evaluation.doctors]) for source in sources],
        )


def _show_turns(screen: Console, doctor: Doctor) -> None:
    from rich.table import Table
    from rich.text import Text

    from polyclinic.terminal.screen import plain

    states = list(dict.fromkeys(state for shares in doctor.by_turn.values() for state in shares))
    title = Text(plain(f"{doctor.name}: what its turns were to the patient, in percent"))
    screen.print(title, style="italic")
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("turn", justify="right")
    for state in sorted(states):
        table.add_column(str(state), justify="right")
    for turn, shares in doctor.by_turn.items():
        table.add_row(str(turn), *(f"{shares[s]:.0f}" if s in shares else "·" for s in sorted(states)))
    screen.print(table)
    screen.print()


def _show_pairs(
    screen: Console, title: str, evaluation: Evaluation, rows: list[tuple[str, list[ByLength | BySource | None]]]
) -> None:
    from rich.table import Table
    from rich.text import Text

    from polyclinic.terminal.screen import plain
    from polyclinic.terminal.tables import mean_and_error

    def shown(pair: ByLength | BySource | None) -> str:
        if pair is None:
            return ""
        first, second = (getattr(pair, field) for field in pair.__struct_fields__)
        return f"{mean_and_error(first)}; {mean_and_error(second)} (n = {first.n})"

    screen.print(title, style="italic")
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("")
    for one in evaluation.doctors:
        table.add_column(Text(plain(one.name)), justify="right")
    for name, pairs in rows:
        table.add_row(Text(plain(name)), *map(shown, pairs))
    screen.print(table)
    screen.print()
