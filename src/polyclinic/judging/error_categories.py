"""Why an answer to an exam question is wrong: the four categories of MedAgents (medagents §5, Figures 4 and 5).

Without a judge only people's verdicts count. The paper's authors sorted 40 wrong answers by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.answering.outcome import Outcome
from polyclinic.judging.model_judging import Exhibit, Judging, answer_type
from polyclinic.judging.sorting import Counted, Sorted, Sorting, Words
from polyclinic.models.model import Model
from polyclinic.questions.exam import ExamQuestion

VERSION = 1
"""Grows when the prompt comes to mean something else; counts of two versions are not to be held against each other."""


class ErrorCategory(StrEnum):
    """Why an answer is wrong."""

    LACK = "lack_of_knowledge"  # a fact that the answer rests on is nowhere, or is stated wrongly
    MIS_RETRIEVAL = "mis_retrieval"  # what is known was not brought to bear, or the wrong knowledge was
    CONSISTENCY = "consistency"  # the parts contradict one another, or the answer contradicts the reasons
    COT = "cot"  # the facts are right, and a step of the reasoning from them is not


class MissedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A wrong answer of a method, with what is right and everything that was said on the way to it."""

    question: ExamQuestion
    method: str
    outcome: Outcome


class Categorised(Sorted, frozen=True, kw_only=True, omit_defaults=True):
    """The category of one wrong answer, None if nobody named one."""

    question: str
    method: str
    category: ErrorCategory | None


class Categories(Counted[ErrorCategory], frozen=True, kw_only=True):
    """How often each category was found."""

    unasked: int  # wrong answers that no person sorted, where there is no judge
    answers: tuple[Categorised, ...]
    version: int = VERSION


_ANSWER = answer_type("Category", [("analysis", str), ("category", ErrorCategory)])


def _shown(missed: MissedQuestion) -> Exhibit:
    """Shows the question, what is right, and every call on the way."""
    question, outcome = missed.question.question, missed.outcome

    def chosen(keys: Sequence[str]) -> list[str]:
        return [f"{key}. {question.options[key]}" for key in keys if key in question.options]

    texts = {
        "context": [question.context],
        "stem": [question.stem],
        "options": chosen(list(question.options)),
        "key": chosen(missed.question.key),
        "said": [f"{call.purpose}: {call.text}" for call in outcome.trace if call.text.strip()],
        "answer": chosen(sorted(outcome.answers)),
        "rationale": [outcome.rationale],
    }
    purpose = f"error category, {question.id}, {missed.method}"
    return Exhibit(question.language, "category", ("shown",), texts, _ANSWER, purpose)


SORTING = Sorting(
    judging=Judging(Path(__file__).with_suffix(".md"), _shown),
    names=("question", "method"),
    named=lambda missed: (missed.question.question.id, missed.method),
    field="category",
    categories=ErrorCategory,
    found=Categorised,
)


async def find_categories(
    wrong: Sequence[MissedQuestion], *, judge: Model | None, words: Words[ErrorCategory] | None = None
) -> Categories:
    """Returns why answers are wrong, each question and method once: as people say, else as the judge does."""
    unasked: dict[str, Any] = {"category": None, "source": None}
    answers, counted = await SORTING.sort(wrong, model=judge, words=words or {}, otherwise=lambda _: unasked)
    return Categories(**counted, unasked=sum(one.source is None for one in answers), answers=answers)
