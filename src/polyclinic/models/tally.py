"""Who needs which calls: each is made once, and stands in the tally of everybody who would have had to make it."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterable, Iterator
from typing import Unpack

import msgspec

from polyclinic.errors import EndpointError, ModelError
from polyclinic.models.model import Answer, AskOptions, Messages, Model, Reply, Usage, Wrapper


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


class CallTally:
    """The calls that somebody needed; those made `for_others` are nobody's until somebody takes them."""

    def __init__(self, *, for_others: bool = False) -> None:
        self._calls: dict[int, TakenCall] = {}
        self._for_others = for_others

    def __iter__(self) -> Iterator[TakenCall]:
        return iter(self._calls.values())

    def of(self, model: Model) -> Tallied:
        """Returns the model, whose calls are taken from now on."""
        return Tallied(model, self)

    def take(self, calls: Iterable[TakenCall]) -> None:
        """Takes calls, each once."""
        for call in calls:
            if id(call) not in self._calls:
                self._calls[id(call)] = call
                call.takers += not self._for_others

    def answered(self, usage: Usage, seconds: float) -> TakenCall:
        """Takes a call that was just made, and returns it for others to take."""
        call = TakenCall(usage.tokens, usage.cost, seconds)
        self.take([call])
        return call

    def failed(self, failure: ModelError | EndpointError, seconds: float) -> None:
        """Takes a call that came to nothing."""
        self.answered(failure.usage if isinstance(failure.usage, Usage) else Usage(), seconds)

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


class Tallied(Wrapper):
    """A model whose calls go to a tally."""

    def __init__(self, model: Model, tally: CallTally) -> None:
        super().__init__(model)
        self._tally = tally

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Asks the model behind, and fails as it does."""
        reply, _ = await self.ask_for_others(messages, answer=answer, **options)
        return reply

    async def ask_for_others(
        self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]
    ) -> tuple[Reply, TakenCall]:
        """Asks the model behind, and returns the call too, for others who need it."""
        # The coroutine is made at once: a journal counts equal questions in the order in which they are asked.
        asking = self._model.ask(messages, answer=answer, **options)
        began = time.monotonic()
        try:
            reply = await asking
        except (ModelError, EndpointError) as failure:
            self._tally.failed(failure, time.monotonic() - began)
            raise
        finally:
            if inspect.iscoroutine(asking):
                asking.close()
        return reply, self._tally.answered(reply.usage, reply.seconds)
