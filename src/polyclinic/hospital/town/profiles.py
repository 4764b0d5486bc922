"""Lets a model put residents and staff into words (agent-hospital §3.2), in place of the templates.

A model is told who somebody is and writes the life around it; what matters to a pharmacist (drugs taken, drugs not
tolerated) stays the templates'. No illness is known when it writes, so none can be given away; but a history that names
a disease of the knowledge could later name the diagnosis, and is not taken. Where a model's words cannot be used, the
template's stay, and the failure is counted under its name.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from polyclinic.errors import PlayFailure, UnreadableReply
from polyclinic.hospital.plan.plan import Hospital, Member
from polyclinic.hospital.town.residents import Profile, Resident
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.folding import Folded, fold_term
from polyclinic.language.language import Language
from polyclinic.models.model import Model
from polyclinic.prompts import read_prompts

PROMPTS = Path(__file__).with_suffix(".md")

_AT_ONCE = 256

Sentence = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]

Who = TypeVar("Who", Resident, Member)
Written = TypeVar("Written")


class NamesDisease(UnreadableReply):
    """A model was to write somebody's life, and named a disease in it that may turn out to be the diagnosis."""


class Draft(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A resident as a model answers it."""

    household: Sentence
    habits: Annotated[tuple[Sentence, ...], msgspec.Meta(min_length=1, max_length=4)]
    past: Annotated[str, msgspec.Meta(max_length=400)]
    about: Sentence


class StaffDraft(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A member of the staff as a model answers it."""

    about: Sentence


class DiseaseNames:
    """Finds names of the knowledge's diseases in texts, of either language."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._terms = sorted({fold_term(name) for disease in knowledge.diseases.values() for name in disease.names()})

    def first_in(self, *texts: str) -> str | None:
        """Returns a name that stands in one of the texts, or None."""
        return next((term for text in map(Folded, texts) for term in self._terms if text.find(term) >= 0), None)


async def write_profiles(
    chosen: Sequence[Resident], model: Model, knowledge: Knowledge, *, temperature: float | None = None
) -> tuple[dict[str, Profile], Counter[str]]:
    """Lets a model write residents.

    Args:
        chosen: whom.
        model: any door.
        knowledge: the diseases that may not be named.
        temperature: as `Model.ask`.

    Returns:
        Profiles by the residents' ids, for `Residents.with_profiles`, and the failures by name: the resident of each
        keeps what the templates say.

    Raises:
        WrongKey: the endpoint wants another key.
        BudgetSpent: the run has cost what it may cost.
    """
    names = DiseaseNames(knowledge)

    async def write(resident: Resident) -> Profile:
        prompts = read_prompts(PROMPTS)[resident.language]
        history = resident.history
        facts = "\n".join(f"- {text}" for text in (history.past, history.medications, history.allergies) if text)
        who = prompts(
            "resident facts",
            name=resident.name,
            age=resident.age,
            sex=prompts(resident.sex),
            occupation=resident.occupation,
            facts=facts or prompts("none"),
        )
        reply = await model.ask(
            [("system", prompts("resident")), ("user", who)],
            answer=Draft,
            temperature=temperature,
            purpose=f"profile {resident.id}",
        )
        draft: Draft = reply.value
        _refuse_disease(names, draft.about, draft.household, *draft.habits, draft.past)
        return Profile(about=draft.about, household=draft.household, habits=draft.habits, past=draft.past)

    return await _write_all(chosen, write)


async def write_abouts(
    hospital: Hospital, model: Model, knowledge: Knowledge, *, language: Language, temperature: float | None = None
) -> tuple[dict[str, str], Counter[str]]:
    """Lets a model write one line on each member of the staff.

    Args:
        hospital: whose staff.
        model: any door.
        knowledge: the diseases that may not be named: a doctor who is known for one would be asked for by it.
        language: of the lines.
        temperature: as `Model.ask`.

    Returns:
        Lines by the members' ids, and the failures by name, for which there is no line.

    Raises:
        WrongKey: the endpoint wants another key.
        BudgetSpent: the run has cost what it may cost.
    """
    names, prompts = DiseaseNames(knowledge), read_prompts(PROMPTS)[language]

    async def write(member: Member) -> str:
        departments = ", ".join(hospital.departments[d][language] for d in member.departments)
        facts = prompts(
            "staff facts", name=member.name[language], job=prompts(member.job), departments=departments or "-"
        )
        reply = await model.ask(
            [("system", prompts("staff")), ("user", facts)],
            answer=StaffDraft,
            temperature=temperature,
            purpose=f"about {member.id}",
        )
        draft: StaffDraft = reply.value
        _refuse_disease(names, draft.about)
        return draft.about

    return await _write_all(tuple(hospital.staff.values()), write)


def _refuse_disease(names: DiseaseNames, *texts: str) -> None:
    named = names.first_in(*texts)
    if named is not None:
        raise NamesDisease(f"it names a disease, {named!r}", text="\n".join(texts))


async def _write_all(
    chosen: Sequence[Who], write: Callable[[Who], Awaitable[Written]]
) -> tuple[dict[str, Written], Counter[str]]:
    written: dict[str, Written] = {}
    failures: Counter[str] = Counter()

    async def write_one(who: Who) -> Written | PlayFailure:
        try:
            return await write(who)
        except PlayFailure as failure:
            return failure

    for begin in range(0, len(chosen), _AT_ONCE):
        some = chosen[begin : begin + _AT_ONCE]
        for who, result in zip(some, await asyncio.gather(*map(write_one, some)), strict=True):
            if isinstance(result, PlayFailure):
                failures[type(result).__name__] += 1
            else:
                written[who.id] = result
    return written, failures
