"""What `--on` names: processes of this machine, or a Ray cluster."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from polyclinic.cluster.jobs import ClusterJob, News, Site
from polyclinic.cluster.left import forget_left, left_answers
from polyclinic.cluster.ray_cluster import LOCAL, SCHEME, RayCluster
from polyclinic.cluster.worker import LEASE, JobWorker
from polyclinic.errors import UserError
from polyclinic.models.journal_parts import JournalRow

_MOMENT = 0.1  # seconds between two looks


class LocalProcesses:
    """So many processes at a time."""

    name = "processes"
    ships = False

    def __init__(self, workers: int) -> None:
        self.workers = workers

    async def begin(self, job: ClusterJob, answered: Sequence[JournalRow], *, of: int) -> _InProcess:
        """Starts a process."""
        worker = JobWorker()
        await asyncio.to_thread(worker.begin, job, answered, of)
        return _InProcess(worker)

    async def left(self, kept: str) -> dict[str, list[JournalRow]]:
        """Looks on this machine."""
        return await asyncio.to_thread(left_answers, kept, 2 * LEASE)

    async def forget(self, kept: str) -> None:
        """Removes it on this machine."""
        await asyncio.to_thread(forget_left, kept)

    async def close(self) -> None:
        """Nothing is left: each process ends with its job."""


class _InProcess:
    def __init__(self, worker: JobWorker) -> None:
        self._worker = worker

    async def news(self) -> Sequence[News]:
        await asyncio.sleep(_MOMENT)
        return await asyncio.to_thread(self._worker.news)

    async def divide(self, of: int) -> None:
        await asyncio.to_thread(self._worker.divide, of)

    async def stop(self) -> Sequence[JournalRow]:
        return await asyncio.to_thread(self._worker.stop)

    async def release(self) -> None:
        await asyncio.to_thread(self._worker.release)


PROCESSES = "local"
ALLOWED = f"{PROCESSES}, {PROCESSES}:N, {LOCAL}, {LOCAL}:N (a cluster on this machine) or {SCHEME}HOST:PORT"


def check_site(name: str) -> None:
    """Refuses what names no place to run; a UserError."""
    kind, _, number = name.partition(":")
    if kind == "processes":
        raise UserError(f"--on {name!r}; write --on {PROCESSES}{name.removeprefix(kind)}")
    if kind in (PROCESSES, LOCAL) and (not number or (number.isdecimal() and int(number))):
        return
    if not name.startswith(SCHEME):
        raise UserError(f"--on {name!r}; allowed: {ALLOWED}")


@asynccontextmanager
async def open_site(name: str) -> AsyncIterator[Site]:
    """Opens the place that is named, as long as it is needed.

    Raises:
        UserError: there is no such place, or nobody is there.
    """
    check_site(name)
    kind, _, number = name.partition(":")
    workers = int(number) if number.isdecimal() else None
    site: Site
    if kind == PROCESSES:
        site = LocalProcesses(workers or os.cpu_count() or 1)
    else:
        site = await RayCluster.connect(LOCAL if kind == LOCAL and workers else name, workers)
    try:
        yield site
    finally:
        await site.close()
