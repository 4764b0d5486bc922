"""A model as the state-aware patient on recorded dialogues: `inspect eval polyclinic/recorded_turns -T recorded=FILE`.

The same as `polyclinic eval patient-simulator --recorded FILE --patient saps:MODEL` (Liao et al., arXiv:2403.08495,
§4.2): every turn of a recorded doctor, in its place of the dialogue, beside the state that was recorded.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import msgspec
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import Solver, TaskState, solver

from polyclinic.evals.adapter import Told, averaged, scoring, solving, task_of
from polyclinic.evals.patient_simulator import ROW, STATE, minds_of
from polyclinic.evaluations.patient_simulator.recorded import (
    RecordedDialogue,
    RecordedRow,
    beside_recorded,
    kind_of,
    put_turns,
    read_recorded,
)
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.players.language_model.mind import describe
from polyclinic.players.minds import Minds

KIND, OTHER_LANGUAGE = "KIND", "OTHER_LANGUAGE"


def _turns(recorded: str) -> dict[str, RecordedDialogue]:
    """Returns every turn that is put as a dialogue of its own, by sample id; a case may come up more than once."""
    turns: dict[str, RecordedDialogue] = {}
    seen: Counter[str] = Counter()
    for dialogue in read_recorded(Path(recorded)).dialogues:
        seen[dialogue.id] += 1
        name = dialogue.id if seen[dialogue.id] == 1 else f"{dialogue.id}#{seen[dialogue.id]}"
        turns |= {f"{name}/{place}": msgspec.structs.replace(dialogue, put=(place,)) for place in dialogue.put}
    return turns


@solver
def recorded_patient(*, recorded: str, tracker: str = "staged", seed: int = 0) -> Solver:
    """Lets the model under test play the patient to whom each turn is put. Arguments as `recorded_turns`.

    Raises:
        UserError: the file or the tracker cannot be used.
    """
    player = minds_of(read_knowledge(), tracker, seed)

    async def play(dialogue: RecordedDialogue, minds: Minds, state: TaskState) -> Told:
        (row,) = beside_recorded(dialogue, await put_turns(dialogue, minds))
        if row.error:
            return Told("", f"the patient: {row.error}")
        before = dialogue.turns[: row.number]
        said: list[ChatMessage] = [
            ChatMessageSystem(content=f"Case {row.case}. The patient: {describe(dialogue.record.presentation)}")
        ]
        for turn in before:
            said += [ChatMessageUser(content=turn.doctor), ChatMessageAssistant(content=turn.patient)]
        said += [ChatMessageUser(content=row.text), ChatMessageAssistant(content=f"[{row.state}] {row.reply}")]
        state.messages = said
        state.store.set(ROW, msgspec.to_builtins(row))
        return Told(row.reply)

    return solving(_turns(recorded), player, play)


@scorer(metrics=averaged((STATE, KIND, OTHER_LANGUAGE)))
def recorded_states() -> Scorer:
    """Scores, in percent, whether state and kind of turn are as recorded; the state apart in another language."""

    async def score(id: str, row: RecordedRow, target: Target) -> Score:
        del id, target
        values = dict.fromkeys((STATE, KIND, OTHER_LANGUAGE), math.nan)
        values[OTHER_LANGUAGE if row.other_language else STATE] = 100.0 * (row.state is row.recorded)
        if not row.other_language:
            values[KIND] = 100.0 * (kind_of(row.state) == kind_of(row.recorded))
        told = f"recorded as {row.recorded}, taken for {row.state or 'nothing'}"
        return Score(value=values, answer=row.state, explanation=told)

    return scoring(lambda state: msgspec.convert(state.store.get(ROW), RecordedRow), score)


@task
def recorded_turns(*, recorded: str, tracker: str = "staged", seed: int = 0) -> Task:
    """The model under test plays the state-aware patient; each turn of recorded doctors is put in its place.

    The dialogues are in AIE's recorded layout; the tracker is "staged", as in the paper, or "parallel".

    Raises:
        UserError: the file or the tracker cannot be used, or a part is not installed.
    """
    samples = [
        Sample(id=id, input=turn.doctor, target=turn.state, metadata={"case": dialogue.id, "turn": dialogue.put[0]})
        for id, dialogue in _turns(recorded).items()
        for turn in [dialogue.turns[dialogue.put[0]]]
    ]
    solver = recorded_patient(recorded=recorded, tracker=tracker, seed=seed)
    return task_of(samples, recorded, solver=solver, scorer=recorded_states())
