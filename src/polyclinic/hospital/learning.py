"""How doctors learn from their visits (agent-hospital §3.5.1): when they are told, and when they know it.

1. Of each visit the three tasks are kept as its last doctor has met them.
2. Some time after, the doctor's memory is told how it was. With the feedback `truth` that is what was right, at the end
   of the visit (the paper); with `outcome` it is only how the patient is at the follow-up: who recovers or gets better
   was treated well, for all that anybody knows, and who gets worse was not.
3. From a right answer comes a record. With a wrong one, whoever can reflect draws a lesson: a decision beside others.
4. Off its shift a doctor, or a department together, reads so many passages of a corpus a day, in an order of its own,
   at an hour at which it is not on duty (agent-hospital §3.5.2). That goes into a second library.
5. At the next midnight all of it is published: from then on whatever is launched reads it, and nothing before did.

What was right reaches memories alone, and players as what they remember of others.
"""

from __future__ import annotations

import contextlib
import datetime
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from polyclinic.cases.case import Case
from polyclinic.errors import UserError
from polyclinic.hospital.care.remembering import holder_of
from polyclinic.hospital.care.setup import LearningSetup
from polyclinic.hospital.floor.clock import Clock, Decision, Signal, Steps
from polyclinic.hospital.plan.opening_hours import OpeningHours
from polyclinic.hospital.plan.plan import Hospital, Job, Member
from polyclinic.hospital.record.account import Log
from polyclinic.hospital.record.episodes import (
    AnsweredTask,
    Episode,
    EpisodeRequest,
    Learn,
    LessonDrawn,
    LessonRequest,
    StudyRequest,
)
from polyclinic.hospital.record.happenings import DAY, HOUR, TOWN, FollowUpOutcome, MemoriesPublished
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import Language, language_of
from polyclinic.memory.entries import GRADES, AskedTask, ClinicalTask, Experience, MedicalRecord
from polyclinic.memory.opening import LearntExperience, LearntRecord, Publication, next_version
from polyclinic.memory.reading import PassageRead
from polyclinic.retrieval.corpus import Corpus
from polyclinic.retrieval.library import find_corpus
from polyclinic.retrieval.retriever import Passage
from polyclinic.seeds import derive

_WELL = (FollowUpOutcome.RECOVERED, FollowUpOutcome.BETTER)

_WORSE: dict[Language, str] = {
    "en": "A patient like this got worse after this was chosen: {answer}.",
    "zh": "此类患者选择以下处理后病情加重：{answer}。",
}


@dataclass(frozen=True, kw_only=True)
class _VisitMet:
    """A visit from which somebody may learn."""

    holder: str
    case: str
    key: str
    memory: str
    language: Language
    answered: tuple[AnsweredTask, ...]


@dataclass(frozen=True)
class _VisitJudged:
    """A visit of which it is known how it was.

    Attributes:
        right: of each task, all that was right; of an outcome the answer itself, or nothing.
        lessons: what will come of those that were wrong.
    """

    met: _VisitMet
    right: dict[ClinicalTask, tuple[str, ...]]
    lessons: dict[ClinicalTask, Signal]


@dataclass(eq=False)
class HospitalLearning:
    """What all doctors of a run learn.

    Args:
        setup: how.
        knowledge: what the hospital knows.
        clock: keeps the time.
        log: of the run.
        publish: hands what is new to whoever computes, and to whoever keeps it.
        reflect: lets a doctor draw a lesson; None where whoever plays cannot.
        keep: keeps what somebody has read.
    """

    setup: LearningSetup
    knowledge: Knowledge
    clock: Clock
    log: Log
    publish: Callable[[Publication], None]
    reflect: Learn | None
    keep: Callable[[str, Sequence[PassageRead]], None] = lambda *_: None
    version: str = field(init=False)  # of what is read now
    _open: dict[str, _VisitMet] = field(init=False, default_factory=dict)  # by patient, until the follow-up
    _told: list[_VisitJudged] = field(init=False, default_factory=list)  # since the last publication
    _read: list[tuple[str, Signal]] = field(init=False, default_factory=list)  # who has begun to read, since then
    _next: Signal | None = field(init=False, default=None)  # the next publication
    _due: int = field(init=False, default=0)  # when
    _cases: Counter[str] = field(init=False, default_factory=Counter)  # told of, by holder

    def __post_init__(self) -> None:
        self.version = self.setup.version

    def read(self, request: EpisodeRequest) -> EpisodeRequest:
        """Returns a request with the version that its doctors read."""
        return msgspec.structs.replace(request, memory=self.version)

    def over(self, patient: str, case: Case, episode: Episode) -> None:
        """A visit is over at which the patient was seen."""
        if not self.setup.learns or not episode.answered:
            return
        held = episode.seen[-1]
        met = _VisitMet(
            holder=holder_of(self.setup, held.doctor, held.department),
            case=case.id,
            key=episode.key,
            memory=episode.key.rpartition("@")[2],
            language=case.presentation.language,
            answered=episode.answered,
        )
        if self.setup.feedback == "truth":
            self._learn(met, self._truth(case, met))
        else:
            self._open[patient] = met

    def followed_up(self, patient: str, outcome: str) -> None:
        """How a patient is after its last visit is known."""
        met = self._open.pop(patient, None)
        if met is not None:
            well = outcome in _WELL
            self._learn(met, {one.task: (one.answer,) if well and one.answer else () for one in met.answered})

    def morning(self) -> Steps:
        """Waits for the publication of this very moment, where there is one."""
        if self._next is not None and self.clock.now >= self._due:
            yield self._next

    async def finish(self) -> None:
        """Publishes what was learnt last, now that the run is over, for whoever takes the memories further."""
        if not self._told and not self._read:
            return
        steps = self._publish()
        lesson = next(steps, None)
        with contextlib.suppress(StopIteration):
            while isinstance(lesson, Decision):
                # It is not due before midnight, and no midnight comes any more.
                lesson = steps.send(await lesson.task)

    def _truth(self, case: Case, met: _VisitMet) -> dict[ClinicalTask, tuple[str, ...]]:
        """Returns what was right; of a plan nothing, where it was one of another disease."""
        named, severity = case.truth.diagnoses, case.truth.severity
        disease = self.knowledge.disease_named(named[0].name) if named else None
        if disease is None:
            return {}
        language, who = met.language, case.presentation
        right_ids = self.knowledge.right_examinations(disease, sex=who.sex, age=who.age)
        names = (self.knowledge.examinations[id].name.get(language) for id in right_ids)
        by_task = {one.task: one for one in met.answered}
        examination = by_task.get(ClinicalTask.EXAMINATION)
        right: dict[ClinicalTask, tuple[str, ...]] = {ClinicalTask.DIAGNOSIS: (disease.name.get(language),)}
        if examination is not None:
            right[ClinicalTask.EXAMINATION] = tuple(name for name in names if name in examination.options)
        if severity is not None and by_task[ClinicalTask.DIAGNOSIS].answer in right[ClinicalTask.DIAGNOSIS]:
            right[ClinicalTask.TREATMENT] = (GRADES[language][severity],)
        return right

    def _learn(self, met: _VisitMet, right: dict[ClinicalTask, tuple[str, ...]]) -> None:
        midnight = (self.clock.now // DAY + 1) * DAY
        lessons = {}
        for one in met.answered:
            wanted = right.get(one.task, ())
            if self.reflect is not None and wanted and one.answer and one.answer not in wanted:
                request = LessonRequest(
                    visit=met.key,
                    case=met.case,
                    day=self.clock.now // DAY,
                    memory=met.memory,
                    holder=met.holder,
                    language=met.language,
                    answered=one,
                    right=wanted,
                )
                lessons[one.task] = self.clock.launch(self.reflect(request), due=midnight)
        self._told.append(_VisitJudged(met, right, lessons))
        self._expect()

    def reads(self, holder: str, came: Signal) -> None:
        """Somebody has begun to read; what comes of it is known at the next midnight."""
        self._read.append((holder, came))
        self._expect()

    def _expect(self) -> None:
        if self._next is None:
            midnight = (self.clock.now // DAY + 1) * DAY
            self._next, self._due = self.clock.start(self._publish_at(midnight)), midnight

    def _publish_at(self, midnight: int) -> Steps:
        yield self.clock.before(midnight)
        yield from self._publish()

    def _publish(self) -> Steps:
        told, self._told, self._next = self._told, [], None
        reading, self._read = self._read, []
        records: list[LearntRecord] = []
        experience: list[LearntExperience] = []
        for one in told:
            holder = one.met.holder
            self._cases[holder] += 1
            for n, answered in enumerate(one.met.answered):
                asked = _asked(one.met, answered, self._cases[holder])
                if answered.answer and answered.answer in one.right.get(answered.task, ()):
                    records.append(LearntRecord(holder, answered.task, self._record(one, n, asked)))
                    continue
                lesson: LessonDrawn | None = None
                if answered.task in one.lessons:
                    lesson = yield one.lessons[answered.task]
                entry = self._experience(one, answered, asked, lesson)
                if entry is not None:
                    experience.append(LearntExperience(holder, answered.task, entry))
        read: dict[str, list[PassageRead]] = {}
        for holder, coming in reading:
            read.setdefault(holder, []).append((yield coming))
        for holder, passages in read.items():
            self.keep(holder, passages)
        if told:
            self.version = next_version(self.version, records, experience)
            self.publish(Publication(version=self.version, records=tuple(records), experience=tuple(experience)))
        self.log.add(
            self.clock.now,
            TOWN,
            MemoriesPublished(
                version=self.version,
                cases=len(told),
                records=len(records),
                experience=len(experience),
                passages=len(reading),
                questions=sum(len(one.studied.records) for some in read.values() for one in some),
            ),
        )

    def _record(self, told: _VisitJudged, n: int, asked: AskedTask) -> MedicalRecord:
        answered = told.met.answered
        return MedicalRecord(
            asked=asked,
            answer=answered[n].answer,
            reasoning=answered[n].reasoning,
            led_to=tuple(one.task for one in answered[n + 1 :] if one.answer in told.right.get(one.task, ())),
            judged_by=self.setup.feedback,
        )

    def _experience(
        self, told: _VisitJudged, answered: AnsweredTask, asked: AskedTask, lesson: LessonDrawn | None
    ) -> Experience | None:
        if lesson is not None and lesson.principle:
            return Experience(
                asked=asked,
                before=answered.answer,
                after=lesson.after,
                right=told.right[answered.task],
                principle=lesson.principle,
                judged_by=self.setup.feedback,
            )
        if self.setup.feedback == "truth" or not answered.answer:
            return None
        # What would have been right nobody knows; that it was not this, perhaps.
        principle = _WORSE[told.met.language].format(answer=answered.answer)
        return Experience(
            asked=asked, before=answered.answer, after="", right=(), principle=principle, judged_by="outcome"
        )


def _asked(met: _VisitMet, answered: AnsweredTask, number: int) -> AskedTask:
    return AskedTask(case=met.case, number=number, query=answered.picture, options=answered.options)


_HOURS = (19, 20, 21, 12, 10, 16, 8)
"""At which somebody may read, the one that it likes best first; it takes an hour."""

_LOOKED_AT = 50
"""Passages that say in which language a corpus is."""

Read = Callable[[StudyRequest], Awaitable[PassageRead]]
"""Lets a doctor read a passage."""


class OffShift:
    """Lets the doctors of a hospital read.

    Args:
        hospital: whose.
        setup: how they learn, and how much they read a day.
        passages: what there is to read.
        clock: keeps the time.
        seed: the run's.
        read: reads.
        takes: is told of whoever has begun to read what; its signal happens at the next midnight.
    """

    def __init__(
        self,
        hospital: Hospital,
        setup: LearningSetup,
        passages: Sequence[Passage],
        clock: Clock,
        *,
        seed: int,
        read: Read,
        takes: Callable[[str, Signal], None],
    ) -> None:
        self._setup, self._passages, self._clock, self._seed = setup, passages, clock, seed
        self._read, self._takes = read, takes
        self._first = datetime.date.fromisoformat(hospital.first_day)
        self._weekday = OpeningHours(hospital).weekday
        self._readers: dict[str, list[Member]] = {}
        for member in hospital.staff.values():
            if member.job is Job.DOCTOR:
                for holder in [member.id] if setup.holder == "doctor" else member.departments:
                    self._readers.setdefault(holder, []).append(member)

    def begin(self, days: int) -> None:
        """Lets everybody read on so many days."""
        for holder in self._readers:
            self._clock.start(self._reads(holder, days))

    def _reads(self, holder: str, days: int) -> Steps:
        order = list(self._passages)
        derive(self._seed, holder, "reading").shuffle(order)
        for day in range(days):
            hour = self._hour(holder, day)
            if hour is None:
                continue
            today, order = order[: self._setup.passages], order[self._setup.passages :]
            if not today:
                return
            yield self._clock.at(day * DAY + hour * HOUR)
            for passage in today:
                request = StudyRequest(
                    holder=holder,
                    date=(self._first + datetime.timedelta(days=day)).isoformat(),
                    language=self._setup.language,
                    passage=passage,
                )
                self._takes(holder, self._clock.launch(self._read(request), due=(day + 1) * DAY))

    def _hour(self, holder: str, day: int) -> int | None:
        """Returns at which hour of a day somebody is not on duty; None where there is none."""
        weekday = self._weekday(day)
        for hour in _HOURS:
            begin, end = hour * HOUR, (hour + 1) * HOUR
            for member in self._readers[holder]:
                shifts = (shift for shift in member.shifts if weekday in shift.days)
                if all(shift.end <= begin or end <= shift.begin for shift in shifts):
                    return hour
        return None


def read_whole(corpus: str, language: Language) -> list[Passage]:
    """Returns what there is to read in a corpus, in its order."""
    with Corpus(find_corpus(corpus)) as opened:
        found = list(opened.passages())
    if not found:
        raise UserError(f"--read {corpus}: the corpus holds nothing")
    there = language_of([passage.text for passage in found[:_LOOKED_AT]])
    if there != language:
        raise UserError(f"--read {corpus}: is in {there!r}, and the town in {language!r}")
    return found
