"""The fast door: any OpenAI-compatible `/chat/completions`, with connections that are kept and little done twice."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import Callable
from typing import Any, NoReturn, Self, TypeVar

import aiohttp
import msgspec
import yarl

from polyclinic.errors import BadInput, Broken, EndpointError, NoAddress, TimedOut, TooLarge, Unreachable, UserError
from polyclinic.models import wire
from polyclinic.models.answers import Completion
from polyclinic.models.door import Door, Said, sent
from polyclinic.models.limits import Limit
from polyclinic.models.model import AskOptions, Price
from polyclinic.models.parameters import Parameters
from polyclinic.models.retry import Fault, Patience, retry_after
from polyclinic.models.schema import Form
from polyclinic.models.secrets import check_address
from polyclinic.seeds import derive

LARGEST = 4 * 2**20
"""Bytes of an answer. No model says so much in earnest, and more would only exhaust memory."""

SHORTEST_KEY = 16
"""Characters of a key that is worth keeping secret."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Direct(Door):
    """A model behind an OpenAI-compatible endpoint, by its name there; the rest is as in `open_model`.

    Use it with `async with`.

    Raises:
        BadInput: the address is no http address, or holds a user name or password.
        NoAddress: there is none.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str | None = None,
        concurrency: int | Limit = 256,
        timeout: float = 300.0,
        attempts: int = 6,
        patience: float = 600.0,
        pause: float = 0.5,
        repairs: int = 1,
        price: Price | None = None,
        extra_body: dict[str, Any] | None = None,
        seed: int = 0,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.name = f"direct/{model}"
        self.limit = concurrency if isinstance(concurrency, Limit) else Limit(concurrency)
        self._model, self._key_env = model, api_key_env or "OPENAI_API_KEY"
        self._base = _address(base_url or os.environ.get("OPENAI_BASE_URL") or _nowhere(self.name))
        self._url = _below(self._base, "chat/completions")
        self._shown = str(self._base.with_query(None))
        self._timeout, self._attempts, self._patience, self._pause = timeout, attempts, patience, pause
        self.repairs, self._price = repairs, price
        self._parameters = Parameters(model, name=self.name, report=report or _log.warning, always=extra_body)
        self.variant = "" if not extra_body else wire.encode(extra_body).decode()
        self._key = _key(self._key_env)
        # Looked for in all that comes back. Short keys are none ("EMPTY"), and stand in answers as words.
        self._secret = self._key.encode() if len(self._key) >= SHORTEST_KEY else b""
        self._rng: random.Random = derive(seed, "pauses", model)
        self._session: aiohttp.ClientSession | None = None
        self._stop: Fault | None = None

    async def __aenter__(self) -> Self:
        self._open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    @property
    def left_out(self) -> list[str]:
        """Names the parameters that the model turned out not to take."""
        return self._parameters.left_out

    @property
    def model(self) -> str:
        """Names the model as the endpoint does."""
        return self._model

    @property
    def address(self) -> str:
        """Where it is asked, without the query."""
        return self._shown

    @property
    def price(self) -> Price | None:
        """What its tokens cost, where that is known."""
        return self._price

    async def models(self) -> list[str]:
        """Returns the names of the models that the endpoint says it has; none where it does not say."""
        try:
            async with self._open().get(_below(self._base, "models"), allow_redirects=False) as response:
                raw = await _read(response)
        except (aiohttp.ClientError, OSError, TimeoutError):
            return []
        return wire.model_names(raw or b"")

    async def complete(self, said: Said, form: Form | None, options: AskOptions) -> Completion:
        """Asks the endpoint; see `Door.complete`."""
        messages = [{"role": role, "content": wire.content(part)} for role, part in said]
        return await self.request(messages, form, sent(options))

    async def request(self, messages: list[dict[str, Any]], form: Form | None, options: dict[str, Any]) -> Completion:
        """Asks once, as often as it takes for an answer to come; messages and options as the wire has them.

        Raises:
            EndpointError: no answer came.
            WrongKey: like `UnknownModel`, known from then on; every later call fails at once.
        """
        completion, attempts = await self._until_answered(
            self._url, lambda: self._parameters.body(messages, form, options), wire.completion
        )
        usage = completion.usage if self._price is None else self._price.of(completion.usage)
        return msgspec.structs.replace(completion, usage=usage, attempts=attempts)

    async def post(self, path: str, body: dict[str, Any], read: Callable[[bytes], T | Fault]) -> tuple[T, int]:
        """Sends a request to another path of the endpoint; returns what was read of the answer, and the attempts.

        `read` makes of the answer what it says, or a fault; errors are those of `request`.
        """
        return await self._until_answered(_below(self._base, path), lambda: body, read)

    async def _until_answered(
        self, url: yarl.URL, body: Callable[[], dict[str, Any]], read: Callable[[bytes], T | Fault]
    ) -> tuple[T, int]:
        """Sends a request, made anew each time, as often as it takes; returns what was read, and the attempts."""
        patience = Patience(attempts=self._attempts, seconds=self._patience, pause=self._pause, rng=self._rng)
        while True:
            sent = body()
            async with self.limit:
                # Looked at inside the limit: of thousands that wait, none is sent after the first that found out.
                if self._stop is not None:
                    break
                patience.made += 1
                result = await self._send(url, sent, read)
            if isinstance(result, Fault):
                wait = patience.wait(result)
                if wait is None:
                    # Where tasks are Python's own (Inspect sees to that), what broke the connection would hang on,
                    # and in it the headers with the key.
                    raise self._named(result, patience.made) from None
                await asyncio.sleep(wait)
            elif result is not None:
                return result, patience.made
        raise self._named(self._stop, patience.made) from None

    def _named(self, fault: Fault, attempts: int) -> EndpointError | UserError:
        problem = fault.problem.replace(self._key, "[key]") if self._key else fault.problem
        tries = f", {attempts} attempts" if attempts > 1 else ""
        return fault.named(f"{self.name} at {self._shown}: {problem}{tries}", attempts)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
            if self._key:
                headers["Authorization"] = f"Bearer {self._key}"
            self._session = aiohttp.ClientSession(
                headers=headers,
                # The limit is ours; a second one below it would only hide the queue.
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=min(20.0, self._timeout)),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("User-Agent",),
            )
        return self._session

    async def _send(self, url: yarl.URL, body: dict[str, Any], read: Callable[[bytes], T | Fault]) -> T | Fault | None:
        """Sends one request. None says that it was refused for a parameter, and is to be sent again without it."""
        fault: Fault
        try:
            async with self._open().post(url, data=wire.encode(body), allow_redirects=False) as response:
                raw = await _read(response)
                if self._secret and raw is not None and self._secret in raw:
                    raw = raw.replace(self._secret, b"[key]")
                if response.status == 200 and raw is not None:
                    result = read(raw)
                    if not isinstance(result, Fault):
                        self.limit.went_well()
                    return result
                status, after = response.status, retry_after(response.headers.get("Retry-After"))
        except TimeoutError:
            return Fault(TimedOut, f"no answer within {self._timeout:g} seconds")
        except aiohttp.ClientConnectorError as error:
            return Fault(Unreachable, f"cannot be reached ({error.strerror or type(error.os_error).__name__})")
        except aiohttp.ClientPayloadError:
            return Fault(Broken, "the connection broke in the middle of the answer")
        except (aiohttp.ClientError, OSError) as error:
            # Their texts can hold the request's headers, and with them the key.
            return Fault(Broken, f"the connection broke ({type(error).__name__})")
        if raw is None:
            return Fault(TooLarge, f"an answer of more than {LARGEST >> 20} MiB", again=False)
        if status in {400, 422} and self._parameters.refused(body, raw):
            return None
        fault = wire.fault(status, raw, after=after, model=self._model, key_env=self._key_env, has_key=bool(self._key))
        if status == 429:
            self.limit.too_many()
        if status == 404 and (names := await self.models()):
            there = ", ".join(names[:20])
            fault = Fault(fault.error, f"{fault.problem}; it has: {there}", again=False)
        if status in {401, 404}:
            self._stop = fault
        return fault


async def _read(response: aiohttp.ClientResponse) -> bytes | None:
    """Returns the body; None where it is too large, with the connection closed."""
    pieces: list[bytes] = []
    size = 0
    while piece := await response.content.readany():
        size += len(piece)
        if size > LARGEST:
            response.close()
            return None
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _key(variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key.isprintable() or " " in key:
        raise BadInput(f"the key in {variable} holds white space or control characters")
    return key


def _nowhere(name: str) -> NoReturn:
    raise NoAddress(
        f"nobody said where {name} is asked: give --base-url URL, its base_url in --model-file, or OPENAI_BASE_URL; "
        "OpenAI's own is https://api.openai.com/v1"
    )


def _below(base: yarl.URL, path: str) -> yarl.URL:
    """Returns the address below the endpoint's, with the query that some of them want ("?api-version=…")."""
    return (base / path).with_query(base.query)


def _address(text: str) -> yarl.URL:
    check_address(text)
    try:
        url = yarl.URL(text.rstrip("/"))
    except ValueError:
        url = yarl.URL()
    if url.scheme not in {"http", "https"} or not url.host:
        raise BadInput(f"{text!r} is no address of an endpoint; one looks like http://127.0.0.1:8000/v1")
    return url
