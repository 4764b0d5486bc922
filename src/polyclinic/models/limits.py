"""How many requests may be at one endpoint at a time: a fixed number, or as many as it bears."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple


class AnswerWanted(NamedTuple):
    """When the next answer is wanted; each further question later by a step, so that no chain comes last."""

    at: int = 0
    step: int = 0


_NEAR = 0.75  # of what was too many before, from which on it is the same bound that is met


class Limit:
    """Lets in so many at a time, first whose answer is wanted first. One is for all models of a server.

    An answer that a journal has not stored yet keeps its place, so that a killed run loses no more than the limit.

    An adaptive limit doubles from `start` to `most`, a round of answers each, until the endpoint first refuses; then it
    grows by one a round, and shrinks once a round: to a half, or by an eighth near the last bound.

    If limits of several servers are `joined`, another that has room and nobody waiting lets in. A `closed` one lets
    nobody in.
    """

    def __init__(self, most: int = 256, *, adaptive: bool = False, start: int = 16) -> None:
        if most < 1:
            raise ValueError(f"a limit of {most} lets nobody in; give 1 or more")
        self.most, self.adaptive = most, adaptive
        self._start = start
        self.now = min(start, most) if adaptive else most
        self.inside = self.unstored = 0
        self._waiting: list[tuple[int, int, asyncio.Future[Limit]]] = []
        self._arrived = count()
        self._since_change = 0
        self._bound = 0
        self._closed = False
        self._all: tuple[Limit, ...] = (self,)

    @staticmethod
    def joined(limits: Sequence[Limit]) -> None:
        """Makes the limits of several servers stand in for one another."""
        arrived = count()
        for limit in limits:
            limit._all, limit._arrived = tuple(limits), arrived

    def like(self) -> Limit:
        """Returns another limit that begins as this one did."""
        return Limit(self.most, adaptive=self.adaptive, start=self._start)

    @property
    def at_most(self) -> int:
        """How many there can ever be, at all that are joined."""
        return sum(limit.most for limit in self._all)

    @property
    def places(self) -> int:
        """How many may be inside now, at all that are joined."""
        return sum(limit.now for limit in self._all if not limit.closed)

    @property
    def load(self) -> int:
        """How many are inside, or wait to be."""
        return self.inside + len(self._waiting)

    @property
    def has_room(self) -> bool:
        """Whether whoever comes is let in at once."""
        return not self._waiting and self._lets_in

    @property
    def _lets_in(self) -> bool:
        return self.inside + self.unstored < self.now and not self._closed

    async def __aenter__(self) -> None:
        await self.enter()

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    async def enter(self, wanted: int = 0) -> Limit:
        """Waits for a place; returns whose it is: this limit's, or that of one it is joined with."""
        if self.has_room:
            self.take()
            return self
        turn: asyncio.Future[Limit] = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (wanted, next(self._arrived), turn))
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The place was given to us and we are gone: it is the next one's.
                turn.result().leave()
            raise

    def take(self) -> None:
        """Takes a place at once."""
        self.inside += 1

    def leave(self) -> None:
        """Gives a place back."""
        self.inside -= 1
        if any(limit._waiting for limit in self._all):
            # Not at once: the answer may be one that is stored first, and then its place is not free.
            asyncio.get_running_loop().call_soon(self._let_in)

    @contextlib.contextmanager
    def storing(self) -> Iterator[None]:
        """Takes the place of an answer that came in this turn of the event loop, until it is stored."""
        # Of several, whichever has most room: all together keep to their limits all the same.
        one = self if len(self._all) == 1 else max(self._all, key=lambda one: one.now - one.inside - one.unstored)
        one.unstored += 1
        try:
            yield
        finally:
            one.unstored -= 1
            one._let_in()

    @property
    def closed(self) -> bool:
        """Whether nobody is let in; who waits is then let in by the others."""
        return self._closed

    @closed.setter
    def closed(self, closed: bool) -> None:
        self._closed = closed
        if not closed:
            self._let_in()
            return
        others = [limit for limit in self._all if not limit.closed]
        waiting, self._waiting = (self._waiting, []) if others else ([], self._waiting)
        for number, one in enumerate(sorted(waiting, key=lambda one: one[:2])):
            heappush(others[number % len(others)]._waiting, one)
        for limit in others:
            limit._let_in()

    def went_well(self) -> None:
        """Takes note of an answer."""
        if self.adaptive:
            self._since_change += 1
            if self._since_change >= self.now and self.now < self.most:
                self.now = min(self.most, self.now + (1 if self._bound else self.now))
                self._since_change = 0
                self._let_in()

    def too_many(self) -> None:
        """Takes note of a 429."""
        # Those sent before the last halving still come back; they are no reason to halve again.
        if self.adaptive:
            if self._since_change >= 0:
                about_the_same = _NEAR * self._bound <= self.now <= self._bound
                self._bound, self.now = self.now, max(1, self.now * 7 // 8 if about_the_same else self.now // 2)
                self._since_change = -self.inside
            else:
                self._since_change += 1

    def _let_in(self) -> None:
        while self._lets_in and (waiting := self._waiting or max((one._waiting for one in self._all), key=len)):
            _, _, turn = heappop(waiting)
            if not turn.done():
                self.inside += 1
                turn.set_result(self)


_MINUTE = 60.0
_TOKENS_A_CHARACTER = 0.3  # of prompt and answer, before the first answer tells


class Share(NamedTuple):
    """The part of a run's limits that one of several processes has: `number` from 0 of `of` equal parts."""

    number: int = 0
    of: int = 1


WHOLE = Share()


class Pace:
    """Lets in so many requests and tokens a minute; one for all models of an endpoint.

    Until its answer is there, a request counts as many tokens as its length and the answers of others suggest.
    """

    def __init__(self, *, requests: float | None = None, tokens: float | None = None, of: int = 1) -> None:
        self._of = of
        self._requests = None if requests is None else _Bucket(requests, least=1.0)
        self._tokens = None if tokens is None else _Bucket(tokens)
        self._turn = asyncio.Lock()
        self._characters = self._used = 0.0

    async def enter(self, characters: int) -> float:
        """Waits until a request of so many characters may be sent; returns the tokens that it is reckoned to take."""
        async with self._turn:
            if (wait := self._wait()) > 0:
                await asyncio.sleep(wait)
                self._wait()
            expected = characters * (self._used / self._characters if self._characters else _TOKENS_A_CHARACTER)
            if self._requests is not None:
                self._requests.level -= 1
            if self._tokens is not None:
                self._tokens.level -= expected
        return expected

    def settle(self, characters: int, expected: float, used: int) -> None:
        """Takes note of what a request that was let in took; 0 where the endpoint does not say."""
        if used:
            self._characters += characters
            self._used += used
            if self._tokens is not None:
                self._tokens.level += expected - used

    def _wait(self) -> float:
        now, of = asyncio.get_running_loop().time(), self._of
        waits = [0.0]
        if self._requests is not None:
            waits.append(self._requests.wait(1.0, now, of))
        if self._tokens is not None:
            waits.append(self._tokens.wait(0.0, now, of))
        return max(waits)


class _Bucket:
    """A second's worth, filled evenly to what is left of a minute's: both together are the limit."""

    def __init__(self, a_minute: float, *, least: float = 0.0) -> None:
        self._a_minute, self._least = a_minute, least
        self._since: float | None = None
        self.level = 0.0

    def wait(self, wanted: float, now: float, of: int) -> float:
        """Returns the seconds until so much is there, of the part that one of so many processes has."""
        mine = self._a_minute / of
        holds = max(mine / _MINUTE, self._least)
        a_second = max(mine - holds, mine / 2) / _MINUTE
        self.level = holds if self._since is None else min(holds, self.level + (now - self._since) * a_second)
        self._since = now
        return max(0.0, (wanted - self.level) / a_second)
