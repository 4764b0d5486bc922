"""What whoever judges is sent, and sends."""

from __future__ import annotations

from typing import Annotated

import msgspec

from polyclinic.verdicts.forms import Answer


class ShownQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question in both languages; the words that may be answered, or a scale's ends."""

    id: str
    en: str
    zh: str
    answers: tuple[str, ...]
    scale: tuple[float, float] | None


class JudgingTask(msgspec.Struct, frozen=True, kw_only=True):
    """An item as whoever judges it gets it; `number` is its place in the annotator's own order, from 1."""

    number: int
    form: str
    shown: dict[str, str]
    questions: tuple[ShownQuestion, ...]
    answers: dict[str, Answer]
    comment: str


class AnnotatorsDesk(msgspec.Struct, frozen=True, kw_only=True):
    """What an annotator has to do: for each item, in its order, the form and whether all of it is answered."""

    title: str
    name: str
    third: bool
    items: tuple[tuple[str, bool], ...]


class GivenAnswers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody says of an item; a question without an answer is left out."""

    answers: Annotated[dict[str, str | float], msgspec.Meta(max_length=20)]
    comment: Annotated[str, msgspec.Meta(max_length=8000)] = ""
