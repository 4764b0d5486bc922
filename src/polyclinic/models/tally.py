"""Who needs which calls: each is made once, and stands in the tally of everybody who would have had to make it."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from polyclinic.models.model import Model, Reply, Usage
from polyclinic.models.pipeline import Asker, Call, Hook, Pipeline, Place, with_hooks
from polyclinic.models.schema import form_of


class TakenCall(msgspec.Struct, eq=False):
    """A call that was made, and how many take it for theirs."""

    tokens: int
    cost: float | None
    seconds: float
    takers: int = 0


class CallTotal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What calls come to; `shared` of them are in somebody else's tally as well. Replayed ones cost what they did."""

    calls: int = 0
    shared: int = 0
    tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0


class CallTally(Hook):
    """The calls that somebody needed; those made `for_others` are nobody's until somebody takes them."""

    place = Place.TALLY

    def __init__(self, *, for_others: bool = False) -> None:
        self._calls: dict[int, TakenCall] = {}
        self._for_others = for_others

    def __iter__(self) -> Iterator[TakenCall]:
        return iter(self._calls.values())

    def of(self, model: Model) -> Pipeline:
        """Returns the model, whose calls are taken from now on."""
        return with_hooks(model, self)

    def take(self, calls: Iterable[TakenCall]) -> None:
        """Takes calls, each once."""
        for call in calls:
            if id(call) not in self._calls:
                self._calls[id(call)] = call
                call.takers += not self._for_others

    def add(self, usage: Usage, seconds: float) -> TakenCall:
        """Takes a call that was just made, and returns it for others to take."""
        call = TakenCall(usage.tokens, usage.cost, seconds)
        self.take([call])
        return call

    async def answered(self, call: Call) -> None:
        """Takes a call that was answered, or came to nothing."""
        if (outcome := call.outcome) is not None:
            seconds = outcome.seconds if isinstance(outcome, Reply) else time.monotonic() - call.began
            self.add(outcome.usage or Usage(), seconds)

    failed = answered

    def total(self) -> CallTotal:
        """Returns what they come to; what is shared is known when all are over."""
        calls = [*self]
        costs = [call.cost for call in calls if call.cost is not None]
        return CallTotal(
            calls=len(calls),
            shared=sum(call.takers > 1 for call in calls),
            tokens=sum(call.tokens for call in calls),
            cost=sum(costs) if costs else None,
            seconds=round(sum(call.seconds for call in calls), 3),
        )


_Key = tuple[str, bytes, int]


class SharedAnswers:
    """Answers that teams with the same doctors share until they part; a failed call is made anew."""

    def __init__(self) -> None:
        self.replies: dict[_Key, tuple[Reply, TakenCall]] = {}
        self.asking: defaultdict[_Key, asyncio.Lock] = defaultdict(asyncio.Lock)

    def of(self, model: Model, tally: CallTally | None = None) -> Pipeline:
        """Returns a model for one of those who share, in whose tally each answer stands that it gets."""
        # A pipeline of its own: a question that another has asked does not reach the hooks of the model at all.
        return Pipeline(model, (Sharing(self, tally or CallTally()),), Asker())


class Sharing(Hook):
    """Answers one of several with what others were answered."""

    place = Place.TALLY

    def __init__(self, shared: SharedAnswers, tally: CallTally) -> None:
        self._shared, self._tally = shared, tally
        self._asked: Counter[bytes] = Counter()

    def before(self, call: Call) -> None:
        """Counts the question among equal ones of this asker."""
        form = "" if call.answer is None else form_of(call.answer).text
        told = msgspec.json.encode([call.messages, form, str(call.purpose), call.options.get("temperature")])
        digest = hashlib.blake2b(told, digest_size=16).digest()
        call.notes[self] = (call.pipeline.name, digest, self._asked[digest])
        self._asked[digest] += 1

    async def admitted(self, call: Call) -> None:
        """Waits for another who asks the same, and takes its answer."""
        key = call.notes[self]
        lock = self._shared.asking[key]
        await lock.acquire()
        call.began = time.monotonic()
        if key in self._shared.replies:
            lock.release()
            call.reply, taken = self._shared.replies[key]
            self._tally.take([taken])

    async def answered(self, call: Call) -> None:
        """Keeps an answer for the others."""
        key, reply = call.notes[self], call.reply
        assert reply is not None  # noqa: S101
        self._shared.replies[key] = reply, self._tally.add(reply.usage, reply.seconds)
        self._shared.asking[key].release()

    async def failed(self, call: Call) -> None:
        """Lets the next one ask."""
        self._shared.asking[call.notes[self]].release()
        await self._tally.failed(call)
