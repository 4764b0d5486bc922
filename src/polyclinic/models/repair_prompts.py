"""What a model is told beside the conversation, in the conversation's language: how to answer, and to answer again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from polyclinic.errors import CutOff, UnreadableReply
from polyclinic.language.language import Language, language_of
from polyclinic.models.schema import Form
from polyclinic.prompts import Prompts, read_prompts


def _prompts(language: Language) -> Prompts:
    return read_prompts(Path(__file__).with_name("repair.md"))[language]


def spoken_language(said: Iterable[tuple[str, Any]]) -> Language:
    """Returns the language of a conversation, by its texts."""
    return language_of(text for _, text in said if isinstance(text, str))


def wish_for(form: Form, language: Language) -> str:
    """Returns the wish for an answer in a form, for whoever gets no schema."""
    return _prompts(language)("schema", schema=form.text)


def nothing(language: Language) -> str:
    """Returns what stands for an empty answer."""
    return _prompts(language)("nothing")


def complaint(problem: UnreadableReply, form: Form | None, language: Language) -> str:
    """Returns what a model is told when it is asked again."""
    prompts = _prompts(language)
    told = [prompts("unusable", problem=problem.problem)]
    if isinstance(problem, CutOff):
        told.append(prompts("shorter"))
    elif form is None:
        told.append(prompts("again"))
    if form is not None:
        told.append(prompts("schema again", schema=form.text))
    return ("" if language == "zh" else " ").join(told)
