"""What a run costs: usage summed for each role and purpose, and the limits that end a run."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import time
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from typing import Unpack

import msgspec

from polyclinic.errors import BudgetSpent, EndpointError, ModelError, UserError
from polyclinic.models.kept_calls import KeptCall, KeptCalls
from polyclinic.models.limits import Limit
from polyclinic.models.model import Answer, AskOptions, Messages, Model, Reply, Usage, Wrapper


class Line(msgspec.Struct):
    """One line of a ledger: questions asked, those of them without an answer that can be used, and requests made.

    Those `replayed` from a journal stand in the sums as when they were asked, and cost nothing now. Those `unpriced`
    took tokens that have no price: where others have one, the sum of the cost is the least that it can be.
    """

    calls: int = 0
    failures: int = 0
    attempts: int = 0
    usage: Usage = Usage()
    replayed: int = 0
    unpriced: int = 0

    def add(self, other: Line) -> None:
        """Takes another line's sums into this one."""
        self.usage = self.usage + other.usage if self.calls else other.usage
        self.calls += other.calls
        self.failures += other.failures
        self.attempts += other.attempts
        self.replayed += other.replayed
        self.unpriced += other.unpriced


_SPENT: ContextVar[Line | None] = ContextVar("spent", default=None)


@contextlib.contextmanager
def spending() -> Iterator[Line]:
    """While it lasts, the limits of all ledgers that are made are held against what they ask together; yields that.

    Within another it is of the same sum.
    """
    together = _SPENT.get() or Line()
    before = _SPENT.set(together)
    try:
        yield together
    finally:
        _SPENT.reset(before)


def spent_elsewhere(usage: Usage) -> None:
    """Takes what another process of the same command asked into what the limits are held against; see `spending`."""
    if (together := _SPENT.get()) is not None:
        together.add(Line(calls=1, usage=usage))


class Ledger:
    """Sums what the models of a run cost, and ends the run when a limit is reached.

    What is in flight when a limit is reached is still paid for, so a sum can pass its limit by that much. Towards the
    limit less is let in: no more than is left if each question takes as much as the dearest so far. Once the first
    answers have come a sum so passes its limit by little more than one of them. A limit is for what is asked now:
    answers from a journal stand in the sums as they did when they were asked for, and are free. Tokens count in and out
    together, cost in the currency of the prices.

    Attributes:
        lines: sums by role and purpose.
        total: of all of them.
        asked: of those that were asked now; what the limits are held against.
        asked_of: the roles, each with the name of a model that it asks.
        servers: sums by model and server, of models that several servers have.
        calls: every one of them, where they are kept.
    """

    def __init__(
        self, *, max_cost: float | None = None, max_tokens: int | None = None, calls: KeptCalls | None = None
    ) -> None:
        self.max_cost, self.max_tokens, self.calls = max_cost, max_tokens, calls
        self.lines: dict[tuple[str, str], Line] = {}
        self.total, self.asked = Line(), _SPENT.get() or Line()
        self.asked_of: set[tuple[str, str]] = set()
        self.servers: dict[tuple[str, str], Line] = {}
        self._waiting: dict[Limit, Limit] = {}
        self._closed = False
        self._asking = 0
        self._dearest_tokens, self._dearest_cost = 0, 0.0
        self._ended = asyncio.Event()

    def meter(self, model: Model, role: str = "", *, item: str = "", player: str = "") -> Metered:
        """Returns the model, with what it costs written down under the role; `item` and `player` as in `KeptCall`."""
        self.asked_of.add((role, model.name))
        return Metered(model, self, role, item, player)

    def check(self) -> None:
        """Raises `BudgetSpent` where no further question may be asked."""
        if self._closed:
            raise BudgetSpent("the run has cost what it may cost")
        if self.max_tokens is not None and self.asked.usage.tokens >= self.max_tokens:
            raise BudgetSpent(f"the models have used the tokens that --max-tokens allows: {self.max_tokens:,}")
        if self.max_cost is not None and (self.asked.usage.cost or 0.0) >= self.max_cost:
            raise BudgetSpent(f"the models have cost what --max-cost allows: {self.max_cost:g}")

    def _reaches(self) -> bool:
        """Whether what is under way may use up what is left."""
        usage, asking = self.asked.usage, self._asking
        tokens = self.max_tokens is not None and usage.tokens + asking * self._dearest_tokens >= self.max_tokens
        cost = self.max_cost is not None and (usage.cost or 0.0) + asking * self._dearest_cost >= self.max_cost
        return asking > 0 and (tokens or cost)

    def include(self, other: Ledger) -> None:
        """Takes in what another ledger has written down, of a part of the same command; limits stay as they are."""
        for key, line in other.lines.items():
            self.lines.setdefault(key, Line()).add(line)
        for key, line in other.servers.items():
            self.servers.setdefault(key, Line()).add(line)
        self.total.add(other.total)
        self.asked_of |= other.asked_of
        for call in other.calls or ():
            self.calls = self.calls or KeptCalls()
            self.calls.add(call)

    def close(self) -> None:
        """Lets no further question be asked, as where a budget that others share is spent."""
        self._closed = True

    @contextlib.asynccontextmanager
    async def admitted(self, limit: Limit | None) -> AsyncIterator[None]:
        """Waits until a question may be asked: with a limit on the run, no more are under way than the endpoint takes.

        Raises:
            BudgetSpent: no further question may be asked.
        """
        if limit is None or (self.max_cost is None and self.max_tokens is None):
            self.check()
            yield
            return
        line = self._waiting.setdefault(limit, Limit(limit.at_most))
        line.now = limit.places
        async with line:
            self.check()
            while self._reaches():
                self._ended.clear()
                await self._ended.wait()
                self.check()
            self._asking += 1
            try:
                yield
            finally:
                self._asking -= 1
                self._ended.set()
                line.now = limit.places

    def add(
        self,
        role: str,
        purpose: str,
        usage: Usage | None,
        *,
        attempts: int = 1,
        failed: bool = False,
        replayed: bool = False,
        of: str = "",
    ) -> None:
        """Writes down one question; `UserError` where the cost has a limit, and the answer of that model no price."""
        question = _asked_once(usage or Usage(), attempts, failed=failed, replayed=replayed)
        sums = [self.lines.setdefault((role, purpose), Line()), self.total]
        for line in sums if replayed else (*sums, self.asked):
            line.add(question)
        if usage is not None and not replayed:
            self._dearest_tokens = max(self._dearest_tokens, usage.tokens)
            self._dearest_cost = max(self._dearest_cost, usage.cost or 0.0)
        if self.max_cost is not None and usage is not None and usage.tokens_out and usage.cost is None:
            tokens = f"tokens of {of}" if of else "tokens"
            raise UserError(f"--max-cost needs to know what {tokens} cost: give a price, or use --max-tokens")

    def add_at(self, model: str, server: str, reply: Reply) -> None:
        """Writes down which of a model's servers answered."""
        self.servers.setdefault((model, server), Line()).add(_asked_once(reply.usage, reply.attempts))


def _asked_once(usage: Usage, attempts: int, *, failed: bool = False, replayed: bool = False) -> Line:
    unpriced = usage.tokens > 0 and usage.cost is None
    return Line(1, int(failed), attempts, usage, int(replayed), int(unpriced))


class Metered(Wrapper):
    """A model whose usage goes to a ledger. Made by `Ledger.meter`."""

    def __init__(self, model: Model, ledger: Ledger, role: str, item: str = "", player: str = "") -> None:
        super().__init__(model)
        self._ledger, self._role, self._item, self._player = ledger, role, item, player

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Asks the model behind, and writes down what that cost; nothing is asked where a limit is reached."""
        purpose = options.get("purpose", "")
        # The coroutine is made at once: a journal counts equal questions in the order in which they are asked.
        asking = self._model.ask(messages, answer=answer, **options)
        began = time.monotonic()
        try:
            async with self._ledger.admitted(self.limit):
                reply = await asking
                replayed = reply.replayed
                self._ledger.add(
                    self._role, purpose, reply.usage, attempts=reply.attempts, replayed=replayed, of=self.name
                )
                if reply.server:
                    self._ledger.add_at(self.name, reply.server, reply)
                self._keep(purpose, reply.usage, reply.seconds, reply.attempts, replayed=replayed)
        except (ModelError, EndpointError) as failure:
            usage = failure.usage if isinstance(failure.usage, Usage) else None
            replayed = isinstance(failure, ModelError) and failure.replayed
            self._ledger.add(self._role, purpose, usage, attempts=failure.attempts, failed=True, replayed=replayed)
            seconds, error = time.monotonic() - began, type(failure).__name__
            self._keep(purpose, usage or Usage(), seconds, failure.attempts, error=error, replayed=replayed)
            if isinstance(failure, ModelError) and not replayed:
                self._check_told(usage or Usage())
            raise
        finally:
            if inspect.iscoroutine(asking):
                asking.close()
        self._check_told(reply.usage)
        return reply

    def _check_told(self, usage: Usage) -> None:
        """Refuses an answer of an endpoint that does not say what a limit is held against."""
        if self.limit is None or usage.tokens:
            return
        limits = (("tokens", self._ledger.max_tokens), ("cost", None if usage.cost else self._ledger.max_cost))
        if name := next((name for name, most in limits if most is not None), ""):
            raise UserError(f"--max-{name} cannot be kept: {self.name} does not say how many tokens it used")

    def _keep(
        self, purpose: str, usage: Usage, seconds: float, attempts: int, *, error: str = "", replayed: bool
    ) -> None:
        if self._ledger.calls is not None:
            self._ledger.calls.add(
                KeptCall(
                    role=self._role,
                    model=self.name,
                    purpose=purpose,
                    item=self._item,
                    player=self._player,
                    tokens_in=usage.tokens_in,
                    cached=usage.cached,
                    tokens_out=usage.tokens_out,
                    cost=usage.cost,
                    seconds=round(seconds, 3),
                    requests=attempts,
                    error=error,
                    replayed=replayed,
                )
            )
