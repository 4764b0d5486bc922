"""`polyclinic cases generate`: patients drawn from the medical knowledge."""

from __future__ import annotations

import functools
import itertools
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from polyclinic.cases.case import Case
from polyclinic.cases.loaders import write_cases
from polyclinic.errors import UserError
from polyclinic.files import json_lines, make_folder, write_json, write_text
from polyclinic.generation.background import HOME, RegionName, in_region
from polyclinic.generation.draw import DrawnPatient, draw_patients
from polyclinic.generation.draw import generate as draw
from polyclinic.generation.inpatients import generate_inpatients, tor_lines
from polyclinic.generation.writer import WrittenPatient, write_record
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.knowledge.pathology import with_pathology
from polyclinic.language.language import Language
from polyclinic.models.ledger import Ledger
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import Session, journal_of, open_models
from polyclinic.models.settings import ModelSettings
from polyclinic.parallel.holder import Holder
from polyclinic.parallel.pool import WorkerPool, check_site
from polyclinic.parallel.shipping import keys_of
from polyclinic.parallel.worker import WorkerSide
from polyclinic.players.mind_names import model_of
from polyclinic.run.options import MODELS, Force, KeptOptions, Models, NewFile, On, Seed, between, check_new
from polyclinic.run.run import run_items
from polyclinic.run.storing import answers_of
from polyclinic.settings import setting
from polyclinic.terminal.figures import number
from polyclinic.terminal.screen import console, note
from polyclinic.terminal.tables import counted, table
from polyclinic.terminal.usage import show_usage

_TOGETHER = 512
"""Patients who are written at once."""

_STRETCH = 2_000
"""Patients whom a worker draws at a time."""

_COUNTS = "writing.json"


@functools.cache
def _practice_knowledge() -> Knowledge:
    return read_knowledge().select(_AGENT_HOSPITAL)


@dataclass(frozen=True)
class RecordWriting:
    """The task of a worker: a model writes the history of each patient."""

    writer: str
    settings: ModelSettings
    seed: int

    @property
    def run(self) -> str:
        """The name of the run in its journal."""
        return f"writer seed={self.seed}"

    @asynccontextmanager
    async def open(self, side: WorkerSide) -> AsyncIterator[Callable[[Any, WorkerSide], Awaitable[Any]]]:
        """Opens the model, and yields the function that writes the history of a patient."""
        journal = journal_of(side, run=self.run)
        ledger = side.ledger(self.settings)
        async with open_models(
            [self.writer], self.settings, ledger=ledger, journal=journal, seed=self.seed, share=side.share
        ) as session:
            yield lambda drawn, _: self.write(drawn, session)

    async def write(self, drawn: DrawnPatient, session: Session) -> WrittenPatient:
        """Returns a patient with its history written."""
        model = session.model(self.writer, Asker("writer", drawn.case.id), repeating=True)
        return await write_record(drawn, _practice_knowledge(), model, temperature=self.settings.temperature)


async def write_records(
    patients: Iterable[DrawnPatient],
    writing: RecordWriting,
    folder: Path,
    on: str | None,
) -> list[Case]:
    """Returns the cases of patients with their histories written, and prints and keeps what was refused."""
    if model_of(writing.writer) is None:
        raise UserError(f"--writer {writing.writer!r} is not a model; a writer is one, such as direct/NAME")
    kept = KeptOptions(out=folder)
    journal, keys = journal_of(answers_of(kept), run=writing.run), keys_of(writing.settings)
    async with open_models([writing.writer], writing.settings, journal=journal, seed=writing.seed) as session:
        workers = None
        if on is not None:
            holder = Holder(session.journal, session.ledger)
            workers = partial(WorkerPool, on, writing, holder, report=note, environment=keys)
        over = await run_items(
            list(patients),
            partial(writing.write, session=session),
            kept,
            what="writing",
            unit="patient",
            doing="writing",
            show=lambda over: _show(list(over.values()), writing.writer),
            at_once=_TOGETHER,
            workers=workers,
        )
    write_json(folder / _COUNTS, _counts(over))
    _show(over, writing.writer)
    show_usage(console(sys.stderr), session.ledger)
    return [one.case for one in over]


@dataclass(frozen=True)
class CaseDrawing:
    """The task of a worker: draws stretches of the patients."""

    diseases: str
    region: RegionName
    seed: int
    language: Language

    @asynccontextmanager
    async def open(self, _: WorkerSide) -> AsyncIterator[Callable[[Any, WorkerSide], Awaitable[Any]]]:
        """Yields the function that draws a stretch: (first, n)."""

        async def drawn(stretch: tuple[int, int], _: WorkerSide) -> str:
            return json_lines(self.draw(*stretch))

        yield drawn

    def draw(self, first: int, n: int) -> Iterator[Case]:
        """Returns n patients from number `first` on."""
        knowledge = in_region(read_knowledge().select(self.diseases), self.region)
        return draw(knowledge, n=n, seed=self.seed, language=self.language, first=first)


def _counts(over: Sequence[WrittenPatient]) -> dict[str, Any]:
    refused = Counter(why for one in over for why in one.refused)
    written = sum(one.written for one in over)
    return {"patients": len(over), "written": written, "refused": dict(sorted(refused.items()))}


def _show(over: Sequence[WrittenPatient], writer: str) -> None:
    counts = _counts(over)
    kept = counts["patients"] - counts["written"]
    rows = [("written", counts["written"]), ("kept as drawn, as every record was refused", kept)]
    rows += [(f"refused: {why}", times) for why, times in counts["refused"].items()]
    shown = ((name, number(count, ",")) for name, count in rows)
    console().print(table(f"{len(over):,} histories by {writer}", ("", "number"), shown))


_AGENT_HOSPITAL = "respiratory"
"""The department of the paper's eight diseases."""

_TRAIN, _TEST = 10_000, 500

_FEWEST = 4
"""Diseases without which no inpatient can be drawn that has other options too."""


async def generate(
    *,
    out: NewFile,
    n: Annotated[int | None, between(1, 1_000_000), Parameter(name="--n")] = None,
    seed: Seed = 0,
    diseases: Annotated[str | None, Parameter(metavar="NAMES")] = None,
    preset: Literal["agent-hospital"] | None = None,
    language: Language = "en",
    region: Annotated[RegionName, setting("cases")] = HOME,
    layout: Annotated[Literal["polyclinic", "tor"], Parameter(name="--format")] = "polyclinic",
    writer: Annotated[str | None, Parameter(metavar="MODEL")] = None,
    force: Force = False,
    on: On = None,
    models: Models = MODELS,
) -> None:
    """Draws patients and writes them.

    Args:
        out: File for the cases; with --preset, the folder for train.jsonl and test.jsonl.
        n: Number of patients; 40 by default.
        diseases: 'all', or departments, disease names or ICD-10 codes, separated by commas.
        preset: Agent Hospital's patients: 10,000 to practise on and 500 for tests, of its eight diseases.
        language: Language of the records.
        region: Region of the outpatients, which sets the frequency of illnesses, habits and risks.
        layout: polyclinic: outpatients with one disease; tor: inpatients with two to five at once, with options, in the
            layout of Tree-of-Reasoning.
        writer: With --preset: a model writes each history; what contradicts the patient is refused.
    """
    if writer is not None and preset is None:
        raise UserError("--writer is for the patients of a preset; give --preset agent-hospital, or leave it out")
    if on is not None:
        check_site(on)
    if preset is not None:
        if n is not None or diseases is not None or layout != "polyclinic":
            raise UserError(f"--preset {preset} says how many patients, of what and in which layout; leave those out")
        files = [out / "train.jsonl", out / "test.jsonl"]
        for path in files:
            check_new(path, force=force)
        writing = None if writer is None else RecordWriting(writer, models, seed)
        await _generate_practice(files, seed, language, writing, on)
        return
    check_new(out, force=force)
    n, knowledge = n or 40, read_knowledge().select(diseases or "all")
    if layout == "tor":
        if on is not None:
            raise UserError(f"--on {on} divides outpatients, and what --writer writes; leave it out")
        if (left := len(knowledge.diseases)) < _FEWEST:
            raise UserError(f"inpatients have several diseases at once; --diseases leaves {left}, needs {_FEWEST}")
        inpatients = generate_inpatients(knowledge, n=n, seed=seed, language=language)
        write_text(out, tor_lines(inpatients, with_pathology(knowledge)))
        note(f"{counted(n, 'inpatient')}: {out}. Next: polyclinic eval tor --cases {out} --doctor rules")
        return
    drawing = CaseDrawing(diseases or "all", region, seed, language)
    if on is None:
        write_text(out, json_lines(drawing.draw(0, n)))
    else:
        stretches = [(first, min(_STRETCH, n - first)) for first in range(0, n, _STRETCH)]
        async with WorkerPool(on, drawing, Holder(None, Ledger()), items=len(stretches), report=note) as pool:
            drawn = await run_items(
                stretches, pool.compute, KeptOptions(), what="drawing", doing="drawing", unit="part"
            )
        write_text(out, "".join(drawn))
    told = f"{counted(n, 'case')}, drawn from {counted(len(knowledge.diseases), 'disease')}"
    note(f"{told}: {out}. Next: polyclinic consult {out}")


async def _generate_practice(
    files: Sequence[Path], seed: int, language: Language, writing: RecordWriting | None, on: str | None
) -> None:
    """Writes Agent Hospital's simulated medical dataset (§5.1.1, Table 5): balanced over disease and severity."""
    (train, test), folder = files, files[0].parent
    how: Any = {"n": _TRAIN + _TEST, "seed": seed, "language": language}
    if on is not None and writing is None:
        raise UserError(f"--on {on} divides what --writer writes; leave it out")
    make_folder(folder)
    if writing is None:
        drawn = draw(_practice_knowledge(), **how)
    else:
        drawn = iter(await write_records(draw_patients(_practice_knowledge(), **how), writing, folder, on))
    write_cases(train, itertools.islice(drawn, _TRAIN))
    write_cases(test, drawn)
    note(
        f"{_TRAIN:,} patients to practise on and {_TEST} for tests: {folder}. Next: polyclinic evolve --train {train} "
        f"--test {test} --out evolved"
    )
