"""Makes a patient's persona, from templates or by a model (AI Hospital §2.4).

Both read only what the patient itself can know: the presentation and the history, from which the names of the diagnoses
and the results have been cut. Whether a persona that was made gives something away is checked by who knows the truth.
"""

from __future__ import annotations

import functools
import random
from pathlib import Path

import msgspec

from polyclinic.cases.persona import Manner, Persona
from polyclinic.errors import BadInput
from polyclinic.language.language import Language
from polyclinic.models.model import Model
from polyclinic.players.language_model.mind import describe, history_lines
from polyclinic.players.roles.patient import Patient
from polyclinic.players.rules.sayings import Voice
from polyclinic.players.rules.wording import opening
from polyclinic.prompts import read_prompts
from polyclinic.yaml_files import read_yaml

PROMPTS = Path(__file__).with_suffix(".md")
TEMPLATES = Path(__file__).with_suffix(".yaml")

MANNERS: tuple[Manner, ...] = ("plain", "low health literacy", "anxious", "withholding", "contradicting", "parent")

GROWN_UP = 18  # Years of age from which on no parent speaks for a patient

_BANDS = ((6, "child"), (GROWN_UP, "school"), (65, "adult"), (float("inf"), "old"))


class PersonaTemplates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What personas are put together from."""

    lives: dict[str, tuple[str, ...]]
    events: dict[str, tuple[str, ...]]
    characters: tuple[str, ...]
    speech: tuple[str, ...]
    questions: dict[Voice, tuple[str, ...]]
    added: dict[Manner, tuple[str, ...]]


_FIELDS = [(field.name, field.type) for field in msgspec.structs.fields(Persona) if field.name != "manner"]
WrittenPersona = msgspec.defstruct("WrittenPersona", _FIELDS, frozen=True, forbid_unknown_fields=True)
"""A persona as a model answers it."""


@functools.cache
def read_templates(path: Path = TEMPLATES) -> dict[Language, PersonaTemplates]:
    """Reads what personas are put together from."""
    return read_yaml(path, dict[Language, PersonaTemplates])


def persona_from_templates(patient: Patient, rng: random.Random, *, manner: Manner | None = None) -> Persona:
    """Puts a persona together: the complaint in the first person, and a life, a character and a manner beside it."""
    presentation = patient.presentation
    templates = read_templates()[presentation.language]
    manner = manner_for(presentation.age, manner, rng)
    age = 40 if presentation.age is None else presentation.age
    band = next(name for below, name in _BANDS if age < below)
    by_parent = manner == "parent" or band == "child"
    voice: Voice = "parent" if by_parent else "self"
    # Of a child that speaks for itself, "you" is the child; of one that a parent speaks for, the parent.
    lives = templates.lives["child" if by_parent else band]
    added = rng.choice(templates.added[manner])
    between = "" if presentation.language == "zh" else " "
    said = opening(presentation.complaint, presentation.language, voice)
    return Persona(
        statement=between.join(part for part in (said, added) if part),
        life=rng.choice(lives),
        events=rng.choice(templates.events["child" if by_parent else "others"]),
        character=rng.choice(templates.characters),
        speech=rng.choice(templates.speech),
        questions=tuple(rng.sample(templates.questions[voice], 2)),
        manner=manner,
    )


async def persona_by_model(
    patient: Patient,
    model: Model,
    rng: random.Random,
    *,
    manner: Manner | None = None,
    temperature: float | None = None,
) -> Persona:
    """Lets a model invent a persona; arguments and failures are as in `persona_from_templates` and `Model.ask`."""
    language = patient.presentation.language
    prompts = read_prompts(PROMPTS)[language]
    manner = manner_for(patient.presentation.age, manner, rng)
    history = "\n".join(history_lines(patient.history, language))
    reply = await model.ask(
        [
            ("system", prompts("make", manner=prompts(manner))),
            ("user", prompts("patient", presentation=describe(patient.presentation), history=history)),
        ],
        answer=WrittenPersona,
        temperature=temperature,
        purpose="persona",
    )
    return Persona(manner=manner, **msgspec.structs.asdict(reply.value))


def manner_for(age: float | None, manner: Manner | None, rng: random.Random) -> Manner:
    """Returns the manner that was asked for, or draws one that fits the age; `BadInput` where none does."""
    child = age is not None and age < GROWN_UP
    if manner is None:
        return rng.choice([m for m in MANNERS if child or m != "parent"])
    if manner == "parent" and not child:
        years = "unknown" if age is None else f"{age:g}"
        raise BadInput(f"a parent speaks for patients under {GROWN_UP} only; this one's age is {years}")
    return manner
