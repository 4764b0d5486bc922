"""Personas for patients without one; one that gives the diagnosis or a result away is refused."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.check import find_leaks
from polyclinic.cases.persona import Manner, Persona
from polyclinic.cases.terms import diagnosis_terms
from polyclinic.errors import BadInput, PlayFailure, UserError
from polyclinic.models.model import Model
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import Session
from polyclinic.players.language_model.personas import persona_by_model, persona_from_templates
from polyclinic.players.mind_names import model_of
from polyclinic.players.own_mind import ScriptedMind
from polyclinic.players.roles.patient import Patient
from polyclinic.seeds import derive
from polyclinic.tasks import run_all
from polyclinic.terminal.screen import note

TEMPLATES = "templates"


class LeakingPersona(PlayFailure):
    """A persona that was made names the diagnosis, or a result."""


async def with_personas(
    cases: Sequence[Case], mind: str, session: Session, *, seed: int, temperature: float | None = None
) -> list[Case]:
    """Returns cases with a persona each; those that have one keep it, and one that would give something away has none.

    Raises:
        UserError: the mind makes none.
    """
    if mind != TEMPLATES and model_of(mind) is None:
        raise UserError(f"no personas by {mind!r}; allowed: {TEMPLATES}, or a model, such as direct/NAME")

    async def make(case: Case) -> Case:
        if case.persona is not None:
            return case
        model = None if mind == TEMPLATES else session.model(mind, Asker("patient", f"persona {case.id}"))
        persona = await made_persona(case, model, seed=seed, manner="plain", temperature=temperature)
        if isinstance(persona, str):
            note(f"case {case.id} goes without a persona: {persona}")
            return case
        return msgspec.structs.replace(case, persona=persona)

    return await run_all((partial(make, case) for case in cases), at_once=session.at_once)


async def made_persona(
    case: Case, model: Model | None, *, seed: int, manner: Manner | None, temperature: float | None
) -> Persona | str:
    """Returns the persona of a case, or why it has none."""
    # The role knows what a patient may know, and cuts what it may not say.
    patient = Patient(ScriptedMind([]), case.record, withheld=diagnosis_terms(case.truth.diagnoses))
    rng = derive(seed, case.id, "persona")
    try:
        if model is None:
            made = persona_from_templates(patient, rng, manner=manner)
        else:
            made = await persona_by_model(patient, model, rng, manner=manner, temperature=temperature)
        refuse_leaks(made, case)
    except BadInput as error:
        raise BadInput(f"case {case.id}: {error}") from None
    except PlayFailure as failure:
        return f"{type(failure).__name__}: {failure}"
    return made


def refuse_leaks(persona: Persona, case: Case) -> None:
    """Refuses, as a LeakingPersona, one that names the diagnosis or a result, which the presentation does not."""
    leaks = find_leaks(persona.texts(), case)
    if leaks:
        raise LeakingPersona(f"it holds a {leaks[0].kind}, {leaks[0].term!r}: {leaks[0].excerpt}")
