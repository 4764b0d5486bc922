"""A provider asks a model once; the base class reads the answer, and asks again if it cannot be read."""

from __future__ import annotations

import asyncio
import inspect
import time
from pathlib import Path
from typing import Any, Self, Unpack

import msgspec

from polyclinic import plugins
from polyclinic.errors import EndpointError, ModelError, PolyclinicError, TimedOut, UnreadableReply, UserError, in_short
from polyclinic.fingerprints import of_file
from polyclinic.language.thoughts import apart
from polyclinic.models.answers import Completion, read
from polyclinic.models.limits import Limit
from polyclinic.models.model import Answer, AskOptions, Messages, Price, Reply, Usage
from polyclinic.models.repair_prompts import complaint, nothing, spoken_language
from polyclinic.models.schema import Form, form_of

SHOWN = 4_000  # characters of its unreadable answer that a model is shown again
Said = list[tuple[str, Any]]  # a conversation: who says it, and its text or parts
SENT = ("temperature", "top_p", "max_tokens", "reasoning", "seed")  # the options that a model is sent


class Provider:
    """A model that is opened with `async with`. A subclass has a name, and `complete`.

        class Loud(Provider):
            name = "loud"

            async def complete(self, said, form, options):
                return Completion(said[-1][1].upper())

    `repairs` is as in `ProviderOptions`.
    """

    name = ""
    repairs = 1
    price: Price | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def complete(self, said: Said, form: Form | None, options: AskOptions) -> Completion:
        """Asks the model once; `form` is what the answer must look like, None for text."""
        raise NotImplementedError

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Asks, reads, and asks again with the error told to the model; see `Model.ask`."""
        began = time.monotonic()
        form = None if answer is None else form_of(answer)
        said: Said = [("user", messages)] if isinstance(messages, str) else list(messages)
        usage, attempts, repairs = Usage(), 0, self.repairs
        while True:
            try:
                completion = await self.complete(said, form, options)
            except EndpointError as failure:
                # It was asked again, and now nothing comes: what went before was paid for all the same.
                failure.attempts += attempts
                failure.usage = usage if attempts else None
                raise
            paid = completion.usage if self.price is None else self.price.of(completion.usage)
            usage = paid if not attempts else usage + paid
            attempts += completion.attempts
            try:
                value = read(completion, answer, form)
            except ModelError as failure:
                problem = failure
            else:
                spoken = apart(completion.text)
                thought = "\n".join(part for part in (completion.thought, spoken.thought) if part)
                return Reply(
                    spoken.said, value, usage, time.monotonic() - began, attempts, thought, server=completion.server
                )
            # What is no Unicode text could be neither sent back nor stored.
            text = completion.text.encode(errors="replace").decode()
            if repairs <= 0 or not isinstance(problem, UnreadableReply):
                raise type(problem)(problem.problem, text=text, usage=usage, attempts=attempts)
            repairs -= 1
            language = spoken_language(said)
            answered = apart(text).said[:SHOWN] or nothing(language)
            said = [*said, ("assistant", answered), ("user", complaint(problem, form, language))]


def sent(options: AskOptions) -> dict[str, Any]:
    """Returns those options that are given, by their names on the wire."""
    return {
        "reasoning_effort" if name == "reasoning" else name: value
        for name in SENT
        if (value := options.get(name)) is not None
    }


AT_ONCE = 64  # questions at a time that are put to a provider of the user's, unless another number is given

_SECONDS = 300.0
_WANTED = "a provider is a class made of polyclinic.models.provider.Provider, with a method 'complete' of its own"


class BrokenProvider(EndpointError):
    """A provider of the user's raised an error, or gave nothing that a model can have said."""


def names_provider(name: str) -> bool:
    """Whether a name says where a provider stands in a Python file, and not a mind or something else."""
    return plugins.names_file(name) and _is_provider(plugins.find(name, "minds"))


class OwnProvider(Provider):
    """A provider that a user brought, under the name by which it was found."""

    def __init__(
        self,
        name: str,
        *,
        seed: int = 0,
        concurrency: int | Limit | None = None,
        timeout: float = _SECONDS,
        repairs: int | None = None,
        price: Price | None = None,
    ) -> None:
        self.name, self._timeout, self._price = name, timeout, price
        self._provider = _made(plugins.find(name, "minds"), name, seed)
        self.repairs = self._provider.repairs if repairs is None else repairs
        self.variant = f"file {of_file(Path(name.rpartition(':')[0]).expanduser())}"
        # There is nobody to adapt to: the code of the file says itself when it has enough.
        given = concurrency.most if isinstance(concurrency, Limit) and not concurrency.adaptive else concurrency
        self.limit = Limit(given if isinstance(given, int) else AT_ONCE)

    async def __aenter__(self) -> Self:
        try:
            await self._provider.__aenter__()
        except PolyclinicError:
            raise
        except (Exception, SystemExit) as error:
            raise UserError(f"the model {self.name!r} cannot be opened: {self._at(error)}") from error
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self._provider.__aexit__(*problem)

    async def complete(self, said: Said, form: Form | None, options: AskOptions) -> Completion:
        """Asks the user's provider once; see `Provider.complete`. Its own errors are `BrokenProvider`."""
        async with self.limit:
            try:
                async with asyncio.timeout(self._timeout) as waiting:
                    made: Any = self._provider.complete(said, form, options)
                    made = await made if inspect.isawaitable(made) else made
            except PolyclinicError:
                raise
            except asyncio.CancelledError as error:
                if plugins.stopped_from_outside():
                    raise
                raise BrokenProvider(self._at(error)) from error
            except (Exception, SystemExit) as error:
                if isinstance(error, TimeoutError) and waiting.expired():
                    raise TimedOut(f"{self.name} gave no answer within {self._timeout:g} seconds") from None
                raise BrokenProvider(self._at(error)) from error
        completion = Completion(made) if isinstance(made, str) else made
        if not isinstance(completion, Completion) or not isinstance(completion.text, str):
            came = "None (a forgotten return)" if made is None else f"a {type(made).__name__}"
            raise BrokenProvider(f"{self.name} answered with {came}; needed: a Completion, or a text")
        if self._price is None or completion.usage.cost is not None:
            return completion
        return msgspec.structs.replace(completion, usage=self._price.of(completion.usage))

    def _at(self, error: BaseException) -> str:
        return f"{plugins.raised_at(error, __file__) or self.name}: {in_short(error)}"


def _is_provider(thing: object) -> bool:
    return isinstance(thing, Provider) or (isinstance(thing, type) and issubclass(thing, Provider))


def _made(thing: object, name: str, seed: int) -> Provider:
    """Returns the provider that stands behind a name, made where it is a class."""
    if not _is_provider(thing):
        came = "a class" if isinstance(thing, type) else "None" if thing is None else f"a {type(thing).__name__}"
        raise UserError(f"{name!r} is not a model but {came}; {_WANTED}")
    kind = thing if isinstance(thing, type) else type(thing)
    if kind.complete is Provider.complete:  # type: ignore[attr-defined]
        raise UserError(f"{name!r} has no method 'complete'; {_WANTED}")
    if isinstance(thing, Provider):
        return thing
    try:
        made = kind(**({"seed": seed} if "seed" in plugins.parameters(kind) else {}))
    except (Exception, SystemExit) as error:
        raise UserError(f"{name!r} cannot be made: {in_short(error)}; it may take 'seed', or nothing") from error
    assert isinstance(made, Provider)  # noqa: S101
    return made
