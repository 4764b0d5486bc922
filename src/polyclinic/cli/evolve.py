"""`polyclinic evolve`: a doctor treats thousands of patients, learns from them, and is tested on others."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from polyclinic.benchmarks.evolution.cap import cap_of
from polyclinic.benchmarks.evolution.patients import PracticePatient, practice_patients
from polyclinic.benchmarks.evolution.practice import Point, Practice, Remembers
from polyclinic.benchmarks.evolution.results import Evolution
from polyclinic.cases.loaders import read_cases
from polyclinic.cases.shipped import shipped_path
from polyclinic.cli.options import DIR, FILE, MIND, MODELS, POSITIVE, Json, Models, Seed, between
from polyclinic.errors import BadInput, BudgetSpent, UserError
from polyclinic.files import decode, make_empty_folder, write_text
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.memory.case_words import DIMENSIONS, CaseWordsEmbedder
from polyclinic.memory.entries import ClinicalTask
from polyclinic.memory.learner import Learner
from polyclinic.memory.memory import About, open_memory
from polyclinic.memory.options import NEAREST
from polyclinic.memory.recall import NEIGHBOURS, RecallDoctor
from polyclinic.methods.medagent_zero import MedAgentZero
from polyclinic.models.session import open_session
from polyclinic.players.minds import model_of
from polyclinic.terminal.screen import console, note, print_json
from polyclinic.terminal.usage import show_usage

_RECALL = "recall"
_CONFIGURATION, _RESULTS, _ANSWERS = "evolve.json", "results.json", "answers.sqlite"
_K = between(0, 1000)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PracticeOptions:
    """Whom a doctor learns from, and how."""

    train: Annotated[str | None, FILE] = None
    """The patients to practise on, in the order in which they come."""
    test: Annotated[str | None, FILE] = None
    """The patients that are kept apart for the tests."""
    doctor: Annotated[str, MIND] = _RECALL
    """Who learns: recall, which knows cases alone, or a model."""
    batch: Annotated[int, POSITIVE] = 1
    """So many patients are treated against the same memory; 1 is the paper."""
    test_every: Annotated[int, POSITIVE] = 100
    """A test after so many patients."""
    records_only: bool = False
    """Without experience."""
    experience_only: bool = False
    """Without records."""
    k: Annotated[int | None, POSITIVE] = None
    """So many records and so much experience come to mind: 3 of a model (the paper), 300 of recall."""
    k_records: Annotated[int | None, _K] = None
    """So many records, where it differs."""
    k_experience: Annotated[int | None, _K] = None
    """So much experience, where it differs."""
    feedback: Literal["truth"] = "truth"
    """What the doctor learns of a patient afterwards: what was right."""
    seed: Seed = 0


PRACTICE = PracticeOptions()


class PracticeConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """What a practice is made of, as it is kept beside the memory."""

    train: str
    test: str
    doctor: str
    batch: int
    test_every: int
    records_only: bool
    experience_only: bool
    k: int | None
    k_records: int | None
    k_experience: int | None
    feedback: str
    seed: int

    @property
    def wanted(self) -> tuple[int, int]:
        """How many records, and how many principles, come to mind."""
        k = self.k or (NEIGHBOURS if self.doctor == _RECALL else NEAREST)
        return (
            k if self.k_records is None else self.k_records,
            k if self.k_experience is None else self.k_experience,
        )


async def evolve(
    *,
    options: PracticeOptions = PRACTICE,
    out: Annotated[Path | None, DIR, Parameter(help="Keep memory, answers and results in this new folder.")] = None,
    resume: Annotated[Path | None, DIR, Parameter(help="Go on with the practice of this folder.")] = None,
    json: Json = False,
    models: Models = MODELS,
) -> None:
    """Lets a doctor practise, and prints how it gets better."""
    folder, configuration = _folder(options, out, resume)
    train, test = _patients(configuration)
    began = time.monotonic()
    about = About(embedder=CaseWordsEmbedder.name, dimensions=DIMENSIONS, knowledge=_choices(train[0]))
    async with AsyncExitStack() as stack:
        name = model_of(configuration.doctor)
        session = await stack.enter_async_context(
            open_session(
                [] if name is None else [name],
                models,
                journal=None if name is None else folder / _ANSWERS,
                run="evolve",
                seed=configuration.seed,
            )
        )
        records, experience = configuration.wanted
        learner: Learner = RecallDoctor(seed=configuration.seed, records=records, experience=experience)
        if name is not None:
            learner = MedAgentZero(
                name,
                lambda episode: session.metered(name, role="doctor", episode=episode),
                records=records,
                experience=experience,
                temperature=models.temperature,
            )
        memory = stack.enter_context(open_memory(folder, about))
        remembers = Remembers(records=not configuration.experience_only, experience=not configuration.records_only)
        practice = Practice(learner, memory, CaseWordsEmbedder(), remembers=remembers)
        try:
            with _curve(len(train), quiet=json) as (advance, on_point):
                points = await practice.run(
                    train,
                    test,
                    batch=configuration.batch,
                    test_every=configuration.test_every,
                    advance=advance,
                    on_point=on_point,
                )
        except BudgetSpent as spent:
            raise BudgetSpent(f"{spent}; go on with: polyclinic evolve --resume {folder}") from None
    came = Evolution(
        learner=configuration.doctor,
        curve=tuple(points),
        cap=cap_of(test),
        names={one.disease.id: one.disease.name.en for one in test},
        wall_seconds=time.monotonic() - began,
    )
    document = came.document()
    write_text(folder / _RESULTS, msgspec.json.format(msgspec.json.encode(document)).decode() + "\n")
    if json:
        print_json(document)
        return
    for one in came.tables():
        console().print(one)
    show_usage(console(sys.stderr), session.ledger)
    note(f"memory and results: {folder}. Next: polyclinic memory show {folder}")


@contextmanager
def _curve(patients: int, *, quiet: bool) -> Iterator[tuple[Callable[[int], None], Callable[[Point], None]]]:
    """Shows on stderr how far the practice is and how the last test went; yields what is told of either."""
    if quiet or not sys.stderr.isatty():
        yield (lambda _: None), (lambda _: None)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(sys.stderr), transient=True) as bar:
        task = bar.add_task("practising", total=patients)

        def on_point(point: Point) -> None:
            tested = ", ".join(f"{one.value} {100 * point.right[one] / point.n:.0f} %" for one in ClinicalTask)
            bar.update(task, description=f"right after {point.patients:,}: {tested}", completed=point.patients)

        yield (lambda done: bar.update(task, completed=done)), on_point


def _folder(options: PracticeOptions, out: Path | None, resume: Path | None) -> tuple[Path, PracticeConfiguration]:
    if (out is None) == (resume is None):
        raise UserError("name a new folder with --out DIR, or one to go on with by --resume DIR; one of them")
    if resume is not None:
        path = resume / _CONFIGURATION
        if not path.is_file():
            raise BadInput(f"holds no {_CONFIGURATION}; 'polyclinic evolve --out DIR' makes one", path=resume)
        try:
            return resume, msgspec.json.decode(decode(path.read_bytes(), path=path), type=PracticeConfiguration)
        except msgspec.MsgspecError as error:
            raise BadInput(str(error), path=path) from None
    assert out is not None  # noqa: S101
    if options.train is None or options.test is None:
        raise UserError("a practice needs --train FILE and --test FILE; polyclinic cases generate --preset makes both")
    if options.records_only and options.experience_only:
        raise UserError("--records-only and --experience-only leave nothing to remember; at most one of them")
    if options.doctor != _RECALL and model_of(options.doctor) is None:
        raise UserError(f"--doctor {options.doctor!r} does not learn; allowed: {_RECALL}, or a model: direct/NAME")
    made = PracticeConfiguration(**{name: getattr(options, name) for name in PracticeConfiguration.__struct_fields__})
    _patients(made)  # before anything is written
    make_empty_folder(out)
    write_text(out / _CONFIGURATION, msgspec.json.encode(made).decode() + "\n")
    return out, made


def _patients(configuration: PracticeConfiguration) -> tuple[list[PracticePatient], list[PracticePatient]]:
    every = {name: list(read_cases(shipped_path(name))) for name in (configuration.train, configuration.test)}
    knowledge = read_knowledge()
    for name, cases in every.items():
        try:
            practice_patients(cases, knowledge)
        except BadInput as problem:
            raise BadInput(str(problem), path=Path(name)) from None
    here, there = every[configuration.train], every[configuration.test]
    met = {case.id for case in here} & {case.id for case in there}
    if met:
        some = ", ".join(sorted(met)[:3])
        shared = f"shares {len(met):,} patients with {configuration.train}: {some}"
        raise BadInput(shared, path=Path(configuration.test))
    named = {case.truth.diagnoses[0].name for case in (*here, *there)}
    ids = {knowledge.disease_named(name).id for name in named}  # type: ignore[union-attr]
    known = knowledge.select(",".join(sorted(ids)))
    return practice_patients(here, known), practice_patients(there, known)


def _choices(patient: PracticePatient) -> str:
    """Names what the answers of a memory are among."""
    choices = patient.choices
    named = "\n".join([choices.language, *choices.diseases, *choices.examinations, *choices.grades])
    return f"{len(choices.diseases)} diseases, {hashlib.sha256(named.encode()).hexdigest()[:12]}"
