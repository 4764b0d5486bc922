"""A thread that asks a server for many at once, so that nobody else waits for it."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from polyclinic.stores.server import StoreServer

Item = TypeVar("Item")
Came = TypeVar("Came")
_Asked = tuple[Item, asyncio.AbstractEventLoop, asyncio.Future[Came]]

_TOGETHER = 5_000  # at once, at most


class StoreBatches(Generic[Item, Came]):
    """What is asked while the server works on one batch makes up the next.

    After a failure everybody gets that failure, so that nobody hangs.

    Args:
        server: whose connection this thread alone uses; closed at the end.
        work: does it for a batch, and returns what came of each.
        name: of the thread.
    """

    def __init__(self, server: StoreServer, work: Callable[[Sequence[Item]], Sequence[Came]], *, name: str) -> None:
        self._server, self._work = server, work
        self._items: queue.SimpleQueue[_Asked[Item, Came] | None] = queue.SimpleQueue()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def ask(self, item: Item) -> Came:
        """Returns what came of an item; raises what the work raises. One who is cancelled ends nothing."""
        loop = asyncio.get_running_loop()
        came: asyncio.Future[Came] = loop.create_future()
        self._items.put((item, loop, came))
        return await came

    def close(self) -> None:
        """Does what is left, and ends the thread and its connection."""
        self._items.put(None)
        self._server.leave()
        self._thread.join()

    def _run(self) -> None:
        going = True
        while going:
            batch = [self._items.get()]
            with suppress(queue.Empty):
                while len(batch) < _TOGETHER:
                    batch.append(self._items.get_nowait())
            going = None not in batch
            self._answer([asked for asked in batch if asked is not None])
        self._server.close()

    def _answer(self, asked: list[_Asked[Item, Came]]) -> None:
        came: Sequence[Came] = ()
        if asked and self._error is None:
            try:
                came = self._work([item for item, _, _ in asked])
            except Exception as error:
                self._error = error
        waiting: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Came], int]]] = {}
        for place, (_, loop, future) in enumerate(asked):
            waiting.setdefault(loop, []).append((future, place))
        for loop, futures in waiting.items():
            with suppress(RuntimeError):  # the loop has ended, and nobody waits
                loop.call_soon_threadsafe(_settle, futures, came, self._error)


def _settle(futures: Sequence[tuple[asyncio.Future[Came], int]], came: Sequence[Came], error: Exception | None) -> None:
    for future, place in futures:
        if future.done():
            continue
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(came[place])
