"""A visit of several doctors: each sees the patient alone, and then they settle what they disagree on.

Visits that were recorded, of one doctor or of several, are made again from their traces.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Self

import msgspec

from polyclinic.answering.calls import needed, together
from polyclinic.cases.case import Case
from polyclinic.cases.report import Report
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput
from polyclinic.events import (
    TRACE_FORMAT,
    Convened,
    End,
    Ended,
    Event,
    Examined,
    Failed,
    Opened,
    Order,
    Reported,
    Revealed,
    Revised,
    Role,
    Trace,
)
from polyclinic.frames import Tabular
from polyclinic.players.minds import Minds
from polyclinic.players.player import Seat
from polyclinic.players.roles.patient import Patient
from polyclinic.players.roles.staff import Director
from polyclinic.players.staging import OURS, Staging
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.dispute_resolution import MAX_ROUNDS, Attending, dispute_resolution
from polyclinic.visits.visit import Attended, Visit, attend, document_of, examiner_of, patient_of, reveal


class TeamVisit(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """A discussion that is over, with the consultations that led to it, and the truth.

    Attributes:
        report: the director's; None if the discussion failed.
        consensus: after how many rounds nothing was in dispute; None if that was not reached.
        kept: how often a doctor's answer could not be used and its last report stood.
        consultations: each doctor's own visit, doctor 1 first.
    """

    case: str
    end: End
    rounds: int
    consensus: int | None
    kept: int
    report: Report | None
    consultations: tuple[Visit, ...]
    truth: Truth
    trace: Trace

    @classmethod
    def of(cls, consultations: Sequence[Visit], trace: Trace, truth: Truth) -> Self:
        """Returns the visit that these consultations and the trace of a discussion tell of."""
        convened, ended, reported = trace.last(Convened), trace.last(Ended), trace.last(Reported)
        assert convened is not None and ended is not None  # noqa: S101
        return cls(
            case=convened.case,
            consultations=tuple(consultations),
            end=ended.reason,
            rounds=ended.turns,
            consensus=ended.turns if ended.reason is End.CONSENSUS else None,
            kept=sum(event.kept for event in trace if isinstance(event, Revised)),
            report=None if reported is None else reported.report,
            truth=truth,
            trace=trace,
        )

    def as_rows(self) -> list[dict[str, Any]]:
        """Returns what happened, an event a row; `part` says with which of the doctors, or in the discussion."""
        parts = [*(f"doctor {number}" for number in range(1, len(self.consultations) + 1)), "discussion"]
        return [
            {"part": part, **row} for part, trace in zip(parts, self.traces, strict=True) for row in trace.as_rows()
        ]

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The consultations' traces and then the discussion's: what a file holds of it."""
        return (*(visit.trace for visit in self.consultations), self.trace)

    def document(self) -> dict[str, Any]:
        """Returns the visit as what `--json` prints."""
        told = document_of(self, "case", "end", "rounds", "consensus", "kept", "report", "truth", "trace")
        return {**told, "consultations": [visit.document() for visit in self.consultations]}


async def confer(
    case: Case,
    doctors: Sequence[Minds],
    *,
    max_turns: int = MAX_TURNS,
    in_one_step: bool = False,
    order: Order = Order.PARALLEL,
    max_rounds: int = MAX_ROUNDS,
    disputes: bool = True,
    staging: Staging = OURS,
    watch: Callable[[int, Event], None] | None = None,
    seen: Sequence[Attended] | None = None,
    team: str = "",
) -> TeamVisit:
    """Lets several doctors see the patient of a case, each alone and all at once, and then settle what they dispute.

    The first of the `doctors` brings the director who chairs, and the patient and examiner who are asked again, unless
    the record was read `in_one_step`. `order`, `max_rounds` and `disputes` are as in `dispute_resolution`, everything
    else as in `see`; `watch` also gets the number of the doctor whose visit an event belongs to, 0 for the discussion.
    Doctors who have `seen` the patient, as one `team`, only confer; see `joining`.

    A player's failure is in the visit and is not raised. A doctor whose own visit failed takes no part; if all failed,
    the visit has failed.

    Raises:
        ValueError: there are no doctors.
    """
    if not doctors:
        raise ValueError("a team needs at least one doctor")
    team = team or team_name(doctors, order=order, disputes=disputes)
    if seen is None:
        visits = (
            attend(
                case,
                minds,
                max_turns=max_turns,
                in_one_step=in_one_step,
                seat=Seat(number, team),
                staging=staging,
                watch=None if watch is None else partial(watch, number),
            )
            for number, minds in enumerate(doctors, start=1)
        )
        seen = [needed(one) for one in await together(*visits)]
    lead, names = doctors[0], tuple(minds.names[Role.DOCTOR] for minds in doctors)
    case = staging.case(case)
    director = Director(
        lead.director(case.id, team=team),
        staging.known_to_doctor(case.presentation, record=in_one_step),
        may_ask=not in_one_step,
        staging=staging,
    )
    trace = Trace(watch=None if watch is None else partial(watch, 0))
    trace.add(
        Convened(
            seq=0,
            format=TRACE_FORMAT,
            case=case.id,
            presentation=case.presentation,
            doctors=names,
            director=director.name,
            seed=lead.seed,
            order=order,
            max_rounds=max_rounds,
            dispute_resolution=disputes,
        )
    )
    attending = []
    for number, (visit, doctor, _) in enumerate(seen, start=1):
        failure, reported = visit.trace.last(Failed), visit.trace.last(Reported)
        if reported is None or visit.report is None:
            assert failure is not None  # noqa: S101
            trace.add(msgspec.structs.replace(failure, seq=trace.next, doctor=number))
            continue
        # In the discussion a doctor knows what it wrote, and the director every result that it was given.
        doctor.observe(reported)
        examined = (f for e in visit.trace if isinstance(e, Examined) for f in e.findings)
        findings = case.record.findings if in_one_step else tuple(dict.fromkeys(examined))
        attending.append(Attending(number, doctor, visit.report, findings))
    if not attending:
        trace.add(Ended(seq=trace.next, reason=End.FAILED, turns=0))
    else:
        again = Seat(len(doctors) + 1, team)
        opening = seen[attending[0].number - 1].visit.trace[1]

        def patient() -> Patient:
            whom = patient_of(case, lead, again, key=case.id, staging=staging)
            whom.observe(opening)
            return whom

        await dispute_resolution(
            attending,
            director,
            None if in_one_step else patient,
            partial(examiner_of, case, lead, again, staging.missing, key=case.id) if case.setting == "ward" else None,
            order=order,
            max_rounds=max_rounds,
            disputes=disputes,
            trace=trace,
        )
    reveal(case, trace)
    return TeamVisit.of([attended.visit for attended in seen], trace, case.truth)


def team_name(doctors: Sequence[Minds], *, order: Order, disputes: bool = True) -> str:
    """Returns what tells a team from others that meet on a case."""
    names = ", ".join(minds.names[Role.DOCTOR] for minds in doctors)
    return f"{names}; {order}{'' if disputes else '; disputes not shown'}"


def joining(case: Case, doctors: Sequence[Minds], seen: Sequence[Attended], *, team: str) -> list[Attended]:
    """Returns consultations that may serve several teams as those of one team, whose name no other has on the case.

    What a doctor hears in one team it has not heard in another.
    """
    joined = []
    for number, (minds, attended) in enumerate(zip(doctors, seen, strict=True), start=1):
        doctor = copy.copy(attended.doctor)
        doctor.mind = minds.doctor_again(doctor.mind, case.id, seat=Seat(number, team))
        doctor.number, doctor.seen = number, list(attended.doctor.seen)
        trace = Trace(
            msgspec.structs.replace(event, doctor=number) if isinstance(event, Opened) else event
            for event in attended.visit.trace
        )
        visit = msgspec.structs.replace(attended.visit, trace=trace)
        joined.append(Attended(visit, doctor, attended.patient))
    return joined


_BROKEN_OFF = "the trace breaks off before the end of the visit; 'polyclinic replay' shows what there is"


def revisit_all(traces: Iterable[Trace]) -> list[Visit | TeamVisit]:
    """Returns the visits that the traces of a file have recorded, those of teams put together.

    Raises:
        BadInput: a trace breaks off, or a discussion stands without the consultations that led to it.
    """
    visits: list[Visit | TeamVisit] = []
    for trace in traces:
        convened = trace.last(Convened)
        if convened is None:
            if trace.last(Opened) is None:
                raise BadInput(_BROKEN_OFF)
            visits.append(Visit.of(trace, _truth(trace)))
            continue
        truth = _truth(trace)
        first = max(len(visits) - len(convened.doctors), 0)
        before = tuple(visit for visit in visits[first:] if isinstance(visit, Visit) and visit.case == convened.case)
        numbers = [opened.doctor for visit in before if (opened := visit.trace.last(Opened)) is not None]
        if numbers != list(range(1, len(convened.doctors) + 1)):
            raise BadInput(
                f"the discussion of case {convened.case} needs its {len(convened.doctors)} doctors' visits before it"
            )
        visits[first:] = [TeamVisit.of(before, trace, truth)]
    return visits


def _truth(trace: Trace) -> Truth:
    revealed = trace.last(Revealed)
    if revealed is None or trace.last(Ended) is None:
        raise BadInput(_BROKEN_OFF)
    said = {name: getattr(revealed, name) for name in Truth.__struct_fields__}
    known = {name: value for name, value in said.items() if value is not msgspec.UNSET}
    return msgspec.convert(known, Truth, from_attributes=True)
