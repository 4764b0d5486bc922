"""One server of an OpenAI-compatible endpoint: its connections, and what becomes of a request that is sent there."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import aiohttp
import msgspec
import yarl

from polyclinic.errors import BadInput, Broken, TimedOut, TooLarge, Unreachable
from polyclinic.models import wire
from polyclinic.models.answers import Completion
from polyclinic.models.limits import Limit
from polyclinic.models.retry import Fault, retry_after
from polyclinic.models.schema import Form
from polyclinic.models.secrets import check_address

_LADDER: dict[wire.Structured, wire.Structured] = {"strict": "loose", "loose": "prompt"}


class Parameters:
    """Builds the bodies of requests for one model, and learns from what it refuses.

    What is left out is reported once, under the `name`; `model` is its name at the endpoint. What a body `always` holds
    is the user's word, and goes before what we would say.
    """

    def __init__(
        self, model: str, *, name: str, report: Callable[[str], None], always: dict[str, Any] | None = None
    ) -> None:
        self._model, self._name, self._report = model, name, report
        self._always = always or {}
        self._left_out: set[str] = set()
        self._renamed: dict[str, str] = {}
        self._structured: wire.Structured = "strict"

    @property
    def left_out(self) -> list[str]:
        """Names what the model turned out not to take."""
        schema = ["response_format"] if self._structured == "prompt" else []
        return sorted(self._left_out) + schema

    def body(self, messages: list[dict[str, Any]], form: Form | None, options: dict[str, Any]) -> dict[str, Any]:
        """Returns the body of a request, without what the model does not take."""
        body: dict[str, Any] = {"model": self._model, "messages": messages}
        for name, value in options.items():
            if name not in self._left_out:
                body[self._renamed.get(name, name)] = value
        if form is not None:
            if self._structured == "prompt":
                body["messages"] = wire.in_words(messages, form)
            else:
                body["response_format"] = wire.response_format(form.text, form.strict and self._structured == "strict")
        return body | self._always if self._always else body

    def refused(self, body: dict[str, Any], raw: bytes) -> bool:
        """Takes note of a parameter of a body that was answered with 400 or 422; tells whether there is one."""
        sent = body.get("response_format")
        names = [name for name in wire.PARAMETERS if self._renamed.get(name, name) in body or name in body]
        name = wire.not_taken(raw, names)
        if name is None:
            return False
        # Of many requests in flight each may come back refused: only the first of them is news.
        if name == "response_format":
            was: wire.Structured = "strict" if b'"strict":true' in bytes(sent or b"") else "loose"
            if self._structured == was or (was == "loose" and self._structured == "strict"):
                self._structured = _LADDER[was]
                if self._structured == "prompt":
                    self._report(f"{self._name} takes no JSON Schema; it is put into the prompt")
        elif name == "max_tokens" and name in body and b"max_completion_tokens" in raw:
            self._renamed[name] = "max_completion_tokens"
        elif name not in self._left_out and not (name in body and name in self._renamed):
            self._left_out.add(name)
            self._report(f"{self._name} does not take {name}; it is left out")
        return True


LARGEST = 4 * 2**20
"""Bytes of an answer. No model says so much in earnest, and more would only exhaust memory."""

_LONG = 2**20  # bytes of a request
SHORTEST_KEY = 16  # characters of a key that is worth keeping secret

SHORTEST_PIECE = 6
"""Characters of a piece of a key that is hidden too: what is said of an error often holds its beginning or end."""

T = TypeVar("T")


class ApiKey:
    """The key in an environment variable; `text` is "" where there is none."""

    def __init__(self, variable: str) -> None:
        self.variable, self.text = variable, os.environ.get(variable, "").strip()
        if not self.text.isprintable() or " " in self.text:
            raise BadInput(f"the key in {variable} holds white space or control characters")
        # Looked for in all that comes back. Short keys are none ("EMPTY"), and stand in answers as words.
        self._secret = self.text.encode() if len(self.text) >= SHORTEST_KEY else b""

    def cut(self, raw: bytes) -> bytes:
        """Returns what a server said, without the key."""
        return raw.replace(self._secret, b"[key]") if self._secret and self._secret in raw else raw

    def out_of(self, answer: Completion) -> Completion:
        """Returns an answer without the key, however it was written."""
        if not self._secret or self.text not in answer.text + answer.thought + answer.refusal:
            return answer
        text, thought, refusal = (
            said.replace(self.text, "[key]") for said in (answer.text, answer.thought, answer.refusal)
        )
        return msgspec.structs.replace(answer, text=text, thought=thought, refusal=refusal)

    def hidden(self, said: str) -> str:
        """Returns what is said of an error, without the key and without pieces of it."""
        if not self._secret:
            return said.replace(self.text, "[key]") if self.text else said
        key, text = self.text.lower(), said.lower()
        if len(text) != len(said):  # some letters have no single one in lower case
            key, text = self.text, said
        pieces = {key[at : at + SHORTEST_PIECE] for at in range(len(key) - SHORTEST_PIECE + 1)}
        shown, hides = [], 0
        for at, letter in enumerate(said):
            if text[at : at + SHORTEST_PIECE] in pieces:
                shown += [] if hides else ["[key]"]
                hides = SHORTEST_PIECE
            if not hides:
                shown.append(letter)
            hides = max(0, hides - 1)
        return "".join(shown)


class ModelServer:
    """Sends requests for a model to one address; `stopped` says why nothing more is sent there."""

    def __init__(
        self, url: str, *, model: str, key: ApiKey, limit: Limit, timeout: float, parameters: Parameters
    ) -> None:
        self.base = _address(url)
        self.address = str(self.base.with_query(None))
        self.limit = limit
        self.stopped: Fault | None = None
        self._model, self._key, self._timeout, self._parameters = model, key, timeout, parameters
        self._session: aiohttp.ClientSession | None = None
        self._below: dict[str, yarl.URL] = {}

    def open(self) -> aiohttp.ClientSession:
        """Returns the connections, made where there are none."""
        if self._session is None:
            headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
            if self._key.text:
                headers["Authorization"] = f"Bearer {self._key.text}"
            self._session = aiohttp.ClientSession(
                headers=headers,
                # The limit is ours; a second one below it would only hide the queue.
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=min(20.0, self._timeout)),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("User-Agent",),
            )
        return self._session

    async def close(self) -> None:
        """Closes all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _url(self, path: str) -> yarl.URL:
        """Returns the address below the server's, with the query that some of them want ("?api-version=…")."""
        if path not in self._below:
            self._below[path] = (self.base / path).with_query(self.base.query)
        return self._below[path]

    async def models(self, *, timeout: float | None = None) -> list[str] | None:  # noqa: ASYNC109
        """Returns the names of its models; none if it does not say, None if nobody answers."""
        within = aiohttp.ClientTimeout(total=timeout or self._timeout)
        try:
            async with self.open().get(self._url("models"), allow_redirects=False, timeout=within) as response:
                raw = await _read(response)
        except (aiohttp.ClientError, OSError, TimeoutError):
            return None
        return None if response.status >= 500 else wire.model_names(raw or b"")

    async def send(
        self, path: str, body: dict[str, Any], read: Callable[[bytes], T | Fault], raw: bytes | None = None
    ) -> T | Fault | None:
        """Sends one request; None says that a parameter was refused, so that it is to be sent again without it."""
        answer = await self._exchange("POST", path, wire.encode(body) if raw is None else raw)
        if isinstance(answer, Fault):
            return answer
        if answer.status == 200:
            result = read(answer.body)
            if not isinstance(result, Fault):
                self.limit.went_well()
            return result
        if answer.status in {400, 422} and self._parameters.refused(body, answer.body):
            return None
        fault = self.fault(*answer)
        if answer.status == 429:
            self.limit.too_many()
        if answer.status == 404 and (names := await self.models()):
            there = ", ".join(names[:20])
            fault = Fault(fault.error, f"{fault.problem}; it has: {there}", again=False)
        if answer.status in {401, 404}:
            self.stopped = fault
        return fault

    async def request(
        self, method: str, path: str, data: bytes = b"", *, kind: str = "application/json", largest: int = LARGEST
    ) -> bytes | Fault:
        """Sends a request that is no question; returns the body of what comes, of so many bytes at most."""
        answer = await self._exchange(method, path, data, kind=kind, largest=largest)
        if isinstance(answer, Fault):
            return answer
        return answer.body if answer.status in {200, 201} else self.fault(*answer)

    def fault(self, status: int, body: bytes, after: float | None = None) -> Fault:
        """Returns what an answer says that is none, by its status and its body."""
        has_key, variable = bool(self._key.text), self._key.variable
        return wire.fault(status, body, after=after, model=self._model, key_env=variable, has_key=has_key)

    async def _exchange(
        self, method: str, path: str, data: bytes, *, kind: str = "application/json", largest: int = LARGEST
    ) -> _HttpAnswer | Fault:
        try:
            headers = None if kind == "application/json" else {"Content-Type": kind}
            # Sent in pieces where it is long: others are asked meanwhile.
            sent = data if len(data) <= _LONG else io.BytesIO(data)
            sending = self.open().request(method, self._url(path), data=sent, headers=headers, allow_redirects=False)
            async with sending as response:
                raw = await _read(response, largest)
                after = retry_after(response.headers.get("Retry-After"))
        except TimeoutError:
            return Fault(TimedOut, f"no answer within {self._timeout:g} seconds")
        except aiohttp.ClientConnectorError as error:
            why = error.strerror or type(error.os_error).__name__
            return Fault(Unreachable, f"cannot be reached ({why})", away=True)
        except aiohttp.ClientPayloadError:
            return Fault(Broken, "the connection broke in the middle of the answer")
        except (aiohttp.ClientError, OSError) as error:
            # Their texts can hold the request's headers, and with them the key.
            return Fault(Broken, f"the connection broke ({type(error).__name__})")
        if raw is None:
            return Fault(TooLarge, f"an answer of more than {largest >> 20} MiB", again=False)
        return _HttpAnswer(response.status, self._key.cut(raw), after)

    def told(self, fault: Fault) -> str:
        """Returns a fault with where it was met, without the key."""
        return f"{self.address}: {self._key.hidden(fault.problem)}"

    def hidden(self, said: str) -> str:
        """Returns what it said of an error, without the key and without pieces of it."""
        return self._key.hidden(said)


class _HttpAnswer(NamedTuple):
    """What came of a request: the status, the body without the key, and what Retry-After asks for."""

    status: int
    body: bytes
    after: float | None


async def _read(response: aiohttp.ClientResponse, largest: int = LARGEST) -> bytes | None:
    """Returns the body; None where it is too large, with the connection closed."""
    pieces: list[bytes] = []
    size = 0
    while piece := await response.content.readany():
        size += len(piece)
        if size > largest:
            response.close()
            return None
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _address(text: str) -> yarl.URL:
    check_address(text)
    try:
        url = yarl.URL(text.rstrip("/"))
    except ValueError:
        url = yarl.URL()
    if text.count("://") > 1 or (url.host and "," in url.host):
        raise BadInput(f"{text!r} is several addresses in one; name each by itself: --base-url ONE --base-url OTHER")
    if url.scheme not in {"http", "https"} or not url.host:
        raise BadInput(f"{text!r} is no address of an endpoint; one looks like http://127.0.0.1:8000/v1")
    return url
