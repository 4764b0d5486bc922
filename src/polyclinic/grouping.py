"""A thread that works in groups: what comes while it works on one group makes up the next."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

Done = Callable[[Sequence[Result], Exception | None], object]
"""Called by the thread with the results of some items, or with the error that there was instead."""

_WAITING = 20_000  # that may wait for the thread; then whoever brings more waits too
_TOGETHER = 5_000  # in a group, at most


class GroupThread(Generic[Item, Result]):
    """Hands items to a function in a thread, many at a time; after a failure everybody gets that failure."""

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Sequence[Result]],
        *,
        name: str,
        end: Callable[[], object] = lambda: None,
        gather: float = 0.0,
    ) -> None:
        self._work, self._end, self._gather = work, end, gather
        self._queue: queue.Queue[tuple[Sequence[Item], Done[Result] | None] | None] = queue.Queue(_WAITING)
        self._coming: list[tuple[Item, asyncio.Future[Result]]] = []
        self._hurry = threading.Event()
        self._error: Exception | None = None
        self._told = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, item: Item, done: Done[Result] | None = None) -> None:
        """Hands an item over; raises the error of an earlier group."""
        self._tell()
        self._queue.put(([item], done))

    async def ask(self, item: Item) -> Result:
        """Returns the result of an item; raises what the work raises. A cancelled item is worked on all the same."""
        loop = asyncio.get_running_loop()
        if not self._coming:
            # All that come in one turn of the loop go to the thread, and are answered, together.
            loop.call_soon(self._send, loop)
        future: asyncio.Future[Result] = loop.create_future()
        self._coming.append((item, future))
        return await future

    def flush(self) -> None:
        """Returns when all is done; raises as `put`."""
        done = threading.Event()
        self._queue.put(((), lambda *_: done.set()))
        self._hurry.set()
        done.wait()
        self._tell()

    def close(self) -> None:
        """Does what waits and ends the thread; raises as `put`, where nobody was told so far."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._hurry.set()
            self._thread.join()
        if not self._told:
            self._tell()

    async def aclose(self) -> None:
        """Does as `close`, without holding the event loop up."""
        if self._coming:  # of those that were cancelled in this turn
            self._send(asyncio.get_running_loop())
        await asyncio.to_thread(self.close)

    def _tell(self) -> None:
        if self._error is not None:
            self._told = True
            raise self._error

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        coming, self._coming = self._coming, []

        def settle(results: Sequence[Result], error: Exception | None) -> None:
            for place, (_, future) in enumerate(coming):
                if future.done():  # one that was cancelled waits no more
                    continue
                if error is None:
                    future.set_result(results[place])
                else:
                    future.set_exception(error)

        def done(results: Sequence[Result], error: Exception | None) -> None:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits
                loop.call_soon_threadsafe(settle, results, error)

        if coming:
            self._queue.put(([item for item, _ in coming], done))

    def _run(self) -> None:
        going = True
        while going:
            batch = [self._queue.get()]
            self._hurry.wait(self._gather)
            self._hurry.clear()
            with suppress(queue.Empty):
                while len(batch) < _TOGETHER:
                    batch.append(self._queue.get_nowait())
            going = None not in batch
            entries = [entry for entry in batch if entry is not None]
            items = [item for some, _ in entries for item in some]
            results: Sequence[Result] = ()
            if items and self._error is None:
                try:
                    results = self._work(items)
                except Exception as error:
                    self._error = error
            place = 0
            for some, done in entries:
                if done is not None:
                    self._told = self._told or self._error is not None
                    done(results[place : place + len(some)], self._error)
                place += len(some)
        self._end()
