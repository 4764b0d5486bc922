"""The medical part of one visit, as a function of what is known when it begins: triage, consultations, the plan.

When it is computed, where, and in which order relative to others does not matter: it depends on its request alone. The
simulation gives its parts their place in simulated time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from msgspec.structs import replace

from polyclinic.cases.case import Case
from polyclinic.cases.patient_record import NotedVisit, Step
from polyclinic.cases.record import Finding
from polyclinic.cases.truth import Severity
from polyclinic.hospital.record.happenings import Acuity
from polyclinic.knowledge.acuity import Level
from polyclinic.knowledge.entries import Disposition
from polyclinic.language.language import Language
from polyclinic.memory.entries import ClinicalTask
from polyclinic.memory.reading import Studied
from polyclinic.models.limits import AnswerWanted
from polyclinic.retrieval.retriever import Passage


class VitalSign(msgspec.Struct, frozen=True, kw_only=True):
    """What the nurse measured."""

    sign: str  # id of the item, such as heart_rate
    finding: Finding  # as it is read out


class AtDoor(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the nurse learnt at the door; it is given on with the patient."""

    level: Level  # of the five-level index, as she judged it
    reason: str = ""  # why, in a sentence
    vital_signs: tuple[VitalSign, ...] = ()  # in the order of the record
    told: tuple[tuple[str, str], ...] = ()  # what she asked, and what was answered

    @property
    def measured(self) -> tuple[str, ...]:
        """The vital signs, items by id with the value behind a colon."""
        return tuple(f"{one.sign}: {one.finding.value_text}" for one in self.vital_signs)


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """What came of triage."""

    department: str  # where the patient was sent
    acuity: Acuity  # how soon it must be seen, as the nurse judged it
    at_door: AtDoor  # what she learnt


class EpisodeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What an episode is computed from."""

    resident: str  # who is ill
    case: Case  # the illness as it is at this visit; holds the truth, which no player gets
    visit: int  # from 1 within the illness
    departments: tuple[str, ...]  # those that see patients in this hospital
    day: str = ""  # the date of the visit, as 2026-01-05
    earlier: tuple[NotedVisit, ...] = ()  # what was noted of earlier visits, the earliest first
    doctors: dict[str, tuple[str, ...]] = {}  # by department, ids of those who would see it, the first of them first
    worse: Case | None = None  # the illness as it will soon be where no doctor sees it before; None: as it is
    received: Received | None = None  # what the nurse has said already; None where nobody has been asked yet
    memory: str = ""  # the version of what the doctors have learnt that is read in it; "" where nobody learns
    wanted: AnswerWanted = AnswerWanted()

    @property
    def visit_key(self) -> str:
        """Names the visit in a run, whatever its doctors remember; what is drawn for it goes by that."""
        return f"{self.case.id}/{self.visit}"

    @property
    def key(self) -> str:
        """Names the episode in a run."""
        return f"{self.visit_key}@{self.memory}" if self.memory else self.visit_key


class ConsultationHeld(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One consultation of an episode."""

    department: str  # whose doctor
    doctor: str = ""  # id of the member of the staff; "" where nobody is named
    turns: int  # what the doctor said, counted
    examinations: tuple[str, ...] = ()  # that were done, each once: ids of the knowledge's, else names
    diagnosis: str = ""  # the likeliest; "" where the doctor commits to none
    step: Step = "conclude"  # what the doctor decided after its report
    refer_to: str = ""  # the department that the patient is sent on to; "" where it stays
    reason: str = ""  # why it is treated, sent on or admitted
    trace: str = ""  # the visit's events as JSON lines


class AnsweredTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the three tasks as a doctor has met it in a visit; nothing in it is the truth."""

    task: ClinicalTask
    picture: str  # what was known of the patient then, as a memory finds it again
    options: tuple[str, ...]  # what could be chosen
    answer: str  # what the doctor chose, as it stands among the options; "" where it chose nothing
    reasoning: str = ""


class CareGiven(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a visit did, held against what the disease that the patient has needs."""

    covered: float = 0.0  # how much of that was done, from nothing (0) to all (1)
    missed: tuple[str, ...] = ()  # what was not: drugs by id, else in short words
    needless: tuple[str, ...] = ()  # drugs handed out that the disease does not call for, by id
    against: tuple[str, ...] = ()  # drugs handed out that something in the patient's record speaks against, by id


class Episode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of the medical part of a visit."""

    key: str  # of the request
    department: str = ""  # where the nurse sent the patient; "" where triage failed
    acuity: Acuity = Acuity.ROUTINE  # as the nurse judged it
    at_door: AtDoor | None = None  # what she learnt; None where triage failed
    seen: tuple[ConsultationHeld, ...] = ()  # the consultations, one, or two and more where the patient was referred
    noted: NotedVisit | None = None  # what everybody after knows of it; None where nobody saw the patient
    plan: Severity | None = None  # the severity whose plan the doctor chose; None where it chose none
    treatment: tuple[str, ...] = ()  # what was done for this patient, short items; substitutes, not what was withheld
    not_begun: tuple[str, ...] = ()  # measures that wait for an examination, short items that say for which
    dispensed: tuple[str, ...] = ()  # drugs handed out: ids of the knowledge's
    continued: tuple[str, ...] = ()  # drugs that are due and taken already, ids, each with what is taken behind a colon
    withheld: tuple[str, ...] = ()  # drugs withheld by the pharmacist, ids, each with its reason behind a colon
    instead: tuple[str, ...] = ()  # of those, each that another drug stands in for, with that behind a colon
    lacking: tuple[str, ...] = ()  # of those, the rest, each with why nothing stands in behind a colon
    disposition: Disposition = "home"  # where the plan treats
    treated_for: str = ""  # the disease whose plan it is, by id; "" where there is none
    care: CareGiven | None = None  # what was done; None where nobody treated
    answered: tuple[AnsweredTask, ...] = ()  # what its last doctor may learn from; nothing where nobody learns
    right_examination: bool = False  # an examination that is right for the disease was done
    right_diagnosis: bool = False  # the diagnosis is the disease's
    right_treatment: bool = False  # the plan is that of the disease at its severity
    failed: str = ""  # who failed; what would have come after it is left out
    error: str = ""  # the name of the failure
    problem: str = ""  # what it said
    worse: Episode | None = None  # what would come where it gets worse before it is seen; None: not computed along
    calls: int = 0  # to models
    tokens: int = 0  # in and out
    cost: float | None = None  # in the currency of the prices; None where there are none

    @property
    def received(self) -> Received | None:
        """What came of triage; None where it failed."""
        if self.at_door is None:
            return None
        return Received(department=self.department, acuity=self.acuity, at_door=self.at_door)

    @property
    def admits(self) -> bool:
        """Whether the last doctor wants the patient in a bed."""
        return bool(self.seen) and self.seen[-1].step == "admit"


def untold(episode: Episode) -> Episode:
    """Returns an episode without its traces."""
    if episode.worse is not None:
        episode = replace(episode, worse=untold(episode.worse))
    if not any(held.trace for held in episode.seen):
        return episode
    return replace(episode, seen=tuple(replace(held, trace="") for held in episode.seen))


class LessonRequest(msgspec.Struct, frozen=True, kw_only=True, tag="lesson"):
    """A wrong answer, of which its doctor is told what would have been right; what comes of it goes into a memory."""

    visit: str  # names the episode
    case: str  # its patient
    day: int  # of the run, on which the doctor is told
    memory: str  # the version that was read when it was answered
    holder: str  # whose memory it was
    language: Language
    answered: AnsweredTask
    right: tuple[str, ...]  # all that would have been
    wanted: AnswerWanted = AnswerWanted()

    @property
    def key(self) -> str:
        """Names the lesson in a run."""
        return f"{self.visit}/{self.answered.task}"


class LessonDrawn(msgspec.Struct, frozen=True, kw_only=True, tag="lesson"):
    """What came of it: a principle, with which the answer is right; "" where there is none."""

    key: str
    principle: str = ""
    after: str = ""
    calls: int = 0  # to models
    tokens: int = 0  # in and out
    cost: float | None = None  # in the currency of the prices; None where there are none


class StudyRequest(msgspec.Struct, frozen=True, kw_only=True, tag="study"):
    """A passage that somebody reads off its shift."""

    holder: str  # who reads, or whose department
    date: str  # the day, as 2026-01-05
    language: Language
    passage: Passage
    wanted: AnswerWanted = AnswerWanted()

    @property
    def key(self) -> str:
        """Names the reading in a run."""
        return f"{self.holder} {self.date}/{self.passage.source}"


class StudyDone(msgspec.Struct, frozen=True, kw_only=True, tag="study"):
    """What came of it."""

    studied: Studied
    calls: int = 0  # to models
    tokens: int = 0  # in and out
    cost: float | None = None  # in the currency of the prices; None where there are none


LearnRequest = LessonRequest | StudyRequest
"""What a doctor does to learn."""

LearnDone = LessonDrawn | StudyDone

Compute = Callable[[EpisodeRequest], Awaitable[Episode]]
"""Computes episodes: in this process, in others, or from what a run has stored."""

Learn = Callable[[LearnRequest], Awaitable[LearnDone]]
"""Lets a doctor draw a lesson or read, in this process or in another."""
