"""How many requests, and how many tokens, an endpoint takes a minute: a token bucket for all who ask it.

Several processes divide what it takes evenly among those that still run; who started them says how many those are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar

_MINUTE = 60.0
_TOKENS_A_CHARACTER = 0.3  # of prompt and answer, before the first answer tells


class Division:
    """Among how many processes everything that endpoints take is divided."""

    def __init__(self, of: int = 1) -> None:
        self.of = of


DIVISION: ContextVar[Division] = ContextVar("division", default=Division())  # noqa: B039 - who divides sets its own
"""That of this process."""


class Pace:
    """Lets in so many requests and tokens a minute. Give the same one to all models of one endpoint.

    In no minute more requests than that are let in, of several processes one more each where there are fewer than two
    a minute for each. What a request takes in tokens is known when its answer is there: until then it is reckoned from
    its length and what others took, so that a minute has at most what one request takes more than it should.

    Args:
        requests: a minute; None for any number.
        tokens: of prompts and answers, a minute; None for any number.
    """

    def __init__(self, *, requests: float | None = None, tokens: float | None = None) -> None:
        self._division = DIVISION.get()
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
        now, of = asyncio.get_running_loop().time(), self._division.of
        waits = [0.0]
        if self._requests is not None:
            waits.append(self._requests.wait(1.0, now, of))
        if self._tokens is not None:
            waits.append(self._tokens.wait(0.0, now, of))
        return max(waits)


class Paces:
    """The paces of several models, each of which may be opened more than once."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, ...], Pace] = {}

    def of(self, model: str, addresses: Sequence[str], *, requests: float | None, tokens: float | None) -> Pace | None:
        """Returns that of a model at its addresses, the same each time; None where it may take any number."""
        if requests is None and tokens is None:
            return None
        return self._of.setdefault((model, *addresses), Pace(requests=requests, tokens=tokens))


class _Bucket:
    """What may be taken at once, filled again at an even rate.

    A second's worth is what it holds, and a minute fills it to what is left of a minute's: both together are the limit.
    """

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
