"""Questions put to the patient of a case, and orders to its examiner, one after the other and without a doctor."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.record import Finding
from polyclinic.events import Examined, Role, Said, State
from polyclinic.players.minds import Minds
from polyclinic.players.player import ALONE, EXAMINE, OPEN, REPLY, PatientTurn
from polyclinic.players.roles.examiner import Missing
from polyclinic.visits.visit import examiner_of, patient_of


class PatientAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a patient said to a question.

    Attributes:
        answer: its words; where it turned to the examiner, its request.
        state: what it took the question to be; None of a mind that tracks no states.
        to: whom it spoke to, the doctor or the examiner.
        left: it ended the visit with this, and can be asked nothing more.
    """

    question: str
    answer: str
    state: State | None
    to: Role
    left: bool = False


class ExaminerAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What an examiner gave to an order.

    Attributes:
        answer: all of it, as it was read out.
        findings: what the record holds of what was ordered.
        not_recorded: the names of what was ordered and of which the record says nothing.
    """

    question: str
    answer: str
    findings: tuple[Finding, ...]
    not_recorded: tuple[str, ...]


class PatientAsked:
    """The patient of one visit, whom anybody may ask.

    As in a visit it opens with its complaint and remembers what was said; where it turns to the examiner, nobody is
    there who would answer.
    """

    def __init__(self, case: Case, minds: Minds) -> None:
        self._patient = patient_of(case, minds, ALONE, key=case.id)
        self._said = 0

    async def open(self) -> str:
        """Returns what the patient says first; to be asked for before any question.

        Raises:
            PlayFailure: no usable answer came.
        """
        opening = await self._patient.act(OPEN)
        self._happen(0, Role.PATIENT, Role.DOCTOR, opening.say, opening.state)
        return opening.say

    async def answers(self, questions: AsyncIterable[str]) -> AsyncGenerator[PatientAnswer, None]:
        """Yields the answer to each question as it comes, until the patient leaves.

        Raises:
            PlayFailure: no usable answer came.
        """
        turn = 0
        async for question in questions:
            turn += 1
            self._happen(turn, Role.DOCTOR, Role.PATIENT, question)
            reply: PatientTurn = await self._patient.act(REPLY)
            to = Role(reply.to)
            self._happen(turn, Role.PATIENT, to, reply.say, reply.state)
            yield PatientAnswer(question=question, answer=reply.say, state=reply.state, to=to, left=reply.leave)
            if reply.leave:
                return

    def _happen(self, turn: int, who: Role, to: Role, text: str, state: State | None = None) -> None:
        self._patient.observe(Said(seq=self._said, turn=turn, who=who, to=to, text=text, state=state))
        self._said += 1


async def examine(
    case: Case, minds: Minds, orders: AsyncIterable[str], *, missing: Missing = "not recorded"
) -> AsyncGenerator[ExaminerAnswer, None]:
    """Yields what the examiner of a case gives to each order as it comes.

    The examiner holds all findings of the record, also where the case is an online visit, to which none comes.

    Raises:
        PlayFailure: no usable answer came.
    """
    examiner = examiner_of(case, minds, ALONE, missing, key=case.id)
    turn = 0
    async for order in orders:
        turn += 1
        examiner.observe(Said(seq=2 * turn - 2, turn=turn, who=Role.DOCTOR, to=Role.EXAMINER, text=order))
        results = await examiner.act(EXAMINE)
        examined = Examined(seq=2 * turn - 1, turn=turn, **msgspec.structs.asdict(results))
        examiner.observe(examined)
        yield ExaminerAnswer(
            question=order, answer=results.text, findings=results.findings, not_recorded=results.not_recorded
        )
