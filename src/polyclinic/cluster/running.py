"""Jobs are given to the workers of a site, heard of, and given to another where one is lost."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence

from polyclinic.cluster.jobs import Advanced, AnswersCame, ClusterJob, JobEnded, Site, Warned, WorkerLost, Working
from polyclinic.errors import UserError
from polyclinic.models.journal_parts import JournalRow

MOST_LOSSES = 5
"""How often the worker of one job may be lost; by then it is the job that ends them."""

_WRONG_INPUT = 2
_STOPPED = 130
_KILLED = 137  # as a shell counts it, and as a child says whose parent is gone


_ONCE = 30.0  # seconds in which several parts say the same of one thing
_LOG = logging.getLogger("polyclinic.cluster")


async def run_jobs(
    site: Site,
    jobs: Sequence[ClusterJob],
    *,
    answered: Callable[[ClusterJob], Sequence[JournalRow]],
    keep: Callable[[ClusterJob, Sequence[JournalRow]], None],
    take: Callable[[str, Sequence[JournalRow]], None] = lambda _name, _rows: None,
    ended: Callable[[ClusterJob, JobEnded], None] = lambda _job, _ended: None,
    advance: Callable[[ClusterJob, int, int], None] = lambda _job, _done, _total: None,
) -> dict[str, JobEnded]:
    """Runs all, as many at a time as there are workers, and returns how each ended, by its name.

    Args:
        site: where they run; it is closed by whoever opened it.
        jobs: with names of their own.
        answered: what a job's models have answered so far; the worker that begins it is given that.
        keep: called with answers as they come, before the job is given to anybody else.
        take: called at first with what jobs were answered, each by its name, when the same command was killed.
        ended: called as each has ended.
        advance: called with how much of a job is done, of how much.

    Raises:
        UserError: a command says that its input is wrong, and the others are stopped; or the same is under way.
        WorkerLost: the workers of one job were lost again and again.
        ClusterLost: all workers are gone; what was answered is kept.
    """
    waiting, losses, results = deque(jobs), Counter[str](), dict[str, JobEnded]()
    at_work, warned = _AtWork(min(site.workers, len(jobs))), dict[str, float]()

    async def follow(job: ClusterJob) -> JobEnded:
        working = await site.begin(job, answered(job), of=at_work.lanes)
        at_work.now.add(working)
        try:
            while True:
                for news in await working.news():
                    match news:
                        case AnswersCame(rows):
                            keep(job, rows)
                        case Advanced(done, total):
                            advance(job, done, total)
                        case Warned(line):
                            _warn(line, warned)
                        case JobEnded():
                            _check(job, news)
                            ended(job, news)
                            return news
        except asyncio.CancelledError:
            keep(job, await working.stop())
            raise
        finally:
            at_work.now.discard(working)
            await working.release()

    async def work() -> None:
        while waiting:
            job = waiting.popleft()
            try:
                results[job.name] = await follow(job)
            except WorkerLost as lost:
                losses[job.name] += 1
                if losses[job.name] >= MOST_LOSSES:
                    raise WorkerLost(f"{lost}; given up after {MOST_LOSSES} times") from None
                waiting.append(job)
        await at_work.one_less()

    commands = sorted({job.kept for job in jobs} - {""})
    for kept in commands:
        for name, rows in (await site.left(kept)).items():
            take(name, rows)
        await site.forget(kept)
    lanes = [asyncio.create_task(work()) for _ in range(at_work.lanes)]
    try:
        await asyncio.gather(*lanes)
        while waiting:  # given back by one when the others had ended
            await work()
    finally:
        for lane in lanes:
            lane.cancel()
        await asyncio.gather(*lanes, return_exceptions=True)
    for kept in commands:
        await site.forget(kept)
    return results


class _AtWork:
    """The jobs that are under way, in so many lanes: among those everything that endpoints take is divided."""

    def __init__(self, lanes: int) -> None:
        self.lanes = max(1, lanes)
        self.now: set[Working] = set()

    async def one_less(self) -> None:
        """Gives what one lane had, for which there is nothing left, to the others."""
        self.lanes = max(1, self.lanes - 1)
        for working in tuple(self.now):
            await working.divide(self.lanes)


def _warn(line: str, warned: dict[str, float]) -> None:
    """Says what one part says, unless another just said so."""
    now = time.monotonic()
    if now - warned.get(line, -_ONCE) >= _ONCE:
        warned[line] = now
        _LOG.warning("%s", line)


def _check(job: ClusterJob, end: JobEnded) -> None:
    if end.code < 0 or end.code == _KILLED:
        raise WorkerLost(f"{job.name}: its process was killed")
    if end.code == _WRONG_INPUT:
        raise UserError(end.said.replace(f"{job.folder.rstrip('/')}/", ""))  # as the files are named on this machine
    if end.code == _STOPPED:
        raise KeyboardInterrupt
