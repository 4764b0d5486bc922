"""A run of the hospital from its configuration: town, clinic, learning, storage and results."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from polyclinic.frames import Tabular
from polyclinic.hospital.care.clinic import Clinic, open_clinic
from polyclinic.hospital.care.remembering import about_memories, reflects
from polyclinic.hospital.care.triage import TriageStation
from polyclinic.hospital.care.workers import RemoteClinic, open_clinic_workers
from polyclinic.hospital.configuration import Configuration
from polyclinic.hospital.floor.clock import Clock
from polyclinic.hospital.learning import HospitalLearning, read_whole
from polyclinic.hospital.record.account import Log, Sink
from polyclinic.hospital.record.episodes import (
    Episode,
    LearnDone,
    StudyDone,
    StudyRequest,
)
from polyclinic.hospital.record.figures import GROUPS, utilisation
from polyclinic.hospital.record.memories import KeptMemories, brought_to
from polyclinic.hospital.record.recorded import TYPED
from polyclinic.hospital.record.store import Store
from polyclinic.hospital.simulation import SimulatedRun, Simulation
from polyclinic.hospital.town.forecast import course_by_model
from polyclinic.hospital.town.profiles import write_profiles
from polyclinic.hospital.town.residents import Residents
from polyclinic.hospital.town.town import Town
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.memory.library import CaseWordsEmbedder
from polyclinic.memory.opening import Publication
from polyclinic.memory.reading import PassageRead
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import Session, journal_of, open_models
from polyclinic.parallel.holder import Holder
from polyclinic.players.human.desk import Desk
from polyclinic.players.patient_trust import trust_fields, trust_in

_JOURNAL, _NATURE = "the run itself", "nature"  # name the run in its own journals, which hold no other


class FinishedRun(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run."""

    run: SimulatedRun  # of the simulation
    calls: int  # to models
    tokens: int  # in and out
    cost: float | None  # in the currency of the prices; None where there are none
    profile_failures: dict[str, int]  # residents whom a model could not write, by failure; the templates did
    wall_seconds: float  # from the first to the last moment, on the clock on the wall


class Watching(Sink, Protocol):
    """Who looks on while a run goes on."""

    def computed(self, episode: Episode) -> None:
        """The medical part of a visit is known."""


async def run(
    configuration: Configuration,
    *,
    store: Store | None = None,
    on: str | None = None,
    watching: Watching | None = None,
    brought: str = "",
    answers: str = "",
    clock: Clock | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> FinishedRun:
    """Runs a hospital to its end.

    Args:
        configuration: what it comes from.
        store: keeps it, and gives back what it has from before.
        on: where workers compute episodes, as `--on` names it; None for this process. The log is the same.
        watching: looks on.
        brought: the folder of what doctors remember from before, where nothing keeps the run; "" for nothing.
        answers: the address of a database that keeps what models answer, in place of a file of `store`; the same run
            begun on another machine takes it from there. "" for none.
        clock: keeps the time; None: a new one.
        report: called with a line about each worker that was lost.

    Raises:
        UserError: something that was given cannot be used.
        BudgetSpent: the run has cost what it may cost; stored, it can be taken up again.
        NotStored: the disk is full.
    """
    began = time.monotonic()
    knowledge = read_knowledge()
    residents = Residents(configuration.residents, configuration.seed, language=configuration.language)
    going = _RunUnderWay(configuration, knowledge, store, answers)
    profile_failures: dict[str, int] = {}
    async with AsyncExitStack() as stack:
        nature = await stack.enter_async_context(going.open_nature())
        hospital = configuration.at_work
        town = Town(hospital, knowledge, residents, seed=configuration.seed, events=configuration.events)
        if configuration.profiles:
            residents, profile_failures = await written_by_model(configuration, town, residents, nature, knowledge)
            town = Town(hospital, knowledge, residents, seed=configuration.seed, events=configuration.events)
        clinic = await stack.enter_async_context(going.open_clinic(brought=brought, on=on, report=report))
        compute = store.remember(clinic.compute) if store is not None else clinic.compute
        station = TriageStation(knowledge)
        simulated = await Simulation(
            hospital,
            town,
            going.counting(compute, then=(lambda _: None) if watching is None else watching.computed),
            days=configuration.days,
            visits=configuration.visits,
            seed=configuration.seed,
            kinds=kinds_of(knowledge),
            lookahead=configuration.lookahead,
            clock=clock or Clock(),
            forecast=None
            if not configuration.course
            else partial(
                course_by_model,
                model=nature.model(configuration.course, Asker(_NATURE)),
                follow_up_days=configuration.hospital.illness.follow_up_days,
                temperature=configuration.setup.models.temperature,
            ),
            events=configuration.events,
            at_the_door=station.at_the_door,
            look_again=station.look_again,
            learns=stack.enter_context(going.open_learning(clinic)),
            sinks=[sink for sink in (store, watching) if sink is not None],
            warm_up=configuration.warm_up,
        ).run()
        usage = nature.ledger.total.usage
    return FinishedRun(
        run=simulated,
        calls=going.calls + nature.ledger.total.calls,
        tokens=going.tokens + usage.tokens_in + usage.tokens_out,
        cost=going.cost if usage.cost is None else usage.cost + (going.cost or 0.0),
        profile_failures=profile_failures,
        wall_seconds=time.monotonic() - began,
    )


async def written_by_model(
    configuration: Configuration, town: Town, residents: Residents, nature: Session, knowledge: Knowledge
) -> tuple[Residents, dict[str, int]]:
    """Returns the residents with those who may fall ill written by a model, and the failures by name."""
    chosen: dict[int, None] = {}
    for day in range(configuration.days):
        chosen |= dict.fromkeys(onset.resident for onset in town.onsets(day))
        if configuration.visits is not None and len(chosen) >= configuration.visits:
            break
    model = nature.model(configuration.profiles, Asker(_NATURE))
    profiles, failures = await write_profiles(
        [residents[number] for number in chosen], model, knowledge, temperature=configuration.setup.models.temperature
    )
    return residents.having(profiles=profiles), dict(sorted(failures.items()))


def document_of(configuration: Configuration, came: FinishedRun) -> dict[str, Any]:
    """Returns what a run says at its end, as JSON: counts, shares in percent with intervals, the whole summary."""
    summary, groups, learning = came.run.summary, came.run.groups, configuration.setup.learning
    staff = {one.id: str(one.job) for one in configuration.hospital.staff.values()}
    shares = {name: summary[name] for name in ("triage", "examination", "diagnosis", "treatment")}
    memory = came.run.learnt
    if learning is not None:
        told = {"learns": learning.learns, "of": learning.holder, "feedback": learning.feedback}
        version = memory["version"] or learning.version
        memory = {**told, "brought": learning.version, **memory, "version": version}
    document: dict[str, Any] = msgspec.to_builtins(
        {
            "residents": configuration.residents,
            "days": round(came.run.days, 2),
            "load": configuration.load,
            "warm_up": configuration.warm_up,
            "seed": configuration.seed,
            "visits": came.run.visits,
            "events": came.run.happenings,
            "log_hash": came.run.log_hash,
            "accuracy": {name: share["percent"] for name, share in shares.items()},
            "intervals": {name: [share["low"], share["high"]] for name, share in shares.items()},
            "recovered": summary["follow_ups"]["recovered"],
            "wall_seconds": round(came.wall_seconds, 3),
            "calls": came.calls,
            "tokens": came.tokens,
            "cost": came.cost,
            "failed": sum(summary["failed"].values()),
            "waiting": {acuity: part["waiting"] for acuity, part in groups["by_acuity"].items()},
            "utilisation": utilisation(summary["work"], staff),
            "admitted": sum(summary["admitted"].values()),
            "died": summary["died"],
            "still_ill": came.run.still_ill,
            "minds": {
                role: getattr(configuration.setup, role)
                for role in ("doctor", "patient", "nurse", "examiner", "pharmacist")
            },
            "profiles": configuration.profiles or "templates",
            "profile_failures": came.profile_failures,
            "course": configuration.course or "knowledge",
            "hospital": configuration.hospital.name[configuration.language],
            "lookahead": configuration.lookahead,
            "staff": staff,
            **{name: groups[name] for name in GROUPS},
            **({} if learning is None else {"memory": memory}),
            "summary": summary,
            **trust_fields(trust_in(configuration.setup.patient, [configuration.setup.doctor])),
        }
    )
    return document


def kinds_of(knowledge: Knowledge) -> dict[str, str]:
    """Returns the kind of every examination, by its id."""
    return {examination.id: examination.kind for examination in knowledge.examinations.values()}


_Request = TypeVar("_Request")
_Done = TypeVar("_Done", bound=Episode | LearnDone)


@dataclass(eq=False)
class _RunUnderWay:
    """Who computes in a run, who learns, and what all of it costs."""

    configuration: Configuration
    knowledge: Knowledge
    store: Store | None
    answers: str
    calls: int = 0
    tokens: int = 0
    cost: float | None = None

    def open_nature(self) -> AbstractAsyncContextManager[Session]:
        """Opens the models that stand for nature; their answers are kept in a file of their own, or in a database."""
        configuration, answers = self.configuration, self.answers
        names = [name for name in (configuration.profiles, configuration.course) if name]
        file = None if self.store is None else self.store.calls.with_name("nature.sqlite")
        journal = journal_of(
            (answers or file) if names and file is not None else None,
            run=f"{configuration.shared_as} {_NATURE}" if answers else _NATURE,
        )
        settings = dataclasses.replace(configuration.setup.models, token_budget=None)
        return open_models(names, settings, journal=journal, seed=configuration.seed)

    @asynccontextmanager
    async def open_clinic(
        self, *, brought: str, on: str | None, report: Callable[[str], None]
    ) -> AsyncIterator[Clinic | RemoteClinic]:
        """Opens the clinic that computes episodes, here or in workers."""
        setup, store, learning = self.configuration.setup, self.store, self.configuration.setup.learning
        if store is not None and setup.asks_models:
            run = self.configuration.shared_as if self.answers else _JOURNAL
            setup = replace(setup, journal=self.answers or str(store.calls), run=run)
        if learning is not None:
            if store is not None:
                about = about_memories(self.knowledge.select(setup.diseases), learning)
                brought = brought_to(store.folder, about, learning.version)
            setup = replace(setup, learning=replace(learning, brought=brought))
        if on is None:
            desk = Desk(session=None if store is None else store.folder / TYPED, again="")
            async with open_clinic(setup, desk=desk) as clinic:
                yield clinic
            return
        journal = journal_of(setup.journal or None, run=setup.run, prompts=setup.traces)
        async with journal or nullcontext():
            spending = None if journal is None else journal.spending
            holder = Holder(journal, setup.models.budget(spending=spending))
            # The address of a database holds its password, and workers ask the command for answers.
            theirs = replace(setup, journal="the command" if setup.journal else "")
            async with open_clinic_workers(on, theirs, holder, report) as workers:
                yield workers

    @contextmanager
    def open_learning(self, clinic: Clinic | RemoteClinic) -> Iterator[Callable[[Clock, Log], HospitalLearning] | None]:
        """Yields what makes the doctors of a run learn; None where they do not."""
        configuration, setup = self.configuration, self.configuration.setup.learning
        if setup is None:
            yield None
            return
        known = self.knowledge.select(configuration.setup.diseases)
        learn = self.counting(clinic.learn)
        embedder = CaseWordsEmbedder()

        async def read(request: StudyRequest) -> PassageRead:
            done = await learn(request)
            assert isinstance(done, StudyDone)  # noqa: S101
            return PassageRead(done.studied, embedder.vectors([record.query for record in done.studied.records]))

        with ExitStack() as stack:
            kept = None
            if self.store is not None:
                kept = KeptMemories(self.store.folder, about_memories(known, setup), stack)

            def publish(publication: Publication) -> None:
                clinic.publish(publication)
                if kept is not None:
                    kept.keep(publication)

            def make(clock: Clock, log: Log) -> HospitalLearning:
                reflect = learn if reflects(configuration.setup.doctor) else None
                learning = HospitalLearning(setup, known, clock, log, publish, reflect)
                if setup.reads and kept is not None:
                    learning.keep = kept.keep_read
                    passages, seed = read_whole(setup.reads, setup.language), configuration.seed
                    learning.read_off_shift(configuration.hospital, passages, read, seed=seed, days=configuration.days)
                return learning

            yield make

    def counting(
        self, do: Callable[[_Request], Awaitable[_Done]], *, then: Callable[[_Done], None] = lambda _: None
    ) -> Callable[[_Request], Awaitable[_Done]]:
        """Returns the same computation with its cost added here; `then` gets each result."""

        async def counted(request: _Request) -> _Done:
            done = await do(request)
            self.calls += done.calls
            self.tokens += done.tokens
            if done.cost is not None:
                self.cost = (self.cost or 0.0) + done.cost
            then(done)
            return done

        return counted
