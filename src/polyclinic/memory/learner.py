"""What somebody who learns is asked, and what it is given for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from polyclinic.cases.presentation import Question
from polyclinic.memory.entries import AskedTask, ClinicalTask, Experience, MedicalRecord
from polyclinic.memory.library import MemoryLibrary, Near


class Put(NamedTuple):
    """A task as it is put to somebody.

    Attributes:
        labels: what the options are called in a memory, in their order; of a plan its grade, of the rest its text.
        when: at which moment of the practice it is put; the same question may be put at many.
    """

    task: ClinicalTask
    question: Question
    labels: tuple[str, ...]
    asked: AskedTask
    when: str = ""


class CameToMind(NamedTuple):
    """What came to mind for it, the nearest first.

    Attributes:
        diagnosed: the records and the experience of diagnoses: what each remembered patient turned out to have. None
            where that is not remembered.
    """

    records: MemoryLibrary[MedicalRecord]
    near_records: Near
    experience: MemoryLibrary[Experience]
    near_experience: Near
    diagnosed: tuple[MemoryLibrary[MedicalRecord], MemoryLibrary[Experience]] | None = None


NOTHING = CameToMind(
    MemoryLibrary(0),
    Near(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)),
    MemoryLibrary(0),
    Near(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)),
)
"""What comes to mind of somebody who remembers nothing."""


class TaskAnswer(NamedTuple):
    """What somebody answered: a label, and why; no label where it gave none."""

    label: str
    reasoning: str = ""
    problem: str = ""


class Lesson(NamedTuple):
    """A principle that turned a wrong answer into a right one."""

    principle: str
    after: str


class Learner(Protocol):
    """Somebody who answers with what it remembers, and draws lessons from what was wrong."""

    @property
    def name(self) -> str:
        """Names it in results."""

    @property
    def wanted(self) -> tuple[int, int]:
        """How many records, and how many principles, it wants brought to mind."""

    async def answer(self, put: Put, brought: CameToMind) -> TaskAnswer:
        """Answers, or says the problem; an EndpointError where no answer came, which ends the practice for now."""

    async def learn(self, put: Put, brought: CameToMind, answered: TaskAnswer, right: Sequence[str]) -> Lesson | None:
        """Draws a lesson from a wrong answer, with what would have been right; None where the retest fails."""
