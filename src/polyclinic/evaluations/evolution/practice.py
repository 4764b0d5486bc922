"""The practice: treat patients, record right answers, learn from wrong ones, and be tested on others (§4.3, §5).

A batch of patients is treated against one memory, and what comes of it is remembered in their order; a batch of one is
the paper. What comes of a batch is committed with it, so a practice that was cut off goes on as if it never had been.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from polyclinic.evaluations.evolution.patients import PracticePatient
from polyclinic.memory.entries import ClinicalTask, Lesson, MedicalRecord, entry_of
from polyclinic.memory.memory import DoctorMemory, New, Note
from polyclinic.memory.recall import NEIGHBOURS, PRACTICE, CameToMind, Learner, Put, TaskAnswer
from polyclinic.retrieval.embedders import Embedder
from polyclinic.retrieval.store import Vectors

BATCH, POINT = "batch", "point"  # kinds of notes


class Remembers(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a memory that are used and grow."""

    records: bool = True
    experience: bool = True


BOTH = Remembers()


class TaskDone(NamedTuple):
    """One task on one patient, with the recalled cases, the answer and the right answers."""

    put: Put
    vector: Vectors
    brought: CameToMind
    answered: TaskAnswer
    right: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether the answer is one of the right ones."""
        return self.answered.label in self.right


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """The test after so many patients of the practice.

    Attributes:
        right: of each task, how many of the `n` patients of the test were treated rightly.
        by_disease: of each disease, how many patients have it, and the same of these.
        train: of each task, how many of the patients so far were treated rightly when they came.
        records, experience: of each task, how much is remembered.
        unusable: how many answers of the test could not be used; they are wrong.
        of_patients: which tasks of each patient of the test were done rightly, by the case's id.
    """

    patients: int
    n: int
    right: dict[ClinicalTask, int]
    by_disease: dict[str, tuple[int, dict[ClinicalTask, int]]]
    train: dict[ClinicalTask, int]
    records: dict[ClinicalTask, int]
    experience: dict[ClinicalTask, int]
    unusable: int = 0
    of_patients: dict[str, dict[ClinicalTask, bool]] = {}

    @property
    def wrong(self) -> dict[ClinicalTask, int]:
        """Of each task, how many of the patients so far were treated wrongly."""
        return {task: self.patients - right for task, right in self.train.items()}


class BatchLearnt(msgspec.Struct, frozen=True):
    """Of each task, how many patients of a batch were treated rightly."""

    right: dict[ClinicalTask, int]


Treated = dict[ClinicalTask, TaskDone]
"""The tasks on one patient."""


class Practice:
    """A doctor who practises with a memory.

    Args:
        learner: who learns.
        memory: what it remembers.
        embedder: makes the vectors of the memory.
        remembers: which parts of the memory are used and grow.
        recovered: says whether a patient is well again after a right, or wrong, treatment. Then the learner sees that
            alone, and keeps what it did for those who are; what would have been right it never hears. None shows what
            was right.
        wanted: how many records, and how many principles, come to mind.
    """

    def __init__(
        self,
        learner: Learner,
        memory: DoctorMemory,
        embedder: Embedder,
        *,
        remembers: Remembers = BOTH,
        recovered: Callable[[PracticePatient, bool], bool] | None = None,
        wanted: tuple[int, int] = (NEIGHBOURS, NEIGHBOURS),
    ) -> None:
        self._learner, self._memory, self._embedder = learner, memory, embedder
        self._remembers, self._recovered = remembers, recovered
        self._wanted = wanted
        self._vectors: dict[str, Vectors] = {}

    def using(self, remembers: Remembers, *, k: int | None = None) -> Practice:
        """Returns a practice of the same learner and memory that recalls only a part, or k of each."""
        wanted = self._wanted if k is None else (k, k)
        other = Practice(self._learner, self._memory, self._embedder, remembers=remembers, wanted=wanted)
        other._vectors = self._vectors
        return other

    async def run(
        self,
        train: Sequence[PracticePatient],
        test: Sequence[PracticePatient],
        *,
        batch: int = 1,
        test_every: int = 100,
        snapshots: int | None = None,
        advance: Callable[[], None] = lambda: None,
        on_point: Callable[[Point], None] = lambda _: None,
    ) -> list[Point]:
        """Treats the patients who have not been treated yet, calls `advance` for each, and tests in between."""
        notes = self._memory.notes()
        points = [msgspec.msgpack.decode(note.came, type=Point) for note in notes if note.what == POINT]
        batches = [msgspec.msgpack.decode(note.came, type=BatchLearnt) for note in notes if note.what == BATCH]
        right = sum((Counter(one.right) for one in batches), Counter())
        done, shown = max((note.patients for note in notes if note.what == BATCH), default=0), 0
        for point in points:
            on_point(point)
        steps = (test_every, snapshots or test_every)
        while True:
            for _ in range(shown, done):
                advance()
            shown = done
            await asyncio.sleep(0)  # a learner that answers at once could not be stopped otherwise
            due = done == len(train) or any(done % step == 0 for step in steps)
            if due and not any(point.patients == done for point in points):
                points.append(await self._point(test, done, right))
                self._memory.commit((), [Note(done, POINT, msgspec.msgpack.encode(points[-1]))])
                on_point(points[-1])
            if done == len(train):
                return points
            end = min(done + batch, len(train), *((done // step + 1) * step for step in steps))
            right.update(await self._learn_from(train[done:end]))
            done = end

    async def test(self, patients: Sequence[PracticePatient], *, when: str) -> list[Treated]:
        """Treats patients, all at once, with the memory as it is; nothing of it is remembered."""
        return await asyncio.gather(*(self._treat(patient, f"test {when}") for patient in patients))

    async def _treat(self, patient: PracticePatient, when: str) -> Treated:
        """Puts the three tasks to the learner, one after the other."""
        examined = await self._answer(patient.examination(), when)
        examination = examined.answered.label
        diagnosed = await self._answer(patient.diagnosis(examination), when)
        came, name = {ClinicalTask.EXAMINATION: examined, ClinicalTask.DIAGNOSIS: diagnosed}, diagnosed.answered.label
        if name:
            came[ClinicalTask.TREATMENT] = await self._answer(patient.treatment(examination, name), when)
        return {task: one._replace(right=patient.right(task, diagnosis=name)) for task, one in came.items()}

    # --- practice

    async def _learn_from(self, patients: Sequence[PracticePatient]) -> Mapping[ClinicalTask, int]:
        """Treats a batch, remembers it, and returns how many were treated rightly in each task."""
        learnt = await asyncio.gather(*(self._learn(patient) for patient in patients))
        right = Counter(task for came, _ in learnt for task, one in came.items() if one.is_right)
        note = Note(patients[-1].number, BATCH, msgspec.msgpack.encode(BatchLearnt(dict(right))))
        self._memory.commit([one for _, new in learnt for one in new], [note])
        return right

    async def _learn(self, patient: PracticePatient) -> tuple[Treated, list[New]]:
        """Treats a patient, and returns the new entries."""
        came = await self._treat(patient, PRACTICE)
        told, judged_by = [*came.values()], "truth"
        if self._recovered is not None:
            plan, judged_by = came.get(ClinicalTask.TREATMENT), "outcome"
            is_well = self._recovered(patient, plan is not None and plan.is_right)
            told = [one._replace(right=(one.answered.label,) if is_well else ()) for one in told]
        lessons = await asyncio.gather(*map(self._lesson, told))
        new = []
        for n, (one, lesson) in enumerate(zip(told, lessons, strict=True)):
            asked, (label, reasoning) = one.put.asked, one.answered
            # An outcome does not say which task led to it.
            led_to = () if self._recovered else tuple(later.put.task for later in told[n + 1 :] if later.is_right)
            entry = entry_of(asked, label, reasoning, one.right, lesson=lesson, led_to=led_to, judged_by=judged_by)
            if entry is not None and (self._remembers.records or not isinstance(entry, MedicalRecord)):
                new.append(New(one.put.task, entry, one.vector))
        return came, new

    async def _lesson(self, one: TaskDone) -> Lesson | None:
        if one.is_right or not one.right or not one.answered.label or not self._remembers.experience:
            return None
        return await self._learner.learn(one.put, one.brought, one.answered, one.right)

    # --- the test

    async def _point(self, patients: Sequence[PracticePatient], done: int, right: Mapping[ClinicalTask, int]) -> Point:
        treated = await self.test(patients, when=str(done))
        flags = [{task: one.is_right for task, one in came.items()} for came in treated]
        by_disease: dict[str, list[dict[ClinicalTask, bool]]] = {}
        for patient, done_rightly in zip(patients, flags, strict=True):
            by_disease.setdefault(patient.disease.id, []).append(done_rightly)

        def counts(some: Sequence[Mapping[ClinicalTask, bool]]) -> dict[ClinicalTask, int]:
            return {task: sum(one.get(task, False) for one in some) for task in ClinicalTask}

        return Point(
            patients=done,
            n=len(patients),
            right=counts(flags),
            by_disease={id: (len(some), counts(some)) for id, some in by_disease.items()},
            train={task: right.get(task, 0) for task in ClinicalTask},
            records={task: len(self._memory.records[task]) for task in ClinicalTask},
            experience={task: len(self._memory.experience[task]) for task in ClinicalTask},
            unusable=sum(not one.answered.label for came in treated for one in came.values()),
            of_patients={patient.case.id: one for patient, one in zip(patients, flags, strict=True)},
        )

    # --- answers

    async def _answer(self, put: Put, when: str) -> TaskDone:
        """Recalls similar cases, and has the task answered."""
        put, query = put._replace(when=when), put.asked.query
        vector = self._vectors.get(query)
        if vector is None:
            (vector,) = await self._embedder.passages([("", query)])
            if when != PRACTICE:  # patients of the test come again
                self._vectors[query] = vector
        (records, experience), used = self._wanted, self._remembers
        wanted = records if used.records else 0, experience if used.experience else 0
        brought = self._memory.recall(put.task, vector, wanted)
        return TaskDone(put, vector, brought, await self._learner.answer(put, brought), ())
