"""Routes that take and give JSON, and streams of events.

An event has an id, so that a browser that was cut off can continue (`Last-Event-ID`). The server keeps nothing for a
client: the next events are read when the client has taken the earlier ones, so a slow client delays nobody.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial
from inspect import isawaitable
from typing import Any, TypeVar

import msgspec
from anyio.to_thread import run_sync
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from polyclinic.files import NO_JSON
from polyclinic.web.refused import RequestRefused
from polyclinic.web.serving import MOST_STREAMS, MOST_STREAMS_OF_ONE, Serving

MOST_BODY = 256 * 1024  # longest body of a request, in bytes
_PATIENCE = 30.0  # seconds for a body to arrive
_encode = msgspec.json.Encoder().encode

T = TypeVar("T")


def reply(document: Any, status: int = 200) -> Response:
    """Returns a document as JSON, which is not cached."""
    return Response(_encode(document), status, media_type="application/json", headers={"cache-control": "no-store"})


def complaint(problem: str, status: int) -> Response:
    """Returns an error in the form that every part of the server uses: `{"error": ...}`."""
    return reply({"error": problem}, status)


def download(text: str, name: str, type: str) -> Response:
    """Returns a text that a browser saves under a name."""
    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
    return Response(text, media_type=type, headers=headers)


def get(
    path: str,
    answer: Callable[..., Any],
    *,
    query: type[Any] | None = None,
    body: type[Any] | None = None,
    threaded: bool = False,
    method: str = "GET",
    status: int = 200,
) -> Route:
    """Returns a route that answers with a document, or with a response as it is.

    `answer` gets the query or the body, if a type is given for it, and the parts of the path by name. It may be
    asynchronous; one that takes its time is `threaded`.
    """

    async def answered(request: Request) -> Response:
        try:
            asked = [] if query is None else [msgspec.convert(dict(request.query_params), query, strict=False)]
        except msgspec.ValidationError as error:
            raise RequestRefused(f"unexpected query: {error}") from None
        if body is not None:
            asked.append(await _body(request, body))
        call = partial(answer, *asked, **request.path_params)
        found = await run_sync(call) if threaded else call()
        if isawaitable(found):
            found = await found
        return found if isinstance(found, Response) else reply(found, status)

    return Route(path, answered, methods=[method])


def post(path: str, type: type[Any], answer: Callable[..., Any], *, status: int = 200) -> Route:
    """Like `get`, for requests with a body, which `answer` gets first."""
    return get(path, answer, body=type, method="POST", status=status)


async def _body(request: Request, type: type[T]) -> T:
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


ALIVE = b": \n\n"  # shows that the server is there when nothing has happened


def event(data: bytes, *, id: str | int = "", name: str = "") -> bytes:
    """Returns an event as it is sent; `data` is JSON, which has no line breaks."""
    head = (f"id: {id}\n" if id != "" else "") + (f"event: {name}\n" if name else "")
    return head.encode() + b"data: " + data + b"\n\n"


def last_id(request: Request, default: int) -> int:
    """Returns the number of the last event that a client received; after a break its browser sends it."""
    told = request.headers.get("last-event-id", "")
    return int(told) if told.isascii() and told.isdigit() and len(told) < 16 else default


def streamed(request: Request, serving: Serving, events: AsyncIterator[bytes]) -> Response:
    """Returns a stream of events, or refuses it if too many are open, in all or from one address."""
    address = request.client.host if request.client else ""
    if serving.streams.total() >= MOST_STREAMS:
        raise RequestRefused(f"{MOST_STREAMS} streams are open already; close a page", 503)
    if serving.streams[address] >= MOST_STREAMS_OF_ONE:
        raise RequestRefused(f"{MOST_STREAMS_OF_ONE} streams are open from your address already; close a page", 503)

    async def counted() -> AsyncIterator[bytes]:
        serving.streams[address] += 1
        try:
            async for one in events:
                yield one
        finally:
            serving.streams -= Counter((address,))  # forgets an address without streams

    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(counted(), media_type="text/event-stream", headers=headers)
