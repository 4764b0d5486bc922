"""Jobs in processes of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from polyclinic.cluster.jobs import ClusterJob, News
from polyclinic.cluster.left import forget_left, left_answers
from polyclinic.cluster.worker import LEASE, JobWorker
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
