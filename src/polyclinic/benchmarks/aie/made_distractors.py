"""Wrong options made by a model, as in the paper: four similar yet distinct diseases (aie-saps §2.2.2), checked.

1. The model gets the right diagnosis and how the patient came, and names six diseases that come close.
2. Dropped are names of the right one, kinds and parts of it, the case's other diagnoses, and repetitions.
3. Where fewer than four are left it is asked once more, and told which could not be used; what is lacking then is the
   knowledge's.
4. The model is shown the options alone. Who takes the right one oftener than by chance, takes it by its look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from polyclinic.benchmarks.aie.distractors import WRONG_OPTIONS, OptionsBeside, distinct, with_question
from polyclinic.cases.case import Case
from polyclinic.errors import PlayFailure
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.models.model import Message, Model
from polyclinic.players.language_model.mind import describe
from polyclinic.prompts import read_prompts

PROMPTS = Path(__file__).with_suffix(".md")

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class LookAlikes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Diseases that come close to one, and before them why."""

    analysis: str
    diseases: Annotated[tuple[_Name, ...], msgspec.Meta(max_length=12)]


class MadeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What came of making wrong options.

    Attributes:
        cases: all, those that had no question with one.
        made: cases that got one.
        dropped: names that the model gave and that could not be used.
        filled: options that are the knowledge's, as the model gave too few.
        alone: how often the right option was taken from the options alone; `asked` says of how many.
    """

    cases: tuple[Case, ...]
    made: int
    dropped: int
    filled: int
    alone: int
    asked: int


async def with_made_questions(cases: Sequence[Case], model: Model, knowledge: Knowledge, *, seed: int) -> MadeOptions:
    """Returns the cases, each with a question: its own, or one whose wrong options the model made.

    A model that gives no usable answer leaves the options to the knowledge.

    Raises:
        WrongKey: its endpoint wants another key.
        BudgetSpent: the run has cost what it may cost.
    """
    beside = OptionsBeside(cases, knowledge, seed=seed)
    made = await asyncio.gather(*(_make(case, beside, model, knowledge, seed=seed) for case in cases))
    new = [one for one in made if one.made]
    taken = [one.taken for one in new if one.taken is not None]
    return MadeOptions(
        cases=tuple(one.case for one in made),
        made=len(new),
        dropped=sum(one.dropped for one in new),
        filled=sum(one.filled for one in new),
        alone=sum(taken),
        asked=len(taken),
    )


class _MadeCase(msgspec.Struct, frozen=True):
    case: Case
    made: bool = False
    dropped: int = 0
    filled: int = 0
    taken: bool | None = None


async def _make(case: Case, beside: OptionsBeside, model: Model, knowledge: Knowledge, *, seed: int) -> _MadeCase:
    if case.question is not None or not case.truth.diagnoses:
        return _MadeCase(case)
    right = [diagnosis.name for diagnosis in case.truth.diagnoses]
    prompts = read_prompts(PROMPTS)[case.presentation.language]
    shown = prompts("shown", presentation=describe(case.presentation), diagnosis=right[0])
    messages: list[Message] = [("system", prompts("look-alikes")), ("user", shown)]
    named = await _named(model, messages)
    used = distinct(right, named, knowledge)
    if named and len(used) < WRONG_OPTIONS:
        unusable = "; ".join(name for name in named if name not in used) or "-"
        again = await _named(model, [*messages, ("user", prompts("again", unusable=unusable))])
        named = [*named, *again]
        used = distinct(right, named, knowledge)
    asked = with_question(case, [*used, *beside.names(case)], knowledge, seed=seed)
    return _MadeCase(
        case=asked,
        made=True,
        dropped=len(set(named) - {*used}) if len(used) < WRONG_OPTIONS else _unusable(right, named, knowledge),
        filled=WRONG_OPTIONS - len(used),
        taken=await _taken(asked, model),
    )


def _unusable(right: Sequence[str], named: Sequence[str], knowledge: Knowledge) -> int:
    """Returns how many names cannot stand beside the right ones, each looked at by itself."""
    return sum(not distinct(right, [name], knowledge) for name in set(named))


async def _named(model: Model, messages: list[Message]) -> list[str]:
    try:
        reply = await model.ask(messages, answer=LookAlikes, purpose="distractors")
    except PlayFailure:
        return []
    return [name.strip() for name in reply.value.diseases if name.strip()]


async def _taken(case: Case, model: Model) -> bool | None:
    """Asks for the right option without the case; None where no usable answer came."""
    if case.question is None:
        return None
    prompts = read_prompts(PROMPTS)[case.presentation.language]
    options = "\n".join(f"{key}. {text}" for key, text in case.question.options.items())
    messages: list[Message] = [("system", prompts("alone")), ("user", options)]
    try:
        reply = await model.ask(messages, answer=tuple(case.question.options), purpose="options alone")
    except PlayFailure:
        return None
    return reply.value in case.truth.answers
