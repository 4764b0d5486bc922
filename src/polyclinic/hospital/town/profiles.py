"""Residents written by a model (agent-hospital §3.2), in place of the templates.

The model gets the resident's data and writes the life around it. Drugs taken and drugs not tolerated, which matter to a
pharmacist, stay those of the template. The model knows of no illness, so it cannot give one away; a history that names
a disease of the knowledge is refused, as it could name the diagnosis. If the answer cannot be used, the template stays
and the failure is counted under its name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec

from polyclinic.errors import PlayFailure, UnreadableReply
from polyclinic.hospital.town.residents import Profile, Resident
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.folding import Folded, fold_term
from polyclinic.models.model import Model
from polyclinic.prompts import read_prompts
from polyclinic.tasks import run_all

PROMPTS = Path(__file__).with_suffix(".md")

_AT_ONCE = 256

Sentence = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class NamesDisease(UnreadableReply):
    """A model was to write somebody's life, and named a disease in it that may turn out to be the diagnosis."""


class ProfileDraft(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A resident as a model answers it."""

    household: Sentence
    habits: Annotated[tuple[Sentence, ...], msgspec.Meta(min_length=1, max_length=4)]
    past: Annotated[str, msgspec.Meta(max_length=400)]
    about: Sentence


async def write_profiles(
    chosen: Sequence[Resident], model: Model, knowledge: Knowledge, *, temperature: float | None = None
) -> tuple[dict[str, Profile], Counter[str]]:
    """Lets a model write residents."""
    terms = sorted({fold_term(name) for disease in knowledge.diseases.values() for name in disease.names()})

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
            answer=ProfileDraft,
            temperature=temperature,
            purpose=f"profile {resident.id}",
        )
        draft: ProfileDraft = reply.value
        texts = (draft.about, draft.household, *draft.habits, draft.past)
        named = next((term for text in map(Folded, texts) for term in terms if text.find(term) >= 0), None)
        if named is not None:
            raise NamesDisease(f"it names a disease, {named!r}", text="\n".join(texts))
        return Profile(about=draft.about, household=draft.household, habits=draft.habits, past=draft.past)

    written: dict[str, Profile] = {}
    failures: Counter[str] = Counter()

    async def write_or_count(resident: Resident) -> None:
        try:
            written[resident.id] = await write(resident)
        except PlayFailure as failure:
            failures[type(failure).__name__] += 1

    await run_all((partial(write_or_count, resident) for resident in chosen), at_once=_AT_ONCE)
    return written, failures
