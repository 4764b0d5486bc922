"""What a run costs: usage summed for each role and purpose, and the limits that end a run."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from polyclinic.errors import BudgetSpent, ModelError, RunStopped, UserError
from polyclinic.files import whole
from polyclinic.models.limits import AnswerWanted, Limit
from polyclinic.models.model import Model, Reply, Usage
from polyclinic.models.pipeline import Call, Hook, Pipeline, Place, with_hooks

_IN_MEMORY = 1 << 20


class KeptCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question to a model, repairs and retries included; if replayed, with the tokens, cost and seconds of then."""

    role: str  # who asked; purpose: what for
    model: str
    purpose: str = ""
    item: str = ""
    player: str = ""  # to whom the item was put: the method, or the doctor or the team who saw the case
    tokens_in: int = 0
    cached: int = 0
    tokens_out: int = 0
    reasoning: int = 0
    cost: float | None = None  # in the currency of the prices; None where there are none
    seconds: float = 0.0  # until it was answered, waiting included
    requests: int = 1  # that were made for it
    error: str = ""  # the name of the failure; "" where it was answered
    replayed: bool = False
    server: str = ""  # which of several servers answered

    @property
    def usage(self) -> Usage:
        """Its tokens and cost."""
        return Usage(self.tokens_in, self.cached, self.tokens_out, self.reasoning, self.cost)


AskedFor = Callable[[KeptCall], tuple[str, str, str]]
"""For which row of the results a call was made, by its model, set ("" of whatever set) and item."""


def asked_by_player(call: KeptCall) -> tuple[str, str, str]:
    """Returns the row of the player, of whatever set."""
    return call.player, "", call.item


class KeptCalls:
    """The calls of a run in the order in which they ended, in a file that goes away where nobody writes them."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - it is closed with this
        self._encode = msgspec.json.Encoder().encode
        weakref.finalize(self, self._file.close)
        self.n = 0

    def add(self, call: KeptCall) -> None:
        """Keeps a call."""
        self._file.write(self._encode(call) + b"\n")
        self.n += 1

    def __iter__(self) -> Iterator[KeptCall]:
        self._file.seek(0)
        try:
            for line in self._file:
                yield msgspec.json.decode(line, type=KeptCall)
        finally:
            self._file.seek(0, 2)

    def write(self, path: Path) -> None:
        """Writes them as lines of JSON; `BadInput` if the file cannot be written."""
        with whole(path) as temporary, temporary.open("wb") as out:
            self._file.seek(0)
            shutil.copyfileobj(self._file, out)
            self._file.seek(0, 2)


class Line(msgspec.Struct):
    """Sums of questions; replayed ones as when they were asked. `unpriced` is how many used tokens without a price."""

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

    def count(self, usage: Usage, attempts: int, *, failed: bool = False, replayed: bool = False) -> None:
        """Adds one question."""
        unpriced = usage.tokens > 0 and usage.cost is None
        self.add(Line(1, int(failed), attempts, usage, int(replayed), int(unpriced)))


class Spending:
    """What all ledgers of a command ask together, and what ended it early, if anything."""

    def __init__(self) -> None:
        self.asked = Line()
        self.stopped: RunStopped | None = None

    def elsewhere(self, usage: Usage) -> None:
        """Takes in what another process of the command asked."""
        self.asked.count(usage, 0)


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
        wanted: when the answer to the next question is wanted, None where that is nowhere said.

    Ledgers with the same `spending` hold their limits against what they ask together.
    """

    def __init__(
        self,
        *,
        cost_budget: float | None = None,
        token_budget: int | None = None,
        calls: KeptCalls | None = None,
        spending: Spending | None = None,
        wanted: AnswerWanted | None = None,
    ) -> None:
        self.cost_budget, self.token_budget, self.calls = cost_budget, token_budget, calls
        self.is_limited = cost_budget is not None or token_budget is not None
        self.lines: dict[tuple[str, str], Line] = {}
        self._spending = spending or Spending()
        self.total, self.asked = Line(), self._spending.asked
        self.wanted = wanted
        self.asked_of: set[tuple[str, str]] = set()
        self.servers: dict[tuple[str, str], Line] = {}
        self._waiting: dict[Limit, Limit] = {}
        self._closed = False
        self._asking = 0
        self._dearest_tokens, self._dearest_cost = 0, 0.0
        self._ended = asyncio.Event()

    def meter(self, model: Model, role: str = "") -> Pipeline:
        """Returns the model, with what it costs written down under the role; it is asked as far as the limits allow."""
        self.asked_of.add((role, model.name))
        return with_hooks(model, Counting(self), Budget(self), role=role)

    def check(self) -> None:
        """Raises `BudgetSpent`, or what stopped all of it, where no further question may be asked."""
        if self._spending.stopped is not None:
            raise self._spending.stopped
        if self._closed:
            raise BudgetSpent("the run has cost what it may cost")
        if self.token_budget is not None and self.asked.usage.tokens >= self.token_budget:
            raise BudgetSpent(f"the models have used the tokens that --token-budget allows: {self.token_budget:,}")
        if self.cost_budget is not None and (self.asked.usage.cost or 0.0) >= self.cost_budget:
            raise BudgetSpent(f"the models have cost what --cost-budget allows: {self.cost_budget:g}")

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

    async def enter(self, limit: Limit | None, wanted: int = 0) -> Limit | None:
        """Waits until a question may be asked: with a limit on the run, no more are under way than the endpoint takes.

        Returns:
            The queue in which it has a place until `leave`, None where there is none.

        Raises:
            BudgetSpent: no further question may be asked.
        """
        if not self.is_limited:
            self.check()
            return None
        line = None
        if limit is not None:
            line = self._waiting.setdefault(limit, Limit(limit.at_most))
            line.now = limit.places
            await line.enter(wanted)
        try:
            await self.admit()
        except BaseException:
            if line is not None:
                line.leave()
            raise
        return line

    async def admit(self) -> None:
        """Waits until the budget leaves room for a further question, which is then under way until its `release`.

        Raises:
            BudgetSpent: no further question may be asked.
        """
        self.check()
        while self._reaches():
            self._ended.clear()
            await self._ended.wait()
            self.check()
        self._asking += 1

    def _reaches(self) -> bool:
        """Whether what is under way may use up what is left."""
        usage, asking = self.asked.usage, self._asking
        tokens = self.token_budget is not None and usage.tokens + asking * self._dearest_tokens >= self.token_budget
        cost = self.cost_budget is not None and (usage.cost or 0.0) + asking * self._dearest_cost >= self.cost_budget
        return asking > 0 and (tokens or cost)

    def release(self) -> None:
        """Takes note that a question is over which `admit` let through."""
        self._asking -= 1
        self._ended.set()

    def leave(self, line: Limit | None, limit: Limit | None) -> None:
        """Gives a place back that `enter` returned."""
        if self.is_limited:
            self.release()
        if line is not None and limit is not None:
            line.now = limit.places
            line.leave()

    def spend(self, usage: Usage | None, *, attempts: int = 1, failed: bool = False) -> None:
        """Holds the limits against one question that was asked now."""
        self.asked.count(usage or Usage(), attempts, failed=failed)
        if usage is not None:
            self._dearest_tokens = max(self._dearest_tokens, usage.tokens)
            self._dearest_cost = max(self._dearest_cost, usage.cost or 0.0)

    def add(self, kept: KeptCall, call: Call | None = None) -> None:
        """Writes down a call, made now or replayed. The limits are held against what `spend` is told alone."""
        del call
        usage, attempts, failed = kept.usage, kept.requests, bool(kept.error)
        for line in (self.lines.setdefault((kept.role, kept.purpose), Line()), self.total):
            line.count(usage, attempts, failed=failed, replayed=kept.replayed)
        if kept.server:
            self.servers.setdefault((kept.model, kept.server), Line()).count(usage, attempts)
        if self.calls is not None:
            self.calls.add(kept)


class Budget(Hook):
    """Lets a call through only as far as the limits of a ledger allow, and holds it against them."""

    place = Place.BUDGET

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def admitted(self, call: Call) -> None:
        """Waits until there is room below the limits; nothing is asked where one is reached."""
        call.notes[self] = await self._ledger.enter(call.limit, call.options.get("wanted", 0))

    async def answered(self, call: Call) -> None:
        """Spends what the answer, or the failure, cost."""
        if (outcome := call.outcome) is not None:
            self._ledger.spend(outcome.usage, attempts=outcome.attempts, failed=call.failure is not None)
        self._ledger.leave(call.notes[self], call.limit)

    failed = answered


class Counting(Hook):
    """Writes down in a ledger what calls cost, under the role of the asker; a replayed answer costs nothing now."""

    place = Place.COUNT

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def before(self, call: Call) -> None:
        """Says when the answer is wanted."""
        if (wanted := self._ledger.wanted) is not None:
            call.options["wanted"] = wanted.at
            self._ledger.wanted = wanted._replace(at=wanted.at + wanted.step)

    async def answered(self, call: Call) -> None:
        """Writes an answer or a failure down."""
        outcome = call.outcome
        if outcome is None:
            return
        reply, usage = outcome if isinstance(outcome, Reply) else None, outcome.usage or Usage()
        kept = KeptCall(
            role=call.asker.role,
            model=call.pipeline.name,
            purpose=call.purpose,
            item=call.asker.item,
            player=call.asker.player,
            **msgspec.structs.asdict(usage),
            seconds=round(time.monotonic() - call.began if reply is None else reply.seconds, 3),
            requests=outcome.attempts,
            error="" if reply is not None else type(outcome).__name__,
            replayed=outcome.replayed,
            server="" if reply is None else reply.server,
        )
        self._ledger.add(kept, call)
        if reply is not None or (isinstance(outcome, ModelError) and not outcome.replayed):
            self._check_told(call, usage)

    failed = answered

    def _check_told(self, call: Call, usage: Usage) -> None:
        """Refuses an answer if its endpoint does not say what a limit is held against."""
        ledger, name = self._ledger, call.pipeline.name
        if ledger.cost_budget is not None and usage.tokens_out and usage.cost is None:
            raise UserError(
                f"--cost-budget needs to know what tokens of {name} cost: give a price, or use --token-budget"
            )
        if usage.tokens or call.limit is None:
            return
        budgets = {"--token-budget": ledger.token_budget, "--cost-budget": None if usage.cost else ledger.cost_budget}
        if option := next((option for option, most in budgets.items() if most is not None), ""):
            raise UserError(f"{option} cannot be kept: {name} does not say how many tokens it used")
