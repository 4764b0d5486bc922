"""Learning from documents (§4.2.2, §4.3.1): how a doctor studies them, and the library of right answers.

    studied = await study(passage, writer=model, doctor=model, language="en", questions=2)
    studied.records, studied.refused

A right answer becomes a record of the second library, durable in a file beside the first. A question that cannot be
read, or that contradicts itself, is refused and counted by reason. The outcome of a passage is committed with it, so
that interrupted reading continues after the last passage.

Cost of a passage: 1 call that writes the questions; then for each question 1 that checks it against the passage and 1
of the doctor, who does not see the passage.
"""

from __future__ import annotations

import asyncio
import functools
import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from polyclinic.cases.presentation import Question
from polyclinic.errors import ModelError
from polyclinic.language.language import Language
from polyclinic.memory.entries import unmarked
from polyclinic.memory.library import MemoryLibrary
from polyclinic.memory.memory import READ, About, MemoryFile, MemoryRow, open_kept, reading
from polyclinic.models.model import Model
from polyclinic.prompts import read_prompts
from polyclinic.questions.shown import show
from polyclinic.retrieval.retriever import Passage
from polyclinic.retrieval.store import Vectors
from polyclinic.seeds import derive

PROMPTS = Path(__file__).with_name("studying.md")
OPTIONS = 4
MOST = 6_000  # characters of a passage that are read

Refusal = Literal["options", "answer", "evidence", "speaks of the passage", "gives itself away"]

_KEYS = string.ascii_uppercase[:OPTIONS]
_NONE = "none"
_PASSAGE = re.compile(
    r"\b(?:th(?:e|is)|given|above)\s+(?:passage|text|article|document|excerpt|paragraph)\b|本段|文中|上文|该段|本文|段落|这段|短文",
    re.IGNORECASE,
)


class WrittenQuestion(msgspec.Struct, frozen=True):
    """A question as its writer gives it; see the prompt."""

    stem: str
    options: tuple[str, ...]
    answer: str
    evidence: str


_ANY = WrittenQuestion("...", (), "", "")


class _Written(msgspec.Struct, frozen=True):
    questions: tuple[WrittenQuestion, ...]


class _Checked(msgspec.Struct, frozen=True):
    answer: Literal["A", "B", "C", "D", "none"]


class _StudyAnswer(msgspec.Struct, frozen=True):
    reasoning: str
    answer: Literal["A", "B", "C", "D"]


class StudyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A question on a document that the doctor answered rightly.

    Attributes:
        passage: of which it was made, as `CORPUS#ID`.
        evidence: the words of the passage that make the answer right.
        key: of the right option.
        written_by, answered_by: the models.
        day: of the hospital, where it was read there, as 2026-01-05.
    """

    passage: str
    question: Question
    key: str
    reasoning: str
    evidence: str
    written_by: str
    answered_by: str
    day: str = ""

    @property
    def query(self) -> str:
        """What is compared with another question (§4.3.1)."""
        return self.question.stem


class Studied(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a passage."""

    passage: str  # as `CORPUS#ID`
    records: tuple[StudyRecord, ...] = ()  # of the questions that were answered rightly
    wrong: int = 0  # number of wrong and unusable answers
    refused: dict[str, int] = {}  # number of refused questions, by reason


async def study(
    passage: Passage,
    *,
    writer: Model,
    doctor: Model,
    language: Language,
    questions: int = 2,
    seed: int = 0,
    day: str = "",
    temperature: float | None = None,
    rehearsal: bool = False,
) -> Studied:
    """Has a writer make and check questions on a passage, and a doctor answer them without it.

    A `rehearsal` takes, checks and answers every question, whatever it is, to estimate the cost.
    """
    prompts, refused = read_prompts(PROMPTS)[language], Counter[str]()
    text = " ".join(passage.text.split())[:MOST]
    shown = prompts("passage", title=unmarked(passage.title or passage.id), text=unmarked(text))
    messages = [("system", prompts("write", number=questions)), ("user", shown)]
    try:
        came = await writer.ask(messages, answer=_Written, purpose="write questions", temperature=temperature)
    except ModelError:
        return Studied(passage=passage.source, refused={"unreadable": questions})
    made: list[tuple[Question, str, str]] = []
    asked_for = [*came.value.questions, *([_ANY] * questions if rehearsal else [])][:questions]
    for number, written in enumerate(asked_for, start=1):
        if not rehearsal and (problem := problem_of(written, f"{passage.title} {text}")):
            refused[problem] += 1
            continue
        id = f"{passage.source}/{number}"
        if rehearsal:
            texts, key = [*written.options, *["..."] * OPTIONS][:OPTIONS], "A"
        else:
            # Writers put the right option first, so the order is drawn.
            texts = [option.strip() for option in written.options]
            derive(seed, id, "options").shuffle(texts)
            right = _folded(written.answer)
            key = next(key for key, text in zip(_KEYS, texts, strict=True) if _folded(text) == right)
        options = dict(zip(_KEYS, texts, strict=True))
        stem = written.stem if rehearsal else written.stem.strip()
        question = Question(id=id, stem=stem, options=options, language=language)
        made.append((question, key, written.evidence))

    async def answered(question: Question, key: str, evidence: str, number: int) -> StudyRecord | str | None:
        beside = [("system", prompts("check")), ("user", f"{shown}\n\n{show(question)}")]
        alone = [("system", prompts("answer")), ("user", show(question))]
        try:
            how: dict[str, Any] = {"temperature": temperature}
            checked = await writer.ask(beside, answer=_Checked, purpose=f"check question {number}", **how)
        except ModelError:
            return "unreadable"
        if checked.value.answer != key and not rehearsal:
            return "contradicts itself"
        try:
            said = (await doctor.ask(alone, answer=_StudyAnswer, purpose=f"answer question {number}", **how)).value
        except ModelError:
            return None
        if said.answer != key:
            return None
        return StudyRecord(
            passage=passage.source,
            question=question,
            key=key,
            reasoning=said.reasoning.strip(),
            evidence=evidence,
            written_by=writer.name,
            answered_by=doctor.name,
            day=day,
        )

    ended = await asyncio.gather(*(answered(*one, number) for number, one in enumerate(made, start=1)))
    refused.update(one for one in ended if isinstance(one, str))
    return Studied(
        passage=passage.source,
        records=tuple(one for one in ended if isinstance(one, StudyRecord)),
        wrong=sum(one is None for one in ended),
        refused=dict(sorted(refused.items())),
    )


def problem_of(written: WrittenQuestion, passage: str) -> Refusal | None:
    """Returns why a question that was made of a passage is refused, as far as reading tells; None where it is not."""
    stem, options = _folded(written.stem), [_folded(option) for option in written.options]
    if not stem or len(options) != OPTIONS or not all(options) or len(set(options)) < OPTIONS:
        return "options"
    if _folded(written.answer) not in options:
        return "answer"
    if _PASSAGE.search(written.stem):
        return "speaks of the passage"
    if _stands_in(_folded(written.answer), stem):
        return "gives itself away"
    if not _folded(written.evidence) or not _stands_in(_folded(written.evidence), _folded(passage)):
        return "evidence"
    return None


@functools.lru_cache(maxsize=256)
def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _stands_in(words: str, text: str) -> bool:
    """Tells whether words stand in a text as whole words; in Chinese, which has no blanks between them, anywhere."""
    return f" {words} " in f" {text} " or (not words.isascii() and words in text)


_encode = msgspec.msgpack.encode


class PassageRead(NamedTuple):
    """What came of a passage, and the vector of each record's question (a row each)."""

    studied: Studied
    vectors: Vectors


class ReadingLibrary:
    """What was read; made by `open_reading`, or in this process alone with no file."""

    def __init__(self, about: About, kept: MemoryFile | None = None) -> None:
        self.about, self._kept = about, kept
        self.passages: dict[str, Studied] = {}
        self._library: MemoryLibrary[StudyRecord] = MemoryLibrary(about.dimensions)

    def __len__(self) -> int:
        return len(self._library)

    @property
    def records(self) -> Sequence[StudyRecord]:
        """All questions that were answered rightly, in the order in which they were read."""
        return self._library.entries

    def commit(self, read: Sequence[PassageRead]) -> None:
        """Remembers what came of passages, all of it or nothing; one that was read before is passed over."""
        new = list({one.studied.passage: one for one in reversed(read)}.values())[::-1]
        new = [one for one in new if one.studied.passage not in self.passages]
        rows: list[MemoryRow] = []
        for one in new:
            # The records of a passage have rows of their own.
            bare = msgspec.structs.replace(one.studied, records=())
            rows.append(("passage", bare.passage, _encode(bare), b""))
            for record, vector in zip(one.studied.records, one.vectors, strict=True):
                rows.append(("record", "", _encode(record), vector.astype("<f4").tobytes()))
        if self._kept is not None:
            self._kept.commit(rows, ())
        self._take_in(rows)

    def read(self) -> list[PassageRead]:
        """Returns what came of each passage, with its records and their vectors."""
        places: dict[str, list[int]] = {passage: [] for passage in self.passages}
        for place, record in enumerate(self.records):
            places[record.passage].append(place)
        return [
            PassageRead(
                msgspec.structs.replace(self.passages[passage], records=tuple(self.records[n] for n in theirs)),
                self._library.vectors[theirs],
            )
            for passage, theirs in places.items()
        ]

    def nearest(self, query: NDArray[np.float32], k: int) -> list[tuple[StudyRecord, float]]:
        """Returns the records whose questions are most like a vector, the most like first, with the cosine."""
        return self._library.nearest(query, k).pairs

    def _take_in(self, rows: Iterable[MemoryRow]) -> None:
        for kind, _, row, vector in rows:
            if kind == "passage":
                counted = msgspec.msgpack.decode(row, type=Studied)
                self.passages[counted.passage] = counted
            else:
                self._library.add(msgspec.msgpack.decode(row, type=StudyRecord), np.frombuffer(vector, dtype="<f4"))


@contextmanager
def open_reading(folder: Path, about: About | None = None) -> Iterator[ReadingLibrary]:
    """Opens what was read, perhaps beside a memory of patients, and makes it if there is none."""
    with open_kept(folder, READ, about, must_exist=about is None) as (found, kept):
        library = ReadingLibrary(found, kept)
        with reading(READ, kept.path):
            library._take_in(kept.entries())
        yield library
