"""How a patient understands what recorded doctors said, compared with the recorded states (aie-saps §4.2, §4.4.1).

    dialogues = [d for path in paths for d in read_recorded(path).dialogues]
    result = await recorded_turns(dialogues).hold({"rules": Minds(patient="rules", knowledge=read_knowledge(), seed=1)})
    print(result.all.states.percent, result.all.kind)

The layout is AIE's published one: a JSON array of cases, each with its vignette (`raw_data.question`) and `history`,
turns with `doctor`, `state` and `patient`. Each turn but openings and conclusions is put to a patient that has observed
the recorded dialogue before it, so that earlier mistakes do not count.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from polyclinic.cases.loaders.aie import record_of
from polyclinic.cases.loaders.reader import read_elements
from polyclinic.cases.record import Record
from polyclinic.errors import BadInput, PlayFailure
from polyclinic.evaluations.evaluation import Play, Plays
from polyclinic.evaluations.patient_simulator.evaluation import Reply, outcome
from polyclinic.events import ADVICE, EFFECTIVE, INEFFECTIVE, INQUIRY, Role, Said, State
from polyclinic.frames import Tabular
from polyclinic.language.language import language_of
from polyclinic.metrics.dialogue import LeftOut, Turn, Unscorable, from_recorded
from polyclinic.players.minds import Minds
from polyclinic.players.player import REPLY
from polyclinic.players.roles.patient import Patient
from polyclinic.statistics.agreement import Agreement, agreement

NOT_PUT = (State.OPENING, State.CONCLUSION)
"""Turns recorded as these are part of the dialogue, and are not judged."""


class RecordedDialogue(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded dialogue with a patient; each file is one doctor."""

    file: str
    id: str
    record: Record
    turns: tuple[Turn, ...]
    put: tuple[int, ...]  # the places of the turns that are put to the patient


class RecordedFile(msgspec.Struct, frozen=True):
    """The dialogues of a file, and the records that are left out, each with the reason."""

    dialogues: tuple[RecordedDialogue, ...]
    left_out: tuple[LeftOut, ...]


class RecordedRow(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of a recorded doctor, and what a patient made of it; a turn that failed is outside all figures."""

    file: str
    case: str
    number: int  # the turn of the dialogue, from 0, the opening
    text: str
    recorded: State
    other_language: bool  # than the case's
    state: State | None = None  # None where the patient's mind tracks no states, or gave no answer
    reply: str = ""
    error: str = ""  # the name of the failure


class Effective(msgspec.Struct, frozen=True):
    """How well effective turns are found; None where there is nothing to be a share of."""

    n: int  # turns recorded as effective
    recall: float | None
    precision: float | None  # among the turns recorded as specific that the patient took for effective


class Recall(msgspec.Struct, frozen=True):
    """Turns recorded as one state, and the share of them that the patient took for it."""

    n: int
    recall: float


class TurnAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How a patient's states agree with the recorded ones, over turns in the language of their case."""

    states: Agreement  # recorded states by row
    constant: float | None  # percent on which a guess agrees that always says the commonest recorded state
    kind: float | None  # percent on which inquiry, advice and anything else are distinguished as recorded
    effective: Effective
    by_state: dict[State, Recall]
    other_language: Agreement  # over the turns in another language than their case
    failed: dict[str, int]  # turns without an answer, by the name of the failure


class RecordedResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """How a patient took the turns of recorded dialogues: all of them, by file, and turn by turn."""

    rows: tuple[RecordedRow, ...]
    all: TurnAgreement
    by_file: dict[str, TurnAgreement]


def read_recorded(path: str | Path) -> RecordedFile:
    """Reads recorded dialogues in AIE's layout; what cannot be put, or stands twice, is left out, and said why.

    Raises:
        BadInput: the file cannot be read, or holds no turn that could be put; says what was allowed.
    """
    path, dialogues, left_out = Path(path), [], []
    read: set[tuple[str, tuple[Turn, ...]]] = set()
    for element in read_elements(path):
        id = f"{element.part} {element.number}"
        try:
            fields = element.fields()
            id, record = record_of(fields, element.order)
            turns = from_recorded(fields, id).turns
        except (BadInput, Unscorable) as error:
            field = f"{error.field}: " if isinstance(error, BadInput) and error.field else ""
            left_out.append(LeftOut(id, f"{field}{error.problem}"))
        else:
            if (id, turns) in read:
                left_out.append(LeftOut(id, "the same dialogue stands in the file before; it is counted once"))
                continue
            read.add((id, turns))
            empty = sum(turn.state not in NOT_PUT and not turn.doctor.strip() for turn in turns)
            if empty:
                left_out.append(LeftOut(id, f"turns in which the doctor says nothing: {empty}; the others are put"))
            put = tuple(i for i, turn in enumerate(turns) if turn.state not in NOT_PUT and turn.doctor.strip())
            dialogues.append(RecordedDialogue(file=str(path), id=id, record=record, turns=turns, put=put))
    if not any(dialogue.put for dialogue in dialogues):
        why = f" (the first record: {left_out[0].problem})" if left_out else ""
        raise BadInput(
            f"no doctor's turn in it can be put to a patient{why}; recorded dialogues have 'raw_data' with 'question', "
            "and 'history', turns with 'doctor', 'state' and 'patient'",
            path=path,
        )
    return RecordedFile(tuple(dialogues), tuple(left_out))


def recorded_turns(
    dialogues: Sequence[RecordedDialogue],
) -> Plays[RecordedDialogue, Minds, list[Reply], list[RecordedRow], RecordedResult]:
    """Returns the evaluation of one patient, whose minds are its player."""

    async def score(dialogue: RecordedDialogue, _: Minds, came: list[Reply]) -> list[RecordedRow]:
        return beside_recorded(dialogue, came)

    async def summarise(
        plays: Mapping[str, Sequence[Play[RecordedDialogue, Minds, list[Reply], list[RecordedRow]]]],
    ) -> RecordedResult:
        rows = tuple(row for theirs in plays.values() for play in theirs for row in play.scored)
        files = dict.fromkeys(row.file for row in rows)
        by_file = {file: compare_turns(row for row in rows if row.file == file) for file in files}
        return RecordedResult(rows=rows, all=compare_turns(rows), by_file=by_file)

    return Plays(items=dialogues, play=put_turns, score=score, summarise=summarise)


async def put_turns(dialogue: RecordedDialogue, minds: Minds) -> list[Reply]:
    """Puts each turn of a doctor to a patient who has observed the dialogue before it; a failure is not raised."""

    async def ask(place: int) -> Reply:
        # A patient of its own for each turn: what it made of other turns must not count.
        asked = Patient(minds.patient(f"{dialogue.file}/{dialogue.id}/{place}"), dialogue.record, setting="online")
        said = [
            (who, text)
            for turn in dialogue.turns[:place]
            for who, text in ((Role.DOCTOR, turn.doctor), (Role.PATIENT, turn.patient))
            if text
        ]
        for seq, (who, text) in enumerate([*said, (Role.DOCTOR, dialogue.turns[place].doctor)]):
            to = Role.DOCTOR if who is Role.PATIENT else Role.PATIENT
            asked.observe(Said(seq=seq, turn=seq // 2, who=who, to=to, text=text))
        try:
            return await asked.act(REPLY)
        except PlayFailure as failure:
            return failure

    return await asyncio.gather(*map(ask, dialogue.put))


def beside_recorded(dialogue: RecordedDialogue, came: Sequence[Reply]) -> list[RecordedRow]:
    """Returns what came of the turns of a dialogue, each beside the state that was recorded."""
    return [
        RecordedRow(
            file=dialogue.file,
            case=dialogue.id,
            number=place,
            text=(turn := dialogue.turns[place]).doctor,
            recorded=turn.state,
            other_language=language_of([turn.doctor]) != dialogue.record.presentation.language,
            **outcome(one),
        )
        for place, one in zip(dialogue.put, came, strict=True)
    ]


def compare_turns(rows: Iterable[RecordedRow]) -> TurnAgreement:
    """Compares the states that a patient gave with the recorded ones."""
    rows = list(rows)
    answered = [row for row in rows if not row.error]
    same = [row for row in answered if not row.other_language]
    counts = Counter(row.recorded for row in same)
    found = Counter(row.recorded for row in same if row.state is row.recorded)
    kinds = [kind_of(row.recorded) == kind_of(row.state) for row in same]
    effective = [row for row in same if row.recorded in EFFECTIVE]
    taken = [row for row in same if row.state in EFFECTIVE and row.recorded in (*EFFECTIVE, *INEFFECTIVE)]
    both = sum(row.state in EFFECTIVE for row in effective)

    def agree(some: Sequence[RecordedRow]) -> Agreement:
        return agreement([row.recorded for row in some], [row.state for row in some], labels=tuple(State))

    return TurnAgreement(
        states=agree(same),
        constant=100 * max(counts.values()) / len(same) if same else None,
        kind=100 * sum(kinds) / len(same) if same else None,
        effective=Effective(
            n=len(effective),
            recall=both / len(effective) if effective else None,
            precision=both / len(taken) if taken else None,
        ),
        by_state={state: Recall(counts[state], found[state] / counts[state]) for state in State if counts[state]},
        other_language=agree([row for row in answered if row.other_language]),
        failed=dict(Counter(row.error for row in rows if row.error)),
    )


def kind_of(state: State | None) -> Literal["inquiry", "advice", "other"] | None:
    """Returns the kind of a state; None without a state."""
    if state is None:
        return None
    return "inquiry" if state in INQUIRY else "advice" if state in ADVICE else "other"
