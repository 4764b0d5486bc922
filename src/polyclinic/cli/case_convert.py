"""`polyclinic cases convert`: case files of any layout in another one, and cases with personas."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from cyclopts import Parameter

from polyclinic.cases.case import Case
from polyclinic.cases.loaders import write_cases
from polyclinic.cases.persona import Manner, Persona
from polyclinic.cases.writers import check_valid, losses, writers
from polyclinic.errors import MissingExtra, PlayFailure, UserError
from polyclinic.evaluations.personas import TEMPLATES, made_persona
from polyclinic.files import json_lines, write_text
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import journal_of, open_models
from polyclinic.players.mind_names import model_of
from polyclinic.run import options
from polyclinic.run.batching import check_batches
from polyclinic.run.case_files import read_case_file
from polyclinic.run.invocation import NOT_INVOKED
from polyclinic.run.run import run_items
from polyclinic.run.storing import answers_of
from polyclinic.tasks import AT_ONCE
from polyclinic.terminal.screen import console, note, print_json
from polyclinic.terminal.tables import counted
from polyclinic.terminal.usage import show_usage

if TYPE_CHECKING:
    WrittenLayout = str
else:
    WrittenLayout = Literal[tuple(sorted(writers()))]


async def convert(
    file: Annotated[str, options.CASE_FILE],
    /,
    *,
    to: Annotated[WrittenLayout, Parameter(name="--format")] = "polyclinic",
    out: options.NewFile,
    persona: Annotated[Manner | Literal["mixed"] | None, Parameter(metavar="MANNER")] = None,
    writer: Annotated[str, options.MIND] = TEMPLATES,
    layout: options.LayoutOption = None,
    strict: options.StrictSetting = False,
    seed: options.Seed = 0,
    force: options.Force = False,
    json: options.Json = False,
    max_failures: options.MaxFailures = 5.0,
    models: options.Models = options.MODELS,
    batch_api: options.BatchApi = False,
    reuse: options.Reuse = None,
    invocation: options.Invoked = NOT_INVOKED,
) -> None:
    """Writes the cases, and prints what the layout cannot hold and which cases got no persona.

    Args:
        to: The layout to write; by default polyclinic's own.
        out: File for the cases, one a line.
        persona: Persona for each case, by its manner; mixed: all manners; parent: a child's.
        writer: Writer of the personas: templates, or a model such as direct/NAME.
    """
    options.check_new(out, force=force)
    kept = options.BesideFile(out=out, reuse=reuse, invocation=invocation)
    if writer != TEMPLATES and model_of(writer) is None:
        raise UserError(f"--writer {writer!r}; allowed: {TEMPLATES}, or a model, such as direct/NAME")
    if writer != TEMPLATES and persona is None:
        raise UserError("--writer makes personas; say of which manner: --persona mixed")
    cases, refused = read_case_file(file, layout=layout, strict=strict), 0
    if persona is not None:
        names = [] if writer == TEMPLATES else [writer]
        opening = open_models(
            names,
            models,
            journal=journal_of(answers_of(kept), run=f"personas seed={seed}"),
            seed=seed,
            batches=check_batches(kept, names, wanted=batch_api),
            report=note,
        )
        async with opening as session:

            async def make(case: Case) -> Persona | str:
                model = session.model(writer, Asker("patient", f"persona {case.id}")) if names else None
                manner = None if persona == "mixed" else persona
                return await made_persona(case, model, seed=seed, manner=manner, temperature=models.temperature)

            def show(over: dict[int, Persona | str]) -> None:
                for number, one in over.items():
                    _show_refused(cases[number], one)
                    if not isinstance(one, str):
                        console().print(f"case {cases[number].id} has a persona", soft_wrap=True)

            at_once = sys.maxsize if batch_api else AT_ONCE
            try:
                over = await run_items(cases, make, kept, what="making of personas", show=show, at_once=at_once)
                for case, one in zip(cases, over, strict=True):
                    _show_refused(case, one)
            finally:
                show_usage(console(sys.stderr), session.ledger)
        made = [None if isinstance(one, str) else one for one in over]
        refused = made.count(None)
        cases = [msgspec.structs.replace(case, persona=one) for case, one in zip(cases, made, strict=True)]
    lost = losses(cases, to)
    checked = _write(cases, to, out)
    document: dict[str, Any] = {"cases": len(cases), "to": to, "file": str(out), "lost": lost, "valid": checked}
    if persona is not None:
        document["personas"] = len(cases) - refused
    if json:
        print_json(document)
    else:
        same = "" if lost else "; what was read is what was written"
        valid = ", all valid FHIR R4" if checked else ""
        told = f"{counted(len(cases), 'case')} in layout {to}{valid}: {out}{same}"
        if persona is not None:
            told = f"{document['personas']} of {len(cases)} cases have a persona: {out}. Next: polyclinic consult {out}"
        note(told)
        if lost:
            parts = (f"{place} ({n})" for place, n in sorted(lost.items(), key=lambda one: (-one[1], one[0])))
            note(f"Lost, or not the same when read again, with the number of cases: {', '.join(parts)}")
    if refused * 100 > max_failures * len(cases):
        raise PlayFailure(f"{refused} of {len(cases)} cases go without a persona; see the lines above")


def _show_refused(case: Case, made: Persona | str) -> None:
    if isinstance(made, str):
        text = f"case {case.id} goes without a persona: {made}"
        console(sys.stderr).print(text, style="yellow", soft_wrap=True)


def _write(cases: list[Case], to: str, out: options.NewFile) -> bool | None:
    """Writes the cases, and returns whether they were found valid; None where nothing says what is."""
    if to == "polyclinic":
        write_cases(out, cases)
        return None
    write = writers()[to]
    records = [write(case) for case in cases]
    checked = None
    if to == "fhir":
        try:
            for record in records:
                check_valid(record)
            checked = True
        except MissingExtra as missing:
            note(f"The bundles are not checked: {missing}")
    write_text(out, json_lines(records))
    return checked
