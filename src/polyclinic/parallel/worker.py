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
from typing import Any, BinaryIO, Protocol

from polyclinic.lazy import collect_seldom
from polyclinic.models.journal import Key, key_of
from polyclinic.models.ledger import KeptCall, Ledger
from polyclinic.models.limits import Limit, Share
from polyclinic.models.model import Usage
from polyclinic.models.pipeline import Call
from polyclinic.models.prompts import PromptRow
from polyclinic.models.session import ModelSettings
from polyclinic.parallel.messages import (
    HEAD,
    Admit,
    Answered,
    Cancel,
    Compute,
    Counted,
    Done,
    Find,
    Left,
    News,
    Note,
    Open,
    Opened,
    Put,
    Question,
    Spent,
    Warned,
    frame,
    unframed,
)
from polyclinic.parallel.shipping import unpacked


class WorkerSide:
    """What a task needs of the command while it runs in a worker.

    Attributes:
        share: the part of the limits that this worker has.
        keeper: the rows of the command's journal.
        counts: whether calls are reported.
    """

    def __init__(self, channel: _Channel, share: Share, *, goes_on: bool, item: int = 0) -> None:
        self._channel, self._item, self.share, self.counts = channel, item, share, True
        self.keeper = RemoteKeeper(self, goes_on=goes_on)
        self._listeners = list[Callable[[Any], None]]()

    def ledger(self, settings: ModelSettings) -> Ledger:
        """Returns a ledger whose limits are held by the command."""
        return RemoteLedger(self, settings)

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """While it lasts, calls are not reported: they repeat those of the command."""
        self.counts = False
        try:
            yield
        finally:
            self.counts = True

    async def ask(self, what: Find | Put | Admit) -> Any:
        """Asks the command something."""
        return await self._channel.ask(self._item, what)

    def on_news(self, listener: Callable[[Any], None]) -> None:
        """Has the listener called with everything that the command publishes."""
        self._listeners.append(listener)

    def hear(self, news: Any) -> None:
        """Gives news of the command to who listens."""
        for listener in self._listeners:
            listener(news)

    def tell(self, what: Counted | Spent | Left) -> None:
        """Reports something to the command."""
        self._channel.send(Note(self._item, what))


class Task(Protocol):
    """What a worker opens once, to compute items with it. It is sent to the worker, so that it can be pickled."""

    def open(self, side: WorkerSide) -> AbstractAsyncContextManager[Callable[[Any, WorkerSide], Awaitable[Any]]]:
        """Opens what is needed, and yields the function that computes an item; each item has a side of its own."""


class RemoteKeeper:
    """The rows of the command's journal, for a worker; see `polyclinic.models.journal.Keeper`."""

    def __init__(self, side: WorkerSide, *, goes_on: bool) -> None:
        self._side, self.goes_on = side, goes_on

    async def find(self, keys: Sequence[Key]) -> tuple[Key, bytes] | None:
        """Returns the first of the keys that was answered, with what is stored."""
        found: tuple[Key, bytes] | None = await self._side.ask(Find(keys))
        return found

    async def put(self, rows: Sequence[PromptRow]) -> bytes | None:
        """Stores an answer; returns when the command has stored it."""
        _, episode, request, k, *_ = rows[-1][1]
        stood: bytes | None = await self._side.ask(Put(Key(episode, request, k), rows))
        return stood

    def reread(self) -> None:
        """Does nothing: the command reads its journal."""

    async def close(self) -> None:
        """Does nothing: the command closes its journal."""


class RemoteLedger(Ledger):
    """A worker's ledger: calls are summed, and the budget is granted, by the command."""

    def __init__(self, side: WorkerSide, settings: ModelSettings) -> None:
        super().__init__(cost_budget=settings.cost_budget, token_budget=settings.token_budget)
        self._side = side

    async def enter(self, limit: Limit | None) -> Limit | None:
        """Waits until the command admits a question."""
        if not self.is_limited:
            return await super().enter(limit)
        line = None if limit is None else await self.wait_in_line(limit)
        asking = asyncio.ensure_future(self._side.ask(Admit()))
        try:
            await asyncio.shield(asking)
        except BaseException:
            asking.add_done_callback(self._given_back)
            if line is not None:
                line.leave()
            raise
        return line

    def _given_back(self, asking: asyncio.Future[Any]) -> None:
        """Gives back what was admitted, but is not asked any more."""
        if not asking.cancelled() and asking.exception() is None:
            self._side.tell(Left())

    def leave(self, line: Limit | None, limit: Limit | None) -> None:
        """Gives a place back that `enter` returned."""
        if self.is_limited:
            self._side.tell(Left())
        if line is not None and limit is not None:
            line.now = limit.places
            line.leave()

    def spend(self, usage: Usage | None, *, attempts: int = 1, failed: bool = False) -> None:
        """Reports what a question cost."""
        if self.is_limited:
            self._side.tell(Spent(usage, attempts, failed))

    def keep(self, call: Call, kept: KeptCall, usage: Usage, server: str) -> None:
        """Reports a call."""
        if self._side.counts:
            self._side.tell(Counted(kept, usage, server, key_of(call)))


class _Channel:
    """The line to the command."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._outbox = out, list[object]()
        self._asked = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}

    def send(self, message: object) -> None:
        """Sends a message together with the others of this turn of the event loop."""
        if not self._outbox:
            asyncio.get_running_loop().call_soon(self.flush)
        self._outbox.append(message)

    def flush(self) -> None:
        """Sends what is left to send; waits if the command is slow to read."""
        messages, self._outbox = self._outbox, []
        if not messages:
            return
        left = memoryview(_framed(messages))
        while left:
            left = left[self._out.write(left) :]

    async def ask(self, item: int, what: Find | Put | Admit) -> Any:
        """Returns what the command answers."""
        self._asked += 1
        number, coming = self._asked, asyncio.get_running_loop().create_future()
        self._waiting[number] = coming
        self.send(Question(number, item, what))
        try:
            return await coming
        finally:
            del self._waiting[number]

    def answered(self, answer: Answered) -> None:
        """Gives an answer of the command to whoever waits for it."""
        coming = self._waiting.get(answer.number)
        if coming is None or coming.done():
            return
        if answer.failed:
            coming.set_exception(answer.value)
        else:
            coming.set_result(answer.value)


def _framed(messages: Sequence[object]) -> bytes:
    try:
        return frame(messages)
    except Exception:  # one of them holds something that cannot be pickled
        return frame([_sendable(one) for one in messages])


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
    def __init__(self, channel: _Channel, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(logging.WARNING)
        self._channel, self._loop = channel, loop

    def emit(self, record: logging.LogRecord) -> None:
        line = " ".join(record.getMessage().split())
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._channel.send, Warned(line))


def main() -> None:
    """Runs a worker until its input ends."""
    collect_seldom()
    # Whatever a library prints must not stand among the messages.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with contextlib.suppress(BrokenPipeError):
        asyncio.run(_work(out))


async def _received(stream: asyncio.StreamReader) -> list[Any]:
    """Returns the messages of the next frame; none where the stream has ended."""
    try:
        head = await stream.readexactly(HEAD)
        return unframed(await stream.readexactly(int.from_bytes(head)))
    except asyncio.IncompleteReadError:
        return []


async def _work(out: BinaryIO) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=2**20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    channel = _Channel(out)
    logging.getLogger("polyclinic").addHandler(_Warnings(channel, loop))
    items = _Items(channel)
    try:
        while messages := await _received(reader):
            for message in messages:
                items.take(message)
    finally:
        await items.close()


class _Items:
    """The items of this worker that are open."""

    def __init__(self, channel: _Channel) -> None:
        self._channel = channel
        self._open: dict[int, asyncio.Task[None]] = {}
        self._compute: asyncio.Future[Callable[[Any, WorkerSide], Awaitable[Any]]]
        self._side: WorkerSide
        self._over = asyncio.Event()

    def take(self, message: Open | Compute | Cancel | News | Answered) -> None:
        """Does what the command says."""
        match message:
            case Answered():
                self._channel.answered(message)
            case Compute(number, item, goes_on):
                side = WorkerSide(self._channel, self._side.share, goes_on=goes_on, item=number)
                self._side.keeper.goes_on |= goes_on
                self._begin(number, self._computed(number, item, side))
            case Cancel(number):
                if (task := self._open.get(number)) is not None:
                    task.cancel()
            case News(value):
                self._side.hear(value)
            case Open():
                self._compute = asyncio.get_running_loop().create_future()
                self._side = WorkerSide(self._channel, message.share, goes_on=message.goes_on)
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
            task: Task = unpacked(opening.task)
            async with task.open(self._side) as compute:
                self._compute.set_result(compute)
                # What is there now stays to the end: it need not be looked through for garbage.
                gc.freeze()
                self._channel.send(Opened())
                await self._over.wait()
        except Exception as error:
            self._compute.cancel()
            self._channel.send(Done(0, error, failed=True))

    async def _computed(self, number: int, item: Any, side: WorkerSide) -> None:
        try:
            compute = await asyncio.shield(self._compute)
            await asyncio.sleep(0)  # what never waits lets the worker look at its messages in between
            self._channel.send(Done(number, await compute(item, side)))
        except Exception as error:
            self._channel.send(Done(number, error, failed=True))


if __name__ == "__main__":
    main()
