"""A visit: one case, its players, the outcome and the truth; the stagings of papers; and `polyclinic.consult`.

Only here is a case taken apart: the doctor gets the presentation, the patient its part of the record, the examiner the
findings. The truth is the last event, when everything has been said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.patient_record import PatientRecord
from polyclinic.cases.pictures import CasePictures
from polyclinic.cases.presentation import Question, ShownPassage
from polyclinic.cases.record import Record
from polyclinic.cases.report import Report
from polyclinic.cases.terms import diagnosis_terms
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput
from polyclinic.events import (
    TRACE_FORMAT,
    Chosen,
    End,
    Ended,
    Event,
    Examined,
    Failed,
    Opened,
    Reported,
    Retrieved,
    Revealed,
    Role,
    Trace,
)
from polyclinic.frames import Tabular
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.settings import ModelSettings
from polyclinic.players.mind_names import Playing, name_of
from polyclinic.players.minds import Cast, Minds, open_minds, shown_to
from polyclinic.players.player import ALONE, Seat
from polyclinic.players.roles.doctor import Doctor, Post
from polyclinic.players.roles.examiner import Examiner
from polyclinic.players.roles.patient import Patient, reported_results
from polyclinic.players.staging import OURS, Missing, Staging
from polyclinic.visits.consultation import MAX_TURNS, consultation

if TYPE_CHECKING:
    from polyclinic.memory.remembering import Recollection


class Visit(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """A consultation that is over, and the truth.

    Attributes:
        report: the doctor's report; None if the visit failed or none was asked for.
        answer: the key of the option that the doctor chose; None if it chose none, or no question was put.
        turns: the number of the doctor's turns.
    """

    case: str
    end: End
    turns: int
    report: Report | None
    answer: str | None = None
    truth: Truth
    trace: Trace

    @classmethod
    def of(cls, trace: Trace, truth: Truth) -> Self:
        """Returns the visit that a trace tells of, from its beginning to its end."""
        opened, ended = trace.last(Opened), trace.last(Ended)
        assert opened is not None and ended is not None  # noqa: S101
        reported, chosen = trace.last(Reported), trace.last(Chosen)
        return cls(
            case=opened.case,
            end=ended.reason,
            turns=ended.turns,
            report=None if reported is None else reported.report,
            answer=None if chosen is None else chosen.answer,
            truth=truth,
            trace=trace,
        )

    def __repr__(self) -> str:
        failed = next((event for event in self.trace if isinstance(event, Failed)), None)
        why = "" if failed is None else f", failed={shorten(f'{failed.error}: {failed.problem}', 80)!r}"
        return f"{Tabular.__repr__(self)[:-1]}{why})"

    def as_rows(self) -> list[dict[str, Any]]:
        """Returns what happened, an event a row."""
        return self.trace.as_rows()

    @property
    def traces(self) -> tuple[Trace, ...]:
        """What a file holds of it."""
        return (self.trace,)

    @property
    def told_as_normal(self) -> int:
        """How many examinations the examiner called normal because they are not recorded."""
        return sum(len(event.told_as_normal) for event in self.trace if isinstance(event, Examined))

    def document(self) -> dict[str, Any]:
        """Returns the visit as what `--json` prints."""
        return document_of(self, "case", "end", "turns", "told_as_normal", "report", "truth", "trace")


def document_of(visit: msgspec.Struct, *fields: str) -> dict[str, Any]:
    """Returns fields of a visit as what JSON is made of, its trace as events."""
    built: dict[str, Any] = msgspec.to_builtins({field: getattr(visit, field) for field in fields}, enc_hook=list)
    return built


async def see(
    case: Case,
    minds: Minds,
    *,
    max_turns: int = MAX_TURNS,
    in_one_step: bool = False,
    put_question: bool = False,
    staging: Staging = OURS,
    watch: Callable[[Event], None] | None = None,
) -> Visit:
    """Lets a doctor see the patient of a case.

    A player's failure is the visit's end, and is not raised.

    Args:
        case: who is ill.
        minds: who plays.
        max_turns: the doctor's turns.
        in_one_step: the doctor reads the whole record and reports, without a dialogue.
        put_question: the doctor answers the case's question in place of the report.
        staging: what a paper's protocol changes of it.
        watch: called with each event as it happens.

    Raises:
        BadInput: the question is to be put, and the case has none.
    """
    if put_question and case.question is None:
        raise BadInput(f"case {case.id} has no multiple-choice question")
    question = case.question if put_question else None
    attended = await attend(
        case, minds, max_turns=max_turns, in_one_step=in_one_step, question=question, staging=staging, watch=watch
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
    question: Question | None = None,
    seat: Seat = ALONE,
    key: str = "",
    post: Post | None = None,
    past: PatientRecord | None = None,
    remembering: Recollection | None = None,
    max_examinations: int | None = None,
    free: frozenset[str] = frozenset(),
    staging: Staging = OURS,
    watch: Callable[[Event], None] | None = None,
) -> Attended:
    """Does what `see` does, and also returns doctor and patient, who may have more to say.

    `seat` is which doctor of a team it is, and `key` names the visit if a case has several. `post` is which doctor of a
    hospital sees the patient, `past` what was noted of the patient before, and `remembering` what a doctor who reads
    remembers, by default what the minds were given. At most `max_examinations` may be done, not counting the `free`.
    """
    trace, key, case = Trace(watch=watch), key or case.id, staging.case(case)
    mind = minds.doctor(key, seat=seat, department="" if post is None else post.department)

    def told(references: tuple[ShownPassage, ...]) -> None:
        turn = max_turns - doctor.turns_left()
        trace.add(Retrieved(seq=trace.next, turn=turn, references=references))

    doctor = Doctor(
        mind,
        staging.known_to_doctor(case.presentation, record=in_one_step),
        max_turns=max_turns,
        record=case.record if in_one_step else None,
        number=seat.number,
        max_examinations=max_examinations,
        free=free,
        post=post,
        past=past,
        case=case.id,
        **minds.reading(mind, remembering),
        told=told,
        setting=case.setting,
        staging=staging,
        pictures=shown_to(mind, minds.pictures, [one.url for one in case.attachments], secret=_withheld(case)),
    )
    patient = patient_of(case, minds, seat, key=key, past=past, staging=staging)
    examiner = None
    if case.setting == "ward":
        examiner = examiner_of(
            case, minds, seat, staging.missing, key=key, max_examinations=max_examinations, free=free
        )
    playing = {Role.DOCTOR: doctor.name}
    if not in_one_step:
        playing[Role.PATIENT] = patient.name
        if examiner is not None:
            playing[Role.EXAMINER] = examiner.name
    trace.add(
        Opened(
            seq=0,
            format=TRACE_FORMAT,
            case=case.id,
            presentation=case.presentation,
            minds=playing,
            seed=minds.seed,
            max_turns=max_turns,
            one_step=in_one_step,
            doctor=seat.number,
            pictures=tuple(picture.shown for picture in doctor.pictures),
        )
    )
    await consultation(
        doctor,
        None if in_one_step else patient,
        examiner,
        max_turns=max_turns,
        question=question,
        greeting=staging.greeting(case.record),
        staging=staging,
        trace=trace,
    )
    reveal(case, trace)
    return Attended(Visit.of(trace, case.truth), doctor, patient)


def patient_of(
    case: Case, minds: Minds, seat: Seat, *, key: str, past: PatientRecord | None = None, staging: Staging = OURS
) -> Patient:
    """Returns who plays the patient of a case, and knows what a patient may say, or the whole record."""
    return Patient(
        minds.patient(key, seat=seat),
        case.record,
        setting=case.setting,
        withheld=_withheld(case),
        persona=case.persona,
        past=past,
        staging=staging,
    )


def examiner_of(
    case: Case,
    minds: Minds,
    seat: Seat,
    missing: Missing,
    *,
    key: str,
    max_examinations: int | None = None,
    free: frozenset[str] = frozenset(),
) -> Examiner:
    """Returns who looks up the findings of a case; outside a ward the patient holds them."""
    return Examiner(
        minds.examiner(key, seat=seat),
        held_by_examiner(case),
        minds.examination_names,
        missing=missing,
        max_examinations=max_examinations,
        free=free,
    )


def held_by_examiner(case: Case) -> Record:
    """Returns the record of a case with all findings that its examiner holds, also those that the history reports.

    Outside a ward there is no examiner, and the history keeps what it reports.
    """
    if case.setting != "ward":
        return case.record
    results = reported_results(case.record, withheld=_withheld(case))
    return msgspec.structs.replace(case.record, findings=(*case.record.findings, *results))


def _withheld(case: Case) -> tuple[str, ...]:
    return diagnosis_terms(case.truth.diagnoses)


def reveal(case: Case, trace: Trace) -> None:
    """Ends a trace with the truth."""
    trace.add(Revealed(seq=trace.next, question=case.question, **msgspec.structs.asdict(case.truth)))


def consult(
    case: Case,
    *,
    doctor: Playing = "rules",
    patient: Playing = "rules",
    examiner: Playing = "rules",
    seed: int = 0,
    max_turns: int = MAX_TURNS,
    in_one_step: bool = False,
    models: ModelSettings | None = None,
    journal: str | Path | None = None,
    pictures: CasePictures | None = None,
) -> Visit:
    """Lets a doctor see the patient of a case as `see` does, and waits for the end.

    Minds are named as on the command line, or are your own functions, classes or objects, as `Minds` takes them. The
    journal is a file that keeps every answer of a model. Doctors who see are shown the case's pictures, as
    `pictures` reads them.

    Raises:
        UserError: a name or a file cannot be used.
    """

    async def visit() -> Visit:
        playing = open_minds(
            [doctor],
            Cast(patient=patient, examiner=examiner),
            models or ModelSettings(),
            knowledge=read_knowledge(),
            seed=seed,
            journal=journal,
            pictures=pictures,
        )
        async with playing as opened:
            return await see(case, opened.minds[name_of(doctor)], max_turns=max_turns, in_one_step=in_one_step)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(visit())
    # In a notebook a loop runs already: the visit has one of its own, in a thread that is waited for.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, visit()).result()
