"""`polyclinic cases generate`: patients drawn from the medical knowledge."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from polyclinic.cases.case import Case
from polyclinic.cases.loaders import write_cases
from polyclinic.errors import BadInput, EndpointError, RunStopped, UserError
from polyclinic.files import join_files, make_folder, no_folder, write_json, write_text
from polyclinic.generation.background import HOME, RegionName, in_region
from polyclinic.generation.draw import DrawnPatient, draw_patients
from polyclinic.generation.draw import generate as draw
from polyclinic.generation.inpatients import generate_inpatients, tor_lines
from polyclinic.generation.writer import WritingCount, WrittenPatient, write_record
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.knowledge.pathology import with_pathology
from polyclinic.language.language import Language
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import ModelSettings, journal_of, open_models
from polyclinic.models.share import WHOLE, Share
from polyclinic.players.mind_names import model_of
from polyclinic.run.options import MODELS, Force, Models, NewFile, On, Seed, Store, between, check_new, kept_in
from polyclinic.run.parts import PartDone
from polyclinic.settings import setting
from polyclinic.tasks import run_until_error
from polyclinic.terminal.figures import number
from polyclinic.terminal.screen import console, note, progress
from polyclinic.terminal.tables import counted, table
from polyclinic.terminal.usage import show_usage

_TOGETHER = 512
"""Patients who are written at once."""

WRITER_ANSWERS, _COUNTS = "writer-answers.sqlite", "writing.json"


async def write_records(
    patients: Iterable[DrawnPatient],
    knowledge: Knowledge,
    writer: str,
    options: ModelSettings,
    *,
    folder: Path,
    seed: int,
    n: int,
    share: Share = WHOLE,
    store: str | None = None,
) -> list[Case]:
    """Returns the cases of patients with their histories written, and prints and keeps what was refused.

    Every answer is kept in the folder, or in a store: the same command again goes on from there. Of a `share`, the
    patients are those of one of several processes, and nothing is printed.

    Raises:
        UserError: the writer is not a model.
        EndpointError: no answer came; says how to go on.
        RunStopped: the run has cost what it may cost, or somebody stopped it; shows what is over, says how to go on.
    """
    if model_of(writer) is None:
        raise UserError(f"--writer {writer!r} is not a model; a writer is one, such as direct/NAME")
    count, coming = WritingCount(), iter(patients)
    cases: list[Case] = []
    run, answers = f"writer seed={seed}", kept_in(None, store) or folder / WRITER_ANSWERS
    async with open_models(
        [writer], options, journal=journal_of(answers, share, run=run), seed=seed, share=share
    ) as session:
        with progress("writing", n, quiet=False, told=share != WHOLE) as advance:

            async def one(drawn: DrawnPatient) -> WrittenPatient:
                model = session.model(writer, Asker("writer", drawn.case.id), repeating=True)
                written = await write_record(drawn, knowledge, model, temperature=options.temperature)
                advance()
                return written

            again = f"the same command goes on from {'the store' if store is not None else answers}"
            try:
                while some := list(itertools.islice(coming, _TOGETHER)):
                    came, stopped = await run_until_error(partial(one, drawn) for drawn in some)
                    for written in came:
                        count.add(written)
                        cases.append(written.case)
                    if stopped is not None:
                        raise stopped
            except RunStopped as ended:
                if share == WHOLE and count.patients:
                    note("stopped early; what is over:")
                    _show(count, writer)
                done = f"{count.patients:,} of {counted(n, 'history').replace('historys', 'histories')} are over"
                raise type(ended)(f"{ended}; {done}, and {again}") from None
            except EndpointError as failure:
                raise type(failure)(f"{failure.problem}; {again}", attempts=failure.attempts) from None
    if share != WHOLE:
        return cases
    document = {"patients": count.patients, "written": count.written, "refused": dict(sorted(count.refused.items()))}
    write_json(folder / _COUNTS, document)
    _show(count, writer)
    show_usage(console(sys.stderr), session.ledger)
    return cases


def _show(count: WritingCount, writer: str) -> None:
    kept = count.patients - count.written
    rows = [("written", number(count.written, ",")), ("kept as drawn, as every record was refused", number(kept, ","))]
    rows += [(f"refused: {why}", number(times, ",")) for why, times in sorted(count.refused.items())]
    console().print(table(f"{count.patients:,} histories by {writer}", ("", "number"), rows))


_AGENT_HOSPITAL = "respiratory"
"""The department of the paper's eight diseases."""

_TRAIN, _TEST = 10_000, 500

_FEWEST = 4
"""Diseases without which no inpatient can be drawn that has other options too."""


async def generate(
    *,
    out: Annotated[
        NewFile, Parameter(help="File for the cases; with --preset, the folder for train.jsonl and test.jsonl.")
    ],
    n: Annotated[
        int | None, between(1, 1_000_000), Parameter(name="--n", help="Number of patients; 40 by default.")
    ] = None,
    seed: Annotated[Seed, Parameter(help="Random seed of the patients.")] = 0,
    diseases: Annotated[
        str | None,
        Parameter(metavar="NAMES", help="'all', or departments, disease names or ICD-10 codes, separated by commas."),
    ] = None,
    preset: Annotated[
        Literal["agent-hospital"] | None,
        Parameter(help="Agent Hospital's patients: 10,000 to practise on and 500 for tests, of its eight diseases."),
    ] = None,
    language: Annotated[Language, Parameter(help="Language of the records.")] = "en",
    region: Annotated[
        RegionName,
        setting("cases"),
        Parameter(help="Region of the outpatients, which sets the frequency of illnesses, habits and risks."),
    ] = HOME,
    layout: Annotated[
        Literal["polyclinic", "tor"],
        Parameter(
            name="--format",
            help="polyclinic: outpatients with one disease; tor: inpatients with two to five at once, with options, in "
            "the layout of Tree-of-Reasoning.",
        ),
    ] = "polyclinic",
    writer: Annotated[
        str | None,
        Parameter(
            metavar="MODEL",
            help="With --preset: a model writes each history; what contradicts the patient is refused.",
        ),
    ] = None,
    force: Force = False,
    on: On = None,
    share: Annotated[str | None, Parameter(show=False, help="Which part of them, NUMBER/OF: of one process.")] = None,
    parts: Annotated[Path | None, Parameter(show=False, help="The folder with all parts, drawn.")] = None,
    models: Models = MODELS,
    store: Store = None,
) -> None:
    """Draws patients and writes them."""
    if store is not None and writer is None:
        raise UserError("--store keeps what --writer answers; the patients are drawn again by the seed: leave it out")
    if writer is not None and preset is None:
        raise UserError("--writer is for the patients of a preset; give --preset agent-hospital, or leave it out")
    if on is not None:
        raise UserError(f"--on {on} divides patients in our layout, and what --writer writes; leave it out")
    if preset is not None:
        if n is not None or diseases is not None or layout != "polyclinic":
            raise UserError(f"--preset {preset} says how many patients, of what and in which layout; leave those out")
        part = WHOLE if share is None else Share.read(share)
        await _generate_practice(
            out, part, seed=seed, language=language, force=force, writer=writer, models=models, store=store
        )
        return
    check_new(out, force=force)
    n, knowledge = n or 40, read_knowledge().select(diseases or "all")
    if layout == "tor":
        _generate_inpatients(knowledge, out, n=n, seed=seed, language=language)
        return
    if share is not None:
        make_folder(out.parent)
        first, more = Share.read(share).stretch(n)
        write_cases(out, draw(in_region(knowledge, region), n=more, seed=seed, language=language, first=first))
        raise PartDone
    if parts is not None:
        if not parts.is_dir():
            raise BadInput(no_folder(parts), path=parts)
        join_files(sorted(parts.iterdir()), out)
    else:
        write_cases(out, draw(in_region(knowledge, region), n=n, seed=seed, language=language))
    drawn = f"{counted(n, 'case')}, drawn from {counted(len(knowledge.diseases), 'disease')}"
    note(f"{drawn}: {out}. Next: polyclinic consult --case {out}")


async def _generate_practice(
    out: Path,
    share: Share,
    *,
    seed: int,
    language: Language,
    force: bool,
    writer: str | None,
    models: ModelSettings,
    store: str | None,
) -> None:
    """Writes Agent Hospital's simulated medical dataset (§5.1.1, Table 5): balanced over disease and severity."""
    make_folder(out)
    files = {"train": out / "train.jsonl", "test": out / "test.jsonl"}
    for path in files.values():
        check_new(path, force=force)
    knowledge = read_knowledge().select(_AGENT_HOSPITAL)
    if writer is None:
        drawn = draw(knowledge, n=_TRAIN + _TEST, seed=seed, language=language)
    else:
        patients = draw_patients(knowledge, n=_TRAIN + _TEST, seed=seed, language=language)
        whose = itertools.islice(patients, share.number, None, share.of)
        written = await write_records(
            whose,
            knowledge,
            writer,
            models,
            folder=out,
            seed=seed,
            n=(_TRAIN + _TEST) // share.of,
            share=share,
            store=store,
        )
        if share != WHOLE:
            raise PartDone
        drawn = iter(written)
    write_cases(files["train"], itertools.islice(drawn, _TRAIN))
    write_cases(files["test"], drawn)
    note(
        f"{_TRAIN:,} patients to practise on and {_TEST} for tests: {out}. Next: polyclinic evolve --train "
        f"{files['train']} --test {files['test']} --out evolved"
    )


def _generate_inpatients(knowledge: Knowledge, out: Path, *, n: int, seed: int, language: Language) -> None:
    if len(knowledge.diseases) < _FEWEST:
        raise UserError(
            f"inpatients have several diseases at once; --diseases leaves {len(knowledge.diseases)}, needs 4"
        )
    cases = generate_inpatients(knowledge, n=n, seed=seed, language=language)
    write_text(out, tor_lines(cases, with_pathology(knowledge)))
    note(f"{counted(n, 'inpatient')}: {out}. Next: polyclinic eval tor --cases {out} --doctor rules")
