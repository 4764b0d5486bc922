"""Tree-of-Reasoning's evaluation as a task of Inspect: `inspect eval polyclinic/tor -T cases=FILE --model direct/NAME`.

The evaluation is that of `polyclinic.evaluations.tor.evaluation`, one method and one model an evaluation. Precision,
recall and F1 are of a record, in percent; those over all records are quotients of the means of RIGHT, CHOSEN, WANTED.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import msgspec
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant
from inspect_ai.model import Model as InspectModel
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import Solver, TaskState, solver

from polyclinic.answering.outcome import Outcome, OutcomeEnd
from polyclinic.cases.shipped import shipped_path
from polyclinic.errors import BadInput
from polyclinic.evals.adapter import Tested, Told, averaged, scoring, solving, task_of
from polyclinic.evals.case_files import cases_of
from polyclinic.evals.exams import Settings, settings_by_name
from polyclinic.evals.methods import OUTCOME, chosen_with, outcome_of
from polyclinic.evals.questions import choices_of
from polyclinic.evaluations.tor.evaluation import choose_marks
from polyclinic.evaluations.tor.inpatients import Inpatient, read_inpatients
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.methods.table import Answering, answering
from polyclinic.methods.tree_of_reasoning import MeetingOutcome
from polyclinic.questions.shown import show

VERSION = 1
"""Results of one version can be compared; it changes with prompts, records and how evidence is looked up."""

METRICS = ("F1", "PRECISION", "RECALL", "RIGHT", "CHOSEN", "WANTED", "UNSUPPORTED")


class _Ready(NamedTuple):
    """A method with the model under test."""

    tested: Tested
    put: Answering


@lru_cache(maxsize=8)
def _patients(cases: str, layout: str | None) -> dict[str, Inpatient]:
    cases_of(cases, layout=layout)  # as for every task: a file with cases, each id once
    return {one.id: one for one in read_inpatients(shipped_path(cases), read_knowledge(), layout=layout).inpatients}


@solver
def diagnosing(
    *,
    cases: str = "inpatients",
    layout: str | None = None,
    method: str = "tree_of_reasoning",
    settings: Settings = None,
    seed: int = 0,
) -> Solver:
    """Puts each record to a method, with the model under test. Arguments as `tor`."""
    patients = _patients(cases, layout)
    chosen = chosen_with(method, settings_by_name(settings))
    records = {patient.id: patient.record for patient in patients.values()}

    def ready(model: InspectModel) -> _Ready:
        tested = Tested(model)
        return _Ready(tested, answering(chosen, lambda _: tested, records=records, seed=seed))

    async def play(patient: Inpatient, who: _Ready, state: TaskState) -> Told:
        async with who.tested:
            outcome = await who.put(patient.question)
        state.store.set(OUTCOME, msgspec.to_builtins(outcome, order="deterministic"))
        if outcome.end is OutcomeEnd.FAILED:
            return Told("", outcome.problem)
        said = f"{outcome.rationale}\n\nANSWER: {', '.join(sorted(outcome.answers))}" if outcome.answers else ""
        state.messages.append(ChatMessageAssistant(content=said or f"({outcome.end}: {outcome.problem})"))
        return Told(said)

    return solving(patients, ready, play)


@scorer(metrics=averaged(METRICS))
def diagnoses(*, cases: str = "inpatients", layout: str | None = None) -> Scorer:
    """Scores which options were chosen of those that hold, and what the record does not bear. Arguments as `tor`.

    An answer that cannot be read chooses nothing. UNSUPPORTED is of methods that write trees.
    """
    patients = _patients(cases, layout)

    async def score(id: str, outcome: Outcome, target: Target) -> Score:
        marks = choose_marks(patients[id], outcome, read_knowledge())
        chosen, wanted = len(outcome.answers), len(marks.key)
        said = ", ".join(sorted(outcome.answers))
        return Score(
            value={
                "F1": 200.0 * marks.right / (chosen + wanted),
                "PRECISION": 100.0 * marks.right / chosen if chosen else math.nan,
                "RECALL": 100.0 * marks.right / wanted,
                "RIGHT": float(marks.right),
                "CHOSEN": float(chosen),
                "WANTED": float(wanted),
                "UNSUPPORTED": 100.0 * marks.unsupported / len(marks.evidence) if marks.evidence else math.nan,
            },
            answer=said or None,
            explanation=f"chosen: {said or 'nothing'}; hold: {', '.join(target)}",
            metadata={"end": str(outcome.end), "calls": outcome.calls, "round trips": outcome.round_trips},
        )

    return scoring(lambda state: _outcome(state.store.get(OUTCOME)), score)


def _outcome(kept: object) -> Outcome:
    try:
        return msgspec.convert(kept, MeetingOutcome) if isinstance(kept, dict) and "log" in kept else outcome_of(kept)
    except msgspec.ValidationError as error:
        raise BadInput(f"the outcome in the sample's store cannot be read: {error}") from None


@task
def tor(
    *,
    cases: str = "inpatients",
    layout: str | None = None,
    method: str = "tree_of_reasoning",
    settings: Settings = None,
    seed: int = 0,
) -> Task:
    """Which of several diagnoses hold, from inpatients' whole records.

    Args:
        cases: a case file with options; `inpatients` and `inpatients-zh` come with the package.
        layout: of the file; by default its first record tells.
        method: by its name on the command line; also `FILE.py:NAME`.
        settings: of the method: `KEY=VALUE`, several with commas between, or a mapping.
        seed: of what the method draws.

    Raises:
        UserError: the file, the method or a setting cannot be used.
    """
    return task_of(
        map(_sample, _patients(cases, layout).values()),
        cases,
        version=VERSION,
        solver=diagnosing(cases=cases, layout=layout, method=method, settings=settings, seed=seed),
        scorer=diagnoses(cases=cases, layout=layout),
    )


def _sample(patient: Inpatient) -> Sample:
    choices = choices_of(patient.question)
    return Sample(
        id=patient.id,
        input=show(patient.question, options=choices is None),
        choices=choices,
        target=sorted(patient.key),
        metadata={"language": patient.question.language, "source": patient.case.source},
    )
