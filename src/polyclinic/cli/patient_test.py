"""`polyclinic cases patient-test`: makes a test set for simulated patients out of cases."""

from __future__ import annotations

import sys
from typing import Annotated

import msgspec
from cyclopts import Parameter

from polyclinic.cases.case import Case
from polyclinic.errors import PlayFailure, UserError
from polyclinic.evaluations.patient_simulator.building import CASES, ROUNDS, BuiltCase, build_by_model, build_by_rules
from polyclinic.files import write_text
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import journal_of, open_models
from polyclinic.players.mind_names import model_of
from polyclinic.run import options
from polyclinic.run.case_files import read_case_file
from polyclinic.run.invocation import NOT_INVOKED
from polyclinic.run.run import run_items
from polyclinic.run.storing import answers_of
from polyclinic.settings import setting
from polyclinic.terminal.screen import console, note, plain
from polyclinic.terminal.tables import counted
from polyclinic.terminal.usage import show_usage


async def patient_test(
    *,
    cases: options.Cases,
    out: options.NewFile,
    mind: Annotated[str, options.MIND, Parameter(name=("--writer", "--mind"))] = "rules",
    limit: Annotated[int, options.POSITIVE] = CASES,
    rounds: Annotated[int, options.POSITIVE, setting("patient-test")] = ROUNDS,
    layout: options.Layout = None,
    strict: options.StrictSetting = False,
    seed: options.Seed = 0,
    force: options.Force = False,
    models: options.Models = options.MODELS,
    reuse: options.Reuse = None,
    invocation: options.Invoked = NOT_INVOKED,
) -> None:
    """Writes a dialogue of each case, and behind each round a question of each of eight kinds with its answer.

    Args:
        out: File for the set, in AIE's labelled layout.
        mind: Writer of the questions: rules, for generated cases, or a model such as direct/NAME.
        limit: Number of cases, from the first; the paper has 50.
        rounds: Rounds of dialogue a case.
    """
    options.check_new(out, force=force)
    kept = options.BesideFile(out=out, reuse=reuse, invocation=invocation)
    if mind != "rules" and model_of(mind) is None:
        raise UserError(f"--writer {mind!r}; allowed: rules, or a model, such as direct/NAME")
    read, knowledge = read_case_file(cases, layout=layout, strict=strict)[:limit], read_knowledge()
    names = [] if mind == "rules" else [mind]
    opening = open_models(
        names, models, journal=journal_of(answers_of(kept), run=f"patient test seed={seed}"), seed=seed
    )
    async with opening as session:

        async def make(case: Case) -> BuiltCase | PlayFailure:
            if mind == "rules":
                return await build_by_rules(case, knowledge, rounds=rounds, seed=seed)
            model = session.model(mind, Asker("patient", f"patient test {case.id}"))
            try:
                return await build_by_model(case, model, rounds=rounds, temperature=models.temperature)
            except PlayFailure as failure:
                return failure

        def show(over: dict[int, BuiltCase | PlayFailure]) -> None:
            for number, one in over.items():
                came = f"failed: {one}" if isinstance(one, PlayFailure) else counted(one.questions, "question")
                console().print(plain(f"case {read[number].id}: {came}"), soft_wrap=True)

        try:
            over = await run_items(read, make, kept, what="making of the test", show=show)
        finally:
            show_usage(console(sys.stderr), session.ledger)
    built = [one for one in over if isinstance(one, BuiltCase)]
    failed = [one for one in over if isinstance(one, PlayFailure)]
    if not built:
        raise failed[0] if failed else UserError(f"there is no case in {cases}")
    write_text(out, msgspec.json.format(msgspec.json.encode([one.record for one in built]), indent=1).decode() + "\n")
    questions, matched = sum(one.questions for one in built), sum(one.matched for one in built)
    lacking = sum(one.lacking for one in built)
    lost = f"; {counted(len(failed), 'case')} failed, the first: {failed[0]}" if failed else ""
    note(
        f"{counted(questions, 'question')} of {counted(len(built), 'case')}: {out}; {matched} answers matched to the "
        f"nearest passage, {lacking} questions had nothing to ask for{lost}. People are to look at the labels. "
        f"Next: polyclinic eval patient-simulator --cases {out}"
    )
