"""How well a simulated patient does on questions that people have labelled (aie-saps §3.1, §4.4.1).

    cases = read_labelled(Path("labelled.json"))
    rows = await simulate(cases, Minds(patient="rules", knowledge=read_knowledge(), seed=1))
    agreement(rows).share

The layout is AIE's: a JSON array of cases, each with its vignette (`raw_data.question`) and `patient_test`: context
length, then key (the kind of question that was meant), then the question, the label `human_state` and the answer that
a person gave, `human_answer`. A question stands at one context length only; the dialogue before it is not in the set,
so each question is put right after the patient's opening.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from polyclinic.cases.loaders.demographics import age_in_years, language_of, sex_of
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.errors import BadInput, PlayFailure
from polyclinic.events import Role, Said, State
from polyclinic.files import check_file, decode, split_place
from polyclinic.players.minds import Minds
from polyclinic.players.patient import Patient
from polyclinic.players.player import OPEN, REPLY, PatientTurn

_BEGINNING = 160
"""Characters of a vignette in which its patient is introduced; later people are relatives."""

_SENTENCE = re.compile(r"[。；;！？!?\n]|\.(?=\s)")

EFFECT = ("A-A-", "B-A-")
"""Beginnings of the keys, and of the states, where effective must be told from ineffective."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A doctor's turn with its labels.

    Attributes:
        key: the kind of turn that it was written to be.
        turn: the context length at which it was put, from 0.
        text: what the doctor says.
        state: what people say it is.
        answer: what a person answered in the patient's place.
        recorded: what the set's own simulator answered; "" where it did not.
        recorded_state: what that took it to be.
    """

    key: str
    turn: int
    text: str
    state: State
    answer: str
    recorded: str = ""
    recorded_state: State | None = None


class LabelledCase(msgspec.Struct, frozen=True, kw_only=True):
    """A patient and the labelled questions to it."""

    id: str
    record: Record
    questions: tuple[Question, ...]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What a patient made of one question.

    Attributes:
        case: the case's id.
        question: the question with its labels.
        information: everything that the patient knows, as the set has it.
        state: what the patient took the question to be; None where its mind tracks no states, or failed.
        reply: what it said; "" where it failed.
        error: the name of the failure; "" where there was none.
    """

    case: str
    question: Question
    information: str
    state: State | None = None
    reply: str = ""
    error: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the patient's state is the label."""
        return self.state is self.question.state


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How often the patient's state is the label.

    Attributes:
        n: questions answered.
        right: those on which the states agree.
        constant: those on which a guess agrees that knows from the key what kind of turn was meant, and takes every
            specific one for the same, effective or ineffective, whichever is the more frequent.
        failed: questions that got no answer; they are not in `n`.
    """

    n: int
    right: int
    constant: int
    failed: int

    @property
    def share(self) -> float:
        """The share of the questions on which the states agree; NaN where there are none."""
        return self.right / self.n if self.n else float("nan")

    @property
    def constant_share(self) -> float:
        """The share on which the constant guess agrees; NaN where there are no questions."""
        return self.constant / self.n if self.n else float("nan")


async def simulate(cases: Iterable[LabelledCase], minds: Minds) -> list[Row]:
    """Puts every question to the patient that it is meant for, all at once.

    Args:
        cases: from `read_labelled`.
        minds: the patient is taken from them; a model's own limit says how many questions run at a time.

    Returns:
        A row a question, in the order of the set. A failure is in its row and is not raised.
    """
    by_case = await asyncio.gather(*(_simulate_case(case, minds) for case in cases))
    return [row for rows in by_case for row in rows]


async def _simulate_case(case: LabelledCase, minds: Minds) -> list[Row]:
    def patient(part: str) -> Patient:
        return Patient(minds.patient(f"{case.id}/{part}"), case.record, setting="online")

    information = case.record.history.present
    try:
        opening = await patient("opening").act(OPEN)
    except PlayFailure as failure:
        error = type(failure).__name__
        return [Row(case=case.id, question=q, information=information, error=error) for q in case.questions]

    async def ask(question: Question) -> Row:
        asked = patient(f"{question.turn}/{question.key}")
        for event in _dialogue(opening, question):
            asked.observe(event)
        try:
            reply = await asked.act(REPLY)
        except PlayFailure as failure:
            return Row(case=case.id, question=question, information=information, error=type(failure).__name__)
        return Row(case=case.id, question=question, information=information, state=reply.state, reply=reply.say)

    return await asyncio.gather(*map(ask, case.questions))


def _dialogue(opening: PatientTurn, question: Question) -> tuple[Said, Said]:
    return (
        Said(seq=0, turn=0, who=Role.PATIENT, to=Role.DOCTOR, text=opening.say, state=opening.state),
        Said(seq=1, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text=question.text),
    )


def agreement(rows: Iterable[Row], keys: Sequence[str] = ("",)) -> Agreement:
    """Returns how often the states agree with the labels.

    Args:
        rows: from `simulate`.
        keys: beginnings of the keys that count; `EFFECT` for those where effective must be told from ineffective.
    """
    wanted = [row for row in rows if row.question.key.startswith(tuple(keys))]
    answered = [row for row in wanted if not row.error]
    specific = [row.question for row in answered if row.question.key.startswith(EFFECT)]
    # "A-A-" and "A" or "B": what was meant, and whether it came to anything.
    effects = Counter(q.state[4:] for q in specific if q.state[:4] == q.key[:4])
    others = sum(row.question.state == row.question.key for row in answered if row.question not in specific)
    return Agreement(
        n=len(answered),
        right=sum(row.agrees for row in answered),
        constant=others + max(effects.values(), default=0),
        failed=len(wanted) - len(answered),
    )


def confusion(rows: Iterable[Row]) -> dict[State, dict[State, int]]:
    """Returns how often each label (first) met each state of the patient (second); failures are left out."""
    counts = Counter((row.question.state, row.state) for row in rows if row.state is not None)
    return {label: {state: counts[label, state] for state in State} for label in State}


class _Test(msgspec.Struct):
    human_state: State
    human_answer: str
    question: str = ""
    prediction: str = ""
    state_prediction: str | None = None


class _Vignette(msgspec.Struct):
    question: str


class _Case(msgspec.Struct):
    id: int | str
    raw_data: _Vignette
    patient_test: dict[str, dict[str, _Test]]


def read_labelled(path: Path) -> list[LabelledCase]:
    """Reads a labelled set in AIE's layout.

    Raises:
        BadInput: the file cannot be read, or is none; says which field, and what was allowed.
    """
    check_file(path)
    try:
        cases = msgspec.json.decode(decode(path.read_bytes(), path=path), type=list[_Case])
    except msgspec.DecodeError as error:
        problem, field = split_place(str(error))
        raise BadInput(f"not a labelled set for patient simulators: {problem}", path=path, field=field) from None
    read = [LabelledCase(id=str(c.id), record=_record(c.raw_data.question), questions=_questions(c)) for c in cases]
    if not any(case.questions for case in read):
        raise BadInput("no question in it has a text", path=path)
    return read


def _record(vignette: str) -> Record:
    about = vignette[:_BEGINNING]
    presentation = Presentation(
        complaint=_SENTENCE.split(vignette, maxsplit=1)[0].strip() or vignette.strip(),
        language=language_of([vignette]),
        age=age_in_years(about),
        sex=sex_of(about),
    )
    return Record(presentation=presentation, history=History(present=vignette))


def _questions(case: _Case) -> tuple[Question, ...]:
    known = {state.value: state for state in State}
    return tuple(
        Question(
            key=key,
            turn=int(length) if length.isdigit() else 0,
            text=test.question,
            state=test.human_state,
            answer=test.human_answer,
            recorded=test.prediction,
            recorded_state=known.get(test.state_prediction or ""),
        )
        for length, tests in case.patient_test.items()
        for key, test in tests.items()
        if test.question.strip()
    )
