"""How often, and how long after, a request is sent again that met a fault of the endpoint."""

from __future__ import annotations

import email.utils
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from polyclinic.errors import EndpointError, UserError

MOST_PAUSE = 60.0  # seconds; no pause of our own is longer
_MOST_PAUSE_AWAY = 5.0  # seconds between looks whether a server is back: a refused connection costs next to nothing


class Fault(msgspec.Struct, frozen=True):
    """What an endpoint did instead of answering, without keys; `away` if it seems that no server is there."""

    error: type[EndpointError] | type[UserError]
    problem: str
    again: bool = True  # whether it may go better another time
    after: float | None = None  # seconds that the endpoint asks us to wait, None where it does not say
    away: bool = False

    def named(self, told: str, attempts: int) -> EndpointError | UserError:
        """Returns the error that it ends in, with what is told about it."""
        return self.error(told, attempts=attempts) if issubclass(self.error, EndpointError) else self.error(told)


@dataclass(kw_only=True)
class Patience:
    """The attempts and time of one ask, with random pauses that double; waiting for an absent server is extra."""

    attempts: int  # requests at most
    seconds: float  # from the first request to the last
    pause: float  # seconds before the second request, at most
    rng: random.Random  # draws the pauses, so that clients that failed together do not come back together
    clock: Callable[[], float] = time.monotonic
    absence: float = 0.0
    made: int = 0  # requests so far
    _counted: int = field(default=0, init=False)
    _until: float = field(default=math.inf, init=False)
    _away_since: float | None = field(default=None, init=False)

    def begin(self) -> None:
        """Takes note of a request that is sent; whoever waited for the first has lost none of its time."""
        if not self.made:
            self._until = self.clock() + self.seconds
        self.made += 1

    def wait(self, fault: Fault) -> float | None:
        """Returns the seconds to wait before the next request; None where there is to be none."""
        if fault.again and fault.away and (pause := self._while_away()) is not None:
            return pause
        self._counted += 1
        if not fault.again or self._counted >= self.attempts:
            return None
        pause = self.rng.uniform(0.0, min(MOST_PAUSE, self.pause * 2.0 ** (self._counted - 1)))
        if fault.after is not None:
            pause += fault.after
        return pause if self.clock() + pause < self._until else None

    def longest(self, fault: Fault) -> float:
        """Returns the seconds that it may still take, where every further request meets this fault too."""
        left, pauses = self._until - self.clock(), 0.0
        for counted in range(max(1, self._counted), self.attempts):
            pauses += min(MOST_PAUSE, self.pause * 2.0 ** (counted - 1)) + (fault.after or 0.0)
            if pauses >= left:
                return max(0.0, left)
        return pauses

    def _while_away(self) -> float | None:
        """Returns the seconds until it is looked again whether a server is back; None once it was waited for enough."""
        now = self.clock()
        self._away_since = now if self._away_since is None else self._away_since
        left = self._away_since + self.absence - now
        if left <= 0:
            return None
        pause = min(left, self.rng.uniform(0.5, 1.0) * min(_MOST_PAUSE_AWAY, self.pause * 2.0 ** min(self.made, 16)))
        self._until += pause
        return pause


def retry_after(header: str | None, now: Callable[[], float] = time.time) -> float | None:
    """Returns the seconds that a Retry-After header asks for, given as seconds or as an HTTP date; None for none."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - now()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds < float("inf") else None
