"""How a multiple-choice question looks to a model, and the line in which it answers: the same for every method."""

from __future__ import annotations

from collections.abc import Iterable

from polyclinic.cases.presentation import Question, ShownPassage
from polyclinic.errors import UserError
from polyclinic.language.language import Language

_LABELS: dict[Language, tuple[str, str, str, str]] = {
    "en": ("Context:", "Question:", "Options:", "Options (one or more are right; all of them are asked for):"),
    "zh": ("背景：", "问题：", "选项：", "选项（其中一项或多项正确，需全部选出）："),
}

_REFERENCES: dict[Language, str] = {
    "en": "Passages from a library, which may or may not help:",
    "zh": "资料库中的段落，可能有帮助，也可能没有：",
}


def show_references(references: Iterable[ShownPassage], language: Language) -> str:
    """Returns passages that were looked up as text, numbered, each with its source."""
    lines = [_REFERENCES[language]]
    for number, one in enumerate(references, start=1):
        lines.append(f"[{number}] {f'{one.title}: ' if one.title else ''}{one.text} ({one.source})")
    return "\n".join(lines)


def show(question: Question, *, options: bool = True) -> str:
    """Returns the text of a question: context, stem, and the options as lines such as "A. text", if they are wanted.

    What was looked up for it stands before all.

    Raises:
        UserError: the question has no options to choose from.
    """
    if not question.options:
        raise UserError(f"question {question.id!r} has no options; a question needs at least one")
    context, stem, one, several = _LABELS[question.language]
    parts = [show_references(question.references, question.language)] if question.references else []
    parts += [f"{context}\n{question.context.strip()}"] if question.context.strip() else []
    parts.append(f"{stem}\n{question.stem.strip()}")
    if options:
        lines = (f"{key}. {text.strip()}" for key, text in question.options.items())
        parts.append("\n".join([several if question.several else one, *lines]))
    return "\n\n".join(parts)


FINAL_LINE: dict[Language, str] = {"en": "Answer: {key}", "zh": "答案：{key}"}
"""The last line of an answer; `polyclinic.questions.answers.read_answer` reads it."""

_BETWEEN: dict[Language, str] = {"en": ", ", "zh": "、"}
_BLANK: dict[Language, str] = {"en": "<letter>", "zh": "<选项>"}


def write_answer(keys: Iterable[str], language: Language = "en") -> str:
    """Returns an answer as a model should write it, the keys in the order given."""
    return FINAL_LINE[language].format(key=_BETWEEN[language].join(keys))


def show_form(language: Language = "en", *, several: bool = False) -> str:
    """Returns the line with a blank for the key, or for several, as a prompt shows it: "Answer: <letter>"."""
    return write_answer([_BLANK[language]] * (2 if several else 1), language)
