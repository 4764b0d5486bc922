"""What `polyclinic cases personas` does: makes a persona for each case, and refuses what gives the truth away."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from polyclinic.cli.minds import ModelOptions, open_models
from polyclinic.errors import BadInput, PlayFailure, UserError

if TYPE_CHECKING:
    from polyclinic.cases.case import Case
    from polyclinic.cases.persona import Manner, Persona
    from polyclinic.models.ledger import Ledger
    from polyclinic.models.model import Model

TEMPLATES = "templates"


class LeakingPersona(PlayFailure):
    """A persona that was made names the diagnosis, or a result."""


class Made(NamedTuple):
    """The cases with their personas, those that go without one and why, and what the model cost."""

    cases: list[Case]
    refused: list[tuple[str, str]]
    ledger: Ledger


def read_manner(text: str) -> Manner | None:
    """Reads a manner; None for `mixed`.

    Raises:
        UserError: there is no such manner.
    """
    from polyclinic.players.language_model.personas import MANNERS

    if text == "mixed":
        return None
    for manner in MANNERS:
        if manner == text:
            return manner
    raise UserError(f"--manner {text!r}; allowed: {', '.join(MANNERS)}, mixed")


def make_personas(cases: list[Case], options: ModelOptions, *, mind: str, manner: Manner | None) -> Made:
    """Makes a persona for each case.

    Args:
        cases: personas that they have are replaced.
        options: how a model is asked; the seed is of the templates and the manners too.
        mind: `templates`, or a model.
        manner: None draws one for each.

    Raises:
        UserError: the mind is neither.
        BadInput: a parent is to speak for somebody who is no child.
    """
    from polyclinic.players.minds import model_of

    if mind != TEMPLATES and model_of(mind) is None:
        raise UserError(f"--mind {mind!r}; allowed: {TEMPLATES}, or a model, such as direct/NAME")
    return asyncio.run(_make(cases, options, mind, manner))


async def _make(cases: list[Case], options: ModelOptions, mind: str, manner: Manner | None) -> Made:
    names = [] if mind == TEMPLATES else [mind]
    async with open_models(names, options, run=f"personas seed={options.seed}") as opened:
        models = {
            case.id: opened.metered(mind, role="patient", episode=f"persona {case.id}") for case in cases if names
        }
        tasks = [asyncio.create_task(_one(case, models.get(case.id), options, manner)) for case in cases]
        try:
            came = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    refused = [(case.id, made) for case, made in zip(cases, came, strict=True) if isinstance(made, str)]
    kept = [
        msgspec.structs.replace(case, persona=None if isinstance(made, str) else made)
        for case, made in zip(cases, came, strict=True)
    ]
    return Made(kept, refused, opened.ledger)


async def _one(case: Case, model: Model | None, options: ModelOptions, manner: Manner | None) -> Persona | str:
    """Returns the persona of a case, or why it has none."""
    from polyclinic.cases.leaks import truth_terms
    from polyclinic.players.language_model.personas import persona_by_model, persona_from_templates
    from polyclinic.players.roles.patient import Patient
    from polyclinic.players.scripted import Scripted
    from polyclinic.seeds import derive

    # The role knows what a patient may know, and cuts what it may not say.
    patient = Patient(Scripted([]), case.record, withheld=truth_terms(case))
    rng = derive(options.seed, case.id, "persona")
    try:
        if model is None:
            made = persona_from_templates(patient, rng, manner=manner)
        else:
            made = await persona_by_model(patient, model, rng, manner=manner, temperature=options.temperature)
        refuse_leaks(made, case)
    except BadInput as error:
        raise BadInput(f"case {case.id}: {error}") from None
    except PlayFailure as failure:
        return f"{type(failure).__name__}: {failure}"
    return made


def refuse_leaks(persona: Persona, case: Case) -> None:
    """Refuses a persona that gives something away.

    Raises:
        LeakingPersona: it names the diagnosis or a result, which the presentation does not.
    """
    from polyclinic.cases.leaks import find_leaks

    leaks = find_leaks(persona.texts(), case)
    if leaks:
        raise LeakingPersona(f"it holds a {leaks[0].kind}, {leaks[0].term!r}: {leaks[0].excerpt}")
