"""The pipeline from a question to a model: one record for each call, and an ordered list of hooks around it.

A hook sees every call of a model and may change it, hold it back, answer it, or look at what came. To add one of your
own, write a class with the methods that you need:

    class Slow(Hook):
        async def answered(self, call):
            if call.reply.seconds > 10:
                print(call.asker.role, call.reply.seconds)

    model = with_hooks(model, Slow())

In a run it stands in `ModelSettings.hooks`, where it sees every call of every model. `Place` declares the order of
hooks, and nothing else does.
"""

from __future__ import annotations

import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from operator import attrgetter
from typing import Any, Unpack, cast

import msgspec

from polyclinic import plugins
from polyclinic.errors import Broken, CallFailure, UserError, in_short
from polyclinic.models.limits import Limit
from polyclinic.models.model import Answer, AskOptions, Messages, Model, Reply
from polyclinic.tasks import AT_ONCE

_TIMES = 4  # that a broken answer is asked for


class Place(IntEnum):
    """The order of hooks from the caller to the model, with the reason for each place."""

    OWN = 0
    """A user's hook sees every call as it is made, and its final result, replayed or not."""
    TALLY = 1
    """A call belongs to everyone who needs it, including those for whom it is replayed."""
    COUNT = 2
    """Outside the journal: replayed answers stand in the sums as they did when they were asked for."""
    TUNE = 3
    """Outside the journal, because temperature, effort and length are part of what a request is known by."""
    JOURNAL = 4
    """Outside the budget: a stored answer is free, so that a resumed run gets as far as before."""
    BUDGET = 5
    """Inside the journal: only what is asked now is held against the limits."""
    CONVERSATION = 6
    """Inside the journal: which server a conversation goes to is no part of the request."""
    REPEAT = 7
    """Next to the model: the journal holds one answer for a question, however often it was asked."""


class Asker(msgspec.Struct, frozen=True):
    """Who asks a model, and for what."""

    role: str = ""  # such as "doctor"; costs are summed by it
    episode: str = ""  # what a journal keeps the answers for: equal questions of two episodes are two questions
    item: str = ""  # the case or question that it is asked for, as in the items of the run
    player: str = ""  # to whom the item was put


@dataclass(slots=True, eq=False)
class Call:
    """One call of a model, as hooks see it."""

    model: Model  # what is asked in the end
    pipeline: Pipeline  # through which it is asked
    asker: Asker  # who asks
    messages: Messages  # the question; `answer` and `options` as in `Model.ask`
    answer: Answer
    options: AskOptions
    reply: Reply | None = None  # what came; a hook that sets it in `admitted` answers the call
    failure: BaseException | None = None  # what was raised instead
    began: float = field(default_factory=time.monotonic)  # when it was asked, by the monotonic clock
    notes: dict[Hook, Any] = field(default_factory=dict)  # what a hook keeps of this call, by the hook

    @property
    def purpose(self) -> str:
        """What the answer is for."""
        return self.options.get("purpose", "")

    @property
    def limit(self) -> Limit | None:
        """How many calls the model takes at a time, where that is known."""
        return self.pipeline.limit

    @property
    def outcome(self) -> Reply | CallFailure | None:
        """The reply, or the failure in its place; None while there is neither, or for an error of another kind."""
        if self.failure is None:
            return self.reply
        return self.failure if isinstance(self.failure, CallFailure) else None

    async def send(self) -> None:
        """Asks the model itself."""
        self.reply = await self.model.ask(self.messages, answer=self.answer, **self.options)


class Hook:
    """Something that happens around every call. All methods do nothing unless a subclass says otherwise.

    `before` and `admitted` run from the caller's side to the model's. Then, on the hooks that admitted the call,
    `answered` or `failed` runs in the opposite order, also when the call is cancelled: it gives back whatever
    `admitted` took. An error raised by a hook is the call's failure from then on.
    """

    place = Place.OWN

    def before(self, call: Call) -> None:
        """Is called when the question is put, in the order of the program, before anything waits."""

    async def admitted(self, call: Call) -> None:
        """May wait, raise an error, or answer the call by setting its `reply`."""

    async def answered(self, call: Call) -> None:
        """Is called after the model, or a hook behind this one, has answered."""

    async def failed(self, call: Call) -> None:
        """Is called when the call has failed; may set `failure` to None and a `reply`."""


class Pipeline:
    """A model behind hooks. Made by `with_hooks`, which keeps the hooks in order."""

    def __init__(self, model: Model, hooks: tuple[Hook, ...], asker: Asker) -> None:
        self.model, self.hooks, self.asker = model, hooks, asker
        self.name = model.name
        # Where the model is asked; "" where that is no place, or where several servers have it.
        self.address: str = getattr(model, "address", "")
        self.addresses: tuple[str, ...] = getattr(model, "addresses", ())
        # What each of its requests says beside the question.
        self.variant: str = getattr(model, "variant", "")
        limit = getattr(model, "limit", None)
        self.limit = limit if isinstance(limit, Limit) else None
        # How many questions to put at a time, so that some can still be stopped.
        self.at_once: int = getattr(model, "at_once", AT_ONCE)
        self._before = [hook.before for hook in hooks if type(hook).before is not Hook.before]
        self._stages = [
            (
                hook.admitted if type(hook).admitted is not Hook.admitted else None,
                hook.answered if type(hook).answered is not Hook.answered else None,
                hook.failed if type(hook).failed is not Hook.failed else None,
            )
            for hook in hooks
        ]

    @cached_property
    def known_as(self) -> tuple[str, ...]:
        """By what a journal knows the model: a request that says more than the question is another one."""
        return self._known_at(self.address)

    @cached_property
    def also_known_as(self) -> list[tuple[str, ...]]:
        """By what else: servers stand in for one another, and what one answered holds for all."""
        return [self._known_at(other) for other in (("",) if self.address else self.addresses)]

    def _known_at(self, address: str) -> tuple[str, ...]:
        return tuple(part for part in (self.name, address and f"at {address}", self.variant) if part)

    def ask(
        self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]
    ) -> Coroutine[Any, Any, Reply]:
        """Asks the model through its hooks; see `Model.ask`."""
        call = Call(self.model, self, self.asker, messages, answer, options)
        # Not in the coroutine, which may start late: a journal counts equal questions in the order of the program.
        for before in self._before:
            before(call)
        return self._carry_out(call)

    async def _carry_out(self, call: Call) -> Reply:
        passed = 0
        try:
            for admitted, _, _ in self._stages:
                if admitted is not None:
                    await admitted(call)
                    if call.reply is not None:
                        break
                passed += 1
            else:
                await call.send()
        except BaseException as failure:
            call.failure = failure
        while passed:
            passed -= 1
            _, answered, failed = self._stages[passed]
            happened = answered if call.failure is None else failed
            if happened is not None:
                try:
                    await happened(call)
                except BaseException as failure:
                    call.failure = failure
        raised, call.failure = call.failure, None
        if raised is not None:
            try:
                raise raised
            finally:
                raised = None  # an error that holds itself is freed late
        assert call.reply is not None  # noqa: S101
        return call.reply


def with_hooks(model: Model, *hooks: Hook, **asker: str) -> Pipeline:
    """Returns the model with further hooks, each in its `place`, and with what is given of the `asker`."""
    if not isinstance(model, Pipeline):
        return Pipeline(model, tuple(sorted(hooks, key=attrgetter("place"))), Asker(**asker))
    said = msgspec.structs.replace(model.asker, **{name: value for name, value in asker.items() if value})
    return Pipeline(model.model, tuple(sorted((*hooks, *model.hooks), key=attrgetter("place"))), said)


def find_hook(name: str) -> Hook:
    """Returns a user's hook: an object or a class in a file (`my_hooks.py:Slow`), or the name of an entry point."""
    found = plugins.find(name, "hooks")
    if isinstance(found, type) and issubclass(found, Hook):
        try:
            found = found()
        except (Exception, SystemExit) as error:
            raise UserError(f"the hook {name!r} cannot be made: {in_short(error)}") from error
    if not isinstance(found, Hook):
        raise UserError(f"{name!r} is no hook; a hook is a class made of polyclinic.models.pipeline.Hook")
    return found


class Tuning(Hook):
    """Sets the temperature always, or only if the question has none (`otherwise`); effort and length likewise."""

    place = Place.TUNE

    def __init__(
        self,
        *,
        temperature: float | None = None,
        otherwise: float | None = None,
        effort: str | None = None,
        max_tokens: int | None = None,
    ) -> None:
        self._temperature = temperature
        self._defaults = {"temperature": otherwise, "reasoning": effort, "max_tokens": max_tokens}

    def before(self, call: Call) -> None:
        """Fills in the options of a call."""
        options = cast("dict[str, Any]", call.options)
        if self._temperature is not None:
            options["temperature"] = self._temperature
        for name, value in self._defaults.items():
            if value is not None and options.get(name) is None:
                options[name] = value


class OneConversation(Hook):
    """Sends all questions of a role in an episode to one of several servers; judging is no conversation."""

    place = Place.CONVERSATION

    def before(self, call: Call) -> None:
        """Names the conversation."""
        asker = call.asker
        if asker.episode and asker.role != "judge" and len(call.pipeline.addresses) > 1:
            call.options.setdefault("conversation", f"{asker.role} {asker.episode}")


class Repeating(Hook):
    """Asks again, a few times, when an answer broke, for what runs for days, such as a practice."""

    place = Place.REPEAT

    def __init__(self, times: int = _TIMES) -> None:
        self._times = times

    async def failed(self, call: Call) -> None:
        """Asks again where the answer broke."""
        for _ in range(self._times - 1):
            if not isinstance(call.failure, Broken):
                return
            call.failure = None
            try:
                await call.send()
            except Exception as failure:
                call.failure = failure
