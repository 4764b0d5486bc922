"""Decisions on a question as types: asked for by their schema, they need no reader."""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal

import msgspec

from polyclinic.cases.presentation import Question
from polyclinic.errors import UserError


def decision_on(question: Question, why: tuple[str, Any] = ("rationale", str)) -> Any:
    """Returns the type of a decision on a question: `rationale`, and `answer`, a key of its options.

    `why` names another field in the rationale's place, and its type. Where several options are asked for, `answer` is
    a tuple of at least one key. `keys_of` reads both.

    Raises:
        UserError: the question has no options to choose from.
    """
    if not question.options:
        raise UserError(f"question {question.id!r} has no options; a question needs at least one")
    return _decision(tuple(question.options), question.several, why)


@functools.lru_cache(maxsize=256)
def _decision(keys: tuple[str, ...], several: bool, why: tuple[str, Any]) -> Any:
    key: Any = Literal.__getitem__(keys)
    most = msgspec.Meta(min_length=1, max_length=len(keys))
    answer = Annotated[tuple[key, ...], most] if several else key
    # The rationale comes first: a model writes from left to right, and must not decide before it has reasoned.
    return msgspec.defstruct("Decision", [why, ("answer", answer)], frozen=True, module=__name__)


def keys_of(decision: Any) -> frozenset[str]:
    """Returns the keys that a decision chose."""
    return frozenset((decision.answer,) if isinstance(decision.answer, str) else decision.answer)
