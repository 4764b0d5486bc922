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
from polyclinic.errors import PlayFailure
from polyclinic.events import Chosen, End, Ended, Event, Examined, Reported, Role, Said, Trace
from polyclinic.players.player import (
    EXAMINE,
    OPEN,
    REPLY,
    REPORT,
    SPEAK,
    PatientTurn,
    Player,
    choose_from,
    failure_event,
)
from polyclinic.players.staging import OURS, Staging

MAX_TURNS = 10

NOTHING = PatientTurn(say="")
"""What a doctor's turn was to nobody."""


async def consultation(  # noqa: PLR0915 - the course of a visit in one piece
    doctor: Player,
    patient: Player | None,
    examiner: Player | None,
    *,
    max_turns: int = MAX_TURNS,
    question: Question | None = None,
    greeting: str = "",
    staging: Staging = OURS,
    trace: Trace | None = None,
) -> Trace:
    """Lets a doctor see a patient, and returns the trace, at whose end everything stands that happened.

    Without a patient the doctor was given the whole record, and talks with nobody (the upper bound; AIE's MCQE).
    Without an examiner the patient holds the results (AIE's online visit). After `max_turns` turns of its own the
    doctor is asked for the report. A question is put to it in place of the report (AIE's diagnosis step, §4.3). With a
    greeting the doctor begins, which is no turn of its own. See `Staging` for who ends the dialogue, whether the
    doctor's last turn is answered, and who learns results from the examiner.

    A player's failure is in the trace, as an event and as the reason of the end; it is not raised.
    """
    trace = Trace() if trace is None else trace
    players, acting = {Role.DOCTOR: doctor, Role.PATIENT: patient, Role.EXAMINER: examiner}, Role.PATIENT
    learn = (Role.PATIENT,) if staging.retold else (Role.DOCTOR, Role.PATIENT)
    reason, turn = End.CONCLUDED if patient is None else End.TURN_LIMIT, 0

    def happen(event: Event, *hearers: Role) -> None:
        trace.add(event)
        for role in hearers:
            player = players[role]
            if player is not None:
                player.observe(event)

    def say(who: Role, to: Role, text: str, told: PatientTurn = NOTHING) -> None:
        hearers = (Role.DOCTOR, Role.PATIENT, *((to,) if to is Role.EXAMINER else ()))
        heard = Said(
            seq=trace.next,
            turn=turn,
            who=who,
            to=to,
            text=text,
            state=told.state,
            recalled=told.recalled,
            near=told.near,
        )
        happen(heard, *hearers)

    try:
        # 1. The doctor greets, and the patient opens with the complaint.
        if patient is not None:
            if greeting:
                say(Role.DOCTOR, Role.PATIENT, greeting)
            say(Role.PATIENT, Role.DOCTOR, (opening := await patient.act(OPEN)).say, opening)
        while patient is not None and turn < max_turns:
            # 2. The doctor says one thing to the patient, or concludes.
            acting = Role.DOCTOR
            spoken = await doctor.act(SPEAK)
            turn += 1
            say(Role.DOCTOR, Role.PATIENT, spoken.say)
            reason = End.CONCLUDED if spoken.conclude and staging.concludes else End.TURN_LIMIT
            if reason is End.CONCLUDED or (turn == max_turns and not staging.answers_last):
                break
            # 3. The patient answers the doctor, or turns to the examiner.
            acting = Role.PATIENT
            reply = await patient.act(REPLY)
            to = Role.EXAMINER if reply.to == "examiner" and examiner is not None else Role.DOCTOR
            say(Role.PATIENT, to, reply.say, reply)
            if reply.leave:
                reason = End.PATIENT_LEFT
                break
            # 4. The examiner looks up what was asked for; doctor and patient learn it.
            if to is Role.EXAMINER and examiner is not None:
                acting = Role.EXAMINER
                results = await examiner.act(EXAMINE)
                happen(Examined(seq=trace.next, turn=turn, **msgspec.structs.asdict(results)), *learn)
                # Where results go by the patient alone, it tells the doctor of them (AI Hospital, Table 9).
                acting = Role.PATIENT
                if staging.retold:
                    say(Role.PATIENT, Role.DOCTOR, (told := await patient.act(REPLY)).say, told)
        # 5. The doctor answers the question, or reports.
        acting = Role.DOCTOR
        if question is not None:
            choice = await doctor.act(choose_from(question))
            happen(Chosen(seq=trace.next, answer=choice.answer))
        else:
            report = await doctor.act(REPORT)
            happen(Reported(seq=trace.next, report=report), Role.PATIENT)
    except PlayFailure as failure:
        happen(failure_event(trace.next, acting, failure))
        reason = End.FAILED
    happen(Ended(seq=trace.next, reason=reason, turns=turn))
    return trace
