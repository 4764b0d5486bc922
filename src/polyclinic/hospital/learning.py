"""How doctors learn from their visits (agent-hospital §3.5.1), and when they know it.

1. The three tasks of each visit are kept as its last doctor met them.
2. Later the doctor's memory is told the result. With the feedback `truth` that is the right answer, at the end of the
   visit (as in the paper). With `outcome` it is only the follow-up: a patient who recovers or is better was treated
   well, as far as anybody knows, and a patient who is worse was not.
3. A right answer becomes a record. From a wrong one a doctor who can reflect draws a lesson.
4. Off shift a doctor, or a department together, reads some passages of a corpus a day, in an order of its own, at an
   hour at which it is not on duty (agent-hospital §3.5.2). What is read goes into a second library.
5. All of it is published at the next midnight. Episodes launched from then on read it, and none before.

Right answers reach memories alone, and players only as memories of other patients.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from polyclinic.cases.case import Case
from polyclinic.errors import UserError
from polyclinic.hospital.care.remembering import holder_of
from polyclinic.hospital.care.setup import LearningSetup
from polyclinic.hospital.floor.clock import Clock, Decision, Signal, Steps
from polyclinic.hospital.plan.opening_hours import OpeningHours
from polyclinic.hospital.plan.plan import Hospital, Job, Member, Shift
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
from polyclinic.memory.entries import GRADES, AskedTask, ClinicalTask, Lesson, MedicalRecord, entry_of
from polyclinic.memory.opening import Learnt, Publication, next_version
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


_HOURS = (19, 20, 21, 12, 10, 16, 8)
"""Hours for reading, in order of preference; reading takes an hour."""

_LOOKED_AT = 50
"""Passages that determine the language of a corpus."""


@dataclass(kw_only=True)
class _Visit:
    """A visit from which a doctor may learn."""

    holder: str
    case: str
    key: str
    language: Language
    answered: tuple[AnsweredTask, ...]
    # The right answers of each task; with outcomes, the given answer or nothing
    right: dict[ClinicalTask, tuple[str, ...]] = field(default_factory=dict)
    lessons: dict[ClinicalTask, Signal] = field(default_factory=dict)  # from wrong answers


@dataclass(eq=False)
class HospitalLearning:
    """The learning of all doctors of a run."""

    setup: LearningSetup
    knowledge: Knowledge
    clock: Clock
    log: Log
    publish: Callable[[Publication], None]  # hands new memories to the clinic, and to the folder of the run
    reflect: Learn | None  # lets a doctor draw a lesson; None if its mind cannot
    keep: Callable[[str, Sequence[PassageRead]], None] = lambda *_: None  # keeps passages that were read
    version: str = field(init=False)  # current
    _open: dict[str, _Visit] = field(init=False, default_factory=dict)  # by patient, until the follow-up
    _told: list[_Visit] = field(init=False, default_factory=list)  # judged since the last publication
    _read: list[tuple[str, Signal]] = field(init=False, default_factory=list)  # readings since then
    _next: Signal | None = field(init=False, default=None)  # the next publication
    _due: int = field(init=False, default=0)  # when
    _cases: Counter[str] = field(init=False, default_factory=Counter)  # told of, by holder

    def __post_init__(self) -> None:
        self.version = self.setup.version

    def read(self, request: EpisodeRequest) -> EpisodeRequest:
        """Returns a request with the version that its doctors read."""
        return msgspec.structs.replace(request, memory=self.version)

    def over(self, patient: str, case: Case, episode: Episode) -> None:
        """Takes note of the end of a visit."""
        if not self.setup.learns or not episode.answered:
            return
        held = episode.seen[-1]
        visit = _Visit(
            holder=holder_of(self.setup, held.doctor, held.department),
            case=case.id,
            key=episode.key,
            language=case.presentation.language,
            answered=episode.answered,
        )
        if self.setup.feedback == "truth":
            self._learn(visit, self._truth(case, visit))
        else:
            self._open[patient] = visit

    def followed_up(self, patient: str, outcome: str) -> None:
        """Takes note of the outcome of a patient's last visit."""
        visit = self._open.pop(patient, None)
        if visit is not None:
            well = outcome in _WELL
            self._learn(visit, {one.task: (one.answer,) if well and one.answer else () for one in visit.answered})

    def morning(self) -> Steps:
        """Waits for a publication that is due now."""
        if self._next is not None and self.clock.now >= self._due:
            yield self._next

    async def finish(self) -> None:
        """Publishes the last lessons at the end of the run, so that another run can use the memories."""
        if not self._told and not self._read:
            return
        steps = self._publish()
        lesson = next(steps, None)
        with contextlib.suppress(StopIteration):
            while isinstance(lesson, Decision):
                # It is not due before midnight, and no midnight comes any more.
                lesson = steps.send(await lesson.task)

    def _truth(self, case: Case, visit: _Visit) -> dict[ClinicalTask, tuple[str, ...]]:
        """Returns the right answers; none for the plan of another disease."""
        named, severity = case.truth.diagnoses, case.truth.severity
        disease = self.knowledge.disease_named(named[0].name) if named else None
        if disease is None:
            return {}
        language, who = visit.language, case.presentation
        right_ids = self.knowledge.right_examinations(disease, sex=who.sex, age=who.age)
        names = (self.knowledge.examinations[id].name.get(language) for id in right_ids)
        by_task = {one.task: one for one in visit.answered}
        examination = by_task.get(ClinicalTask.EXAMINATION)
        right: dict[ClinicalTask, tuple[str, ...]] = {ClinicalTask.DIAGNOSIS: (disease.name.get(language),)}
        if examination is not None:
            right[ClinicalTask.EXAMINATION] = tuple(name for name in names if name in examination.options)
        if severity is not None and by_task[ClinicalTask.DIAGNOSIS].answer in right[ClinicalTask.DIAGNOSIS]:
            right[ClinicalTask.TREATMENT] = (GRADES[language][severity],)
        return right

    def _learn(self, visit: _Visit, right: dict[ClinicalTask, tuple[str, ...]]) -> None:
        visit.right = {one.task: right.get(one.task, ()) for one in visit.answered}
        midnight = (self.clock.now // DAY + 1) * DAY
        for one in visit.answered:
            wanted = visit.right[one.task]
            if self.reflect is not None and wanted and one.answer and one.answer not in wanted:
                request = LessonRequest(
                    visit=visit.key,
                    case=visit.case,
                    day=self.clock.now // DAY,
                    memory=visit.key.rpartition("@")[2],
                    holder=visit.holder,
                    language=visit.language,
                    answered=one,
                    right=wanted,
                    wanted=self.clock.wanted(midnight),
                )
                visit.lessons[one.task] = self.clock.launch(self.reflect(request), due=midnight)
        self._told.append(visit)
        self._expect()

    def reads(self, holder: str, came: Signal) -> None:
        """Takes note of a reading, whose result is published at the next midnight."""
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
        learnt: list[Learnt] = []
        for visit in told:
            self._cases[visit.holder] += 1
            number = self._cases[visit.holder]
            for n, one in enumerate(visit.answered):
                asked = AskedTask(case=visit.case, number=number, query=one.picture, options=one.options)
                right, lesson = visit.right[one.task], None
                if one.task in visit.lessons:
                    drawn: LessonDrawn = yield visit.lessons[one.task]
                    lesson = Lesson(drawn.principle, drawn.after) if drawn.principle else None
                elif self.setup.feedback == "outcome" and one.answer and not right:
                    # The right answer is unknown, but probably not this one.
                    lesson = Lesson(_WORSE[visit.language].format(answer=one.answer), "")
                after = visit.answered[n + 1 :]
                entry = entry_of(
                    asked,
                    one.answer,
                    one.reasoning,
                    right,
                    lesson=lesson,
                    led_to=tuple(other.task for other in after if other.answer in visit.right[other.task]),
                    judged_by=self.setup.feedback,
                )
                if entry is not None:
                    learnt.append(Learnt(visit.holder, one.task, entry))
        records = tuple(one for one in learnt if isinstance(one.entry, MedicalRecord))
        experience = tuple(one for one in learnt if not isinstance(one.entry, MedicalRecord))
        read: dict[str, list[PassageRead]] = {}
        for holder, coming in reading:
            read.setdefault(holder, []).append((yield coming))
        for holder, passages in read.items():
            self.keep(holder, passages)
        if told:
            self.version = next_version(self.version, records, experience)
            self.publish(Publication(version=self.version, records=records, experience=experience))
        what = MemoriesPublished(
            version=self.version,
            cases=len(told),
            records=len(records),
            experience=len(experience),
            passages=len(reading),
            questions=sum(len(one.studied.records) for some in read.values() for one in some),
        )
        self.log.add(self.clock.now, TOWN, what)

    def read_off_shift(
        self,
        hospital: Hospital,
        passages: Sequence[Passage],
        read: Callable[[StudyRequest], Awaitable[PassageRead]],
        *,
        seed: int,
        days: int,
    ) -> None:
        """Lets the doctors of a hospital read passages on so many days."""
        setup, clock = self.setup, self.clock
        weekday = OpeningHours(hospital).weekday

        def reads(holder: str, members: Sequence[Member]) -> Steps:
            order = list(passages)
            derive(seed, holder, "reading").shuffle(order)
            for day in range(days):
                shifts = [[shift for shift in one.shifts if weekday(day) in shift.days] for one in members]
                # An hour at which one of them is off duty.
                hour = next((hour for hour in _HOURS if any(_is_off(theirs, hour) for theirs in shifts)), None)
                if hour is None:
                    continue
                today, order = order[: setup.passages], order[setup.passages :]
                if not today:
                    return
                yield clock.at(day * DAY + hour * HOUR)
                date, due = hospital.date(day).isoformat(), (day + 1) * DAY
                for passage in today:
                    request = StudyRequest(
                        holder=holder, date=date, language=setup.language, passage=passage, wanted=clock.wanted(due)
                    )
                    self.reads(holder, clock.launch(read(request), due=due))

        readers: dict[str, list[Member]] = {}
        for member in hospital.staff.values():
            if member.job is Job.DOCTOR:
                for holder in [member.id] if setup.holder == "doctor" else member.departments:
                    readers.setdefault(holder, []).append(member)
        for holder, members in readers.items():
            clock.start(reads(holder, members))


def _is_off(shifts: Iterable[Shift], hour: int) -> bool:
    return all(shift.end <= hour * HOUR or (hour + 1) * HOUR <= shift.begin for shift in shifts)


def read_whole(corpus: str, language: Language) -> list[Passage]:
    """Returns the passages of a corpus, in its order."""
    with Corpus(find_corpus(corpus)) as opened:
        found = list(opened.passages())
    if not found:
        raise UserError(f"--read {corpus}: the corpus holds nothing")
    there = language_of([passage.text for passage in found[:_LOOKED_AT]])
    if there != language:
        raise UserError(f"--read {corpus}: is in {there!r}, and the town in {language!r}")
    return found
