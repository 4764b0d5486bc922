"""A model as the state-aware patient on labelled questions: `inspect eval polyclinic/patient_simulator -T cases=FILE`.

The same as `polyclinic eval patient-simulator --patient saps:MODEL` (Liao et al., arXiv:2403.08495, §3.1, §4.4.1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import msgspec
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser
from inspect_ai.model import Model as InspectModel
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import Solver, TaskState, solver

from polyclinic.errors import UserError
from polyclinic.evals.adapter import Tested, Told, averaged, scoring, solving, task_of
from polyclinic.evaluations.patient_simulator.evaluation import (
    LabelledCase,
    LabelledReply,
    beside_labels,
    put_questions,
    read_labelled,
    replies,
)
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.metrics.patient_replies import PATIENT_METRICS, score_reply
from polyclinic.players.language_model.mind import describe
from polyclinic.players.minds import Minds

ROW = "row"
"""Where in the sample's store lies what the patient made of the question."""

STATE = "STATE"
_MINDS = {"staged": "saps", "parallel": "saps-parallel"}


def _questions(cases: str) -> dict[str, LabelledCase]:
    """Returns every question of a labelled set as a case of its own, by sample id."""
    return {
        f"{case.id}/{question.turn}/{question.key}": msgspec.structs.replace(case, questions=(question,))
        for case in read_labelled(Path(cases))
        for question in case.questions
    }


def minds_of(knowledge: Knowledge, tracker: str, seed: int) -> Callable[[InspectModel], Minds]:
    """Returns what lets a model under test play the state-aware patient.

    Raises:
        UserError: there is no such tracker.
    """
    if tracker not in _MINDS:
        raise UserError(f"tracker={tracker}; allowed: {', '.join(_MINDS)}")

    def player(model: InspectModel) -> Minds:
        tested = Tested(model)
        name = f"{_MINDS[tracker]}:{tested.name}"
        return Minds(patient=name, knowledge=knowledge, seed=seed, models={tested.name: tested})

    return player


@solver
def patient(*, cases: str, tracker: str = "staged", seed: int = 0) -> Solver:
    """Lets the model under test play the patient to whom each question is put. Arguments as `patient_simulator`.

    Raises:
        UserError: the file or the tracker cannot be used.
    """
    player = minds_of(read_knowledge(), tracker, seed)

    async def play(asked: LabelledCase, minds: Minds, state: TaskState) -> Told:
        (row,) = beside_labels(asked, await put_questions(asked, minds))
        if row.failed:
            return Told("", f"the patient: {row.error}")
        told = f"[{row.state}] {row.reply}" if row.state is not None else f"The patient failed: {row.error}"
        state.messages = [
            ChatMessageSystem(content=f"Case {asked.id}. The patient: {describe(asked.record.presentation)}"),
            ChatMessageUser(content=asked.questions[0].text),
            ChatMessageAssistant(content=told),
        ]
        state.store.set(ROW, msgspec.to_builtins(row))
        return Told(row.reply)

    return solving(_questions(cases), player, play)


@scorer(metrics=averaged((STATE, *PATIENT_METRICS)))
def states_and_replies() -> Scorer:
    """Scores whether the state is the label, in percent, and those of the six metrics that speak of the reply.

    A model that answered, and whose answer cannot be used, has a wrong state.
    """

    async def score(id: str, row: LabelledReply, target: Target) -> Score:
        del id
        values = dict.fromkeys((STATE, *PATIENT_METRICS), math.nan)
        values[STATE] = 100.0 * (row.state == target.text)
        for reply in replies([row]):
            values |= {name: value for name, value in score_reply(reply).items() if name in values}
        told = f"labelled {target.text}, taken for {row.state or 'nothing'}{f': {row.error}' if row.error else ''}"
        return Score(value=values, answer=row.state, explanation=told)

    return scoring(lambda state: msgspec.convert(state.store.get(ROW), LabelledReply), score)


@task
def patient_simulator(*, cases: str, tracker: str = "staged", seed: int = 0) -> Task:
    """The model under test plays the state-aware patient; people have labelled what every question is.

    The cases are a labelled set in AIE's layout; the tracker is "staged", as in the paper, or "parallel".

    Raises:
        UserError: the file or the tracker cannot be used, or a part is not installed.
    """
    samples = [
        Sample(
            id=id, input=case.questions[0].text, target=case.questions[0].state, metadata={"key": case.questions[0].key}
        )
        for id, case in _questions(cases).items()
    ]
    return task_of(samples, cases, solver=patient(cases=cases, tracker=tracker, seed=seed), scorer=states_and_replies())
