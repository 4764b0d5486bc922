"""`polyclinic cases personas`: makes a persona for each case, and refuses what gives the truth away."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter

from polyclinic.cases.case import Case
from polyclinic.cases.leaks import find_leaks
from polyclinic.cases.loaders import write_cases
from polyclinic.cases.persona import Manner, Persona
from polyclinic.cases.terms import diagnosis_terms
from polyclinic.cli import options
from polyclinic.cli.batching import batches_beside
from polyclinic.cli.case_files import read_case_file
from polyclinic.cli.evaluation import goes_on
from polyclinic.cli.storing import keep_outcome
from polyclinic.errors import BadInput, PlayFailure, RunStopped, UserError
from polyclinic.models.model import Model
from polyclinic.models.session import Session, open_session
from polyclinic.players.language_model.personas import persona_by_model, persona_from_templates
from polyclinic.players.mind_names import model_of
from polyclinic.players.roles.patient import Patient
from polyclinic.players.scripted import ScriptedMind
from polyclinic.seeds import derive
from polyclinic.stopping import is_stopped
from polyclinic.tasks import interruptible, run_all, run_numbered
from polyclinic.terminal.screen import console, note, plain
from polyclinic.terminal.tables import counted
from polyclinic.terminal.usage import show_usage

TEMPLATES = "templates"


class LeakingPersona(PlayFailure):
    """A persona that was made names the diagnosis, or a result."""


async def personas(
    *,
    cases: options.Cases,
    out: Annotated[options.NewFile, Parameter(help="Where to write the cases with their personas.")],
    mind: Annotated[
        str,
        options.MIND,
        Parameter(name=("--writer", "--mind"), help="Who makes them: templates, or a model such as direct/NAME."),
    ] = TEMPLATES,
    manner: Annotated[
        Manner | Literal["mixed"],
        Parameter(metavar="MANNER", help="How patients deal with the doctor; parent: of a child."),
    ] = "plain",
    layout: options.Layout = None,
    strict: options.Strict = False,
    seed: Annotated[options.Seed, Parameter(help="The same seed gives the same personas from templates.")] = 0,
    force: options.Force = False,
    max_failures: options.MaxFailures = 5.0,
    models: options.Models = options.MODELS,
    batch_api: options.BatchApi = False,
    kept: options.KeptOptions = options.NOWHERE,
) -> None:
    """Makes the personas, and writes the cases with them; a parent may speak for a child only."""
    options.check_new(out, force=force)
    if mind != TEMPLATES and model_of(mind) is None:
        raise UserError(f"--writer {mind!r}; allowed: {TEMPLATES}, or a model, such as direct/NAME")
    read = read_case_file(cases, layout=layout, strict=strict)
    names = [] if mind == TEMPLATES else [mind]
    chosen = None if manner == "mixed" else manner
    opening = open_session(
        names,
        models,
        journal=kept.answers,
        run=f"personas seed={seed}",
        seed=seed,
        batches=batches_beside(kept, names, wanted=batch_api),
        report=note,
    )
    async with opening as session:

        async def make(case: Case) -> Persona | str:
            model = session.metered(mind, role="patient", episode=f"persona {case.id}") if names else None
            return await made_persona(case, model, seed=seed, manner=chosen, temperature=models.temperature)

        with interruptible(is_stopped):
            over, stopped = await run_numbered(partial(make, case) for case in read)
    if stopped is not None and not isinstance(stopped, RunStopped):
        raise stopped
    screen = console(sys.stderr)
    if stopped is not None and over:
        note("stopped early; what is over:")
    for number, persona in sorted(over.items()):
        if isinstance(persona, str):
            told = plain(f"case {read[number].id} goes without a persona: {persona}")
            screen.print(told, style="yellow", soft_wrap=True)
        elif stopped is not None:
            console().print(plain(f"case {read[number].id} has a persona"), soft_wrap=True)
    if stopped is not None:
        show_usage(screen, session.ledger)
        missing = f"{len(over)} of {counted(len(read), 'case')} are done, and {out} is not written"
        raise goes_on(type(stopped)(f"{stopped}; {missing}"), kept, "making of personas")
    made = [over[number] for number in range(len(read))]
    refused = sum(isinstance(persona, str) for persona in made)
    write_cases(
        out,
        (
            msgspec.structs.replace(case, persona=None if isinstance(persona, str) else persona)
            for case, persona in zip(read, made, strict=True)
        ),
    )
    show_usage(screen, session.ledger)
    counts = {"cases": len(read), "personas": len(read) - refused}
    keep_outcome(kept, counts, models=models, ledger=session.ledger, seed=seed, files=[out])
    note(f"{len(read) - refused} of {len(read)} cases have a persona: {out}. Next: polyclinic consult --case {out}")
    if refused * 100 > max_failures * len(read):
        raise PlayFailure(f"{refused} of {len(read)} cases go without a persona; see the lines above")


async def with_personas(
    cases: Sequence[Case], mind: str, session: Session, *, seed: int, temperature: float | None = None
) -> list[Case]:
    """Returns cases with a persona each; those that have one keep it, and one that would give something away has none.

    Raises:
        UserError: the mind makes none.
    """
    check_maker(mind)
    missing = [case for case in cases if case.persona is None]

    async def make(case: Case) -> Persona | str:
        model = None if mind == TEMPLATES else session.metered(mind, role="patient", episode=f"persona {case.id}")
        return await made_persona(case, model, seed=seed, manner="plain", temperature=temperature)

    made = dict(zip((case.id for case in missing), await run_all(partial(make, case) for case in missing), strict=True))
    for id, persona in made.items():
        if isinstance(persona, str):
            note(f"case {id} goes without a persona: {persona}")
    personas = {id: persona for id, persona in made.items() if isinstance(persona, Persona)}
    return [msgspec.structs.replace(case, persona=personas[case.id]) if case.id in personas else case for case in cases]


def check_maker(mind: str) -> None:
    """Refuses, as a UserError, a mind that makes no personas."""
    if mind != TEMPLATES and model_of(mind) is None:
        raise UserError(f"no personas by {mind!r}; allowed: {TEMPLATES}, or a model, such as direct/NAME")


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
