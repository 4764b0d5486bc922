"""The consultation: a doctor talks with a patient, an examiner looks up what is ordered, the doctor reports.

Papers: AI Hospital (§2, appendix F) for the ward with an examiner; AIE (§4) for the online visit without one.
Defaults: ten doctor's turns, as AI Hospital.

Where we differ: whom somebody speaks to is a field of the typed answer, not a tag in the text. The examiner's results
reach the doctor word for word, not retold by the patient. A player that gives no usable answer ends the visit as
failed, with the name of the error; it never counts as something said.
"""

from __future__ import annotations

import msgspec

from polyclinic.cases.presentation import Question
from polyclinic.cases.report import Report
from polyclinic.errors import PlayFailure
from polyclinic.events import Chosen, End, Ended, Event, Examined, Reported, Role, Said, State, Trace
from polyclinic.players.player import EXAMINE, OPEN, REPLY, REPORT, SPEAK, Player, choose_from, failure_event

MAX_TURNS = 10


class Consultation(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a visit.

    Attributes:
        report: the doctor's report; None where the visit failed or none was asked for.
        answer: the key of the option that the doctor chose; None where it chose none, or no question was put.
        turns: what the doctor said, counted.
    """

    trace: Trace
    report: Report | None
    answer: str | None = None
    end: End
    turns: int


async def consultation(
    doctor: Player,
    patient: Player | None,
    examiner: Player | None,
    *,
    max_turns: int = MAX_TURNS,
    question: Question | None = None,
    trace: Trace | None = None,
) -> Consultation:
    """Lets a doctor see a patient; events go to the end of the trace, a new one by default.

    Without a patient the doctor was given the whole record, and talks with nobody (the upper bound; AIE's MCQE).
    Without an examiner the patient holds the results (AIE's online visit). After `max_turns` turns of its own the
    doctor is asked for the report. A question is put to it in place of the report (AIE's diagnosis step, §4.3).

    A player's failure is in the result, as its end and as an event; it is not raised.
    """
    trace = Trace() if trace is None else trace
    players = {Role.DOCTOR: doctor, Role.PATIENT: patient, Role.EXAMINER: examiner}
    acting = Role.PATIENT
    turn = 0

    def happen(event: Event, *hearers: Role) -> None:
        trace.add(event)
        for role in hearers:
            player = players[role]
            if player is not None:
                player.observe(event)

    def say(who: Role, to: Role, text: str, state: State | None = None) -> None:
        hearers = (Role.DOCTOR, Role.PATIENT, *((to,) if to is Role.EXAMINER else ()))
        happen(Said(seq=trace.next, turn=turn, who=who, to=to, text=text, state=state), *hearers)

    def ended(reason: End, report: Report | None = None, answer: str | None = None) -> Consultation:
        happen(Ended(seq=trace.next, reason=reason, turns=turn))
        return Consultation(trace=trace, report=report, answer=answer, end=reason, turns=turn)

    try:
        reason = End.CONCLUDED if patient is None else End.TURN_LIMIT
        # 1. The patient opens with the complaint.
        if patient is not None:
            opening = await patient.act(OPEN)
            say(Role.PATIENT, Role.DOCTOR, opening.say, opening.state)
        while patient is not None and turn < max_turns:
            # 2. The doctor says one thing to the patient, or concludes.
            acting = Role.DOCTOR
            spoken = await doctor.act(SPEAK)
            turn += 1
            say(Role.DOCTOR, Role.PATIENT, spoken.say)
            if spoken.conclude:
                reason = End.CONCLUDED
                break
            # 3. The patient answers the doctor, or turns to the examiner.
            acting = Role.PATIENT
            reply = await patient.act(REPLY)
            to = Role.EXAMINER if reply.to == "examiner" and examiner is not None else Role.DOCTOR
            say(Role.PATIENT, to, reply.say, reply.state)
            if reply.leave:
                reason = End.PATIENT_LEFT
                break
            # 4. The examiner looks up what was asked for; doctor and patient learn it.
            if to is Role.EXAMINER and examiner is not None:
                acting = Role.EXAMINER
                results = msgspec.structs.asdict(await examiner.act(EXAMINE))
                happen(Examined(seq=trace.next, turn=turn, **results), Role.DOCTOR, Role.PATIENT)
        # 5. The doctor answers the question, or reports.
        acting = Role.DOCTOR
        if question is not None:
            choice = await doctor.act(choose_from(question))
            happen(Chosen(seq=trace.next, answer=choice.answer))
            return ended(reason, answer=choice.answer)
        report = await doctor.act(REPORT)
        happen(Reported(seq=trace.next, report=report), Role.PATIENT)
        return ended(reason, report)
    except PlayFailure as failure:
        happen(failure_event(trace.next, acting, failure))
        return ended(End.FAILED)
