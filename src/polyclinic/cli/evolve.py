"""`polyclinic evolve`: a doctor treats thousands of patients, learns from them, and is tested on others."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.text import Text

from polyclinic.cli.dry_run import scratch
from polyclinic.cli.evolve_folder import (
    ANSWERS,
    CONFIGURATION,
    OF_REPLICAS,
    PAGE,
    RESULTS,
    Patients,
    ReplicaPlaces,
    asked_as_before,
    begin_or_take_up,
    go_on,
    patients_of,
)
from polyclinic.cli.evolve_options import PRACTICE, SHUFFLED, PracticeConfiguration, PracticeOptions, Tested
from polyclinic.errors import EndpointError, PolyclinicError, RunStopped, UserError
from polyclinic.evaluations.evolution.ablations import Ablations, ablate, thinned
from polyclinic.evaluations.evolution.cap import cap_of, constant_of
from polyclinic.evaluations.evolution.page import page, page_of_replicas
from polyclinic.evaluations.evolution.patients import PracticePatient
from polyclinic.evaluations.evolution.practice import Point, Practice
from polyclinic.evaluations.evolution.results import Evolution, EvolutionReplicas
from polyclinic.files import make_folder, write_json, write_text
from polyclinic.memory.entries import ClinicalTask, name_of_choices
from polyclinic.memory.library import asked_for, dimensions_of, memory_embedder
from polyclinic.memory.memory import FILE as MEMORY
from polyclinic.memory.memory import About, is_stored, open_memory
from polyclinic.memory.recall import Learner, RecallDoctor
from polyclinic.methods.medagent_zero_practice import MedAgentZero
from polyclinic.models.journal import Journal
from polyclinic.models.ledger import Ledger
from polyclinic.models.limits import WHOLE, Share
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import ModelSettings, Session, journal_of, open_models
from polyclinic.parallel.holder import Holder
from polyclinic.parallel.pool import check_site, open_workers
from polyclinic.parallel.shipping import keys_of
from polyclinic.parallel.worker import WorkerSide
from polyclinic.players.mind_names import model_of
from polyclinic.results.folder import ItemMeasure
from polyclinic.run.options import DIR, MODELS, POSITIVE, Json, MemoryStore, Models, On, StrictSetting
from polyclinic.run.provenance import write_results
from polyclinic.run.storing import keep_results
from polyclinic.stopping import is_stopped
from polyclinic.storage.memory import address_of, check_not_there, name_in_store, password_of, point
from polyclinic.tasks import ended_by_hand, run_until_error
from polyclinic.terminal.screen import console, note, print_json, progress
from polyclinic.terminal.tables import counted
from polyclinic.terminal.usage import show_usage

_STEPS = "▁▂▃▄▅▆▇█"
_TESTS = 40
"""Tests that stand side by side; of more, so many, evenly."""

_BAR = 30

_RUN = "evolve"
"""Names the run in its own file of answers, which holds no other."""


@contextmanager
def live_curve(
    patients: int, cap: Mapping[ClinicalTask, int], *, quiet: bool
) -> Iterator[tuple[Callable[[int], None], Callable[[Point], None]]]:
    """Shows it on stderr, where that is a terminal; yields what is told how far it is, and of each test.

    Args:
        patients: of the practice.
        cap: of each task, how many of the patients of the test can be treated rightly.
        quiet: shows nothing.
    """
    if quiet or not sys.stderr.isatty():
        yield (lambda _: None), (lambda _: None)
        return
    screen = console(sys.stderr)
    bar = Progress(BarColumn(_BAR), MofNCompleteColumn(), TimeRemainingColumn(), console=screen)
    task, points = bar.add_task("", total=patients), list[Point]()
    with Live(bar, console=screen, transient=True) as live:

        def on_point(point: Point) -> None:
            points.append(point)
            bar.update(task, completed=point.patients)
            live.update(Group(curve_text(points, cap), bar))

        yield (lambda done: bar.update(task, completed=done)), on_point


def curve_text(points: list[Point], cap: Mapping[ClinicalTask, int]) -> Text:
    """Returns the tests so far, a line a task: how many were right each time, the last in per cent, and the cap."""
    shown, last = thinned(points, _TESTS), points[-1]
    lines = []
    for task in ClinicalTask:
        shares = [point.right[task] / point.n for point in shown]
        steps = "".join(_STEPS[min(len(_STEPS) - 1, int(share * len(_STEPS)))] for share in shares)
        now, most = (100 * right / last.n for right in (last.right[task], cap[task]))
        lines.append(f"{task.value:<12}{steps:<{_TESTS}} {now:3.0f} % of {most:.0f}")
    return Text("\n".join(lines))


async def evolve(
    *,
    options: PracticeOptions = PRACTICE,
    out: Annotated[Path | None, DIR, Parameter(help="New folder for memory, answers and results.")] = None,
    resume: Annotated[Path | None, DIR, Parameter(help="Folder of a practice to resume.")] = None,
    ablations: Annotated[
        Tested | None,
        Parameter(help="Tests of the finished memory: its parts, and k from 0 to 10. By default for recall only."),
    ] = None,
    replicas: Annotated[
        int, POSITIVE, Parameter(help="Independent practices, with seeds from --seed on, each in a folder of its own.")
    ] = 1,
    on: On = None,
    strict: StrictSetting = False,
    json: Json = False,
    models: Models = MODELS,
    store: MemoryStore = None,
) -> None:
    """Lets a doctor practise, and prints how it gets better."""
    if replicas > 1:
        await _several(options, replicas, out, resume, ablations, models, strict=strict, json=json, on=on, store=store)
        return
    if on is not None:
        raise UserError(f"--on {on} holds several practices at once; say how many with --replicas N, 2 or more")
    with scratch(out, dry_run=models.dry_run) as new, scratch(resume, dry_run=models.dry_run) as before:
        _check_store(store, new, before, dry_run=models.dry_run)
        folder, configuration, patients = begin_or_take_up(options, new, before, ablations, models, strict=strict)
        if store is not None and before is None and not models.dry_run:
            point(folder, store, name_in_store(folder))
        if before is not None:
            models = asked_as_before(models, configuration.endpoint, folder)
        came, ledger = await _practise(folder, configuration, patients, ablations, models, json=json)
        if is_stored(folder):
            keep_results(address_of(folder), folder)
        _show(came, json=json)
        if json:
            return
        show_usage(console(sys.stderr), ledger)
        note(f"memory, results and {PAGE}: {folder}. Next: polyclinic memory show {folder}")


def _check_store(store: str | None, out: Path | None, resume: Path | None, *, dry_run: bool) -> None:
    """Checks, before anything is written, that a practice can be kept in a store, or goes on in its own.

    Raises:
        UserError: it cannot.
    """
    if store is None or dry_run:
        return
    if resume is None and out is not None:
        check_not_there(store, name_in_store(out))
    elif resume is not None and is_stored(resume):
        password_of(resume, store)
    elif resume is not None:
        raise UserError(f"{resume} was begun without --store; leave it out")


async def _several(
    options: PracticeOptions,
    replicas: int,
    out: Path | None,
    resume: Path | None,
    ablations: Tested | None,
    models: Models,
    *,
    strict: bool,
    json: bool,
    on: str | None,
    store: str | None,
) -> None:
    """Holds several practices, or takes those that are there, and prints what they say together."""
    if on is not None:
        check_site(on)
    if resume is not None:
        raise UserError("--resume goes on with one practice; the same command with --replicas goes on with several")
    if out is None:
        raise UserError("--replicas makes practices that are kept; say where with --out DIR")
    if models.dry_run:
        raise UserError("--dry-run estimates one practice; leave out --replicas, and multiply")
    make_folder(out)
    folders = {seed: out / f"seed-{seed}" for seed in range(options.seed, options.seed + replicas)}
    places = ReplicaPlaces(out, store, list(folders.values()))
    places.check()
    begun: dict[Path, tuple[PracticeConfiguration, Patients, Models]] = {}
    for seed, folder in folders.items():
        one = dataclasses.replace(options, seed=seed, order=options.order or SHUFFLED)
        is_begun = (folder / CONFIGURATION).is_file()
        new, old = (None, folder) if is_begun else (folder, None)
        # Of one that is over, whether it is the same practice is looked at all the same.
        _, configuration, patients = begin_or_take_up(one, new, old, ablations, models, strict=strict)
        if not (folder / RESULTS).is_file():
            asked = asked_as_before(models, configuration.endpoint if is_begun else None, folder)
            begun[folder] = configuration, patients, asked
    await _practise_all(begun, places, ablations, store, on=on, json=json)
    documents = [msgspec.json.decode((folder / RESULTS).read_bytes()) for folder in folders.values()]
    places.keep()
    came = EvolutionReplicas.of(documents, first=options.seed)
    write_json(out / OF_REPLICAS, came.document())
    write_text(out / PAGE, page_of_replicas(came))
    if json:
        print_json(came.document())
        return
    for table in came.tables():
        console().print(table)
    note(f"each practice, and {PAGE} of all: {out}. Next: polyclinic memory show {out / f'seed-{options.seed}'}")


async def _practise_all(
    begun: Mapping[Path, tuple[PracticeConfiguration, Patients, Models]],
    places: ReplicaPlaces,
    ablations: Tested | None,
    store: str | None,
    *,
    on: str | None,
    json: bool,
) -> None:
    """Holds several practices, here one after the other, or side by side in workers."""
    if on is not None and begun:
        await _practise_elsewhere(on, begun, ablations, store, json=json)
    places.point()
    for folder, (configuration, patients, models) in begun.items() if on is None else ():
        await _practise(folder, configuration, patients, ablations, models, json=json)
        if not json:
            note(f"done: {folder}")


async def _practise(
    folder: Path,
    configuration: PracticeConfiguration,
    patients: Patients,
    ablations: Tested | None,
    models: Models,
    *,
    json: bool,
) -> tuple[Evolution, Ledger]:
    """Lets one doctor practise in its folder, and writes the results there.

    If the memory is in a store, the models' answers are kept there too.
    """
    ledger = models.budget()
    answers = _answers_of(folder, configuration, address_of(folder) if is_stored(folder) else None)
    try:
        came = await _learn(
            folder, configuration, patients, ablations, models, json=json, journal=answers, ledger=ledger
        )
    except _CutOff as cut:
        if cut.so_far is not None:
            note("stopped early; what is over:")
            _show(cut.so_far, json=json)
        raise cut.named(f"; {cut.done}; go on with: {go_on(folder)}") from None
    _write(folder, configuration, came, models, ledger)
    return came, ledger


def _answers_of(folder: Path, configuration: PracticeConfiguration, store: str | None) -> Journal | None:
    """Returns the journal of a practice, in its folder or in a store; None if no model is asked."""
    if not _asked(configuration):
        return None
    where, run = (folder / ANSWERS, _RUN) if store is None else (store, configuration.shared_as)
    return journal_of(where, run=run)


def _asked(configuration: PracticeConfiguration) -> list[str]:
    name = model_of(configuration.doctor)
    return [*([] if name is None else [name]), *asked_for(configuration.embedder)]


class _CutOff(Exception):
    """A practice ended early.

    Attributes:
        error: the reason.
        done: how far it was.
        so_far: the tests that are over.
    """

    def __init__(self, error: RunStopped | EndpointError, done: str = "", so_far: Evolution | None = None) -> None:
        super().__init__(str(error))
        self.error, self.done, self.so_far = error, done, so_far

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.error, self.done, self.so_far)

    def named(self, how: str) -> PolyclinicError:
        """Returns the reason, with how to go on."""
        if isinstance(self.error, EndpointError):
            return type(self.error)(f"{self.error.problem}{how}", attempts=self.error.attempts)
        return type(self.error)(f"{self.error}{how}")


async def _learn(
    folder: Path,
    configuration: PracticeConfiguration,
    patients: Patients,
    ablations: Tested | None,
    models: ModelSettings,
    *,
    json: bool,
    journal: Journal | None,
    ledger: Ledger,
    share: Share = WHOLE,
) -> Evolution:
    """Lets one doctor practise with the memory in a folder.

    Raises:
        _CutOff: it ended early.
    """
    train, test = patients
    ablations = ablations or configuration.ablations
    began, cap = time.monotonic(), cap_of(test)
    async with AsyncExitStack() as stack:
        asked, seed = _asked(configuration), configuration.seed
        opening = open_models(asked, models, ledger=ledger, journal=journal, seed=seed, share=share)
        session = await stack.enter_async_context(opening)
        embedder = memory_embedder(configuration.embedder, session)
        about = About(
            embedder=embedder.name,
            dimensions=await dimensions_of(embedder),
            knowledge=name_of_choices(train[0].choices.knowledge, train[0].choices.language),
        )
        memory = stack.enter_context(open_memory(folder, about))
        learner = _learner(configuration, session, models.temperature)
        practice = Practice(
            learner, memory, embedder, remembers=configuration.remembers, recovered=configuration.recovered()
        )
        tests: list[Point] = []
        try:
            with ended_by_hand(is_stopped), live_curve(len(train), cap, quiet=json) as (advance, on_point):

                def tested(point: Point) -> None:
                    tests.append(point)
                    on_point(point)

                await practice.run(
                    train,
                    test,
                    batch=configuration.batch,
                    test_every=configuration.test_every,
                    snapshots=configuration.snapshots,
                    advance=advance,
                    on_point=tested,
                )
            wanted = ablations == "yes" or (ablations is None and model_of(configuration.doctor) is None)
            parts = await ablate(practice, test) if wanted else None
        except RunStopped as stopped:
            so_far = _evolution(configuration, tests, test, time.monotonic() - began, cap=cap) if tests else None
            treated = max((one.patients for one in memory.notes()), default=0)
            done = f"{treated:,} of {counted(len(train), 'patient')} are treated, {counted(len(tests), 'test')} over"
            raise _CutOff(stopped, done, so_far) from None
        except EndpointError as failure:
            raise _CutOff(failure) from None
    return _evolution(configuration, tests, test, time.monotonic() - began, cap=cap, ablations=parts)


def _write(
    folder: Path, configuration: PracticeConfiguration, came: Evolution, models: ModelSettings, ledger: Ledger
) -> None:
    """Writes the results of a practice into its folder."""
    write_json(folder / RESULTS, came.document())
    write_text(folder / PAGE, page(came))
    measures = [ItemMeasure(name=task.value) for task in ClinicalTask]
    rows = came.rows(Path(configuration.test).stem, seed=configuration.seed)
    files, seed = (RESULTS, PAGE), configuration.seed
    write_results(folder, rows, measures, seed=seed, models=models, ledger=ledger, files=files)


@dataclass(frozen=True)
class PracticeTask:
    """The task of a worker: whole practices, which differ in their seeds."""

    configuration: PracticeConfiguration
    ablations: Tested | None
    models: ModelSettings
    is_stored: bool

    @asynccontextmanager
    async def open(self, _: WorkerSide) -> AsyncIterator[Callable[[Any, WorkerSide], Awaitable[Any]]]:
        """Yields the function that lets a doctor practise with a seed."""
        yield self._practise

    async def _practise(self, seed: int, side: WorkerSide) -> tuple[Evolution, bytes]:
        configuration = msgspec.structs.replace(self.configuration, seed=seed)
        run = configuration.shared_as if self.is_stored else _RUN
        journal = journal_of(side.keeper, run=run) if _asked(configuration) else None
        with tempfile.TemporaryDirectory(prefix="polyclinic-") as scratch:
            folder = Path(scratch)
            came = await _learn(
                folder,
                configuration,
                patients_of(configuration, strict=False),
                self.ablations,
                self.models,
                json=True,
                journal=journal,
                ledger=side.ledger(self.models),
                share=side.share,
            )
            return came, (folder / MEMORY).read_bytes()


async def _practise_elsewhere(
    on: str,
    begun: Mapping[Path, tuple[PracticeConfiguration, Patients, Models]],
    ablations: Tested | None,
    store: str | None,
    *,
    json: bool,
) -> None:
    """Lets workers hold practices, each with its answers in its own folder, and writes the results there."""
    configuration, _, models = next(iter(begun.values()))
    task = PracticeTask(configuration, ablations, models, is_stored=store is not None)
    with progress("practices", len(begun), quiet=json) as advance:
        async with (
            AsyncExitStack() as stack,
            open_workers(
                on,
                task,
                Holder(None, models.budget()),
                items=len(begun),
                environment=keys_of(models),
                report=note,
            ) as pool,
        ):

            async def one(folder: Path) -> None:
                configuration, _, models = begun[folder]
                journal, ledger = _answers_of(folder, configuration, store), models.budget()
                if journal is not None:
                    await stack.enter_async_context(journal)
                try:
                    came, memory = await pool.compute(configuration.seed, Holder(journal, ledger))
                except _CutOff as cut:
                    how = f"; {folder.name}: {cut.done}" if cut.done else ""
                    raise cut.named(f"{how}; the same command goes on from there") from None
                (folder / MEMORY).write_bytes(memory)
                _write(folder, configuration, came, models, ledger)
                advance()

            _, stopped = await run_until_error(partial(one, folder) for folder in begun)
            if stopped is not None:
                raise stopped


def _evolution(
    configuration: PracticeConfiguration,
    tests: Sequence[Point],
    patients: Sequence[PracticePatient],
    seconds: float,
    *,
    cap: dict[ClinicalTask, int],
    ablations: Ablations | None = None,
) -> Evolution:
    """Returns what came of the tests that are over, which were of these patients."""
    return Evolution(
        learner=configuration.doctor,
        curve=tuple(tests),
        cap=cap,
        constant=constant_of(patients),
        names={one.disease.id: one.disease.name.en for one in patients},
        wall_seconds=seconds,
        made_by=configuration.sentence(),
        ablations=ablations,
        every=configuration.snapshots,
    )


def _show(came: Evolution, *, json: bool) -> None:
    if json:
        print_json(came.document())
        return
    for one in came.tables():
        console().print(one)


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
        lambda episode: session.model(name, Asker("doctor", episode), repeating=True),
        records=records,
        experience=experience,
        temperature=temperature,
    )
