"""A run of the hospital from its configuration: the town, who plays, who computes, what is kept, what came of it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

import msgspec

from polyclinic.cases.case import Case
from polyclinic.frames import Tabular
from polyclinic.hospital.care.clinic import Clinic, open_clinic
from polyclinic.hospital.care.remembering import about_memories, reflects
from polyclinic.hospital.care.setup import LearningSetup
from polyclinic.hospital.care.triage import TriageStation
from polyclinic.hospital.care.workers import RemoteClinic, open_clinic_workers
from polyclinic.hospital.configuration import Configuration
from polyclinic.hospital.floor.clock import Clock
from polyclinic.hospital.learning import HospitalLearning, OffShift, Read, read_whole
from polyclinic.hospital.planned import Forecasting, SimulatedRun
from polyclinic.hospital.record.account import Log, Sink
from polyclinic.hospital.record.episodes import (
    Episode,
    Learn,
    LearnDone,
    StudyDone,
    StudyRequest,
)
from polyclinic.hospital.record.figures import Learnt, utilisation
from polyclinic.hospital.record.happenings import Acuity
from polyclinic.hospital.record.memories import KeptMemories, brought_to
from polyclinic.hospital.record.recorded import TYPED
from polyclinic.hospital.record.store import Store
from polyclinic.hospital.simulation import simulate
from polyclinic.hospital.town.forecast import course_by_model
from polyclinic.hospital.town.profiles import write_profiles
from polyclinic.hospital.town.residents import Residents
from polyclinic.hospital.town.town import Town
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.safety import read_red_flags
from polyclinic.language.language import LANGUAGES
from polyclinic.memory.library import CaseWordsEmbedder
from polyclinic.memory.opening import Publication
from polyclinic.memory.reading import PassageRead
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import Session, journal_of, open_models
from polyclinic.parallel.holder import Holder
from polyclinic.players.human.desk import Desk
from polyclinic.players.patient_trust import trust_fields, trust_in

_NATURE = "nature"


def open_nature(
    configuration: Configuration, store: Store | None, answers: str
) -> AbstractAsyncContextManager[Session]:
    """Opens the models that stand for nature; their answers are kept in a file of their own, or in a database."""
    names = [name for name in (configuration.profiles, configuration.course) if name]
    return open_models(
        names,
        dataclasses.replace(configuration.setup.options, token_budget=None),
        journal=journal_of(
            None if store is None or not names else answers or store.calls.with_name("nature.sqlite"),
            run=f"{configuration.shared_as} {_NATURE}" if answers else _NATURE,
        ),
        seed=configuration.seed,
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
        [residents[number] for number in chosen], model, knowledge, temperature=configuration.setup.temperature
    )
    return residents.with_profiles(profiles), dict(failures)


def forecasting(configuration: Configuration, nature: Session) -> Forecasting | None:
    """Returns who says how illnesses go on; None where the knowledge does."""
    if not configuration.course:
        return None
    return partial(
        course_by_model,
        model=nature.model(configuration.course, Asker(_NATURE)),
        follow_up_days=configuration.hospital.illness.follow_up_days,
        temperature=configuration.setup.temperature,
    )


_AT_ONCE = 1


def seen_at_the_door(knowledge: Knowledge) -> Callable[[Case], Acuity | None]:
    """Returns what says how urgent anybody sees that the patient of a case is; None where nothing is to be seen."""
    flags = read_red_flags()
    emergency, urgent = frozenset(flags.emergency), frozenset(flags.urgent)
    lexicons = {language: Lexicon(knowledge.symptoms.values(), language) for language in LANGUAGES}

    def look(case: Case) -> Acuity | None:
        if case.truth.acuity == _AT_ONCE:
            return Acuity.EMERGENCY
        words = case.presentation
        read = lexicons[words.language].read_all((words.complaint, words.about))
        told = {symptom for symptom, present in read.items() if present}
        if told & emergency:
            return Acuity.EMERGENCY
        return Acuity.URGENT if told & urgent else None

    return look


_JOURNAL = "the run itself"  # names the run in its own journal, which holds no other


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
    spent = _Spent()
    async with AsyncExitStack() as stack:
        nature = await stack.enter_async_context(open_nature(configuration, store, answers))
        hospital = configuration.at_work
        town = Town(hospital, knowledge, residents, seed=configuration.seed, events=configuration.events)
        profile_failures: dict[str, int] = {}
        if configuration.profiles:
            residents, profile_failures = await written_by_model(configuration, town, residents, nature, knowledge)
            town = Town(hospital, knowledge, residents, seed=configuration.seed, events=configuration.events)
        clinic = await stack.enter_async_context(
            _computing(configuration, store, answers, brought=brought, on=on, report=report)
        )
        simulated = await simulate(
            hospital,
            town,
            spent.counting(
                store.remember(clinic.compute) if store is not None else clinic.compute,
                then=(lambda _: None) if watching is None else watching.computed,
            ),
            days=configuration.days,
            visits=configuration.visits,
            seed=configuration.seed,
            kinds=kinds_of(knowledge),
            lookahead=configuration.lookahead,
            clock=clock,
            forecast=forecasting(configuration, nature),
            events=configuration.events,
            at_the_door=seen_at_the_door(knowledge),
            look_again=TriageStation(knowledge).look_again,
            learns=stack.enter_context(_learning(configuration, knowledge, store, clinic, spent)),
            sinks=[sink for sink in (store, watching) if sink is not None],
            warm_up=configuration.warm_up,
        )
        usage = nature.ledger.total.usage
    return FinishedRun(
        run=simulated,
        calls=spent.calls + nature.ledger.total.calls,
        tokens=spent.tokens + usage.tokens_in + usage.tokens_out,
        cost=spent.cost if usage.cost is None else usage.cost + (spent.cost or 0.0),
        profile_failures=profile_failures,
        wall_seconds=time.monotonic() - began,
    )


def document_of(configuration: Configuration, came: FinishedRun) -> dict[str, Any]:
    """Returns what a run says at its end, as JSON: counts, shares in percent with intervals, the whole summary."""
    summary, groups, learning = came.run.summary, came.run.groups, configuration.setup.learning
    staff = {one.id: str(one.job) for one in configuration.hospital.staff.values()}
    shares = {name: getattr(summary, name) for name in ("triage", "examination", "diagnosis", "treatment")}
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
            "accuracy": {name: share.percent for name, share in shares.items()},
            "intervals": {name: [share.low, share.high] for name, share in shares.items()},
            "recovered": summary.follow_ups.get("recovered", 0),
            "wall_seconds": round(came.wall_seconds, 3),
            "calls": came.calls,
            "tokens": came.tokens,
            "cost": came.cost,
            "failed": sum(summary.failed.values()),
            "waiting": {acuity: part.waiting for acuity, part in groups.by_acuity.items()},
            "utilisation": utilisation(summary.work, staff),
            "admitted": sum(summary.admitted.values()),
            "died": summary.died,
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
            "by_disease": groups.by_disease,
            "by_department": groups.by_department,
            "by_acuity": groups.by_acuity,
            "by_level": groups.by_level,
            "by_hour": groups.by_hour,
            **({"incidents": came.run.incidents} if came.run.incidents else {}),
            **({} if learning is None else {"memory": _memory(learning, came.run.learnt)}),
            "summary": summary,
            **trust_fields(trust_in(configuration.setup.patient, [configuration.setup.doctor])),
        }
    )
    return document


def _memory(setup: LearningSetup, learnt: Learnt) -> dict[str, Any]:
    """Returns what a run says of its doctors' memories."""
    told = {"learns": setup.learns, "of": setup.holder, "feedback": setup.feedback, "brought": setup.version}
    return {**told, **msgspec.to_builtins(learnt), "version": learnt.version or setup.version}


def kinds_of(knowledge: Knowledge) -> dict[str, str]:
    """Returns the kind of every examination, by its id."""
    return {examination.id: examination.kind for examination in knowledge.examinations.values()}


@asynccontextmanager
async def _computing(
    configuration: Configuration,
    store: Store | None,
    answers: str,
    *,
    brought: str,
    on: str | None,
    report: Callable[[str], None],
) -> AsyncIterator[Clinic | RemoteClinic]:
    setup = configuration.setup
    if store is not None and setup.asks_models:
        run = configuration.shared_as if answers else _JOURNAL
        setup = msgspec.structs.replace(setup, journal=answers or str(store.calls), run=run)
    learning = setup.learning
    if learning is not None:
        if store is not None:
            about = about_memories(read_knowledge().select(setup.diseases), learning)
            brought = brought_to(store.folder, about, learning.version)
        setup = msgspec.structs.replace(setup, learning=msgspec.structs.replace(learning, brought=brought))
    if on is not None:
        journal = journal_of(setup.journal or None, run=setup.run, prompts=setup.traces)
        async with AsyncExitStack() as stack:
            if journal is not None:
                await stack.enter_async_context(journal)
            spending = None if journal is None else journal.spending
            holder = Holder(journal, setup.options.budget(spending=spending))
            # The address of a database holds its password, and workers ask the command for answers.
            theirs = msgspec.structs.replace(setup, journal="the command" if setup.journal else "")
            yield await stack.enter_async_context(open_clinic_workers(on, theirs, holder, report))
    else:
        desk = Desk(session=None if store is None else store.folder / TYPED, again="")
        async with open_clinic(setup, desk=desk) as clinic:
            yield clinic


@contextmanager
def _learning(
    configuration: Configuration,
    knowledge: Knowledge,
    store: Store | None,
    clinic: Clinic | RemoteClinic,
    spent: _Spent,
) -> Iterator[Callable[[Clock, Log], HospitalLearning] | None]:
    """Makes what lets the doctors of a run learn; None where they do not."""
    setup = configuration.setup.learning
    if setup is None:
        yield None
        return
    known = knowledge.select(configuration.setup.diseases)
    learn = spent.counting(clinic.learn)
    reflect = learn if reflects(configuration.setup.doctor) else None
    with ExitStack() as stack:
        kept = None
        if store is not None:
            kept = stack.enter_context(KeptMemories(store.folder, about_memories(known, setup)))

        def publish(publication: Publication) -> None:
            clinic.publish(publication)
            if kept is not None:
                kept.keep(publication)

        def make(clock: Clock, log: Log) -> HospitalLearning:
            learning = HospitalLearning(setup, known, clock, log, publish, reflect)
            if setup.reads and kept is not None:
                learning.keep = kept.keep_read
                OffShift(
                    configuration.hospital,
                    setup,
                    read_whole(setup.reads, setup.language),
                    clock,
                    seed=configuration.seed,
                    read=_reading(learn),
                    takes=learning.reads,
                ).begin(configuration.days)
            return learning

        yield make


def _reading(learn: Learn) -> Read:
    """Returns what lets somebody read, with the vectors that its library wants."""
    embedder = CaseWordsEmbedder()

    async def read(request: StudyRequest) -> PassageRead:
        done = await learn(request)
        assert isinstance(done, StudyDone)  # noqa: S101
        return PassageRead(done.studied, embedder.vectors([record.query for record in done.studied.records]))

    return read


_Request = TypeVar("_Request")
_Done = TypeVar("_Done", bound=Episode | LearnDone)


class _Spent:
    """What the episodes of a run cost."""

    def __init__(self) -> None:
        self.calls = self.tokens = 0
        self.cost: float | None = None

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
