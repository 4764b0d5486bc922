"""Computes episodes in worker processes, on this machine or on a Ray cluster.

    async with open_clinic_workers("local:2", setup, holder) as clinic:
        episode = await clinic.compute(request)

An episode does not depend on the worker that computes it: any number of workers, or none, give the same episodes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from polyclinic.hospital.care.clinic import open_clinic
from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.record.episodes import Episode, EpisodeRequest, LearnDone, LearnRequest
from polyclinic.memory.opening import Publication
from polyclinic.parallel.holder import Holder
from polyclinic.parallel.pool import WorkerPool
from polyclinic.parallel.shipping import keys_of
from polyclinic.parallel.worker import WorkerSide

_AT_ONCE = 4096
"""Episodes that a worker with models has open; most of them wait, and the models' own limit says how many are asked."""

_AT_ONCE_BY_RULES = 32


@dataclass(frozen=True)
class ClinicTask:
    """The task of a worker: a clinic that computes episodes and lessons."""

    setup: Setup

    @asynccontextmanager
    async def open(self, side: WorkerSide) -> AsyncIterator[Callable[[Any, WorkerSide], Awaitable[Any]]]:
        """Opens the clinic, and yields the function that computes a request."""
        async with open_clinic(self.setup, side=side) as clinic:
            side.listeners.append(clinic.publish)

            async def compute(request: EpisodeRequest | LearnRequest, _: WorkerSide) -> Episode | LearnDone:
                return await (clinic.compute(request) if isinstance(request, EpisodeRequest) else clinic.learn(request))

            yield compute


@dataclass(frozen=True)
class RemoteClinic:
    """A clinic whose episodes are computed by workers; errors are those of `Clinic`."""

    pool: WorkerPool

    async def compute(self, request: EpisodeRequest) -> Episode:
        """Computes an episode."""
        episode: Episode = await self.pool.compute(request)
        return episode

    async def learn(self, request: LearnRequest) -> LearnDone:
        """Lets a doctor draw a lesson, or read."""
        done: LearnDone = await self.pool.compute(request)
        return done

    def publish(self, publication: Publication) -> None:
        """Tells every worker what doctors remember from now on."""
        self.pool.publish(publication)


@asynccontextmanager
async def open_clinic_workers(
    where: str, setup: Setup, holder: Holder, report: Callable[[str], None] = lambda _: None
) -> AsyncIterator[RemoteClinic]:
    """Opens workers that compute the episodes of a run."""
    at_once = _AT_ONCE if setup.asks_models else _AT_ONCE_BY_RULES
    keys = keys_of(setup.models)
    async with WorkerPool(where, ClinicTask(setup), holder, at_once=at_once, environment=keys, report=report) as pool:
        yield RemoteClinic(pool)
