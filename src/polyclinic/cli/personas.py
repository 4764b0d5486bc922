"""`polyclinic cases personas`: makes a persona for each case, and refuses what gives the truth away."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter

from polyclinic.cases.case import Case
from polyclinic.cases.loaders import write_cases
from polyclinic.cases.persona import Manner, Persona
from polyclinic.cli.evaluation import goes_on
from polyclinic.errors import PlayFailure, RunStopped, UserError
from polyclinic.evaluations.personas import TEMPLATES, made_persona
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import journal_of, open_models
from polyclinic.players.mind_names import model_of
from polyclinic.run import options
from polyclinic.run.batching import batches_beside
from polyclinic.run.case_files import read_case_file
from polyclinic.run.storing import keep_outcome
from polyclinic.tasks import run_numbered
from polyclinic.terminal.screen import console, note, plain
from polyclinic.terminal.tables import counted
from polyclinic.terminal.usage import show_usage


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
    strict: options.StrictSetting = False,
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
    opening = open_models(
        names,
        models,
        journal=journal_of(kept.answers, run=f"personas seed={seed}"),
        seed=seed,
        batches=batches_beside(kept, names, wanted=batch_api),
        report=note,
    )
    async with opening as session:

        async def make(case: Case) -> Persona | str:
            model = session.model(mind, Asker("patient", f"persona {case.id}")) if names else None
            return await made_persona(case, model, seed=seed, manner=chosen, temperature=models.temperature)

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
