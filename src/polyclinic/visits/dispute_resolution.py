"""Collaboration with dispute resolution: doctors who saw a patient each alone settle what they disagree on.

Paper: AI Hospital, §4 and Algorithm 1. Defaults: at most four rounds, as the authors' code (the pseudocode's `m <= M`
holds M + 1); the doctors of a round speak at once.

Where we differ: the facts are typed, and examiners' results pass word for word. Questions that a director puts again
to patient or examiner run at once, each to a player of its own. In `parallel` order, our default, all doctors of a
round answer from the same history; Algorithm 1, where each hears those before it, is `sequential`. As in Algorithm 1
one round is held also where the director sees no dispute beforehand, because no doctor has seen another's report by
then. A doctor who is left alone holds no rounds.

Failures: a doctor whose answer cannot be used is counted, and its last report stands. Everything else (no answer from
an endpoint, a director, patient or examiner without a usable answer) ends the discussion as failed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from polyclinic.answering.calls import needed, together
from polyclinic.cases.record import Finding
from polyclinic.cases.report import Report
from polyclinic.errors import ModelError, PlayFailure
from polyclinic.events import (
    Disputed,
    End,
    Ended,
    Established,
    Event,
    Examined,
    Failed,
    Order,
    Reported,
    Revised,
    Role,
    Said,
    Shared,
    Trace,
)
from polyclinic.players.player import (
    CONCLUDE,
    DISPUTE,
    EXAMINE,
    MERGE,
    REPLY,
    REVISE,
    Player,
    WrongAnswer,
    failure_event,
)

MAX_ROUNDS = 4


class Attending(NamedTuple):
    """A doctor who takes part: its number, who plays it, its report of the consultation, and the results it has."""

    number: int
    player: Player
    report: Report
    findings: tuple[Finding, ...] = ()


async def dispute_resolution(  # noqa: PLR0915 - the algorithm in one piece
    doctors: Sequence[Attending],
    director: Player,
    patient: Callable[[], Player] | None,
    examiner: Callable[[], Player] | None,
    *,
    order: Order = Order.PARALLEL,
    max_rounds: int = MAX_ROUNDS,
    disputes: bool = True,
    trace: Trace | None = None,
) -> Trace:
    """Lets doctors, at least one, who have each seen the patient agree under a director, and returns the trace of it.

    `patient` makes a patient who has opened the visit, one for each question; without it nobody can be asked again.
    `examiner` makes an examiner, likewise; without it the patient holds the results. Without `disputes` the doctors are
    not shown the points of dispute (the paper's ablation). Events go to the end of the trace, a new one by default.

    A player's failure is in the trace, as an event and perhaps as the reason of the end; it is not raised.
    """
    trace = Trace() if trace is None else trace
    players = [doctor.player for doctor in doctors]
    reports = {doctor.number: doctor.report for doctor in doctors}
    rounds = 0

    def happen(event: Event, *hearers: Player) -> None:
        trace.add(event)
        for player in hearers:
            player.observe(event)

    def ended(reason: End) -> Trace:
        happen(Ended(seq=trace.next, reason=reason, turns=rounds))
        return trace

    async def revise(group: Sequence[Attending]) -> None:
        """Lets some doctors speak at once; then everybody has heard them."""
        said = []
        for doctor, one in zip(group, await together(*(_revised(one.player) for one in group)), strict=True):
            if isinstance(one, Report):
                reports[doctor.number] = one
            elif isinstance(one, ModelError | WrongAnswer):
                happen(failure_event(trace.next, Role.DOCTOR, one, doctor=doctor.number))
            else:
                raise _Unanswered(doctor.number, one)
            revised = Revised(
                seq=trace.next,
                doctor=doctor.number,
                name=doctor.player.name,
                round=rounds,
                report=reports[doctor.number],
                kept=not isinstance(one, Report),
            )
            happen(revised, director)
            said.append(revised)
        for listener in doctors:
            # Its own first: it had not heard the others when it spoke.
            for event in sorted(said, key=lambda event: event.doctor != listener.number):
                listener.player.observe(event)

    async def name_points() -> tuple[str, ...]:
        """Returns what is in dispute after a round, as the director has it; nothing if there is only one doctor."""
        if len(doctors) == 1:
            return ()
        points = tuple(point for point in (await director.act(DISPUTE)).points if point.strip())
        happen(Disputed(seq=trace.next, round=rounds, points=points), director, *(players if disputes else []))
        return points

    try:
        # 1. Exchange of facts (§4.1): the director hears every doctor's, and asks again where they contradict.
        for doctor in doctors:
            shared = Shared(
                seq=trace.next,
                doctor=doctor.number,
                name=doctor.player.name,
                symptoms=doctor.report.symptoms,
                examinations=doctor.report.examinations,
                findings=doctor.findings,
            )
            happen(shared, director)
        facts = await director.act(MERGE)
        questions = [(q, Role.PATIENT) for q in facts.ask_patient] + [(q, Role.EXAMINER) for q in facts.ask_examiner]
        questions = list(dict.fromkeys((question, to) for question, to in questions if question.strip()))
        if patient is not None and questions:
            asked = (
                _clarify(turn, question, to, patient=patient, examiner=examiner)
                for turn, (question, to) in enumerate(questions, start=1)
            )
            for event in (event for exchange in await together(*asked) for event in needed(exchange)):
                happen(msgspec.structs.replace(event, seq=trace.next), director)
                if isinstance(event, Failed):
                    return ended(End.FAILED)
            facts = await director.act(MERGE)
        findings = dict.fromkeys(f for e in trace if isinstance(e, Shared | Examined) for f in e.findings)
        established = Established(
            seq=trace.next, symptoms=facts.symptoms, examinations=facts.examinations, findings=tuple(findings)
        )
        happen(established, director, *players)
        # 2. Each doctor revises its report from the facts: the pre-diagnoses P, with which the history H begins.
        await revise(doctors)
        # 3. The director names the dispute: d <- D(H).
        points = await name_points()
        # 4. While m < M: each doctor keeps or revises its report, H <- H + [h].
        while rounds < max_rounds and len(doctors) > 1:
            rounds += 1
            for group in [doctors] if order is Order.PARALLEL else [[doctor] for doctor in doctors]:
                await revise(group)
            # 5. d <- D(H); where nothing is left, the debate is over.
            points = await name_points()
            if not points:
                break
        # 6. The final report is the director's: a <- D(H).
        report = await director.act(CONCLUDE)
        happen(Reported(seq=trace.next, report=report))
        return ended(End.ROUND_LIMIT if points else End.CONSENSUS)
    except _Unanswered as stopped:
        happen(failure_event(trace.next, Role.DOCTOR, stopped.failure, doctor=stopped.doctor))
    except PlayFailure as failure:
        happen(failure_event(trace.next, Role.DIRECTOR, failure))
    return ended(End.FAILED)


async def _clarify(
    turn: int, question: str, to: Role, *, patient: Callable[[], Player], examiner: Callable[[], Player] | None
) -> list[Said | Examined | Failed]:
    """Puts a question of the director, counted by `turn` from 1, to a patient, or an examination's name to an examiner.

    Returns what happened, all with the number 0; a failure is in it, comes last, and is not raised.
    """
    events: list[Said | Examined | Failed] = []
    asked = Said(seq=0, turn=turn, who=Role.DIRECTOR, to=Role.PATIENT if examiner is None else to, text=question)
    acting = Role.PATIENT
    try:
        if asked.to is Role.PATIENT:
            events.append(asked)
            whom = patient()
            # To a patient a director is one doctor more.
            whom.observe(msgspec.structs.replace(asked, who=Role.DOCTOR))
            reply = await whom.act(REPLY)
            turned = reply.to == "examiner" and examiner is not None
            answered = Role.EXAMINER if turned else Role.DIRECTOR
            asked = Said(seq=0, turn=turn, who=Role.PATIENT, to=answered, text=reply.say, state=reply.state)
        events.append(asked)
        if asked.to is Role.EXAMINER and examiner is not None:
            acting = Role.EXAMINER
            by = examiner()
            by.observe(asked)
            results = await by.act(EXAMINE)
            events.append(Examined(seq=0, turn=turn, **msgspec.structs.asdict(results)))
    except PlayFailure as failure:
        events.append(failure_event(0, acting, failure))
    return events


class _Unanswered(Exception):
    """A doctor got no answer from its endpoint."""

    def __init__(self, doctor: int, failure: PlayFailure) -> None:
        self.doctor, self.failure = doctor, failure
        super().__init__(str(failure))


async def _revised(doctor: Player) -> Report | PlayFailure:
    try:
        return await doctor.act(REVISE)
    except PlayFailure as failure:
        return failure
