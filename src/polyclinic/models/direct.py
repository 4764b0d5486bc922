"""The fast provider: any OpenAI-compatible `/chat/completions`, with connections that are kept open."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

import msgspec

from polyclinic.errors import BadInput, EndpointError, NoAddress, UserError
from polyclinic.models import wire
from polyclinic.models.answers import Completion
from polyclinic.models.balance import Balance
from polyclinic.models.limits import Limit, Pace
from polyclinic.models.model import AskOptions, Price
from polyclinic.models.provider import Provider, Said, sent
from polyclinic.models.retry import Fault, Patience
from polyclinic.models.schema import Form
from polyclinic.models.server import ApiKey, ModelServer, Parameters
from polyclinic.seeds import derive

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Direct(Provider):
    """A model behind an OpenAI-compatible endpoint, by its name there; the rest is as in `open_model`.

    Of several addresses, each is a server that has the same model. Use it with `async with`.

    Raises:
        BadInput: an address is no http address, holds a user name or password, or is given twice.
        NoAddress: there is none.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | Sequence[str] | None = None,
        api_key_env: str | None = None,
        concurrency: int | Limit = 256,
        pace: Pace | None = None,
        timeout: float = 300.0,
        attempts: int = 6,
        patience: float = 600.0,
        pause: float = 0.5,
        wait_for_server: float = 0.0,
        repairs: int = 1,
        price: Price | None = None,
        extra_body: dict[str, Any] | None = None,
        seed: int = 0,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.name = f"direct/{model}"
        urls = [base_url] if isinstance(base_url, str) else list(base_url or ())
        urls = [url for url in urls if url] or [os.environ.get("OPENAI_BASE_URL", "")]
        if not urls[0]:
            raise NoAddress(
                f"nobody said where {self.name} is asked: give --base-url URL, base_url in models.model-file, or "
                "OPENAI_BASE_URL; OpenAI's own is https://api.openai.com/v1"
            )
        # One that is given is the first server's, and the others get its like.
        self.limit = concurrency if isinstance(concurrency, Limit) else Limit(concurrency)
        limits, self._pace = [self.limit, *(self.limit.like() for _ in urls[1:])], pace
        self.model, self._key = model, ApiKey(api_key_env or "OPENAI_API_KEY")
        self._attempts, self._patience, self._pause, self._absence = attempts, patience, pause, wait_for_server
        self.repairs, self.price = repairs, price
        report = report or _log.warning
        self.parameters = Parameters(model, name=self.name, report=report, always=extra_body)
        self.variant = "" if not extra_body else wire.encode(extra_body).decode()
        self.servers = [
            ModelServer(url, model=model, key=self._key, limit=limit, timeout=timeout, parameters=self.parameters)
            for url, limit in zip(urls, limits, strict=True)
        ]
        self.addresses = tuple(server.address for server in self.servers)
        self.address = self.addresses[0] if len(self.addresses) == 1 else ""
        if twice := next((one for one in self.addresses if self.addresses.count(one) > 1), None):
            raise BadInput(f"{twice} is given twice as an address of {self.name}; name each server once")
        self._rng = derive(seed, "pauses", model)
        self._away, self._report = False, report
        self._balance = Balance(self.servers, model=model, name=self.name, rng=self._rng, report=report)

    async def __aenter__(self) -> Self:
        for server in self.servers:
            server.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes all connections."""
        for server in self.servers:
            await server.close()

    async def models(self) -> list[str]:
        """Returns the names of the models that the endpoint says it has; none where it does not say."""
        return await self.servers[0].models() or []

    async def complete(self, said: Said, form: Form | None, options: AskOptions) -> Completion:
        """Asks the endpoint; see `Provider.complete`."""
        messages = wire.conversation(said)
        conversation = "" if len(self.servers) == 1 else options.get("conversation") or _beginning(said)
        return await self.request(
            messages, form, sent(options), conversation=conversation, wanted=options.get("wanted", 0)
        )

    async def request(
        self,
        messages: list[dict[str, Any]],
        form: Form | None,
        options: dict[str, Any],
        *,
        conversation: str = "",
        wanted: int = 0,
    ) -> Completion:
        """Asks once, as often as it takes for an answer to come; messages and options as the wire has them.

        The conversation is what the server is chosen by, where there are several.

        Raises:
            EndpointError: no answer came.
            WrongKey: like `UnknownModel`, known from then on; every later call fails at once.
        """
        completion, attempts, server = await self._until_answered(
            "chat/completions",
            lambda: self.parameters.body(messages, form, options),
            wire.completion,
            conversation,
            wanted,
        )
        completion = self._key.out_of(completion)
        at = server.address if len(self.servers) > 1 else ""
        return msgspec.structs.replace(completion, attempts=attempts, server=at)

    async def post(self, path: str, body: dict[str, Any], read: Callable[[bytes], T | Fault]) -> tuple[T, int]:
        """Sends a request to another path of the endpoint; returns what was read of the answer, and the attempts.

        `read` makes of the answer what it says, or a fault; errors are those of `request`.
        """
        answer, attempts, _ = await self._until_answered(path, lambda: body, read, path)
        return answer, attempts

    async def _until_answered(
        self,
        path: str,
        body: Callable[[], dict[str, Any]],
        read: Callable[[bytes], T | Fault],
        conversation: str,
        wanted: int = 0,
    ) -> tuple[T, int, ModelServer]:
        """Sends a request, made anew each time, as often as it takes; returns what was read, the attempts, and where.

        The conversation is what servers are chosen by, where there are several.
        """
        now = asyncio.get_running_loop().time
        patience = Patience(
            attempts=self._attempts,
            seconds=self._patience,
            pause=self._pause,
            absence=self._absence,
            rng=self._rng,
            clock=now,
        )
        tried: list[ModelServer] = []
        while True:
            sent = body()
            server, result, began = await self._balance.enter(conversation, tried, wanted), None, now()
            try:
                size, expected, raw = 0, 0.0, None
                if self._pace is not None and server.stopped is None:
                    size = len(raw := wire.encode(sent))
                    expected, began = await self._pace.enter(size), now()
                # Looked at inside the limit: of thousands that wait, none is sent after the first that found out.
                if server.stopped is None:
                    patience.begin()
                    result = await server.send(path, sent, read, raw)
                    if self._pace is not None and isinstance(result, Completion):
                        self._pace.settle(size, expected, result.usage.tokens_in + result.usage.tokens_out)
            finally:
                self._balance.leave(server, result, now() - began)
            if result is not None and not isinstance(result, Fault):
                self._tell_whether_away(server, None)
                return result, patience.made, server
            if server.stopped is not None:
                if self._balance.stopped is not None:
                    raise self._named(server, server.stopped, patience.made) from None
            elif result is not None:
                tried.append(server)
                wait = patience.wait(result)
                if wait is None:
                    # Where tasks are Python's own (Inspect sees to that), what broke the connection would hang on,
                    # and in it the headers with the key.
                    raise self._named(server, result, patience.made) from None
                if not self._balance.goes_elsewhere(tried):
                    tried.clear()
                    self._tell_whether_away(server, result)
                    await asyncio.sleep(wait)

    def _tell_whether_away(self, server: ModelServer, fault: Fault | None) -> None:
        if fault is None and self._away:
            self._away = False
            self._report(f"{self.name}: answers again")
        elif fault is not None and fault.away and self._absence and not self._away:
            self._away = True
            self._report(f"{self.name} at {server.told(fault)}; waited for, up to {self._absence:g} seconds")

    def _named(self, server: ModelServer, fault: Fault, attempts: int) -> EndpointError | UserError:
        tries = f", {attempts} attempts" if attempts > 1 else ""
        others = f" at {len(self.servers)} servers" if len(self.servers) > 1 and tries else ""
        return fault.named(f"{self.name} at {server.told(fault)}{tries}{others}", attempts)


def _beginning(said: Said) -> str:
    """Returns what a conversation without a name is known by: all that is said before the model first speaks."""
    until = next((number for number, (role, _) in enumerate(said) if role == "assistant"), len(said))
    return hashlib.blake2b(repr(said[:until]).encode(errors="replace"), digest_size=16).hexdigest()
