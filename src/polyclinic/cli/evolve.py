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

from polyclinic import __version__
from polyclinic.cases.case import Case
from polyclinic.cases.case_share import CaseShare
from polyclinic.cases.shipped import shipped_path
from polyclinic.cli.as_agent_hospital import check_practice, say_practice
from polyclinic.cli.evolve_options import (
    FILE_ORDER,
    PRACTICE,
    RECALL,
    SHUFFLED,
    PracticeConfiguration,
    PracticeOptions,
    Tested,
)
from polyclinic.errors import BadInput, EndpointError, RunStopped, UserError
from polyclinic.evaluations.evolution.ablations import Ablations, ablate, thinned
from polyclinic.evaluations.evolution.page import page, page_of_replicas
from polyclinic.evaluations.evolution.patients import PracticePatient, cap_of, constant_of, lacks, practice_patients
from polyclinic.evaluations.evolution.practice import Point, Practice
from polyclinic.evaluations.evolution.results import Evolution, EvolutionReplicas
from polyclinic.files import check_new_folder, make_folder, write_json, write_text
from polyclinic.fingerprints import of_file, of_package, others
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.memory.entries import ClinicalTask, name_of_choices
from polyclinic.memory.library import asked_for, check_memory_embedder, dimensions_of, memory_embedder
from polyclinic.memory.memory import FILE as MEMORY
from polyclinic.memory.memory import About, move_to_store, open_memory
from polyclinic.memory.recall import Learner, RecallDoctor
from polyclinic.methods.medagent_zero_practice import MedAgentZero
from polyclinic.models.journal import Journal
from polyclinic.models.ledger import Ledger
from polyclinic.models.limits import WHOLE, Share
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import Session, journal_of, open_models
from polyclinic.models.settings import ModelSettings
from polyclinic.parallel.holder import Holder
from polyclinic.parallel.pool import WorkerPool, check_site
from polyclinic.parallel.shipping import keys_of
from polyclinic.parallel.worker import WorkerSide
from polyclinic.players.mind_names import model_of
from polyclinic.results.folder import ItemMeasure, decoded
from polyclinic.run.case_files import read_case_file
from polyclinic.run.options import MODELS, NOWHERE, POSITIVE, PRIVATE, Json, KeptOptions, Models, On, StrictSetting
from polyclinic.run.output import Output, write_results
from polyclinic.run.storing import answers_of, check_database, keep_results, results_folder
from polyclinic.seeds import derive
from polyclinic.settings import name_of
from polyclinic.stopping import is_stopped
from polyclinic.tasks import ended_by_hand, run_until_error
from polyclinic.terminal.screen import console, note, print_json, progress
from polyclinic.terminal.tables import counted
from polyclinic.terminal.usage import show_usage

_STEPS = "▁▂▃▄▅▆▇█"
_TESTS = 40  # Tests that stand side by side; of more, so many, evenly

_BAR = 30

_AGAIN = "the same command goes on from there"
_RUN = "evolve"  # Names the run in its own file of answers, which holds no other


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
    kept: KeptOptions = NOWHERE,
) -> None:
    """Lets a doctor practise, and prints how it gets better."""
    if kept.out is None:
        raise UserError("a practice is kept; say where with --out")
    if replicas == 1 and on is not None:
        raise UserError(f"--on {on} holds several practices at once; say how many with --replicas N, 2 or more")
    if on is not None:
        check_site(on)
    check_database(kept)
    with results_folder(kept) as folder:
        assert folder is not None  # noqa: S101
        places = []
        for seed in range(options.seed, options.seed + replicas):
            order = options.order or (SHUFFLED if replicas > 1 else None)
            one = dataclasses.replace(options, seed=seed, order=order)
            within = folder / f"seed-{seed}" if replicas > 1 else folder
            # Whether it is the same practice is checked even if it is over.
            shares: list[CaseShare] = []
            made = practice_in(within, one, ablations, models, strict=strict, shares=shares)
            places.append(PracticePlace(within, *made, kept, shares))
        left = [place for place in places if replicas == 1 or not (place.folder / RESULTS).is_file()]
        spending = None if kept.shared_answers is None else kept.shared_answers.spending
        spent = models.budget(spending=spending)
        if on is not None and left:
            await _practise_elsewhere(on, left, ablations, models, json=json)
        for place in left if on is None else ():
            spent = models.budget(spending=spending)
            came: Evolution | EvolutionReplicas = await _practise(place, ablations, models, spent, json=json)
            if replicas > 1 and not json:
                note(f"done: {place.folder.name}")
        if replicas > 1:
            documents = [msgspec.json.decode((place.folder / RESULTS).read_bytes()) for place in places]
            came = EvolutionReplicas.of(documents, first=options.seed)
            write_json(folder / OF_REPLICAS, came.document())
            write_text(folder / PAGE, page_of_replicas(came))
        for place in places:
            place.keep()
        _show(came, json=json)
        if not json and replicas == 1:
            show_usage(console(sys.stderr), spent)
        if not json and kept.database is None:
            what = f"each practice, and {PAGE} of all" if replicas > 1 else f"memory, results and {PAGE}"
            note(f"{what}: {folder}. Next: polyclinic memory show {places[0].folder}")


@dataclass(frozen=True)
class PracticePlace:
    """One practice: its folder, what it is made of, its patients, and where its command keeps what comes of it."""

    folder: Path
    configuration: PracticeConfiguration
    patients: Patients
    kept: KeptOptions
    shares: Sequence[CaseShare] = ()

    def journal(self) -> Journal | None:
        """Returns the journal of the practice, in its folder or in a database; None if no model is asked."""
        if not _asked(self.configuration):
            return None
        if self.kept.database is not None:
            return journal_of(answers_of(self.kept), run=self.configuration.shared_as)
        return journal_of(answers_of(dataclasses.replace(self.kept, out=self.folder)), run=_RUN)

    def write(self, came: Evolution, models: ModelSettings, ledger: Ledger) -> None:
        """Writes the results into the folder."""
        seed = self.configuration.seed
        output = Output(
            document=came.document(),
            document_file=RESULTS,
            files={PAGE: [page(came)]},
            rows=came.rows(Path(self.configuration.test).stem, seed=seed),
            measures=[ItemMeasure(name=task.value) for task in ClinicalTask],
        )
        write_results(
            self.folder, self.kept.invocation, output, seed=seed, models=models, ledger=ledger, cases=self.shares
        )

    def keep(self) -> None:
        """Keeps memory and results in the database, if one is named."""
        if (database := self.kept.database) is not None:
            keep_results(database, self.folder)
            name, seed = self.kept.name or "evolve", f"seed-{self.configuration.seed}"
            move_to_store(self.folder, database, f"{name}/{seed}")


def _asked(configuration: PracticeConfiguration) -> list[str]:
    name = model_of(configuration.doctor)
    return [*([] if name is None else [name]), *asked_for(configuration.embedder)]


async def _practise(
    place: PracticePlace, ablations: Tested | None, models: ModelSettings, ledger: Ledger, *, json: bool
) -> Evolution:
    """Lets one doctor practise in its folder, and writes the results there."""

    def show(so_far: Evolution) -> None:
        note("stopped early; what is over:")
        _show(so_far, json=json)

    journal = place.journal()
    came = await _learn(place, ablations, models, journal=journal, ledger=ledger, quiet=json, show=show)
    place.write(came, models, ledger)
    return came


async def _learn(
    place: PracticePlace,
    ablations: Tested | None,
    models: ModelSettings,
    *,
    journal: Journal | None,
    ledger: Ledger,
    quiet: bool = True,
    show: Callable[[Evolution], None] = lambda _: None,
    share: Share = WHOLE,
) -> Evolution:
    """Lets one doctor practise with the memory in a folder; if it is stopped, shows the tests that are over."""
    folder, configuration = place.folder, place.configuration
    train, test = place.patients
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
        begin(folder, configuration)
        memory = stack.enter_context(open_memory(folder, about))
        learner = _learner(configuration, session, models.temperature)
        practice = Practice(
            learner, memory, embedder, remembers=configuration.remembers, recovered=configuration.recovered()
        )
        tests: list[Point] = []

        def evolution(parts: Ablations | None = None) -> Evolution:
            return Evolution(
                learner=configuration.doctor,
                curve=tuple(tests),
                cap=cap,
                constant=constant_of(test),
                names={one.disease.id: one.disease.name.en for one in test},
                wall_seconds=time.monotonic() - began,
                made_by=configuration.sentence(),
                ablations=parts,
                every=configuration.snapshots,
            )

        try:
            with ended_by_hand(is_stopped), live_curve(len(train), cap, quiet=quiet) as (advance, on_point):

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
            return evolution(await ablate(practice, test) if wanted else None)
        except RunStopped as stopped:
            if tests:
                show(evolution())
            treated = max((one.patients for one in memory.notes()), default=0)
            done = f"{treated:,} of {counted(len(train), 'patient')} are treated, {counted(len(tests), 'test')} over"
            raise type(stopped)(f"{stopped}; {done}; {_AGAIN}") from None
        except EndpointError as failure:
            raise type(failure)(f"{failure.problem}; {_AGAIN}", attempts=failure.attempts) from None


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
        journal = journal_of(side, run=run) if _asked(configuration) else None
        with tempfile.TemporaryDirectory(prefix="polyclinic-") as scratch:
            folder, patients = Path(scratch), patients_of(configuration, strict=False)
            place, ledger = PracticePlace(folder, configuration, patients, NOWHERE), side.ledger(self.models)
            came = await _learn(place, self.ablations, self.models, journal=journal, ledger=ledger, share=side.share)
            return came, (folder / MEMORY).read_bytes()


async def _practise_elsewhere(
    on: str, places: Sequence[PracticePlace], ablations: Tested | None, models: Models, *, json: bool
) -> None:
    """Lets workers hold practices, each with its answers in its own folder, and writes the results there."""
    task = PracticeTask(places[0].configuration, ablations, models, is_stored=places[0].kept.database is not None)
    budget = Holder(None, models.budget())
    opening = WorkerPool(on, task, budget, items=len(places), environment=keys_of(models), report=note)
    with progress("practices", len(places), quiet=json) as advance:
        async with AsyncExitStack() as stack, opening as pool:

            async def one(place: PracticePlace) -> None:
                journal, ledger = place.journal(), models.budget()
                begin(place.folder, place.configuration)
                if journal is not None:
                    await stack.enter_async_context(journal)
                came, memory = await pool.compute(place.configuration.seed, Holder(journal, ledger))
                (place.folder / MEMORY).write_bytes(memory)
                place.write(came, models, ledger)
                advance()

            _, stopped = await run_until_error(partial(one, place) for place in places)
            if stopped is not None:
                raise stopped


def _show(came: Evolution | EvolutionReplicas, *, json: bool) -> None:
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


_ENDPOINT = ("base_url", "model_file", "temperature")


def endpoint(models: ModelSettings) -> dict[str, Any]:
    """Returns what is kept of where and how models are asked: no key, and nothing that holds for one command alone."""
    kept = {name: getattr(models, name) for name in _ENDPOINT}
    kept["model_file"] = None if models.model_file is None else str(models.model_file.resolve())
    return {name: value for name, value in kept.items() if value is not None}


CONFIGURATION, RESULTS, PAGE = "evolve.json", "summary.json", "report.html"
"""Files of the folder: what it is made of, what came of it, and the same as a page."""
OF_REPLICAS = "replicas.json"  # What came of several, in the folder that holds theirs

_RECALLED = ("k", "k_records", "k_experience")
_DISEASES = "respiratory"  # The paper's eight, among which a doctor of the practice chooses

Patients = tuple[list[PracticePatient], list[PracticePatient]]  # To practise on, and of the test


def practice_in(
    folder: Path,
    options: PracticeOptions,
    ablations: Tested | None,
    models: Models,
    *,
    strict: bool,
    shares: list[CaseShare],
) -> tuple[PracticeConfiguration, Patients]:
    """Returns what a practice is made of, and its patients: a new one, or the one that was begun in its folder."""
    path = folder / CONFIGURATION
    if not path.is_file():
        check_new_folder(folder if folder.parent.is_dir() else folder.parent, besides=[PRIVATE])
        return _new_practice(options, ablations, models, strict=strict, shares=shares)
    begun = decoded(path, PracticeConfiguration, "how a practice was begun")
    before = {**msgspec.structs.asdict(begun), **dict.fromkeys(_ENDPOINT), **(begun.endpoint or {})}
    now = {**dataclasses.asdict(options), "order": options.order or begun.order}
    if begun.endpoint is not None:
        now |= {**dict.fromkeys(_ENDPOINT), **endpoint(models)}
    for name, value in now.items():
        if name not in before or value == before[name]:
            continue
        if name == "embedder":
            anew = f"make its vectors anew: polyclinic memory build {folder} --embedder {value} --out NEW"
            raise BadInput(f"was made with embedder {before[name]}, and is asked for with {value}; {anew}", path=folder)
        option = name_of(ModelSettings if name in _ENDPOINT else PracticeOptions, name)
        how = f"without {option}" if before[name] in (None, False) else f"with {option} {before[name]}"
        raise BadInput(f"was begun {how}; leave {option} out, or name another --out", path=folder)
    if changed := others(begun.made_of, _made_of(begun)):
        was = f"; it was polyclinic {begun.made_of['polyclinic']}" if "polyclinic" in changed else ""
        raise BadInput(
            f"was begun with another version of {' and '.join(changed)}{was}; name another --out", path=folder
        )
    return begun, patients_of(begun, strict=strict, shares=shares)


def begin(folder: Path, configuration: PracticeConfiguration) -> None:
    """Makes the folder of a practice, and says there what it is made of; nothing where that is said already."""
    make_folder(folder, parents=True)
    if not (folder / CONFIGURATION).is_file():
        write_text(folder / CONFIGURATION, msgspec.json.encode(configuration).decode() + "\n")


def _new_practice(
    options: PracticeOptions, ablations: Tested | None, models: Models, *, strict: bool, shares: list[CaseShare]
) -> tuple[PracticeConfiguration, Patients]:
    if options.train is None or options.test is None:
        raise UserError("a practice needs --train FILE and --test FILE; polyclinic cases generate --preset makes both")
    if options.records_only and options.experience_only:
        raise UserError(
            "practice.records-only and practice.experience-only leave nothing to remember; at most one of them"
        )
    if options.feedback == "outcome" and options.experience_only:
        raise UserError("--feedback outcome never says what would have been right, so that there is no experience")
    check_memory_embedder(options.embedder)
    if options.doctor != RECALL and model_of(options.doctor) is None:
        raise UserError(f"--doctor {options.doctor!r} does not learn; allowed: {RECALL}, or a model: direct/NAME")
    asked = {name: getattr(options, name) for name in ("batch", "test_every", "feedback", *_RECALLED)}
    rules = check_practice(options.protocol, doctor=options.doctor, embedder=options.embedder, given=asked)
    said = {name: getattr(options, name) for name in PracticeConfiguration.__struct_fields__ if hasattr(options, name)}
    said["order"] = options.order or FILE_ORDER
    made = PracticeConfiguration(**said, ablations=ablations, endpoint=endpoint(models))
    patients = patients_of(made, strict=strict, shares=shares)
    made = msgspec.structs.replace(made, made_of=_made_of(made))
    say_practice(rules, train=len(patients[0]), test=len(patients[1]))
    return made, patients


def _made_of(configuration: PracticeConfiguration) -> dict[str, str]:
    """Returns the fingerprints of the package, the patients, and the file that says which models are asked."""
    prints = {"polyclinic": __version__, **of_package()}
    if model_of(configuration.doctor) is None and not asked_for(configuration.embedder):
        del prints["prompts"]
    files = {f"--{name}": Path(shipped_path(getattr(configuration, name))) for name in ("train", "test")}
    if (models := (configuration.endpoint or {}).get("model_file")) is not None:
        files["models.model-file"] = Path(str(models))
    return prints | {option: of_file(path) for option, path in files.items()}


def patients_of(
    configuration: PracticeConfiguration, *, strict: bool, shares: list[CaseShare] | None = None
) -> Patients:
    """Returns the patients of a practice: to practise on and of the test."""
    files = configuration.train, configuration.test
    every = {name: read_case_file(name, strict=strict, needs=lacks, shares=shares) for name in files}
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
    if configuration.order == SHUFFLED:
        derive(configuration.seed, "order").shuffle(train)
        # How far a practice has come, and what its memory was then, is counted in the order in which they come.
        train = [one._replace(number=number) for number, one in enumerate(train, start=1)]
    return train, test


def _content(case: Case) -> str:
    """Returns what is known of a patient, whoever it is said to be; no two have the same results to the digit."""
    record, came = case.record, case.presentation
    door = () if record.findings else (came.complaint, came.age, came.sex)
    return msgspec.json.encode((door, record.history, record.findings)).decode()
