"""Items are computed by workers, and given to another where one is lost.

    async with WorkerPool("local:4", task, holder, items=len(items)) as pool:
        results = await asyncio.gather(*map(pool.compute, items))

A worker has many items open at a time. What was asked for an item that is lost is in the journal.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, Self

from polyclinic.errors import PolyclinicError, UserError, in_short
from polyclinic.models.limits import Share
from polyclinic.parallel.holder import Holder
from polyclinic.parallel.messages import Answered, Cancel, Compute, Done, News, Open, Question, Warned
from polyclinic.parallel.ray_site import RAY, SCHEME, RayProcess, RayWorkers
from polyclinic.parallel.shipping import packed
from polyclinic.parallel.sites import LocalProcess, LocalProcesses, WorkerLost
from polyclinic.parallel.worker import Task

MOST_LOSSES = 5  # how often the worker of one item may be lost; by then it is the item that ends them
MOST_OPEN = 256  # items that a worker has open at a time
MOST_WORKERS = 1000  # each is a process of some 200 MB

LOCAL = "local"
ALLOWED = f"{LOCAL}, {LOCAL}:N, {RAY}, {RAY}:N (a cluster on this machine) or {SCHEME}HOST:PORT"

Site = LocalProcesses | RayWorkers  # where workers run
Process = LocalProcess | RayProcess  # a worker as the command sees it

_ONCE = 30.0  # seconds in which several workers warn of the same thing
_LOG = logging.getLogger("polyclinic.parallel")


def check_site(name: str) -> None:
    """Refuses what names no place to run; a UserError."""
    kind, _, number = name.partition(":")
    if kind == "processes":
        raise UserError(f"--on {name!r}; write --on {LOCAL}{name.removeprefix('processes')}")
    is_counted = kind in (LOCAL, RAY)
    if is_counted and number.isdecimal() and int(number) > MOST_WORKERS:
        raise UserError(f"--on {name!r}; allowed: at most {MOST_WORKERS:,} workers")
    if not (is_counted and (not number or (number.isdecimal() and int(number)))) and not name.startswith(SCHEME):
        raise UserError(f"--on {name!r}; allowed: {ALLOWED}")


async def open_site(name: str) -> Site:
    """Opens the place that is named; it is closed by who opens it."""
    check_site(name)
    kind, _, number = name.partition(":")
    if kind == LOCAL:
        return LocalProcesses(int(number or 0) or os.cpu_count() or 1)
    return await RayWorkers.connect(name)


class WorkerPool:
    """Workers for items, at most as many workers as items. Use it with `async with`.

    Args:
        where: the place, as `--on` names it.
        task: what each worker opens.
        holder: of the journal and the budget.
        items: how many there will be, None if nobody knows.
        at_once: how many of them a worker has open at most.
        environment: variables for workers on other machines, such as keys; they are never printed.
        report: told of workers that died.
    """

    def __init__(
        self,
        where: str,
        task: Task,
        holder: Holder,
        *,
        items: int | None = None,
        at_once: int = MOST_OPEN,
        environment: Mapping[str, str] | None = None,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._where, self._holder, self._report = where, holder, report
        # This machine's processes have its files and its environment.
        is_here = where.partition(":")[0] == LOCAL
        self._task = pickle.dumps(task) if is_here else packed(task)
        self._environment = {} if is_here else environment or {}
        self._items, self._at_once = items, at_once
        self._site: Site
        self.workers = self._each = 0
        self._news = list[Any]()
        self._open = set[_Worker]()
        self._waiting = deque[asyncio.Future[_Worker]]()
        self._lanes = list[asyncio.Task[None]]()
        self._ended: PolyclinicError | None = None
        self._warned = dict[str, float]()

    async def __aenter__(self) -> Self:
        self._site = site = await open_site(self._where)
        self.workers = site.workers if self._items is None else max(1, min(site.workers, self._items))
        # No worker takes more than its part before the others are there.
        part = self._at_once if self._items is None else -(-self._items // self.workers)
        self._each = min(self._at_once, part)
        self._lanes = [asyncio.create_task(self._keep_one(number)) for number in range(self.workers)]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._end(WorkerLost("the workers are not needed any more"))
        for lane in self._lanes:
            lane.cancel()
        await asyncio.gather(*self._lanes, return_exceptions=True)
        await self._site.close()

    async def compute(self, item: Any, holder: Holder | None = None) -> Any:
        """Returns what comes of an item, computed by the worker that has the least to do."""
        losses, holder = 0, holder or self._holder
        while True:
            worker = await self._place()
            try:
                return await worker.compute(item, holder)
            except WorkerLost as lost:
                holder.reread()
                losses += 1
                if losses >= MOST_LOSSES:
                    raise WorkerLost(f"{lost}; given up after {MOST_LOSSES} times") from None
            finally:
                worker.places += 1
                self._let_in()

    def publish(self, news: Any) -> None:
        """Tells every worker, also those that come later, something for the items that follow."""
        self._news.append(news)
        for worker in self._open:
            worker.send(News(news))

    async def _place(self) -> _Worker:
        """Waits for a place at a worker, and takes it."""
        if self._ended is not None:
            raise copy(self._ended)
        turn: asyncio.Future[_Worker] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._let_in()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                turn.result().places += 1
                self._let_in()
            raise

    def _let_in(self) -> None:
        while self._waiting and (free := [worker for worker in self._open if worker.places > 0]):
            turn = self._waiting.popleft()
            if not turn.done():
                worker = max(free, key=lambda one: one.places)
                worker.places -= 1
                turn.set_result(worker)

    def _end(self, error: PolyclinicError) -> None:
        """Ends all that waits for a worker."""
        self._ended = self._ended or error
        for turn in self._waiting:
            if not turn.done():
                turn.set_exception(copy(error))
        self._waiting.clear()

    async def _keep_one(self, number: int) -> None:
        """Keeps one worker at work, and another if that is lost."""
        lost_at_once = 0
        while self._ended is None:
            worker = None
            try:
                process = await self._site.start()
                worker = _Worker(process, f"worker {number + 1} of {self.workers}", self._holder, self._warn)
                worker.places = self._each
                share = Share(number, self.workers)
                await worker.open(Open(self._task, share, self._holder.goes_on, self._environment))
                lost_at_once = 0
                self._open.add(worker)
                for news in self._news:
                    worker.send(News(news))
                self._let_in()
                await worker.ended.wait()
                raise copy(worker.loss)
            except WorkerLost as lost:
                lost_at_once += 1
                if lost_at_once >= MOST_LOSSES:
                    self._end(WorkerLost(f"{lost}; given up after {MOST_LOSSES} times"))
                self._report(f"{lost}; {worker.open_items if worker else 0} items are given to others")
            except PolyclinicError as error:
                self._end(error)
            except Exception as error:
                self._end(WorkerLost(f"worker {number + 1} of {self.workers}: {in_short(error)}"))
            finally:
                if worker is not None:
                    self._open.discard(worker)
                    closing = asyncio.ensure_future(worker.close())
                    try:
                        await asyncio.shield(closing)
                    except asyncio.CancelledError:
                        await closing  # it must not be broken off
                        raise

    def _warn(self, line: str) -> None:
        """Logs what one worker warns of, unless another has just done so."""
        now = time.monotonic()
        if now - self._warned.get(line, -_ONCE) >= _ONCE:
            self._warned[line] = now
            _LOG.warning("%s", line)


class _Worker:
    """One worker with the items that it has open; `places` are how many more it takes."""

    def __init__(self, process: Process, name: str, holder: Holder, warn: Callable[[str], None]) -> None:
        self._process, self._name, self._warn = process, name, warn
        self._items: dict[int, asyncio.Future[Any]] = {0: asyncio.get_running_loop().create_future()}
        self._holders, self._admitted = {0: holder}, Counter[int]()
        self._count, self.places, self.open_items = 0, 0, 0
        self._outbox = list[object]()
        self._answering = set[asyncio.Task[None]]()
        self.ended = asyncio.Event()
        self.loss: PolyclinicError = WorkerLost(f"{name} is gone")
        self._reading = asyncio.create_task(self._read())

    async def open(self, opening: Open) -> None:
        """Waits until its task is open; raises what went wrong."""
        self.send(opening)
        await self._items[0]

    async def compute(self, item: Any, holder: Holder) -> Any:
        """Returns what comes of an item."""
        if self.ended.is_set():
            raise copy(self.loss)
        self._count += 1
        number, coming = self._count, asyncio.get_running_loop().create_future()
        self._items[number], self._holders[number] = coming, holder
        self.send(Compute(number, item, holder.goes_on))
        try:
            return await coming
        except asyncio.CancelledError:
            self.send(Cancel(number))
            raise
        finally:
            self._items.pop(number, None)

    async def close(self) -> None:
        """Ends it, and all that waits for it."""
        await self._process.stop()
        self._reading.cancel()
        for answering in self._answering:
            answering.cancel()
        await asyncio.gather(self._reading, *self._answering, return_exceptions=True)
        self._end()

    def send(self, message: object) -> None:
        if not self._outbox:
            asyncio.get_running_loop().call_soon(self._post)
        self._outbox.append(message)

    def _post(self) -> None:
        messages, self._outbox = self._outbox, []
        if not self.ended.is_set():
            self._process.send(messages)

    async def _read(self) -> None:
        try:
            while True:
                for message in await self._process.receive():
                    self._take(message)
        except WorkerLost as lost:
            self.loss = WorkerLost(f"{self._name} {lost}")
        except PolyclinicError as error:
            self.loss = copy(error)
        except Exception as error:
            self.loss = WorkerLost(f"{self._name}: {in_short(error)}")
        self._end()

    def _take(self, message: Done | Question | Warned) -> None:
        match message:
            case Done(number, value, failed):
                coming = self._items.get(number)
                if coming is not None and not coming.done():
                    coming.set_exception(value) if failed else coming.set_result(value)
                if number:
                    self._holders.pop(number, None)
            case Question(0, item, verb, given):
                self._admitted[item] -= verb == "release"
                getattr(self._holder(item), verb)(*given)
            case Question():
                answering = asyncio.create_task(self._answer(message))
                self._answering.add(answering)
                answering.add_done_callback(self._answering.discard)
            case Warned(line):
                self._warn(line)

    async def _answer(self, question: Question) -> None:
        number, item, verb, given = question
        try:
            value, failed = await getattr(self._holder(item), verb)(*given), False
        except Exception as error:
            value, failed = error, True
        if verb == "admit" and not failed:
            if self.ended.is_set():
                self._holder(item).release()
            else:
                self._admitted[item] += 1
        self.send(Answered(number, value, failed))

    def _holder(self, item: int) -> Holder:
        return self._holders.get(item) or self._holders[0]

    def _end(self) -> None:
        """Ends what waits for it, and gives back what it was admitted."""
        if self.ended.is_set():
            return
        self.ended.set()
        for item, admitted in self._admitted.items():
            for _ in range(admitted):
                self._holder(item).release()
        self._admitted.clear()
        self.open_items = sum(not coming.done() for number, coming in self._items.items() if number)
        for coming in self._items.values():
            if not coming.done():
                coming.set_exception(copy(self.loss))
                coming.exception()  # nobody may wait for it any more
