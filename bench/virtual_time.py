"""Time that passes as soon as everybody waits for it, and servers in it: what takes minutes is simulated in moments.

run_virtually(talk())  # with servers made by `simulate`
"""

from __future__ import annotations

import asyncio
import contextlib
import selectors
from collections.abc import Callable, Coroutine, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import msgspec

from polyclinic.errors import RateLimited, Unreachable
from polyclinic.models.direct import Direct
from polyclinic.models.limits import Limit
from polyclinic.models.retry import Fault
from polyclinic.models.server import ModelServer
from polyclinic.testing.endpoint import completion

T = TypeVar("T")


class _Skipping(selectors.DefaultSelector):
    """Waits for nothing but what is there, and puts the clock forward instead."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout:
            self.passed += timeout
        return ready


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.passed


def run_virtually(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs what waits for nothing but time and itself; returns what it returns."""
    with asyncio.Runner(loop_factory=_VirtualLoop) as runner:
        return runner.run(coroutine)


class SimulatedServer:
    """Answers in place of a model's server, after so many seconds.

    Args:
        latency: seconds that it works at a request.
        slots: requests that it works at at once; those beyond wait for one. None for any number.
        capacity: requests at once; 429 for those beyond. None for any number.
        answers: from the body of a request to what is said.

    Attributes:
        alive: whether it can be reached.
        answered: how often it did.
    """

    def __init__(
        self,
        *,
        latency: float,
        slots: int | None = None,
        capacity: int | None = None,
        answers: Callable[[dict[str, Any]], Any] = lambda _: "It is better.",
    ) -> None:
        self.latency, self.capacity, self._answers = latency, capacity, answers
        self.alive, self.answered, self.inside = True, 0, 0
        self._slots = contextlib.nullcontext() if slots is None else asyncio.Semaphore(slots)
        self._server: ModelServer | None = None

    def stands_for(self, server: ModelServer) -> None:
        """Takes the place of a server that is there by name only."""
        self._server = server
        server.send = self._send  # type: ignore[method-assign]
        server.models = self._models  # type: ignore[method-assign]

    def die(self) -> None:
        """Is not there any more."""
        self.alive = False

    def _gone(self) -> bool:
        return not self.alive

    async def _models(self, **_: Any) -> list[str] | None:
        return [] if self.alive else None

    async def _send(
        self, path: str, body: dict[str, Any], read: Callable[[bytes], T | Fault], raw: bytes | None = None
    ) -> T | Fault | None:
        del path
        assert self._server is not None
        if self._gone():
            return Fault(Unreachable, "cannot be reached")
        if self.capacity is not None and self.inside >= self.capacity:
            self._server.limit.too_many()
            return Fault(RateLimited, "status 429")
        self.inside += 1
        try:
            async with self._slots:
                await asyncio.sleep(self.latency)
        finally:
            self.inside -= 1
        if self._gone():
            return Fault(Unreachable, "the connection broke")
        self.answered += 1
        self._server.limit.went_well()
        return read(completion(body, self._answers(msgspec.json.decode(msgspec.json.encode(body)))))


class Conversed(NamedTuple):
    """What came of conversations at several servers.

    Attributes:
        servers: of each conversation, where each of its turns was answered.
        seconds: from the first question to the last answer.
        killed: seconds after which the first server died; None where it did not.
    """

    servers: list[list[str]]
    seconds: float
    killed: float | None

    def throughput(self, rates: Sequence[float]) -> float:
        """Returns what was done as a share of what the servers that were alive can do, at these answers a second."""
        alive_all = self.seconds if self.killed is None else self.killed
        return sum(map(len, self.servers)) / (alive_all * sum(rates) + (self.seconds - alive_all) * sum(rates[1:]))

    def at_home(self, but: str = "") -> float:
        """Returns the share of later turns answered where the turn before was; not those whose server died, `but`."""
        stayed = [at == was for one in self.servers for was, at in pairwise(one) if was != but]
        return sum(stayed) / len(stayed)


async def converse(
    model: Direct, *, conversations: int, turns: int, kill: Callable[[], object] | None = None, system: str = ""
) -> Conversed:
    """Holds conversations at a model with several servers; in the middle one of them is killed."""
    now = asyncio.get_running_loop().time
    began, asked, killed = now(), 0, None

    async def hold(number: int) -> list[str]:
        nonlocal asked, killed
        messages, at = [("system", system)], []
        for turn in range(turns):
            messages.append(("user", f"Patient {number}, day {turn}: the cough is {'no ' * (turn % 2)}better."))
            asked += 1
            if kill is not None and asked == conversations * turns // 2:
                kill()
                killed = now() - began
            reply = await model.ask(messages, conversation=f"patient {number}")
            messages.append(("assistant", reply.text))
            at.append(reply.server)
        return at

    servers = await asyncio.gather(*(hold(number) for number in range(conversations)))
    return Conversed(list(servers), now() - began, killed)


def latencies_of(
    ask: Callable[[Direct], Coroutine[Any, Any, T]], answers: Callable[[dict[str, Any]], Any]
) -> tuple[T, float, int]:
    """Asks a simulated server; returns what came, for how many answers in a row it was waited, and how many came."""

    async def held() -> tuple[T, float, int]:
        server, now = SimulatedServer(latency=1.0, answers=answers), asyncio.get_running_loop().time
        async with Direct("test", base_url="http://127.0.0.1:1/v1", report=lambda _: None) as model:
            server.stands_for(model.servers[0])
            began = now()
            came = await ask(model)
            return came, now() - began, server.answered

    return run_virtually(held())


def simulate(
    servers: Sequence[SimulatedServer], *, concurrency: int | Limit, conversations: int, turns: int
) -> tuple[Conversed, str]:
    """Holds conversations at simulated servers, the first of which dies in the middle; returns its address too."""

    async def held() -> tuple[Conversed, str]:
        urls = [f"http://127.0.0.1:{number}/v1" for number in range(1, len(servers) + 1)]
        async with Direct("test", base_url=urls, concurrency=concurrency, report=lambda _: None) as model:
            for server, stands_for in zip(servers, model.servers, strict=True):
                server.stands_for(stands_for)
            return await converse(model, conversations=conversations, turns=turns, kill=servers[0].die), urls[0]

    return run_virtually(held())
