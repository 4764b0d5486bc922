"""Which of several servers to one model is asked: that which has the conversation's prefix in its cache, if it can.

A conversation goes to the server that rendezvous hashing gives it, and stays where it went. It moves on where its
server is full and another has room, where its server has more than its share (hashing with bounded loads; a server's
share is that of all answers that it gives), and where its server fails: a circuit breaker leaves that alone for a
while, then looks whether it is back.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import random
from collections.abc import Callable, Sequence

from polyclinic.errors import Broken, TimedOut, UnknownModel, Unreachable
from polyclinic.models.limits import Limit
from polyclinic.models.retry import Fault
from polyclinic.models.server import ModelServer

REMEMBERED = 2**17
"""Conversations whose server is remembered; one that was not heard of for longer goes where hashing says."""

_IN_A_ROW = 3  # failures after which a server is left; one where nobody listens
_FAILURES = (Unreachable, TimedOut, Broken)
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds before it is looked whether a server is back
_PROBE_SECONDS = 5.0
_LEAST_WEIGHT = 0.02  # of the newest answer, in how long a server takes
_SLACK_NEW, _SLACK = (
    1.05,
    1.25,
)  # how much more than its share a server has: with a conversation that is new, and at all

_SLOW = 2.0  # times as long as the quickest that has room: it is no place for a conversation


class _Standing:
    """How a server stands."""

    def __init__(self, server: ModelServer, number: int) -> None:
        self.server, self.limit, self.number = server, server.limit, number
        self.failures, self.pause, self.probe_at = 0, _FIRST_PAUSE, 0.0
        self.seconds, self.occupied, self.answers = 0.0, 0.0, 0
        self.open = True
        self.gone = False

    def answered(self, seconds: float) -> None:
        self.failures, self.answers = 0, self.answers + 1
        weight = max(1 / self.answers, _LEAST_WEIGHT)
        self.seconds += (seconds - self.seconds) * weight
        self.occupied += (self.limit.inside - self.occupied) * weight


class Balance:
    """Chooses the server for each request; reports what happens to servers."""

    def __init__(
        self,
        servers: Sequence[ModelServer],
        *,
        model: str,
        name: str,
        rng: random.Random,
        report: Callable[[str], None],
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._all: list[_Standing] = [_Standing(server, number) for number, server in enumerate(servers)]
        self._of = {one.limit: one for one in self._all}
        self._model, self._name, self._rng, self._report = model, name, rng, report
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._at: dict[str, _Standing] = {}
        self._look: asyncio.Future[None] | None = None
        if len(servers) > 1:
            Limit.joined([one.limit for one in self._all])

    async def enter(self, conversation: str, but: Sequence[ModelServer] = (), wanted: int = 0) -> ModelServer:
        """Returns a server with a place that `leave` gives back; one of `but` only if no other has room."""
        if len(self._all) == 1:
            await self._all[0].limit.enter(wanted)
            return self._all[0].server
        if self._look is None:
            self._look = asyncio.ensure_future(self._look_around())
        if not self._look.done():
            await asyncio.shield(self._look)
        back = await self._come_back()
        if back is not None:
            return back.server
        with_room = [one for one in self._all if one.limit.has_room and one.server not in but]
        quickest = min((one.seconds for one in with_room if one.seconds), default=math.inf)
        if (there := self._chosen(conversation, with_room, quickest)) is not None:
            there.limit.take()
        else:
            waits_for = self._chosen(conversation, self._all) or self._home(conversation)
            there = self._of[await waits_for.limit.enter(wanted)]
        if not but:
            self._at.pop(conversation, None)
            self._at[conversation] = there
            if len(self._at) > REMEMBERED:
                del self._at[next(iter(self._at))]
        return there.server

    def leave(self, server: ModelServer, result: object, seconds: float) -> None:
        """Gives a place back, with what came of it."""
        one = self._of[server.limit]
        if len(self._all) > 1:
            self._note(one, result, seconds)
        one.limit.leave()

    def goes_elsewhere(self, tried: Sequence[ModelServer]) -> bool:
        """Tells whether a request that failed at these, the last of them now, can be sent to another at once."""
        left = not self._of[tried[-1].limit].open
        return left or any(one.server not in tried and one.open and one.limit.has_room for one in self._all)

    @property
    def stopped(self) -> Fault | None:
        """Why nobody is asked any more: what is wrong at the last of the servers; None where one can be asked."""
        return self._all[0].server.stopped if all(one.server.stopped for one in self._all) else None

    def _home(self, conversation: str) -> _Standing:
        at = self._at.get(conversation)
        return at if at is not None and at.open else self._ranked(conversation)[0]

    def _ranked(self, conversation: str) -> list[_Standing]:
        """Returns the servers that can be asked, by rendezvous hashing."""
        able = [one for one in self._all if one.open]
        return sorted(able, key=lambda one: rank(conversation, one.server.address), reverse=True)

    def _chosen(self, conversation: str, among: Sequence[_Standing], quickest: float = math.inf) -> _Standing | None:
        """Returns a server that is not slow and has no more than its share, the conversation's own first; else any."""
        home, slack = self._home(conversation), _SLACK if conversation in self._at else _SLACK_NEW
        able = [one for one in (home, *self._ranked(conversation)) if one in among]
        for one in able:
            has_more = self._has_more_than_its_share(one, slack if one is home else _SLACK_NEW)
            if one.seconds <= _SLOW * quickest and not has_more:
                return one
        return next(iter(able), None)

    def _has_more_than_its_share(self, one: _Standing, slack: float) -> bool:
        able = [other for other in self._all if other.open]
        known = [other.seconds for other in able if other.seconds > 0]
        usual = sum(known) / len(known) if known else 1.0
        # Two shares, of which the smaller counts: of how quick an answer is, which moves what waits for a slow server
        # to where there is room; and of the answers in a second (what is there through what an answer takes, by
        # Little's law), which keeps a server from being asked more than it can do.
        speed = answers = asked = 0.0
        for other in able:
            seconds = other.seconds or usual
            speed += 1 / seconds
            answers += (other.occupied + 1) / seconds
            asked += other.limit.load
        share = min(1 / speed, (one.occupied + 1) / answers) / (one.seconds or usual)
        return one.limit.load > slack * (asked + 1) * share

    def _note(self, one: _Standing, result: object, seconds: float) -> None:
        if not isinstance(result, Fault):
            if result is not None:
                one.answered(seconds)
                if not one.open and not one.gone:
                    self._reopen(one)
                    self._report(f"{self._name} at {one.server.address}: answers again")
        elif one.server.stopped is not None:
            self._leave_for_good(one, result)
        elif result.again and issubclass(result.error, _FAILURES):
            one.failures += 1
            if one.failures >= _IN_A_ROW or issubclass(result.error, Unreachable):
                self._shut(one, result)

    def _shut(self, one: _Standing, fault: Fault) -> None:
        others = [other for other in self._all if other.open and other is not one]
        if not others:
            return  # the last one is asked as one that stands alone: again, after pauses
        if one.open:
            self._report(f"{self._name} at {one.server.told(fault)}; {_others(len(others))} asked meanwhile")
        elif self._clock() < one.probe_at:
            return  # it was under way when the server was left
        one.open = False
        one.probe_at = self._clock() + one.pause * self._rng.uniform(0.5, 1.0)
        one.pause = min(_LONGEST_PAUSE, 2 * one.pause)
        one.limit.closed = True

    def _leave_for_good(self, one: _Standing, fault: Fault) -> None:
        if one.gone:
            return
        one.gone = True
        others = [other for other in self._all if not other.gone]
        if others:
            self._report(f"{self._name} at {one.server.told(fault)}; it is left out, {_others(len(others))} asked")
            one.open = False
            one.limit.closed = True
            if not any(other.open for other in others):
                self._reopen(others[0])

    def _reopen(self, one: _Standing) -> None:
        one.open, one.failures, one.pause = True, 0, _FIRST_PAUSE
        one.limit.closed = False

    async def _look_around(self) -> None:
        """Looks, before the first request, who is there and has the model."""
        lists = await asyncio.gather(*(one.server.models(timeout=_PROBE_SECONDS) for one in self._all))
        somewhere = any(self._model in (names or ()) for names in lists)
        for one, names in zip(self._all, lists, strict=True):
            if names is None:
                self._shut(one, Fault(Unreachable, "cannot be reached"))
            elif names and somewhere and self._model not in names:
                there = ", ".join(names[:20])
                one.server.stopped = Fault(UnknownModel, f"no model {self._model!r}; it has: {there}", again=False)
                self._leave_for_good(one, one.server.stopped)

    async def _come_back(self) -> _Standing | None:
        """Returns a server that was left, with a place taken there, where one is due that may be back."""
        due = next((one for one in self._all if not one.open and not one.gone and self._clock() >= one.probe_at), None)
        if due is None:
            return None
        due.probe_at = self._clock() + due.pause
        due.pause = min(_LONGEST_PAUSE, 2 * due.pause)
        if await due.server.models(timeout=_PROBE_SECONDS) is None or due.gone:
            return None
        due.limit.take()
        return due


def rank(conversation: str, server: str) -> bytes:
    """Returns how far up a server stands for a conversation, by rendezvous (highest random weight) hashing."""
    return hashlib.blake2b(f"{conversation}\n{server}".encode(errors="replace"), digest_size=8).digest()


def _others(count: int) -> str:
    return "the other is" if count == 1 else f"the {count} others are"
