"""A visit: one case, its players, and what came of it beside what is so.

Here alone a case is taken apart: the doctor gets the presentation, the patient its part of the record, the examiner the
findings; the truth is revealed as the last event, when everything has been said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.leaks import truth_terms
from polyclinic.cases.report import Report
from polyclinic.cases.truth import Severity, Truth
from polyclinic.errors import BadInput
from polyclinic.events import TRACE_FORMAT, Chosen, End, Ended, Event, Opened, Reported, Revealed, Role, Trace
from polyclinic.methods.consultation import MAX_TURNS, Consultation, consultation, one_step
from polyclinic.players.doctor import Doctor
from polyclinic.players.examiner import Examiner
from polyclinic.players.minds import Minds
from polyclinic.players.patient import Patient


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
    watch: Callable[[Event], None] | None = None,
) -> Visit:
    """Lets a doctor see the patient of a case.

    Args:
        case: who is ill.
        minds: who plays.
        max_turns: the doctor's turns.
        in_one_step: the doctor reads the whole record and reports, without a dialogue.
        put_question: the doctor answers the case's question in place of the report.
        watch: called with each event as it happens.

    Returns:
        The visit; a player's failure is its end, and is not raised.

    Raises:
        BadInput: the question is to be put, and the case has none.
    """
    trace = Trace()
    question = case.question if put_question else None

    def happen(event: Event) -> None:
        trace.add(event)
        if watch is not None:
            watch(event)

    if put_question and question is None:
        raise BadInput(f"case {case.id} has no multiple-choice question")
    doctor = Doctor(
        minds.doctor(case.id), case.presentation, max_turns=max_turns, record=case.record if in_one_step else None
    )
    playing = {Role.DOCTOR: doctor.name}
    withheld = truth_terms(case)
    patient = Patient(minds.patient(case.id), case.record, setting=case.setting, withheld=withheld)
    examiner = None
    if case.setting == "ward":
        examiner = Examiner(minds.examiner(case.id), case.record, minds.examination_names)
    if not in_one_step:
        playing[Role.PATIENT] = patient.name
        if examiner is not None:
            playing[Role.EXAMINER] = examiner.name
    happen(
        Opened(
            seq=0,
            format=TRACE_FORMAT,
            case=case.id,
            presentation=case.presentation,
            minds=playing,
            seed=minds.seed,
            max_turns=max_turns,
            one_step=in_one_step,
        )
    )
    came: Consultation
    if in_one_step:
        came = await one_step(doctor, question=question, trace=trace, watch=watch)
    else:
        came = await consultation(
            doctor, patient, examiner, max_turns=max_turns, question=question, trace=trace, watch=watch
        )
    happen(_revealed(case, trace.next))
    return Visit(
        case=case.id,
        end=came.end,
        turns=came.turns,
        report=came.report,
        answer=came.answer,
        truth=case.truth,
        trace=trace,
    )


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


def revisit(trace: Trace) -> Visit:
    """Returns the visit that a trace has recorded.

    Raises:
        BadInput: the trace breaks off before the visit was over.
    """
    opened, ended, revealed = trace.last(Opened), trace.last(Ended), trace.last(Revealed)
    if opened is None or ended is None or revealed is None:
        raise BadInput("the trace breaks off before the end of the visit; 'polyclinic replay' shows what there is")
    reported, chosen = trace.last(Reported), trace.last(Chosen)
    truth = Truth(
        diagnoses=revealed.diagnoses,
        rationale=revealed.rationale,
        treatment=revealed.treatment,
        severity=msgspec.convert(revealed.severity, Severity | None),
        answers=revealed.answers,
    )
    report = reported.report if reported is not None else None
    answer = chosen.answer if chosen is not None else None
    return Visit(
        case=opened.case, end=ended.reason, turns=ended.turns, report=report, answer=answer, truth=truth, trace=trace
    )
