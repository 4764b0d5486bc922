"""How many requests may be at one endpoint at a time: a fixed number, or as many as it bears."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from heapq import heappop, heappush
from itertools import count

WANTED: ContextVar[int] = ContextVar("wanted", default=0)
"""When the answer is wanted of what is asked for in this context; only which number is smaller counts."""


class Limit:
    """Lets in so many at a time. Give the same one to all models of one endpoint.

    Of those who wait, whoever is `WANTED` first is let in, then whoever came first.

    An answer that a journal has not stored yet still takes its place: of a run that is killed, no more requests are
    lost than the limit.

    Adaptive, it begins with `start` and doubles, up to `most`, with each round of answers that went well until the
    endpoint says for the first time that there are too many; from then on it grows by one a round, and halves when
    there are too many, once for each round.
    """

    def __init__(self, most: int = 256, *, adaptive: bool = False, start: int = 16) -> None:
        if most < 1:
            raise ValueError(f"a limit of {most} lets nobody in; give 1 or more")
        self.most, self.adaptive = most, adaptive
        self.now = min(start, most) if adaptive else most
        self.inside = self.unstored = 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrived = count()
        self._since_change = 0
        self._has_met_a_bound = False

    async def __aenter__(self) -> None:
        if self.inside + self.unstored < self.now and not self._waiting:
            self.inside += 1
            return
        turn = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (WANTED.get(), next(self._arrived), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The place was given to us and we are gone: it is the next one's.
                self.inside -= 1
                self._let_in()
            raise

    async def __aexit__(self, *_: object) -> None:
        self.inside -= 1
        if self._waiting:
            # Not at once: the answer may be one that is stored first, and then its place is not free.
            asyncio.get_running_loop().call_soon(self._let_in)

    @contextlib.contextmanager
    def storing(self) -> Iterator[None]:
        """Takes the place of an answer that came in this turn of the event loop, until it is stored."""
        self.unstored += 1
        try:
            yield
        finally:
            self.unstored -= 1
            self._let_in()

    def went_well(self) -> None:
        """Takes note of an answer."""
        if self.adaptive:
            self._since_change += 1
            if self._since_change >= self.now and self.now < self.most:
                self.now = min(self.most, self.now + (1 if self._has_met_a_bound else self.now))
                self._since_change = 0
                self._let_in()

    def too_many(self) -> None:
        """Takes note of a 429."""
        # Those sent before the last halving still come back; they are no reason to halve again.
        if self.adaptive:
            self._has_met_a_bound = True
            if self._since_change >= 0:
                self.now = max(1, self.now // 2)
                self._since_change = -self.inside
            else:
                self._since_change += 1

    def _let_in(self) -> None:
        while self._waiting and self.inside + self.unstored < self.now:
            _, _, turn = heappop(self._waiting)
            if not turn.done():
                self.inside += 1
                turn.set_result(None)
