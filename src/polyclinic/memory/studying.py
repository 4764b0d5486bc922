"""Learning from documents: questions that a model makes of a passage, which the doctor answers (§4.2.2, §4.3.1).

What is answered rightly becomes a record of the second library. A question that cannot be read, or that contradicts
itself, is refused and counted by why.

    studied = await study(passage, writer=model, doctor=model, language="en", questions=2)
    studied.records, studied.refused

Cost, a passage: 1 call that writes the questions; then for each question 1 that checks it beside the passage and 1 of
the doctor's, who does not see the passage.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import re
import string
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import msgspec

from polyclinic.cases.presentation import Question
from polyclinic.errors import ModelError
from polyclinic.language.language import Language
from polyclinic.memory.quoting import unmarked
from polyclinic.models.model import Model
from polyclinic.prompts import read_prompts
from polyclinic.questions.shown import show
from polyclinic.retrieval.retriever import Passage
from polyclinic.seeds import derive

PROMPTS = Path(__file__).with_suffix(".md")
OPTIONS = 4
MOST = 6_000
"""Characters of a passage that are read."""

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
    """What came of a passage.

    Attributes:
        passage: as `CORPUS#ID`.
        records: of the questions that were answered rightly.
        wrong: how many were answered wrongly, or unusably.
        refused: how many of the questions were refused, by why.
    """

    passage: str
    records: tuple[StudyRecord, ...] = ()
    wrong: int = 0
    refused: dict[str, int] = {}

    @property
    def questions(self) -> int:
        """How many were made, those refused among them."""
        return len(self.records) + self.wrong + sum(self.refused.values())


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
    """Has questions made of a passage, and answered.

    Args:
        passage: what is read.
        writer: makes the questions, and checks them beside the passage.
        doctor: answers them without it; may be the same model.
        language: of the passage, the questions and the answers.
        questions: so many are asked for.
        seed: of the order of the options.
        day: what the records say of when they were made.
        temperature: of both models; None leaves it to the server.
        rehearsal: every question is taken, checked and answered, whatever it is: what that costs is foreseen so, for
            what is made up would be refused.

    Raises:
        EndpointError: no answer came.
        BudgetSpent: the run has cost what it may cost.
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
        question, key = _any(written, id, language) if rehearsal else _shuffled(written, id, language, seed)
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


def _shuffled(written: WrittenQuestion, id: str, language: Language, seed: int) -> tuple[Question, str]:
    """Returns a question with its options in a drawn order, as writers begin with the right one, and its key."""
    texts = [option.strip() for option in written.options]
    derive(seed, id, "options").shuffle(texts)
    options = dict(zip(_KEYS, texts, strict=True))
    right = _folded(written.answer)
    key = next(key for key, text in options.items() if _folded(text) == right)
    return Question(id=id, stem=written.stem.strip(), options=options, language=language), key


def _any(written: WrittenQuestion, id: str, language: Language) -> tuple[Question, str]:
    texts = itertools.islice(itertools.chain(written.options, itertools.repeat("...")), OPTIONS)
    return Question(id=id, stem=written.stem, options=dict(zip(_KEYS, texts, strict=True)), language=language), "A"


@functools.lru_cache(maxsize=256)
def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _stands_in(words: str, text: str) -> bool:
    """Tells whether words stand in a text as whole words; in Chinese, which has no blanks between them, anywhere."""
    return f" {words} " in f" {text} " or (not words.isascii() and words in text)
