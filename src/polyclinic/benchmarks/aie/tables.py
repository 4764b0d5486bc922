"""What came of AIE, as tables, as a document, and as files."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from polyclinic.benchmarks.aie.distractors import WRONG_OPTIONS
from polyclinic.benchmarks.aie.evaluation import AieResult
from polyclinic.benchmarks.aie.items import aie_measures, aie_rows
from polyclinic.benchmarks.aie.judging_tables import show_correlations, show_judgements
from polyclinic.benchmarks.aie.made_distractors import MadeOptions
from polyclinic.benchmarks.aie.results import MCQE, BySource, DoctorResult
from polyclinic.benchmarks.aie.score_tables import show_compared, show_left_out
from polyclinic.benchmarks.aie.truncation import ByLength
from polyclinic.benchmarks.benchmark import Output, file_names, first_failure
from polyclinic.events import End
from polyclinic.terminal.figures import ShownFigure, number
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import counted, mean_and_error, table

_TURNS_SHOWN = 4  # Doctors whose turns are shown; all are in --json.
_HAD_IT_ENDED = "had the dialogue ended with this turn: DIAGNOSIS, where it was asked for, and COVERAGE"
_MADE = ("made", "dropped", "filled", "alone", "asked")
_SOURCES_SHOWN = 12  # Generated cases have a source each; a table of them says nothing.


def aie_output(
    result: AieResult, *, protocol: str, cases: str, patient: str, seed: int, made: MadeOptions | None = None
) -> Output:
    """Returns what a user gets of an evaluation that was held by this protocol, with this patient.

    `made` says what came of making options by a model; None where nobody did.
    """

    def show(screen: Console) -> None:
        show_evaluation(screen, result)
        if made is not None:
            _show_made(screen, made)
        screen.print(f"protocol: {protocol}; patient: {patient}; seed: {seed}")

    visits = [visit for one in result.doctors for visit in one.visits]
    # What is written is a format, and the name of a file is no part of that.
    named = shlex.quote(cases).replace("{", "{{").replace("}", "}}")
    names = file_names(one.name for one in result.doctors)
    return Output(
        document={
            "protocol": protocol,
            "patient": patient,
            "doctors": [_document(one) for one in result.doctors],
            "options_made": None if made is None else {name: getattr(made, name) for name in _MADE},
            "comparisons": result.comparisons,
            "judgements": result.judgements,
            **({"people": result.people} if result.people else {}),
            "correlations": result.correlations,
        },
        show=show,
        files={f"{names[one.name]}.jsonl": (visit.trace.lines() for visit in one.visits) for one in result.doctors},
        written=f"Traces and summary: {{0}}. Score them again with: polyclinic score aie {{0}} --cases {named}",
        failed=sum(visit.end is End.FAILED for visit in visits),
        failures=first_failure(visit for visit in visits if visit.end is End.FAILED),
        n=len(visits),
        rows=[row for one in result.doctors for row in aie_rows(one, f"{names[one.name]}.jsonl", seed=seed)],
        measures=aie_measures(result.doctors[0]),
    )


def _document(one: DoctorResult) -> dict[str, Any]:
    return {
        "name": one.name,
        "metrics": one.summary.metrics,
        "second": one.summary.second,
        "mcqe": one.mcqe,
        "mcqe_failed": one.mcqe_failed,
        "by_length": {str(n): length for n, length in one.by_length.items()},
        "truncated": {str(n): length for n, length in one.truncated.items()},
        "by_turn": {str(turn): shares for turn, shares in one.by_turn.items()},
        "by_source": one.by_source,
        "passages": {"recalled": one.recalled, "near": one.near},
        "unreadable": one.summary.unreadable,
        "failed": one.summary.failed,
        "left_out": one.summary.left_out,
        "cases": [{"id": score.id, **score.values} for score in one.summary.scores],
    }


_COUNTS: dict[str, Callable[[DoctorResult], int]] = {
    "dialogues": lambda one: len(one.summary.scores),
    "failed, outside the means": lambda one: one.summary.failed,
    "no usable choice, counted as wrong": lambda one: one.summary.unreadable,
    "MCQE failed, outside its mean": lambda one: one.mcqe_failed,
}

_TRACKED: dict[str, Callable[[DoctorResult], int]] = {
    "passages that the patient's tracker gave": lambda one: one.recalled,
    "in other words, matched to the nearest": lambda one: one.near,
}


def show_evaluation(screen: Console, result: AieResult) -> None:
    """Prints the metrics side by side, the looks by length, turn and source, and the comparisons."""
    doctors = result.doctors
    shown = table("AIE, mean ± se", ("metric", *(one.name for one in doctors)))
    for metric in doctors[0].summary.metrics:
        shown.add_row(plain(metric), *(mean_and_error(one.summary.metrics[metric]) for one in doctors))
    shown.add_section()
    shown.add_row(MCQE, *(mean_and_error(one.mcqe) for one in doctors))
    for name, count in (_COUNTS | (_TRACKED if any(one.recalled for one in doctors) else {})).items():
        shown.add_row(name, *(str(count(one)) for one in doctors), style="dim")
    screen.print(shown, "")
    for one in doctors:
        show_left_out(screen, one.summary.left_out)
    _show_studies(screen, doctors)
    if len(doctors) > 1:
        show_compared(screen, result.comparisons)
    show_judgements(screen, result.judgements, result.people)
    if result.correlations is not None:
        show_correlations(screen, result.correlations)


def _show_made(screen: Console, made: MadeOptions) -> None:
    """Prints how options came about, and whether who reads them alone finds the right one."""
    alone = f"; from the options alone it took the right one in {made.alone} of {made.asked}" if made.asked else ""
    screen.print(
        f"options made by a model for {counted(made.made, 'case')}: {counted(made.dropped, 'name')} could not be used, "
        f"{counted(made.filled, 'option')} filled in from the knowledge{alone} (by chance one in {WRONG_OPTIONS + 1})"
    )


def _show_studies(screen: Console, doctors: Sequence[DoctorResult]) -> None:
    lengths = {str(n): n for n in sorted({n for one in doctors for n in one.truncated})}
    rows = {name: [one.truncated.get(n) for one in doctors] for name, n in lengths.items()}
    _show_pairs(screen, _HAD_IT_ENDED, doctors, rows)
    for one in doctors[:_TURNS_SHOWN]:
        _show_turns(screen, one)
    sources = dict.fromkeys(source for one in doctors for source in one.by_source)
    if 1 < len(sources) <= _SOURCES_SHOWN:
        by_source = {source: [one.by_source.get(source) for one in doctors] for source in sources}
        _show_pairs(screen, f"DIAGNOSIS and {MCQE} by source", doctors, by_source)


def _show_turns(screen: Console, doctor: DoctorResult) -> None:
    states = sorted({state for shares in doctor.by_turn.values() for state in shares})
    title = plain(f"{doctor.name}: what its turns were to the patient, in percent")
    screen.print(Text(title), style="italic")
    shown = table(None, ("turn", *states), left=0, called=title)
    for turn, shares in doctor.by_turn.items():
        shown.add_row(str(turn), *(number(shares[s], ".0f") if s in shares else "·" for s in states))
    screen.print(shown, "")


def _show_pairs(
    screen: Console,
    title: str,
    doctors: Sequence[DoctorResult],
    rows: Mapping[str, Sequence[ByLength | BySource | None]],
) -> None:
    def told(pair: ByLength | BySource | None) -> str:
        if pair is None:
            return ""
        first, second = (getattr(pair, field) for field in pair.__struct_fields__)
        told = "; ".join(mean_and_error(one) for one in (first, second) if one.n)
        parts = {
            " ".join(filter(None, (field, part))): value
            for field, one in zip(pair.__struct_fields__, (first, second), strict=True)
            for part, value in (("", one.mean), ("stderr", one.stderr))
        }
        return ShownFigure(f"{told} (n = {second.n})", {**parts, "n": second.n})

    screen.print(title, style="italic")
    named = ((plain(name), *map(told, pairs)) for name, pairs in rows.items())
    screen.print(table(None, ("", *(one.name for one in doctors)), named, called=title), "")
