"""Why an answer to an exam question is wrong: the four categories of MedAgents (medagents §5, Figures 4 and 5).

A category comes from a person or from a judge, and is counted with where it comes from; a person's word goes before the
judge's. Without a judge only what people say counts. The paper's authors sorted 40 wrong answers by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from polyclinic.answering.outcome import Outcome
from polyclinic.judges.categories import Sorted, Source, all_at_once, ask_judge, read_people, tally
from polyclinic.judges.director import points, prompts_hash
from polyclinic.models.model import Message, Model
from polyclinic.prompts import read_prompts
from polyclinic.questions.exam import ExamQuestion

PROMPTS = Path(__file__).with_suffix(".md")

VERSION = 1
"""Grows when the prompt comes to mean something else; counts of two versions are not to be held against each other."""


class ErrorCategory(StrEnum):
    """Why an answer is wrong."""

    LACK = "lack_of_knowledge"
    """A fact that the answer rests on is nowhere, or is stated wrongly."""
    MIS_RETRIEVAL = "mis_retrieval"
    """What is known was not brought to bear, or the wrong knowledge was."""
    CONSISTENCY = "consistency"
    """It is said so and otherwise: the parts contradict one another, or the answer contradicts the reasons."""
    COT = "cot"
    """The facts are right, and a step of the reasoning from them is not."""


class WrongAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A wrong answer, with everything that was said on the way to it.

    Attributes:
        question: what was asked, and what is right.
        method: who answered.
        outcome: what came.
    """

    question: ExamQuestion
    method: str
    outcome: Outcome


class Categorised(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The category of one wrong answer.

    Attributes:
        question: its id.
        method: who answered.
        category: None where nobody named one.
        source: who says so; None where nobody was asked.
        who: the person, or the model's name.
        analysis: why.
        error: the name of the failure where a judge named no category.
        failed: no answer came at all; otherwise one came that cannot be used.
    """

    question: str
    method: str
    category: ErrorCategory | None
    source: Source | None
    who: str = ""
    analysis: str = ""
    error: str = ""
    failed: bool = False


class Categories(msgspec.Struct, frozen=True, kw_only=True):
    """How often each category was found.

    Attributes:
        counts: by category, whoever says so.
        sources: the same by who says so.
        unreadable: answers of the judge that cannot be used, by the name of the failure.
        failed: questions to the judge that got no answer, likewise.
        unasked: wrong answers that no person sorted, where there is no judge.
        unused: words of people on what is not among the wrong answers, as (question, method).
        answers: all of them, in the order of the wrong answers.
        version: of the prompts.
        prompts: hash of the prompts; "" without a judge.
    """

    counts: dict[ErrorCategory, int]
    sources: dict[Source, dict[ErrorCategory, int]]
    unreadable: dict[str, int]
    failed: dict[str, int]
    unasked: int
    unused: tuple[tuple[str, str], ...]
    answers: tuple[Categorised, ...]
    version: int = VERSION
    prompts: str = ""


class Word(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person says of a wrong answer; one line of the file of people's words."""

    question: str
    method: str
    category: ErrorCategory
    who: str


Words = Mapping[tuple[str, str], Word]
"""By question and method."""


class _Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    analysis: str
    category: ErrorCategory


async def find_categories(
    wrong: Sequence[WrongAnswer], *, judge: Model | None, words: Words | None = None
) -> Categories:
    """Returns why answers are wrong: as people say, else as the judge does.

    Args:
        wrong: wrong answers, each question and method once.
        judge: a model, asked about all of them at once; None asks nobody.
        words: of people (`read_words`); what they have said is not asked for.

    Raises:
        WrongKey: the judge's endpoint wants another key.
        BudgetSpent: the run has cost what it may cost.
    """
    words = words or {}

    async def sort(one: WrongAnswer) -> Categorised:
        question, method = one.question.question.id, one.method
        if (word := words.get((question, method))) is not None:
            return Categorised(question=question, method=method, category=word.category, source="human", who=word.who)
        if judge is None:
            return Categorised(question=question, method=method, category=None, source=None)
        return await _judged(one, judge)

    answers = await all_at_once(sort, wrong)
    known = {(one.question, one.method) for one in answers}
    found = tally(ErrorCategory, [Sorted(a.category, a.source, a.error, a.failed) for a in answers if a.source])
    return Categories(
        counts=found.counts,
        sources=found.sources,
        unreadable=found.unreadable,
        failed=found.failed,
        unasked=sum(one.source is None for one in answers),
        unused=tuple(key for key in words if key not in known),
        answers=answers,
        prompts="" if judge is None else prompts_hash(PROMPTS),
    )


async def _judged(one: WrongAnswer, judge: Model) -> Categorised:
    question = one.question.question.id
    said = await ask_judge(
        judge, messages_for(one), answer=_Answer, purpose=f"error category, {question}, {one.method}"
    )
    return Categorised(
        question=question,
        method=one.method,
        category=said.value.category if said.value else None,
        source="judge",
        who=judge.name,
        analysis=said.value.analysis if said.value else "",
        error=said.error,
        failed=said.failed,
    )


def messages_for(one: WrongAnswer) -> list[Message]:
    """Returns what the judge is told of a wrong answer: the question, what is right, and every call on the way."""
    question = one.question.question
    prompts = read_prompts(PROMPTS)[question.language]
    nothing = prompts("nothing")

    def chosen(keys: Sequence[str]) -> list[str]:
        return [f"{key}. {question.options[key]}" for key in keys if key in question.options]

    shown = {
        "context": [question.context],
        "stem": [question.stem],
        "options": chosen(list(question.options)),
        "key": chosen(one.question.key),
        "said": [f"{call.purpose}: {call.text}" for call in one.outcome.trace if call.text.strip()],
        "answer": chosen(sorted(one.outcome.answers)),
        "rationale": [one.outcome.rationale],
    }
    blanks = {name: points(items, nothing) for name, items in shown.items()}
    return [("system", prompts("category")), ("user", prompts("shown", **blanks))]


def read_words(path: Path) -> dict[tuple[str, str], Word]:
    """Reads what people say of wrong answers: JSON lines with `question`, `method`, `category` and `who`.

    Raises:
        BadInput: the file cannot be read, a line is something else, or a question and method stand in it twice.
    """
    return read_people(
        path,
        Word,
        field="category",
        kinds=ErrorCategory,
        names=lambda word: (word.question, word.method),
        of="question {} of method {}",
    )
