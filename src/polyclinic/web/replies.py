"""Routes that take and give JSON, errors as JSON with one line for a person, and streams of events.

Events have ids, so that a browser that was cut off continues where it was (`Last-Event-ID`). Nothing is kept for a
client: what comes next is read when the client has taken what came before. A slow client slows nobody, and loses
nothing.
"""

from __future__ import annotations

import asyncio
import gzip
from collections import Counter
from collections.abc import AsyncIterator, Callable
from inspect import isawaitable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from polyclinic.errors import BadInput, PolyclinicError
from polyclinic.files import NO_JSON
from polyclinic.web.refused import RequestRefused
from polyclinic.web.serving import MOST_STREAMS, MOST_STREAMS_OF_ONE, Serving

MOST_BODY = 256 * 1024
"""Bytes that a request may bring."""

_PATIENCE = 30.0  # seconds until a body has come
_LARGE = 16_384  # bytes of an answer that is worth compressing
_encode = msgspec.json.Encoder().encode

T = TypeVar("T")


def reply(document: Any, status: int = 200) -> Response:
    """Returns a document as JSON, which is not cached."""
    return Response(_encode(document), status, media_type="application/json", headers={"cache-control": "no-store"})


def packed(request: Request, document: Any) -> Response:
    """Returns a document as JSON, compressed if it is large and the client accepts that."""
    answer = reply(document)
    if len(answer.body) < _LARGE or "gzip" not in request.headers.get("accept-encoding", ""):
        return answer
    # The quickest: between two programs of one machine it must cost less than it saves.
    answer.body = gzip.compress(answer.body, 1, mtime=0)
    answer.headers["content-length"] = str(len(answer.body))
    answer.headers["content-encoding"] = "gzip"
    answer.headers["vary"] = "accept-encoding"
    return answer


def complaint(problem: str, status: int) -> Response:
    """Returns what is wrong, as every part of the server says it: `{"error": ...}`."""
    return reply({"error": problem}, status)


def without_folders(error: PolyclinicError) -> str:
    """Returns the text of an error, with the name of a file but not its folder."""
    if isinstance(error, BadInput) and error.path is not None:
        return f"{Path(error.path).name}: {error.problem}"
    return str(error)


def download(text: str, name: str, type: str) -> Response:
    """Returns a text that a browser saves under a name."""
    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
    return Response(text, media_type=type, headers=headers)


def get(path: str, answer: Callable[..., Any], *, method: str = "GET") -> Route:
    """Returns a route that answers with a document, or with a response as it is.

    `answer` is given the parts of the path by name, and may be asynchronous.
    """

    async def answered(request: Request) -> Response:
        return await _replied(answer(**request.path_params))

    return Route(path, answered, methods=[method])


def post(path: str, type: type[Any], answer: Callable[..., Any], *, status: int = 200) -> Route:
    """As `get`, for requests that bring something of a type, which `answer` is given first."""

    async def answered(request: Request) -> Response:
        return await _replied(answer(await body(request, type), **request.path_params), status)

    return Route(path, answered, methods=["POST"])


async def _replied(found: Any, status: int = 200) -> Response:
    if isawaitable(found):
        found = await found
    return found if isinstance(found, Response) else reply(found, status)


async def body(request: Request, type: type[T]) -> T:
    """Returns what a request brings."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise RequestRefused("send application/json", 415)
    gathered = bytearray()
    try:
        async with asyncio.timeout(_PATIENCE):
            async for piece in request.stream():
                gathered += piece
                if len(gathered) > MOST_BODY:
                    raise RequestRefused(f"at most {MOST_BODY:,} bytes are taken", 413)
    except (TimeoutError, ClientDisconnect):  # a client that leaves is not an error of the server
        raise RequestRefused("the request did not arrive completely", 408) from None
    try:
        return msgspec.json.decode(bytes(gathered), type=type)
    except NO_JSON as error:
        raise RequestRefused(f"unexpected content: {error}", 422) from None


def number(request: Request, name: str, default: int, *, least: int = 0, most: int = 2**53) -> int:
    """Returns a whole number of a request's query."""
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        value = int(text) if len(text) <= len(str(most)) else None
    except ValueError:
        value = None
    if value is None or not least <= value <= most:
        raise RequestRefused(f"{name} is a whole number from {least} to {most}")
    return value


ALIVE = b": \n\n"
"""Says that the server is there, where nothing has happened."""


def event(data: bytes, *, id: str | int = "", name: str = "") -> bytes:
    """Returns an event as it is sent; `data` is JSON, which has no line breaks."""
    head = (f"id: {id}\n" if id != "" else "") + (f"event: {name}\n" if name else "")
    return head.encode() + b"data: " + data + b"\n\n"


def last_id(request: Request, default: int) -> int:
    """Returns the number of the last event that a client has; after a break its browser says so."""
    told = request.headers.get("last-event-id", "")
    return int(told) if told.isascii() and told.isdigit() and len(told) < 16 else default


class _Stream(StreamingResponse):
    """A stream that is counted from its first moment to its last, under the address that takes it."""

    def __init__(self, open_streams: Counter[str], address: str, events: AsyncIterator[bytes]) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._open, self._address = open_streams, address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._open[self._address] += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._open[self._address] -= 1
            if not self._open[self._address]:
                del self._open[self._address]


def streamed(request: Request, serving: Serving, events: AsyncIterator[bytes]) -> Response:
    """Returns a stream of events."""
    address = request.client.host if request.client else ""
    if serving.streams.total() >= MOST_STREAMS:
        raise RequestRefused(f"{MOST_STREAMS} streams are open already; close a page", 503)
    if serving.streams[address] >= MOST_STREAMS_OF_ONE:
        raise RequestRefused(f"{MOST_STREAMS_OF_ONE} streams are open from your address already; close a page", 503)
    return _Stream(serving.streams, address, events)
