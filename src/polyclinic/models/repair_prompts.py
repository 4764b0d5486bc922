"""What a model is told beside the conversation, in the conversation's language: how to answer, and to answer again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polyclinic.errors import CutOff, UnreadableReply
from polyclinic.language.language import Language, language_of
from polyclinic.models.schema import Form

_SCHEMA: dict[Language, str] = {
    "en": "Answer with nothing but JSON that follows this schema: {}",
    "zh": "只用JSON作答，不写任何别的内容，并符合以下结构（JSON Schema）：{}",
}
_SCHEMA_AGAIN: dict[Language, str] = {
    "en": "Answer again with nothing but JSON that follows this schema: {}",
    "zh": "请重新只用JSON作答，不写任何别的内容，并符合以下结构（JSON Schema）：{}",
}
_UNUSABLE: dict[Language, str] = {"en": "That answer cannot be used: {}.", "zh": "这个回答无法使用：{}。"}
_AGAIN: dict[Language, str] = {"en": "Answer again.", "zh": "请重新回答。"}
_SHORTER: dict[Language, str] = {"en": "Answer again, shorter.", "zh": "请重新回答，写得短一些。"}
NOTHING: dict[Language, str] = {"en": "(nothing)", "zh": "（无）"}  # what stands for an empty answer


def spoken_language(said: Iterable[tuple[str, Any]]) -> Language:
    """Returns the language of a conversation, by its texts."""
    return language_of(text for _, text in said if isinstance(text, str))


def wish_for(form: Form, language: Language) -> str:
    """Returns the wish for an answer in a form, for whoever gets no schema."""
    return _SCHEMA[language].format(form.text)


def complaint(problem: UnreadableReply, form: Form | None, language: Language) -> str:
    """Returns what a model is told when it is asked again."""
    between = "" if language == "zh" else " "
    told = [_UNUSABLE[language].format(problem.problem)]
    if isinstance(problem, CutOff):
        told.append(_SHORTER[language])
    elif form is None:
        told.append(_AGAIN[language])
    if form is not None:
        told.append(_SCHEMA_AGAIN[language].format(form.text))
    return between.join(told)
