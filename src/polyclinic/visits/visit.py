"""A visit: one case, its players, and what came of it beside what is so.

Here alone a case is taken apart: the doctor gets the presentation, the patient its part of the record, the examiner the
findings; the truth is revealed as the last event, when everything has been said. `see` is the visit of one doctor,
`confer` that of several, who see the patient each alone and then settle what they disagree on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from polyclinic.answering.outcome import needed, together
from polyclinic.cases.case import Case
from polyclinic.cases.leaks import truth_terms
from polyclinic.cases.presentation import Question
from polyclinic.cases.report import Report
from polyclinic.cases.truth import Severity, Truth
from polyclinic.errors import BadInput
from polyclinic.events import (
    TRACE_FORMAT,
    Chosen,
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
from polyclinic.players.minds import ALONE, Minds, Seat
from polyclinic.players.roles.director import Director
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.roles.examiner import Examiner, Missing
from polyclinic.players.roles.patient import Patient
from polyclinic.visits.consultation import MAX_TURNS, Consultation, consultation, one_step
from polyclinic.visits.dispute_resolution import MAX_ROUNDS, Attending, dispute_resolution


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """A visit that is over.

    Attributes:
        case: the case's id.
        end: why it ended.
        turns: what the doctor said, counted.
        report: the doctor's report; None where the visit failed, or the question was put in its place.
        answer: the key that the doctor chose; None where it chose none.
        truth: what is so.
        trace: everything that happened, the truth last.
    """

    case: str
    end: End
    turns: int
    report: Report | None
    answer: str | None = None
    truth: Truth
    trace: Trace

    @property
    def traces(self) -> tuple[Trace, ...]:
        """What a file holds of it."""
        return (self.trace,)

    def document(self) -> dict[str, Any]:
        """Returns the visit as what `--json` prints."""
        built: dict[str, Any] = msgspec.to_builtins(
            {
                "case": self.case,
                "end": self.end,
                "turns": self.turns,
                "report": self.report,
                "truth": self.truth,
                "trace": list(self.trace),
            }
        )
        return built


async def see(
    case: Case,
    minds: Minds,
    *,
    max_turns: int = MAX_TURNS,
    in_one_step: bool = False,
    put_question: bool = False,
    missing: Missing = "not recorded",
    watch: Callable[[Event], None] | None = None,
) -> Visit:
    """Lets a doctor see the patient of a case.

    Args:
        case: who is ill.
        minds: who plays.
        max_turns: the doctor's turns.
        in_one_step: the doctor reads the whole record and reports, without a dialogue.
        put_question: the doctor answers the case's question in place of the report.
        missing: what the examiner says of an examination of which the record says nothing; the papers say `normal`.
        watch: called with each event as it happens.

    Returns:
        The visit; a player's failure is its end, and is not raised.

    Raises:
        BadInput: the question is to be put, and the case has none.
    """
    if put_question and case.question is None:
        raise BadInput(f"case {case.id} has no multiple-choice question")
    question = case.question if put_question else None
    attended = await attend(
        case, minds, max_turns=max_turns, in_one_step=in_one_step, question=question, missing=missing, watch=watch
    )
    return attended.visit


class Attended(NamedTuple):
    """A visit that is over, and who was there and may have more to say."""

    visit: Visit
    doctor: Doctor
    patient: Patient


async def attend(
    case: Case,
    minds: Minds,
    *,
    max_turns: int = MAX_TURNS,
    in_one_step: bool = False,
    missing: Missing = "not recorded",
    question: Question | None = None,
    seat: Seat = ALONE,
    key: str = "",
    department: str = "",
    max_examinations: int | None = None,
    watch: Callable[[Event], None] | None = None,
) -> Attended:
    """As `see`, for who goes on with doctor and patient.

    Args:
        case: who is ill.
        minds: who plays.
        max_turns: the doctor's turns.
        in_one_step: as in `see`.
        missing: as in `see`.
        question: put to the doctor in place of the report.
        seat: which doctor of a team it is.
        key: names the visit where a case has several; the case's id by default.
        department: whose doctor sees the patient; any by default.
        max_examinations: how many examinations may be done; None for any number.
        watch: as in `see`.
    """
    trace, key = Trace(), key or case.id
    doctor = Doctor(
        minds.doctor(key, seat=seat, department=department),
        case.presentation,
        max_turns=max_turns,
        record=case.record if in_one_step else None,
        number=seat.number,
        max_examinations=max_examinations,
    )
    patient = _patient(case, minds, seat, key)
    examiner = None
    if case.setting == "ward":
        examiner = _examiner(case, minds, seat, missing, key=key, max_examinations=max_examinations)
    playing = {Role.DOCTOR: doctor.name}
    if not in_one_step:
        playing[Role.PATIENT] = patient.name
        if examiner is not None:
            playing[Role.EXAMINER] = examiner.name
    opened = Opened(
        seq=0,
        format=TRACE_FORMAT,
        case=case.id,
        presentation=case.presentation,
        minds=playing,
        seed=minds.seed,
        max_turns=max_turns,
        one_step=in_one_step,
        doctor=seat.number,
    )
    _happen(trace, opened, watch)
    came: Consultation
    if in_one_step:
        came = await one_step(doctor, question=question, trace=trace, watch=watch)
    else:
        came = await consultation(
            doctor, patient, examiner, max_turns=max_turns, question=question, trace=trace, watch=watch
        )
    _happen(trace, _revealed(case, trace.next), watch)
    visit = Visit(
        case=case.id,
        end=came.end,
        turns=came.turns,
        report=came.report,
        answer=came.answer,
        truth=case.truth,
        trace=trace,
    )
    return Attended(visit, doctor, patient)


def _patient(case: Case, minds: Minds, seat: Seat, key: str) -> Patient:
    mind, withheld = minds.patient(key, seat=seat), truth_terms(case)
    return Patient(mind, case.record, setting=case.setting, withheld=withheld, persona=case.persona)


def _examiner(
    case: Case, minds: Minds, seat: Seat, missing: Missing, *, key: str, max_examinations: int | None = None
) -> Examiner:
    return Examiner(
        minds.examiner(key, seat=seat),
        case.record,
        minds.examination_names,
        missing=missing,
        max_examinations=max_examinations,
    )


def _happen(trace: Trace, event: Event, watch: Callable[[Event], None] | None) -> None:
    trace.add(event)
    if watch is not None:
        watch(event)


def _revealed(case: Case, seq: int) -> Revealed:
    truth = case.truth
    return Revealed(
        seq=seq,
        diagnoses=truth.diagnoses,
        rationale=truth.rationale,
        treatment=truth.treatment,
        severity=truth.severity,
        question=case.question,
        answers=truth.answers,
    )


class TeamVisit(msgspec.Struct, frozen=True, kw_only=True):
    """A visit of several doctors that is over.

    Attributes:
        case: the case's id.
        consultations: each doctor's own visit, doctor 1 first.
        end: why the discussion ended: consensus, round limit, or failed.
        rounds: how many rounds were held.
        consensus: after how many of them nothing was in dispute; None where that was not reached.
        kept: how often a doctor's answer could not be used in the discussion, and its last report stood.
        report: the director's; None where the visit failed.
        truth: what is so.
        trace: everything that happened in the discussion, the truth last.
    """

    case: str
    consultations: tuple[Visit, ...]
    end: End
    rounds: int
    consensus: int | None
    kept: int
    report: Report | None
    truth: Truth
    trace: Trace

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The consultations' traces and then the discussion's: what a file holds of it."""
        return (*(visit.trace for visit in self.consultations), self.trace)

    def document(self) -> dict[str, Any]:
        """Returns the visit as what `--json` prints."""
        parts = {
            name: getattr(self, name) for name in ("case", "end", "rounds", "consensus", "kept", "report", "truth")
        }
        built: dict[str, Any] = msgspec.to_builtins({**parts, "trace": list(self.trace)})
        return {**built, "consultations": [visit.document() for visit in self.consultations]}


async def confer(
    case: Case,
    doctors: Sequence[Minds],
    *,
    max_turns: int = MAX_TURNS,
    in_one_step: bool = False,
    order: Order = Order.PARALLEL,
    max_rounds: int = MAX_ROUNDS,
    disputes: bool = True,
    missing: Missing = "not recorded",
    watch: Callable[[int, Event], None] | None = None,
) -> TeamVisit:
    """Lets several doctors see the patient of a case, each alone and all at once, and then settle what they dispute.

    Args:
        case: who is ill.
        doctors: who plays in each doctor's visit, at least one; the first one's director chairs, and its patient and
            examiner are asked again.
        max_turns: each doctor's turns.
        in_one_step: the doctors read the whole record, and nobody can be asked again.
        order: of the doctors within a round.
        max_rounds: rounds at most.
        disputes: the doctors are shown the points of dispute; False is the paper's ablation.
        missing: as in `see`.
        watch: called with each event as it happens, and with the doctor whose visit it belongs to; 0 is the discussion.

    Returns:
        The visit; a player's failure is in it and is not raised. A doctor whose own visit failed takes no part; where
        that is all of them, the visit has failed.

    Raises:
        ValueError: there are no doctors.
    """
    if not doctors:
        raise ValueError("a team needs at least one doctor")

    def watching(number: int) -> Callable[[Event], None] | None:
        return None if watch is None else lambda event: watch(number, event)

    lead, names = doctors[0], tuple(minds.names[Role.DOCTOR] for minds in doctors)
    team = f"{', '.join(names)}; {order}{'' if disputes else '; disputes not shown'}"
    visits = (
        attend(
            case,
            minds,
            max_turns=max_turns,
            in_one_step=in_one_step,
            missing=missing,
            seat=Seat(number, team),
            watch=watching(number),
        )
        for number, minds in enumerate(doctors, start=1)
    )
    seen = [needed(one) for one in await together(*visits)]
    director = Director(lead.director(case.id, team=team), case.presentation, may_ask=not in_one_step)
    trace, follow = Trace(), watching(0)
    convened = Convened(
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
    _happen(trace, convened, follow)
    attending = []
    for number, (visit, doctor, _) in enumerate(seen, start=1):
        failure, reported = visit.trace.last(Failed), visit.trace.last(Reported)
        if reported is None or visit.report is None:
            assert failure is not None  # noqa: S101
            _happen(trace, msgspec.structs.replace(failure, seq=trace.next, doctor=number), follow)
            continue
        # In the discussion a doctor knows what it wrote, and the director every result that it was given.
        doctor.observe(reported)
        examined = (f for e in visit.trace if isinstance(e, Examined) for f in e.findings)
        findings = case.record.findings if in_one_step else tuple(dict.fromkeys(examined))
        attending.append(Attending(number, doctor, visit.report, findings))
    if attending:
        again = Seat(len(doctors) + 1, team)
        opening = seen[attending[0].number - 1].visit.trace[1]

        def patient() -> Patient:
            whom = _patient(case, lead, again, case.id)
            whom.observe(opening)
            return whom

        await dispute_resolution(
            attending,
            director,
            None if in_one_step else patient,
            (lambda: _examiner(case, lead, again, missing, key=case.id)) if case.setting == "ward" else None,
            order=order,
            max_rounds=max_rounds,
            disputes=disputes,
            trace=trace,
            watch=follow,
        )
    else:
        _happen(trace, Ended(seq=trace.next, reason=End.FAILED, turns=0), follow)
    _happen(trace, _revealed(case, trace.next), follow)
    return _team_visit(tuple(attended.visit for attended in seen), trace, case.truth)


def _team_visit(consultations: tuple[Visit, ...], trace: Trace, truth: Truth) -> TeamVisit:
    convened, ended, reported = trace.last(Convened), trace.last(Ended), trace.last(Reported)
    assert convened is not None and ended is not None  # noqa: S101
    return TeamVisit(
        case=convened.case,
        consultations=consultations,
        end=ended.reason,
        rounds=ended.turns,
        consensus=ended.turns if ended.reason is End.CONSENSUS else None,
        kept=sum(event.kept for event in trace if isinstance(event, Revised)),
        report=reported.report if reported is not None else None,
        truth=truth,
        trace=trace,
    )


def revisit(trace: Trace) -> Visit:
    """Returns the visit that a trace has recorded.

    Raises:
        BadInput: the trace breaks off before the visit was over, or holds a discussion (see `revisit_all`).
    """
    opened, ended = trace.last(Opened), trace.last(Ended)
    if opened is None or ended is None:
        raise BadInput(_BROKEN_OFF)
    reported, chosen = trace.last(Reported), trace.last(Chosen)
    return Visit(
        case=opened.case,
        end=ended.reason,
        turns=ended.turns,
        report=reported.report if reported is not None else None,
        answer=chosen.answer if chosen is not None else None,
        truth=_truth(trace),
        trace=trace,
    )


def revisit_all(traces: Iterable[Trace]) -> list[Visit | TeamVisit]:
    """Returns the visits that the traces of a file have recorded, those of teams put together.

    Raises:
        BadInput: a trace breaks off, or a discussion stands without the consultations that led to it.
    """
    visits: list[Visit | TeamVisit] = []
    for trace in traces:
        convened = trace.last(Convened)
        if convened is None:
            visits.append(revisit(trace))
            continue
        if trace.last(Ended) is None:
            raise BadInput(_BROKEN_OFF)
        first = max(len(visits) - len(convened.doctors), 0)
        before = tuple(visit for visit in visits[first:] if isinstance(visit, Visit) and visit.case == convened.case)
        numbers = [opened.doctor for visit in before if (opened := visit.trace.last(Opened)) is not None]
        if numbers != list(range(1, len(convened.doctors) + 1)):
            problem = (
                f"the discussion of case {convened.case} needs its {len(convened.doctors)} doctors' visits before it"
            )
            raise BadInput(problem)
        visits[first:] = [_team_visit(before, trace, _truth(trace))]
    return visits


_BROKEN_OFF = "the trace breaks off before the end of the visit; 'polyclinic replay' shows what there is"


def _truth(trace: Trace) -> Truth:
    revealed = trace.last(Revealed)
    if revealed is None:
        raise BadInput(_BROKEN_OFF)
    return Truth(
        diagnoses=revealed.diagnoses,
        rationale=revealed.rationale,
        treatment=revealed.treatment,
        severity=msgspec.convert(revealed.severity, Severity | None),
        answers=revealed.answers,
    )
