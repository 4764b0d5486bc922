"""An evaluation of simulated patients: how well they understand doctors, on labelled questions or recorded turns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Console

from polyclinic.errors import BadInput, UserError
from polyclinic.evaluations.evaluation import Evaluation, Opened, Plan, Setup, Work
from polyclinic.evaluations.measuring import Value, item_row
from polyclinic.evaluations.patient_simulator.evaluation import (
    EFFECT,
    LabelledCase,
    LabelledReply,
    RecordedResult,
    SimulatorPlays,
    SimulatorResult,
    StateAgreement,
    TurnAgreement,
    kind_of,
    patient_simulator,
    read_labelled,
    read_recorded,
    recorded_turns,
    replies,
)
from polyclinic.evaluations.samples import ItemSample, UnderTest
from polyclinic.metrics.dialogue import LeftOut
from polyclinic.metrics.patient_replies import PATIENT_METRICS, score_reply
from polyclinic.models.ledger import KeptCall
from polyclinic.protocols.papers import Settings
from polyclinic.results.folder import ItemMeasure, ItemRow, grouped
from polyclinic.run.options import FILE, BatchOption, CaseOptions, Patient
from polyclinic.run.output import Output, short_names
from polyclinic.statistics.agreement import Agreement
from polyclinic.terminal.figures import ShownFigure, low_to_high, number
from polyclinic.terminal.tables import Column, counted, crossed, show_problems, table, table_of

STATES, KIND = "states", "kind"

LABELLED_MEASURES = [ItemMeasure(name=name, share=False) for name in (STATES, *PATIENT_METRICS)]
"""Means over questions: how often the states agree with the labels, and the six metrics of what was replied."""

RECORDED_MEASURES = [ItemMeasure(name=name, share=False) for name in (STATES, KIND)]
"""Means over turns in the language of their case: states, and kinds of turns, as recorded."""


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
    files = [options.cases] if options.cases is not None else options.recorded or []
    if not files:
        raise UserError("nothing to put: give a labelled set, --cases FILE, or recorded dialogues, --recorded FILE...")
    if len(set(files)) < len(files):
        twice = next(file for file in files if files.count(file) > 1)
        raise BadInput("the file is named twice; each is one doctor", path=twice)
    patient = options.patient
    plays: SimulatorPlays[Any]
    report: Any
    if options.cases is not None:
        cases = read_labelled(options.cases)
        plays, report = patient_simulator(cases, seed=setup.seed), simulator_output
    else:
        read = {str(file): read_recorded(file) for file in files}
        cases = [dialogue for dialogues, _ in read.values() for dialogue in dialogues]
        left_out = {file: left for file, (_, left) in read.items()}
        plays, report = recorded_turns(cases), partial(recorded_output, left_out=left_out)

    async def prepare(opened: Opened) -> Work:
        return plays.by(
            {patient: opened.minds["rules"]},
            lambda result: _with_places(report(result, patient=patient, seed=setup.seed), cases, patient),
        )

    visits = CaseOptions(cases=str(files[0]), patient=patient)
    return Plan(prepare=prepare, visits=visits, in_person=False, doing="asking")


def _sets(rows: Iterable[LabelledCase | LabelledReply]) -> dict[str, str]:
    """Returns what files are called in results, by their paths."""
    files = [file for file in dict.fromkeys(row.file for row in rows) if file]
    return {"": "", **dict(zip(files, short_names(files), strict=True))}


def _with_places(output: Output, cases: Sequence[LabelledCase], patient: str) -> Output:
    """Returns the output, in which each call belongs to the row of its case."""
    sets = _sets(cases)
    rows = {case.place(one): (patient, sets[case.file], case.id) for case in cases for one in (None, *case.questions)}

    def asked_for(call: KeptCall) -> tuple[str, str, str]:
        return rows.get(call.item, (patient, "", ""))

    return replace(output, asked_for=asked_for)


def _rows(
    rows: Sequence[LabelledReply],
    values: Callable[[Sequence[LabelledReply]], Mapping[str, Value]],
    patient: str,
    seed: int,
) -> Iterator[ItemRow]:
    """Yields the means over each case's turns; a case of which no turn was answered has the name of the failure."""
    sets = _sets(rows)
    for (file, case), theirs in grouped(rows, lambda row: (row.file, row.case)).items():
        row = item_row(values(theirs), item=case, model=patient, seed=seed, set=sets[file])
        failure = "" if row.values else next((one.error for one in theirs if one.error), "")
        yield msgspec.structs.replace(row, end=failure)


def _labelled_values(rows: Sequence[LabelledReply]) -> Mapping[str, Value]:
    values = defaultdict[str, list[float]](list)
    values[STATES] = [100.0 * (row.state is row.question.state) for row in rows if not row.failed]
    for reply in replies(rows):
        for name, value in score_reply(reply).items():
            if name in PATIENT_METRICS:
                values[name].append(value)
    return {**values}


def _recorded_values(rows: Sequence[LabelledReply]) -> Mapping[str, Value]:
    same = [row for row in rows if not row.error and not row.other_language]
    return {
        STATES: [100.0 * (row.state is row.question.state) for row in same],
        KIND: [100.0 * (kind_of(row.state) == kind_of(row.question.state)) for row in same],
    }


def _failures(rows: Sequence[LabelledReply], plays: str) -> dict[str, Any]:
    failed = [row.error for row in rows if row.failed or (row.file and row.error)]
    first = f"the first: {failed[0]}" if failed else ""
    return {"failed": len(failed), "n": len(rows), "plays": plays, "failures": first}


def recorded_output(
    result: RecordedResult, *, patient: str, seed: int, left_out: Mapping[str, Sequence[LeftOut]]
) -> Output:
    """Returns the output of a patient on recorded turns; `left_out` has the records that are no dialogues by file."""
    missing = [{"file": file, **msgspec.to_builtins(one)} for file, theirs in left_out.items() for one in theirs]
    document = {
        "patient": patient,
        **agreement_document(result.all),
        "files": {file: agreement_document(one) for file, one in result.by_file.items()},
        "left_out": missing,
        "rows": [
            {
                "file": row.file,
                "case": row.case,
                "number": row.question.turn,
                "text": row.question.text,
                "recorded": row.question.state,
                **{name: getattr(row, name) for name in ("other_language", "state", "reply", "error")},
            }
            for row in result.rows
        ],
    }

    def show(screen: Console) -> None:
        # Several files are several doctors; beside one file, the row for all would say the same.
        which = dict(zip(short_names(list(result.by_file)), result.by_file.values(), strict=True))
        rows = which if len(which) == 1 else {**which, "all": result.all}
        columns: dict[str, Column] = {
            "always the commonest": ("constant", ".1f %"),
            "kind": ("kind", ".1f %"),
            "effective: recall, precision": _effective,
            "another language: n, agree": _other_language,
        }
        _show_agreement(screen, f"how {patient} takes recorded turns", "states as recorded", rows, columns)
        screen.print()
        _show_confusion(screen, "turns in their case's language: recorded state by row", result.all.states)
        failed = result.all.failed
        told = f": {', '.join(f'{name} {n}' for name, n in failed.items())}" if failed else ""
        screen.print(f"\n{counted(sum(failed.values()), 'turn')} failed, outside all figures{told}")
        show_problems(screen, ((f"left out: {one['problem']}", f"{one['file']}, {one['id']}") for one in missing))

    return Output(
        document=document,
        show=show,
        rows=[*_rows(result.rows, _recorded_values, patient, seed)],
        measures=RECORDED_MEASURES,
        **_failures(result.rows, "turns"),
    )


def agreement_document(one: TurnAgreement) -> dict[str, Any]:
    """Returns the figures as a document: agreement, kind and constant in percent, the rest fractions."""
    states = {"n": one.states.n, "agreement": one.states.percent, "kappa": one.states.kappa, "constant": one.constant}
    other = {"n": one.other_language.n, "agreement": one.other_language.percent}
    return msgspec.structs.asdict(one) | {"states": states, "other_language": other}


def _show_agreement(
    screen: Console,
    title: str,
    first: str,
    rows: Mapping[str, StateAgreement | TurnAgreement],
    more: Mapping[str, Column],
) -> None:
    """Prints how far states agree, by the name of each row, with `more` columns."""
    names = {id(one): name for name, one in rows.items()}
    columns: dict[str, Column] = {
        first: lambda one: names[id(one)],
        "n": "states.n",
        "agree": ("states.percent", ".1f %"),
        "95 % interval": lambda one: low_to_high(one.states.low, one.states.high, ".1f"),
        "kappa": ("states.kappa", ".3f"),
    }
    screen.print(table_of(title, rows.values(), {**columns, **more}))


def _effective(one: TurnAgreement) -> str:
    parts = {"recall": one.effective.recall, "precision": one.effective.precision}
    return ShownFigure(", ".join(map(number, parts.values())), parts)


def _other_language(one: TurnAgreement) -> str:
    n, percent = one.other_language.n, one.other_language.percent
    return ShownFigure(f"{n}, {number(percent, '.1f', ' %')}" if n else "0", {"n": n, "agree": percent})


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
                **{name: getattr(row, name) for name in ("state", "reply", "error")},
            }
            for row in result.rows
        ],
    }
    return Output(
        document=document,
        show=lambda screen: _show_tables(screen, result, patient),
        written="Summary: {}",
        rows=[*_rows(result.rows, _labelled_values, patient, seed)],
        measures=LABELLED_MEASURES,
        **_failures(result.rows, "questions"),
    )


def _show_tables(screen: Console, result: SimulatorResult, patient: str) -> None:
    """Prints agreement, confusion, and the six metrics beside those of people."""
    which = {"all": result.all_states, f"meant as {' or '.join(key + '*' for key in EFFECT)}": result.effect}
    title, guess = "states that agree with people's labels", {"a guess": ("constant", ".1f %")}
    _show_agreement(screen, title, "questions", which, guess)
    screen.print("a guess: knows the kind of turn, and takes every specific one for ineffective", style="dim")
    screen.print(f"{result.all_states.failed} questions failed, outside all figures\n")
    _show_confusion(screen, "label by row", result.all_states.states)
    columns: dict[str, Column] = {
        "metric": str,
        patient: result.told.metrics.get,
        "people": result.people.metrics.get,
        "the set's own": result.recorded.metrics.get,
        "n": lambda name: result.told.metrics[name].n,
        "goes with people's": (lambda name: result.like_people[name].coefficient, "+.2f"),
    }
    screen.print(table_of("\nwhat it tells, mean ± se", result.told.metrics, columns))
    screen.print("goes with people's: Spearman's coefficient over the questions to which both replied", style="dim")
    for name, told in {patient: result.told, "people": result.people, "the set's own": result.recorded}.items():
        title = f"\n{name}: the same by the turns before the question (Figure 3a)"
        screen.print(crossed(title, told.by_turn, corner="turns"))


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


def _sample(item: LabelledCase) -> ItemSample:
    texts = "\n".join(one.text for one in item.questions)
    return ItemSample(
        f"{item.file}/{item.id}" if item.file else item.id, texts, [str(one.state) for one in item.questions]
    )


PATIENT_SIMULATOR: Evaluation[SimulatorOptions, Settings] = Evaluation(
    name="patient-simulator",
    options=SimulatorOptions,
    plan=plan,
    tested=UnderTest(option="patient", sample=_sample, defaults={"patient": "saps"}),
)
