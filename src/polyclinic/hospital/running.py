"""A run of the hospital from its configuration: the town, who plays, who computes, what is kept, what came of it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

import msgspec

from polyclinic.hospital.care.compute import open_clinic
from polyclinic.hospital.care.episodes import Compute, Episode, Request
from polyclinic.hospital.care.workers import Pool
from polyclinic.hospital.configuration import Configuration
from polyclinic.hospital.record.happenings import Happening
from polyclinic.hospital.record.store import Store
from polyclinic.hospital.simulation import Run, simulate
from polyclinic.hospital.town.nature import open_nature
from polyclinic.hospital.town.residents import Residents
from polyclinic.hospital.town.town import DrawnTown
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge

_JOURNAL = "the run itself"  # names the run in its journal, which holds no other


class Came(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run.

    Attributes:
        run: of the simulation.
        calls: to models.
        tokens: in and out.
        cost: in the currency of the prices; None where there are none.
        profile_failures: residents whom a model could not write, by the failure; they are as the templates say.
        wall_seconds: from the first to the last moment, on the clock on the wall.
    """

    run: Run
    calls: int
    tokens: int
    cost: float | None
    profile_failures: dict[str, int]
    wall_seconds: float


class Watching(Protocol):
    """Who looks on while a run goes on."""

    def happened(self, happening: Happening) -> None:
        """Something happened."""

    def computed(self, episode: Episode) -> None:
        """The medical part of a visit is known."""


async def run(
    configuration: Configuration, *, store: Store | None = None, workers: int = 1, watching: Watching | None = None
) -> Came:
    """Runs a hospital to its end.

    Args:
        configuration: what it comes from.
        store: keeps it, and gives back what it has from before.
        workers: processes that compute episodes; 1 computes them in this one. The log is the same for any number.
        watching: looks on.

    Raises:
        UserError: something that was given cannot be used.
        BudgetSpent: the run has cost what it may cost; stored, it can be taken up again.
        NotStored: the disk is full.
    """
    began = time.monotonic()
    knowledge = read_knowledge()
    hospital = configuration.hospital
    residents = Residents(configuration.residents, configuration.seed, language=configuration.language)
    counter = _Counter(store, watching)
    async with AsyncExitStack() as stack:
        nature = await stack.enter_async_context(open_nature(configuration, store))
        town = DrawnTown(hospital, knowledge, residents, seed=configuration.seed)
        profile_failures: dict[str, int] = {}
        if configuration.profiles:
            residents, profile_failures = await nature.written(town, residents, knowledge)
            town = DrawnTown(hospital, knowledge, residents, seed=configuration.seed)
        compute = await stack.enter_async_context(_computing(configuration, store, workers))
        came = await simulate(
            hospital,
            town,
            counter.counting(store.remember(compute) if store is not None else compute),
            days=configuration.days,
            visits=configuration.visits,
            seed=configuration.seed,
            kinds=kinds_of(knowledge),
            lookahead=configuration.lookahead,
            forecast=nature.forecast if configuration.course else None,
            sink=counter,
        )
        usage = nature.ledger.total.usage
    return Came(
        run=came,
        calls=counter.calls + nature.ledger.total.calls,
        tokens=counter.tokens + usage.tokens_in + usage.tokens_out,
        cost=counter.cost if usage.cost is None else usage.cost + (counter.cost or 0.0),
        profile_failures=profile_failures,
        wall_seconds=time.monotonic() - began,
    )


def document_of(configuration: Configuration, came: Came) -> dict[str, Any]:
    """Returns what a run says at its end, as JSON: counts, shares in percent with intervals, the whole summary."""
    summary = came.run.summary
    shares = {name: getattr(summary, name) for name in ("triage", "examination", "diagnosis", "treatment")}
    document: dict[str, Any] = msgspec.to_builtins(
        {
            "residents": configuration.residents,
            "days": round(came.run.days, 2),
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
            "staff": {one.id: str(one.job) for one in configuration.hospital.staff.values()},
            "summary": summary,
        }
    )
    return document


def kinds_of(knowledge: Knowledge) -> dict[str, str]:
    """Returns the kind of every examination, by its id."""
    return {examination.id: examination.kind for examination in knowledge.examinations.values()}


@asynccontextmanager
async def _computing(configuration: Configuration, store: Store | None, workers: int) -> AsyncIterator[Compute]:
    setup = configuration.setup
    if store is not None and setup.models():
        setup = msgspec.structs.replace(setup, journal=str(store.calls), run=_JOURNAL)
    if workers > 1:
        async with Pool(workers, setup) as pool:
            yield pool.compute
    else:
        async with open_clinic(setup) as clinic:
            yield clinic.compute


class _Counter:
    """Takes every happening to whoever wants it, and sums what episodes cost."""

    def __init__(self, store: Store | None, watching: Watching | None) -> None:
        self._adds: list[Callable[[Happening], Any]] = []
        if store is not None:
            self._adds.append(store.add)
        if watching is not None:
            self._adds.append(watching.happened)
        self._watching = watching
        self.calls = self.tokens = 0
        self.cost: float | None = None

    def add(self, happening: Happening) -> None:
        for add in self._adds:
            add(happening)

    def counting(self, compute: Compute) -> Compute:
        async def counted(request: Request) -> Episode:
            episode = await compute(request)
            self.calls += episode.calls
            self.tokens += episode.tokens
            if episode.cost is not None:
                self.cost = (self.cost or 0.0) + episode.cost
            if self._watching is not None:
                self._watching.computed(episode)
            return episode

        return counted
