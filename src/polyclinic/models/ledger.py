"""What a run costs: usage summed for each role and purpose, and the limits that end a run."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import time
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from typing import Any, Unpack

import msgspec

from polyclinic.errors import BudgetSpent, EndpointError, ModelError, RunStopped, UserError
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


class Spending:
    """What all ledgers of a command ask together, against which each of them holds its limits.

    Attributes:
        asked: the sum of it.
        stopped: what ended the asking before its end, None where nothing did; what was answered is still given.
    """

    def __init__(self) -> None:
        self.asked = Line()
        self.stopped: RunStopped | None = None

    def elsewhere(self, usage: Usage) -> None:
        """Takes in what another process of the command asked."""
        self.asked.add(Line(calls=1, usage=usage))


_SPENDING: ContextVar[Spending | None] = ContextVar("spending", default=None)


@contextlib.contextmanager
def spending() -> Iterator[Spending]:
    """While it lasts, the limits of all ledgers that are made are held against what they ask together; yields that.

    Within another it is the same.
    """
    together = _SPENDING.get() or Spending()
    before = _SPENDING.set(together)
    try:
        yield together
    finally:
        _SPENDING.reset(before)


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
        self._spending = _SPENDING.get() or Spending()
        self.total, self.asked = Line(), self._spending.asked
        self.asked_of: set[tuple[str, str]] = set()
        self.servers: dict[tuple[str, str], Line] = {}
        self._waiting: dict[Limit, Limit] = {}
        self._closed = False
        self._asking = 0
        self._dearest_tokens, self._dearest_cost = 0, 0.0
        self._ended = asyncio.Event()

    def gate(self, model: Model) -> Gated:
        """Returns the model, asked only as far as the limits let it; a journal around it answers also beyond them."""
        return Gated(model, self)

    def meter(self, model: Model, role: str = "", *, item: str = "", player: str = "", gated: bool = False) -> Metered:
        """Returns the model, with what it costs written down under the role; `item` and `player` as in `KeptCall`.

        It is asked only as far as the limits let it, unless it is `gated` already.
        """
        self.asked_of.add((role, model.name))
        return Metered(model, self, role, item, player, gated=gated)

    def check(self) -> None:
        """Raises `BudgetSpent`, or what stopped all of it, where no further question may be asked."""
        if self._spending.stopped is not None:
            raise self._spending.stopped
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
        gated: bool = False,
        of: str = "",
    ) -> None:
        """Writes down one question; `UserError` where the cost has a limit, and the answer of that model no price.

        What was `gated` the limits have been held against already; see `spend`.
        """
        question = _asked_once(usage or Usage(), attempts, failed=failed, replayed=replayed)
        for line in (self.lines.setdefault((role, purpose), Line()), self.total):
            line.add(question)
        if not (replayed or gated):
            self.spend(usage, attempts=attempts, failed=failed)
        if self.max_cost is not None and usage is not None and usage.tokens_out and usage.cost is None:
            tokens = f"tokens of {of}" if of else "tokens"
            raise UserError(f"--max-cost needs to know what {tokens} cost: give a price, or use --max-tokens")

    def spend(self, usage: Usage | None, *, attempts: int = 1, failed: bool = False) -> None:
        """Holds the limits against one question that was asked now."""
        self.asked.add(_asked_once(usage or Usage(), attempts, failed=failed))
        if usage is not None:
            self._dearest_tokens = max(self._dearest_tokens, usage.tokens)
            self._dearest_cost = max(self._dearest_cost, usage.cost or 0.0)

    def add_at(self, model: str, server: str, reply: Reply) -> None:
        """Writes down which of a model's servers answered."""
        self.servers.setdefault((model, server), Line()).add(_asked_once(reply.usage, reply.attempts))


def _asked_once(usage: Usage, attempts: int, *, failed: bool = False, replayed: bool = False) -> Line:
    unpriced = usage.tokens > 0 and usage.cost is None
    return Line(1, int(failed), attempts, usage, int(replayed), int(unpriced))


class Gated(Wrapper):
    """A model that is asked only as far as the limits of a ledger let it. Made by `Ledger.gate`."""

    def __init__(self, model: Model, ledger: Ledger) -> None:
        super().__init__(model)
        self._ledger = ledger

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Asks the model behind; nothing is asked where a limit is reached."""
        async with self._ledger.admitted(self.limit):
            try:
                reply = await self._model.ask(messages, answer=answer, **options)
            except (ModelError, EndpointError) as failure:
                self._ledger.spend(_usage_of(failure), attempts=failure.attempts, failed=True)
                raise
            self._ledger.spend(reply.usage, attempts=reply.attempts)
            return reply


def _usage_of(failure: ModelError | EndpointError) -> Usage | None:
    return failure.usage if isinstance(failure.usage, Usage) else None


class Metered(Wrapper):
    """A model whose usage goes to a ledger. Made by `Ledger.meter`."""

    def __init__(
        self, model: Model, ledger: Ledger, role: str, item: str = "", player: str = "", *, gated: bool = False
    ) -> None:
        super().__init__(model)
        self._ledger, self._role, self._item, self._player, self._gated = ledger, role, item, player, gated

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Asks the model behind, and writes down what that cost; an answer that is kept costs nothing now."""
        purpose = options.get("purpose", "")
        # The coroutine is made at once: a journal counts equal questions in the order in which they are asked.
        asking = self._model.ask(messages, answer=answer, **options)
        began = time.monotonic()
        try:
            async with contextlib.nullcontext() if self._gated else self._ledger.admitted(self.limit):
                reply = await asking
                replayed = reply.replayed
                self._add(purpose, reply.usage, attempts=reply.attempts, replayed=replayed, of=self.name)
                if reply.server:
                    self._ledger.add_at(self.name, reply.server, reply)
                self._keep(purpose, reply.usage, reply.seconds, reply.attempts, replayed=replayed)
        except (ModelError, EndpointError) as failure:
            usage = _usage_of(failure)
            replayed = isinstance(failure, ModelError) and failure.replayed
            self._add(purpose, usage, attempts=failure.attempts, failed=True, replayed=replayed)
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

    def _add(self, purpose: str, usage: Usage | None, **how: Any) -> None:
        self._ledger.add(self._role, purpose, usage, gated=self._gated, **how)

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
