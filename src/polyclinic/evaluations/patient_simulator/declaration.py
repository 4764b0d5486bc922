"""An evaluation of simulated patients: how well they understand doctors, on labelled questions or recorded turns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from polyclinic.errors import BadInput, UserError
from polyclinic.evaluations.drawing import MeasurePanel, panels
from polyclinic.evaluations.evaluation import Evaluation, Opened, Plan, Setup, Work
from polyclinic.evaluations.patient_simulator.evaluation import (
    EFFECT,
    OPENING,
    InstanceCorrelation,
    LabelledReply,
    SimulatorResult,
    StateAgreement,
    patient_simulator,
    read_labelled,
    replies,
)
from polyclinic.evaluations.patient_simulator.recorded import (
    Effective,
    RecordedResult,
    RecordedRow,
    TurnAgreement,
    kind_of,
    read_recorded,
    recorded_turns,
)
from polyclinic.metrics.dialogue import LeftOut
from polyclinic.metrics.patient_replies import PATIENT_METRICS, score_reply
from polyclinic.models.ledger import KeptCall
from polyclinic.protocols.papers import Settings
from polyclinic.results.folder import ItemMeasure, ItemRow, grouped, mean_of_parts
from polyclinic.run.options import FILE, BatchOption, CaseOptions, Patient
from polyclinic.run.output import Output, short_names
from polyclinic.statistics.agreement import Agreement
from polyclinic.terminal.figures import ShownFigure, low_to_high, number
from polyclinic.terminal.tables import counted, mean_and_error, show_problems, table, table_of

STATES, KIND = "states", "kind"

LABELLED_MEASURES = [ItemMeasure(name=name, share=False) for name in (STATES, *PATIENT_METRICS)]
"""Means over questions: how often the states agree with the labels, and the six metrics of what was replied."""

RECORDED_MEASURES = [ItemMeasure(name=name, share=False) for name in (STATES, KIND)]
"""Means over turns in the language of their case: states, and kinds of turns, as recorded."""


def labelled_rows(rows: Iterable[LabelledReply], patient: str, *, seed: int) -> Iterator[ItemRow]:
    """Yields the means over each case's questions, without those that no endpoint answered."""
    for case, theirs in grouped(rows, lambda row: row.case).items():
        parts = defaultdict[str, list[float]](list)
        parts[STATES] = [100.0 * (row.state is row.question.state) for row in theirs if not row.failed]
        for reply in replies(theirs):
            for name, value in score_reply(reply).items():
                if name in PATIENT_METRICS:
                    parts[name].append(value)
        values, weights = mean_of_parts(parts)
        end = "" if values else theirs[0].error
        yield ItemRow(item=case, values=values, weights=weights, model=patient, seed=seed, end=end)


def recorded_rows(
    rows: Iterable[RecordedRow], patient: str, sets: Mapping[str, str], *, seed: int
) -> Iterator[ItemRow]:
    """Yields the means over each dialogue's turns; `sets` are what the files are called."""
    for (file, case), theirs in grouped(rows, lambda row: (row.file, row.case)).items():
        same = [row for row in theirs if not row.error and not row.other_language]
        values, weights = mean_of_parts({
            STATES: [100.0 * (row.state is row.recorded) for row in same],
            KIND: [100.0 * (kind_of(row.state) == kind_of(row.recorded)) for row in same],
        })  # fmt: skip
        end = next((row.error for row in theirs if row.error), "") if not values else ""
        yield ItemRow(item=case, values=values, weights=weights, set=sets[file], model=patient, seed=seed, end=end)


def recorded_output(
    result: RecordedResult, *, patient: str, left_out: Mapping[str, Sequence[LeftOut]], seed: int
) -> Output:
    """Returns the output of a patient on recorded turns; `left_out` has the records that are no dialogues by file."""
    missing = [{"file": file, **msgspec.to_builtins(one)} for file, theirs in left_out.items() for one in theirs]
    document = {
        "patient": patient,
        **agreement_document(result.all),
        "files": {file: agreement_document(one) for file, one in result.by_file.items()},
        "left_out": missing,
        "rows": result.rows,
    }

    def show(screen: Console) -> None:
        _show(screen, result, patient)
        show_problems(screen, ((f"left out: {one['problem']}", f"{one['file']}, {one['id']}") for one in missing))

    sets = dict(zip(result.by_file, short_names(list(result.by_file)), strict=True))
    failed = [row.error for row in result.rows if row.error]

    def asked_for(call: KeptCall) -> tuple[str, str, str]:
        dialogue = call.item.rpartition("/")[0]  # of FILE/DIALOGUE/TURN
        file = next((file for file in sets if dialogue.startswith(f"{file}/")), "")
        return patient, sets.get(file, ""), dialogue.removeprefix(f"{file}/")

    return Output(
        document=document,
        show=show,
        failed=len(failed),
        n=len(result.rows),
        plays="turns",
        failures=f"the first: {failed[0]}" if failed else "",
        rows=[*recorded_rows(result.rows, patient, sets, seed=seed)],
        measures=RECORDED_MEASURES,
        asked_for=asked_for,
    )


def agreement_document(one: TurnAgreement) -> dict[str, Any]:
    """Returns the figures as a document: agreement, kind and constant in percent, the rest fractions."""
    states = {"n": one.states.n, "agreement": one.states.percent, "kappa": one.states.kappa, "constant": one.constant}
    other = {"n": one.other_language.n, "agreement": one.other_language.percent}
    return msgspec.structs.asdict(one) | {"states": states, "other_language": other}


def _show(screen: Console, result: RecordedResult, patient: str) -> None:
    """Prints the agreement by file and over all, and the recorded states beside those of the patient."""
    # Several files are several doctors; beside one file, the row for all would say the same.
    which = dict(zip(short_names(list(result.by_file)), result.by_file.values(), strict=True))
    rows = which if len(which) == 1 else {**which, "all": result.all}
    columns: dict[str, Callable[[tuple[str, TurnAgreement]], str]] = {
        "always the commonest": lambda row: number(row[1].constant, ".1f", " %"),
        "kind": lambda row: number(row[1].kind, ".1f", " %"),
        "effective: recall, precision": lambda row: _effective(row[1].effective),
        "another language: n, agree": lambda row: _other_language(row[1].other_language),
    }
    screen.print(_agreements(f"how {patient} takes recorded turns", "states as recorded", rows, columns))
    screen.print()
    _show_confusion(screen, "turns in their case's language: recorded state by row", result.all.states)
    failed = result.all.failed
    told = f": {', '.join(f'{name} {n}' for name, n in failed.items())}" if failed else ""
    screen.print(f"\n{counted(sum(failed.values()), 'turn')} failed, outside all figures{told}")


Agreed = TypeVar("Agreed", StateAgreement, TurnAgreement)


def _agreements(
    title: str, first: str, rows: Mapping[str, Agreed], more: Mapping[str, Callable[[tuple[str, Agreed]], str]]
) -> Table:
    """Returns a table of how far states agree, by the name of each row, with `more` columns."""
    columns: dict[str, Callable[[tuple[str, Agreed]], str]] = {
        first: lambda row: row[0],
        "n": lambda row: str(row[1].states.n),
        "agree": lambda row: number(row[1].states.percent, ".1f", " %"),
        "95 % interval": lambda row: low_to_high(row[1].states.low, row[1].states.high, ".1f"),
        "kappa": lambda row: number(row[1].states.kappa, ".3f"),
        **more,
    }
    return table_of(title, rows.items(), columns)


def _effective(one: Effective) -> str:
    parts = {"recall": one.recall, "precision": one.precision}
    return ShownFigure(f"{number(one.recall)}, {number(one.precision)}", parts)


def _other_language(one: Agreement) -> str:
    return ShownFigure(
        f"{one.n}, {number(one.percent, '.1f', ' %')}" if one.n else "0", {"n": one.n, "agree": one.percent}
    )


def figure_3a(result: SimulatorResult, *, patient: str) -> str:
    """Returns the six metrics, a panel each: means as bars, and their lines over the length of the dialogue."""
    who = {patient: result.told, "people": result.people, "the set's own": result.recorded}
    drawn = [
        MeasurePanel(
            metric,
            {name: mean for name, one in who.items() if (mean := one.metrics[metric].mean) is not None},
            {
                name: [(turn, mean) for turn, of in one.by_turn.items() if (mean := of[metric].mean) is not None]
                for name, one in who.items()
            },
        )
        for metric in PATIENT_METRICS
    ]
    return panels(
        drawn, across="turns before the question:", says="A patient's replies by the turns before them, percent"
    )


def simulator_output(result: SimulatorResult, *, patient: str, seed: int) -> Output:
    """Returns the output of a patient on labelled questions."""
    document = {
        "patient": patient,
        "questions": len(result.rows),
        **msgspec.structs.asdict(result.all_states),
        "effect": {"keys": EFFECT, "states": result.effect.states, "constant": result.effect.constant},
        "metrics": result.told.metrics,
        "human": result.people.metrics,
        "recorded": result.recorded.metrics,
        "like_people": result.like_people,
        "second": result.told.second,
        "by_turn": {str(turn): metrics for turn, metrics in result.told.by_turn.items()},
        "rows": [
            {
                "case": row.case,
                "key": row.question.key,
                "label": row.question.state,
                "state": row.state,
                "reply": row.reply,
                "error": row.error,
            }
            for row in result.rows
        ],
    }
    failed = [row.error for row in result.rows if row.failed]

    def asked_for(call: KeptCall) -> tuple[str, str, str]:
        case, _, last = call.item.rpartition("/")  # of CASE/opening, or CASE/LENGTH/KIND
        return patient, "", case if last == OPENING else case.rpartition("/")[0]

    return Output(
        document=document,
        show=lambda screen: _show_tables(screen, result, patient),
        files={"figure-3a.svg": [figure_3a(result, patient=patient)]},
        failed=len(failed),
        n=len(result.rows),
        plays="questions",
        failures=f"the first: {failed[0]}" if failed else "",
        written="Figure and summary: {}",
        rows=[*labelled_rows(result.rows, patient, seed=seed)],
        measures=LABELLED_MEASURES,
        asked_for=asked_for,
    )


def _show_tables(screen: Console, result: SimulatorResult, patient: str) -> None:
    """Prints agreement, confusion, and the six metrics beside those of people."""
    which = {"all": result.all_states, f"meant as {' or '.join(key + '*' for key in EFFECT)}": result.effect}
    title = "states that agree with people's labels"
    guess = {"a guess": lambda row: number(row[1].constant, ".1f", " %")}
    screen.print(_agreements(title, "questions", which, guess))
    screen.print("a guess: knows the kind of turn, and takes every specific one for ineffective", style="dim")
    screen.print(f"{result.all_states.failed} questions failed, outside all figures\n")
    _show_confusion(screen, "label by row", result.all_states.states)
    metrics: dict[str, Callable[[str], str]] = {
        "metric": str,
        patient: lambda name: mean_and_error(result.told.metrics[name]),
        "people": lambda name: mean_and_error(result.people.metrics[name]),
        "the set's own": lambda name: mean_and_error(result.recorded.metrics[name]),
        "n": lambda name: str(result.told.metrics[name].n),
        "goes with people's": lambda name: _coefficient(result.like_people.get(name)),
    }
    screen.print(table_of("\nwhat it tells, mean ± se", result.told.metrics, metrics))
    screen.print("goes with people's: Spearman's coefficient over the questions to which both replied", style="dim")


def _coefficient(one: InstanceCorrelation | None) -> str:
    return "" if one is None else number(one.coefficient, "+.2f")


def _show_confusion(screen: Console, title: str, states: Agreement) -> None:
    """Prints the matrix of states, with the number of each and the share that was found."""
    matrix = states.confusion
    used = [i for i, row in enumerate(matrix) if any(row) or states.unreadable[i] or any(other[i] for other in matrix)]
    shown = table(f"{title}, patient's state by column", ("", "n", "found", *(str(states.labels[i]) for i in used)))
    for i in used:
        n = sum(matrix[i]) + states.unreadable[i]
        found = number(matrix[i][i] / n if n else None)
        shown.add_row(str(states.labels[i]), str(n), found, *(str(matrix[i][j] or "·") for j in used))
    screen.print(shown)


Report = Callable[[Any], Output]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SimulatorOptions(BatchOption):
    """The options of the evaluation of simulated patients."""

    cases: Annotated[Path | None, FILE] = None
    """A labelled set in AIE's layout."""
    recorded: Annotated[list[Path] | None, Parameter(metavar="FILE...", consume_multiple=1)] = None
    """In place of --cases: dialogues in AIE's recorded layout, a file for each doctor; each turn of a doctor is put to
    the patient in its place of the dialogue."""
    patient: Patient = "rules"


def plan(options: SimulatorOptions, setup: Setup[Settings]) -> Plan:
    """Reads labelled questions, or recorded dialogues."""
    if options.cases is not None and options.recorded:
        raise UserError("--cases and --recorded were both given; labelled questions and recorded turns are put apart")
    patient = options.patient
    if options.cases is not None:
        plays, report = _labelled(options.cases, patient, setup.seed)
    elif options.recorded:
        plays, report = _recorded(options.recorded, patient, setup.seed)
    else:
        raise UserError("nothing to put: give a labelled set, --cases FILE, or recorded dialogues, --recorded FILE...")

    async def prepare(opened: Opened) -> Work:
        return plays.by({patient: opened.minds["rules"]}, report)

    visits = CaseOptions(cases=str(options.cases or (options.recorded or [])[0]), patient=patient)
    return Plan(prepare=prepare, visits=visits, in_person=False, doing="asking")


def _labelled(file: Path, patient: str, seed: int) -> tuple[Work, Report]:
    plays = patient_simulator(read_labelled(file), seed=seed)
    return plays, lambda result: simulator_output(result, patient=patient, seed=seed)


def _recorded(files: list[Path], patient: str, seed: int) -> tuple[Work, Report]:
    if len(set(files)) < len(files):
        twice = next(file for file in files if files.count(file) > 1)
        raise BadInput("the file is named twice; each is one doctor", path=twice)
    read = {str(file): read_recorded(file) for file in files}
    left_out = {file: one.left_out for file, one in read.items()}
    plays = recorded_turns([dialogue for one in read.values() for dialogue in one.dialogues])
    return plays, lambda result: recorded_output(result, patient=patient, left_out=left_out, seed=seed)


PATIENT_SIMULATOR: Evaluation[SimulatorOptions, Settings] = Evaluation(
    name="patient-simulator",
    options=SimulatorOptions,
    plan=plan,
)
