"""Questions of any JSON records, told which field is what: `question=stem,options=choices,answer=gold,id=uid`."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from polyclinic.cases.loaders.fields import as_text, read_options
from polyclinic.cases.presentation import Question
from polyclinic.errors import BadInput
from polyclinic.language.language import language_of
from polyclinic.questions.exam import ExamQuestion


class Fields(msgspec.Struct, frozen=True, kw_only=True):
    """Which field of a record is what. A dot goes into an object: `question.stem`.

    Attributes:
        options: an object of key to text, a list, or several fields joined by `+` (`opa+opb+opc`).
        answer: the right option: its key, its whole text, or its number; a list of them where several are right.
        id: what names the question; its number in the file where it is left out.
        answer_base: whether an answer that is a number counts the options from 0 or from 1; must be said for those.
    """

    question: str
    options: str
    answer: str
    id: str = ""
    context: str = ""
    subject: str = ""
    answer_base: Literal[0, 1] | None = None


_NAMES = tuple(name for name in Fields.__struct_fields__ if name != "answer_base")


def parse_fields(text: str) -> dict[str, str]:
    """Reads a field map from the command line.

    Raises:
        BadInput: it is not name=field pairs with commas between, or names what there is not.
    """
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if not pairs or not all(sign and field.strip() for _, sign, field in pairs):
        raise BadInput(f"the field map {text!r} is not read; it looks like question=stem,options=choices,answer=gold")
    fields = {name.strip(): field.strip() for name, _, field in pairs}
    check_fields(fields, None)
    return fields


def check_fields(fields: Mapping[str, str], answer_base: Literal[0, 1] | None) -> Fields:
    """Returns a field map, checked.

    Raises:
        BadInput: it names what there is not, or lacks the question, the options or the answer.
    """
    if unknown := [name for name in fields if name not in _NAMES]:
        raise BadInput(f"the field map names {unknown[0]!r}; there are {', '.join(_NAMES)}")
    if missing := [name for name in ("question", "options", "answer") if not fields.get(name)]:
        raise BadInput(f"the field map lacks {', '.join(missing)}; question, options and answer are needed")
    return Fields(**fields, answer_base=answer_base)


def load(record: dict[str, Any], order: int, fields: Fields) -> ExamQuestion:
    """Reads a record with a field map.

    Raises:
        BadInput: a field is missing or says what cannot be understood; names it.
    """
    stem = as_text(_required(record, fields.question))
    options = _options(record, fields.options)
    answer = _required(record, fields.answer)
    keys = [_key(part, options, fields) for part in (answer if isinstance(answer, list) else [answer])]
    question = Question(
        id=as_text(_required(record, fields.id)) if fields.id else f"question-{order:04}",
        stem=stem,
        options=options,
        context=as_text(_value(record, fields.context)) if fields.context else "",
        language=language_of([stem, *options.values()]),
        several=isinstance(answer, list),
    )
    subject = as_text(_value(record, fields.subject)) if fields.subject else ""
    return ExamQuestion(question=question, key=tuple(dict.fromkeys(keys)), subject=subject)


def _options(record: dict[str, Any], field: str) -> dict[str, str]:
    value = [_required(record, part) for part in field.split("+")] if "+" in field else _required(record, field)
    if isinstance(value, list) and len(value) > len(string.ascii_uppercase):
        most = len(string.ascii_uppercase)
        raise BadInput(
            f"{len(value)} options came; a list has at most {most}, an object any number", field=f"$.{field}"
        )
    return read_options(value, f"$.{field}")


def _key(answer: Any, options: dict[str, str], fields: Fields) -> str:
    field = f"$.{fields.answer}"
    number = isinstance(answer, int) and not isinstance(answer, bool)
    text = as_text(answer)
    if not number and text in options:
        return text
    same = [] if number else [key for key, option in options.items() if option.strip() == text]
    if len(same) == 1:
        return same[0]
    if same:
        raise BadInput(f"the right answer is the text of the options {', '.join(same)} alike", field=field)
    if not number and not text.isdecimal():
        raise BadInput(f"the right answer is {text[:80]!r}; the options are {', '.join(options)}", field=field)
    if number and text in options and fields.answer_base is None:
        return text
    if fields.answer_base is None:
        raise BadInput(f"the right answer is the number {text}; say whether it counts from 0 or 1", field=field)
    place = int(text) - fields.answer_base
    if not 0 <= place < len(options):
        last = len(options) - 1 + fields.answer_base
        raise BadInput(f"the right answer is number {text}; they go from {fields.answer_base} to {last}", field=field)
    return list(options)[place]


def _value(record: Any, field: str) -> Any:
    for name in field.split("."):
        record = record.get(name) if isinstance(record, dict) else None
    return record


def _required(record: dict[str, Any], field: str) -> Any:
    value = record[field] if field in record else _value(record, field)
    if value is None or value in ("", [], {}):
        there = ", ".join(map(repr, list(record)[:8])) or "none"
        raise BadInput(f"nothing stands here; the fields that came are {there}", field=f"$.{field}")
    return value
