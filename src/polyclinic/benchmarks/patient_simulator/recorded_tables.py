"""How a patient took recorded turns, as tables and as a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from polyclinic.benchmarks.benchmark import Output
from polyclinic.benchmarks.patient_simulator.items import RECORDED_MEASURES, dialogue_asked, recorded_rows
from polyclinic.benchmarks.patient_simulator.recorded import RecordedResult, TurnAgreement
from polyclinic.metrics.dialogue import LeftOut
from polyclinic.terminal.figures import ShownFigure, low_to_high, number
from polyclinic.terminal.tables import counted, show_problems, table


def recorded_output(
    result: RecordedResult, *, patient: str, left_out: Mapping[str, Sequence[LeftOut]], seed: int
) -> Output:
    """Returns what a user gets of a patient's mind on recorded turns; records that are no dialogues by their file."""
    missing = [{"file": file, **msgspec.to_builtins(one)} for file, theirs in left_out.items() for one in theirs]
    document = {
        "patient": patient,
        **agreement_document(result.all),
        "files": {file: agreement_document(one) for file, one in result.by_file.items()},
        "left_out": missing,
        "rows": [msgspec.to_builtins(row) for row in result.rows],
    }

    def show(screen: Console) -> None:
        _show(screen, result, patient)
        show_problems(screen, ((f"left out: {one['problem']}", f"{one['file']}, {one['id']}") for one in missing))

    sets = dict(zip(result.by_file, short_names(list(result.by_file)), strict=True))
    return Output(
        document=document,
        show=show,
        rows=[*recorded_rows(result.rows, patient, sets, seed=seed)],
        measures=RECORDED_MEASURES,
        asked_for=lambda call: (patient, *dialogue_asked(call.item, sets)),
    )


def agreement_document(one: TurnAgreement) -> dict[str, Any]:
    """Returns the figures as a document: agreement, kind and constant in percent, the rest fractions."""
    return {
        "states": {
            "n": one.states.n,
            "agreement": one.states.percent,
            "kappa": one.states.kappa,
            "constant": one.constant,
        },
        "kind": one.kind,
        "effective": msgspec.to_builtins(one.effective),
        "by_state": {state.value: msgspec.to_builtins(recall) for state, recall in one.by_state.items()},
        "other_language": {"n": one.other_language.n, "agreement": one.other_language.percent},
        "failed": one.failed,
    }


def _show(screen: Console, result: RecordedResult, patient: str) -> None:
    """Prints the agreement by file and over all, and the states recorded beside those taken."""
    shown = table(f"how {patient} takes recorded turns", ("states as recorded", *_COLUMNS))
    # Several files are several doctors; beside one file, the row for all would say the same.
    which = dict(zip(short_names(list(result.by_file)), result.by_file.values(), strict=True))
    for name, one in (which if len(which) == 1 else {**which, "all": result.all}).items():
        shown.add_row(name, *_cells(one))
    screen.print(shown)
    screen.print("\nturns in their case's language: recorded state by row, patient's state by column")
    screen.print(_confusion(result.all))
    failed = result.all.failed
    told = f": {', '.join(f'{name} {n}' for name, n in failed.items())}" if failed else ""
    screen.print(f"\n{counted(sum(failed.values()), 'turn')} failed, outside all figures{told}")


_COLUMNS = (
    "n",
    "agree",
    "95 % interval",
    "kappa",
    "always the commonest",
    "kind",
    "effective: recall, precision",
    "another language: n, agree",
)


def _cells(one: TurnAgreement) -> tuple[str, ...]:
    states, effective, other = one.states, one.effective, one.other_language
    return (
        str(states.n),
        number(states.percent, ".1f", " %"),
        low_to_high(states.low, states.high, ".1f"),
        number(states.kappa, ".3f"),
        number(one.constant, ".1f", " %"),
        number(one.kind, ".1f", " %"),
        ShownFigure(
            f"{number(effective.recall)}, {number(effective.precision)}",
            {"recall": effective.recall, "precision": effective.precision},
        ),
        ShownFigure(
            f"{other.n}, {number(other.percent, '.1f', ' %')}" if other.n else "0",
            {"n": other.n, "agree": other.percent},
        ),
    )


def _confusion(one: TurnAgreement) -> Table:
    matrix = one.states.confusion
    used = [i for i in range(len(matrix)) if any(row[i] for row in matrix)]
    shown = table(None, ("", "n", "found", *(str(one.states.labels[i]) for i in used)))
    for state, recall in one.by_state.items():
        row = matrix[one.states.labels.index(state)]
        shown.add_row(state, str(recall.n), number(recall.recall), *(str(row[i] or "·") for i in used))
    return shown


def short_names(files: Sequence[str]) -> list[str]:
    """Returns names by which files are told apart: their last parts, as many as are needed, without the ending."""
    paths = [Path(file).with_suffix("").parts for file in files]
    for parts in range(1, max(map(len, paths), default=1) + 1):
        names = ["/".join(path[-parts:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return list(files)
