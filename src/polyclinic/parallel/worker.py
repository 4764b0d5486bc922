"""A worker: one process with an event loop and many open items.

It reads messages from its standard input and writes messages to its standard output. It ends when its input ends, so
that no worker outlives a command that was killed. The command keeps the journal and the budget; see `holder`.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import pickle
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from polyclinic.lazy import collect_seldom
from polyclinic.models.journal import Key, key_of
from polyclinic.models.ledger import KeptCall, Ledger
from polyclinic.models.limits import Share
from polyclinic.models.model import Usage
from polyclinic.models.pipeline import Call
from polyclinic.models.prompts import PromptRow
from polyclinic.models.settings import ModelSettings
from polyclinic.parallel.messages import (
    HEAD,
    Answered,
    Cancel,
    Compute,
    Done,
    News,
    Open,
    Question,
    Verb,
    Warned,
    frame,
    unframed,
)
from polyclinic.parallel.shipping import unpacked

Computes = Callable[[Any, "WorkerSide"], Awaitable[Any]]


class Task(Protocol):
    """What a worker opens once, to compute items with it. It is sent to the worker, so that it can be pickled."""

    def open(self, side: WorkerSide) -> AbstractAsyncContextManager[Computes]:
        """Opens what is needed, and yields the function that computes an item; each item has a side of its own."""


class WorkerSide:
    """What a task needs of the command in a worker; the rows of the command's journal, see `Keeper`."""

    def __init__(self, line: _Line, share: Share, *, goes_on: bool, item: int = 0) -> None:
        self._line, self._item, self.share, self.goes_on, self.counts = line, item, share, goes_on, True
        self.listeners = list[Callable[[Any], None]]()

    def ledger(self, settings: ModelSettings) -> Ledger:
        """Returns a ledger whose limits are held by the command."""
        return _RemoteLedger(self, settings)

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """While it lasts, calls are not reported: they repeat those of the command."""
        self.counts = False
        try:
            yield
        finally:
            self.counts = True

    async def ask(self, verb: Verb, *given: Any) -> Any:
        """Has the command do something, and returns what it answers."""
        return await self._line.ask(self._item, verb, given)

    def tell(self, verb: Verb, *given: Any) -> None:
        """Has the command take note of something."""
        self._line.send(Question(0, self._item, verb, given))

    async def find(self, keys: Sequence[Key]) -> tuple[Key, bytes] | None:
        """Returns the first of the keys that was answered, with what is stored."""
        found: tuple[Key, bytes] | None = await self.ask("find", keys)
        return found

    async def put(self, rows: Sequence[PromptRow]) -> bytes | None:
        """Stores an answer; returns when the command has stored it."""
        _, episode, request, k, *_ = rows[-1][1]
        stood: bytes | None = await self.ask("put", Key(episode, request, k), rows)
        return stood

    async def batches(self) -> list[bytes]:
        """Returns none: a worker makes no batches."""
        return []

    def reread(self) -> None:
        """Does nothing: the command reads its journal."""

    async def close(self) -> None:
        """Does nothing: the command closes its journal."""


class _RemoteLedger(Ledger):
    """A worker's ledger: calls are summed, and the budget is granted, by the command."""

    def __init__(self, side: WorkerSide, settings: ModelSettings) -> None:
        super().__init__(cost_budget=settings.cost_budget, token_budget=settings.token_budget)
        self._side = side

    async def admit(self) -> None:
        def give_back(asked: asyncio.Future[Any]) -> None:
            """Gives back what was admitted, but is not asked any more."""
            if not asked.cancelled() and asked.exception() is None:
                self.release()

        asking = asyncio.ensure_future(self._side.ask("admit"))
        try:
            await asyncio.shield(asking)
        except BaseException:
            asking.add_done_callback(give_back)
            raise

    def release(self) -> None:
        self._side.tell("release")

    def spend(self, usage: Usage | None, *, attempts: int = 1, failed: bool = False) -> None:
        if self.is_limited:
            self._side.tell("spend", usage, attempts, failed)

    def add(self, kept: KeptCall, call: Call | None = None) -> None:
        super().add(kept)
        if self._side.counts:
            self._side.tell("count", kept, None if call is None else key_of(call))


class _Line:
    """The line to the command; `write` takes what is sent in one turn of the event loop as a frame."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write, self._outbox = write, list[object]()
        self._asked = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}

    def send(self, message: object) -> None:
        if not self._outbox:
            asyncio.get_running_loop().call_soon(self._flush)
        self._outbox.append(message)

    def _flush(self) -> None:
        messages, self._outbox = self._outbox, []
        try:
            body = frame(messages)
        except Exception:  # one of them holds something that cannot be pickled
            body = frame([_sendable(one) for one in messages])
        self._write(body)

    async def ask(self, item: int, verb: Verb, given: tuple[Any, ...]) -> Any:
        self._asked += 1
        number, coming = self._asked, asyncio.get_running_loop().create_future()
        self._waiting[number] = coming
        self.send(Question(number, item, verb, given))
        try:
            return await coming
        finally:
            del self._waiting[number]

    def take(self, answer: Answered) -> None:
        coming = self._waiting.get(answer.number)
        if coming is None or coming.done():
            return
        if answer.failed:
            coming.set_exception(answer.value)
        else:
            coming.set_result(answer.value)


def _sendable(message: object) -> object:
    try:
        pickle.dumps(message)
    except Exception as error:
        if not isinstance(message, Done):
            raise
        what = f"{type(message.value).__name__}: {message.value}" if message.failed else str(error)
        return Done(message.number, RuntimeError(f"a worker's result cannot be sent: {what}"), failed=True)
    return message


class _Warnings(logging.Handler):
    def __init__(self, line: _Line, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(logging.WARNING)
        self._line, self._loop = line, loop

    def emit(self, record: logging.LogRecord) -> None:
        warned = Warned(" ".join(record.getMessage().split()))
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._line.send, warned)


class OpenItems:
    """The items of this worker that are open. Made in the event loop."""

    def __init__(self, write: Callable[[bytes], object], folder: Path | None = None) -> None:
        self._line, self._folder = _Line(write), folder
        logging.getLogger("polyclinic").addHandler(_Warnings(self._line, asyncio.get_running_loop()))
        self._open: dict[int, asyncio.Task[None]] = {}
        self._compute: asyncio.Future[Computes]
        self._side: WorkerSide
        self._over = asyncio.Event()

    def take(self, message: Open | Compute | Cancel | News | Answered) -> None:
        """Does what the command says."""
        match message:
            case Answered():
                self._line.take(message)
            case Compute(number, item, goes_on):
                side = WorkerSide(self._line, self._side.share, goes_on=goes_on, item=number)
                self._side.goes_on |= goes_on
                self._begin(number, self._computed(number, item, side))
            case Cancel(number):
                if (task := self._open.get(number)) is not None:
                    task.cancel()
            case News(value):
                for listener in self._side.listeners:
                    listener(value)
            case Open():
                self._compute = asyncio.get_running_loop().create_future()
                self._side = WorkerSide(self._line, message.share, goes_on=message.goes_on)
                self._begin(0, self._serve(message))

    async def close(self) -> None:
        """Ends what is open, and closes what the task has opened."""
        tasks = dict(self._open)
        self._over.set()
        opening = tasks.pop(0, None)
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
        if opening is not None:
            if not self._compute.done():
                opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)

    def _begin(self, number: int, work: Coroutine[Any, Any, None]) -> None:
        task = self._open[number] = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._open.pop(number, None))

    async def _serve(self, opening: Open) -> None:
        try:
            os.environ.update(opening.environment)
            task: Task = unpacked(opening.task, self._folder)
            async with task.open(self._side) as compute:
                self._compute.set_result(compute)
                # What is there now stays to the end: it need not be looked through for garbage.
                gc.freeze()
                self._line.send(Done(0))
                await self._over.wait()
        except Exception as error:
            self._compute.cancel()
            self._line.send(Done(0, error, failed=True))

    async def _computed(self, number: int, item: Any, side: WorkerSide) -> None:
        try:
            compute = await asyncio.shield(self._compute)
            await asyncio.sleep(0)  # what never waits lets the worker look at its messages in between
            self._line.send(Done(number, await compute(item, side)))
        except Exception as error:
            self._line.send(Done(number, error, failed=True))


def main() -> None:
    """Runs a worker until its input ends."""
    collect_seldom()
    # Whatever a library prints must not stand among the messages.
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with contextlib.suppress(BrokenPipeError):
        asyncio.run(_work(out))


async def _work(out: int) -> None:
    def write(body: bytes) -> None:
        left = memoryview(body)
        while left:  # waits if the command is slow to read
            left = left[os.write(out, left) :]

    reader = asyncio.StreamReader(limit=2**20)
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin.buffer)
    items = OpenItems(write)
    try:
        with contextlib.suppress(asyncio.IncompleteReadError):  # the end of the input
            while True:
                head = await reader.readexactly(HEAD)
                for message in unframed(await reader.readexactly(int.from_bytes(head))):
                    items.take(message)
    finally:
        await items.close()


if __name__ == "__main__":
    main()
