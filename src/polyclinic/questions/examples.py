"""Solved questions that a model is shown before its own. They hold their answers: never of a test set.

The shipped ones were written for this package. A training split of your own is read with `read_examples`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from polyclinic.cases.presentation import Question
from polyclinic.errors import BadInput, UserError
from polyclinic.files import read_records
from polyclinic.language.language import Language
from polyclinic.questions.shown import show, write_answer

ExampleKind = Literal["choice", "decision"]
"""`choice`: four options by letter; `decision`: yes, no or maybe, after a short study."""

_DECISIONS = frozenset(("yes", "no", "maybe", "是", "否", "不是", "不确定", "可能"))
_SHIPPED = Path(__file__).parent / "data"
_FILES: dict[tuple[Language, ExampleKind], str] = {
    ("en", "choice"): "examples_choice.jsonl",
    ("zh", "choice"): "examples_choice.zh.jsonl",
    ("en", "decision"): "examples_decision.jsonl",
    ("zh", "decision"): "examples_decision.zh.jsonl",
}


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A question of a training split, with the keys of the right options.

    The reasoning says how they are found, in the question's language; "" where none was written.
    """

    question: Question
    reasoning: str = ""
    key: tuple[str, ...]


def kind_of(question: Question) -> ExampleKind:
    """Returns which form of examples is like a question: decisions, where the options are yes, no and maybe."""
    return "decision" if {text.strip().casefold() for text in question.options.values()} <= _DECISIONS else "choice"


@functools.cache
def shipped_examples(language: Language, kind: ExampleKind = "choice") -> tuple[Example, ...]:
    """Returns the examples that come with the package, all with their reasoning."""
    return read_examples(_SHIPPED / _FILES[language, kind])


def read_examples(path: str | Path) -> tuple[Example, ...]:
    """Reads examples: JSON lines of `Example`.

    Raises:
        BadInput: the file cannot be read, or a line is no example; names the line and the field.
    """
    path = Path(path)
    examples: list[Example] = []
    lines: dict[str, int] = {}
    for number, example in read_records(path, Example, "an example"):
        if problem := key_problem(example.question, example.key, "an example"):
            raise BadInput(problem, path=path, line=number, field="$.key")
        if example.question.id in lines:
            problem = f"the id {example.question.id!r} stands in line {lines[example.question.id]} already"
            raise BadInput(problem, path=path, line=number, field="$.question.id")
        lines[example.question.id] = number
        examples.append(example)
    return tuple(examples)


def key_problem(question: Question, key: Sequence[str], what: str) -> str:
    """Returns why keys cannot be the right answer of a question; "" if they can."""
    if not key:
        return f"{what} needs its right answer"
    if wrong := [one for one in key if one not in question.options]:
        return f"the right answer is {wrong[0]!r}; the options are {', '.join(question.options) or 'none'}"
    if len(set(key)) > 1 and not question.several:
        return f"{len(key)} right answers, and the question asks for one"
    return ""


def asks_the_same(one: Question, other: Question) -> bool:
    """Tells whether two questions have the same stem, case and signs aside, and no contexts that differ."""
    contexts = {_folded(one.context), _folded(other.context)} - {""}
    return _folded(one.stem) == _folded(other.stem) and len(contexts) < 2


def examples_for(question: Question, examples: Iterable[Example] | None = None) -> list[Example]:
    """Returns the examples that may be shown before a question: an example that asks the same is left out.

    By default they are the shipped ones of its language and kind.
    """
    if examples is None:
        examples = shipped_examples(question.language, kind_of(question))
    return [example for example in examples if not asks_the_same(example.question, question)]


def turns(examples: Iterable[Example], *, reasoning: bool) -> list[tuple[str, str]]:
    """Returns examples as a conversation: each question from the user, then its answer, with reasoning if wanted."""
    said: list[tuple[str, str]] = []
    for example in examples:
        answer = write_answer(example.key, language=example.question.language)
        if reasoning:
            if not example.reasoning.strip():
                raise UserError(f"example {example.question.id!r} has no reasoning; an example that reasons needs some")
            answer = f"{example.reasoning.strip()}\n\n{answer}"
        said += [("user", show(example.question)), ("assistant", answer)]
    return said


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
