"""Server-sent events with ids, so that a browser that was cut off goes on where it was (`Last-Event-ID`).

Nothing is kept for a client: whoever writes a stream reads what comes next when the client has taken what came before.
A slow client slows nobody, and loses nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from polyclinic.web.replies import RequestRefused
from polyclinic.web.serving import MOST_STREAMS, MOST_STREAMS_OF_ONE, Serving

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
    """Returns a stream of events.

    Raises:
        RequestRefused: there are too many streams, from everywhere or from the address of who asks.
    """
    address = request.client.host if request.client else ""
    if serving.streams.total() >= MOST_STREAMS:
        raise RequestRefused(f"{MOST_STREAMS} streams are open already; close a page", 503)
    if serving.streams[address] >= MOST_STREAMS_OF_ONE:
        raise RequestRefused(f"{MOST_STREAMS_OF_ONE} streams are open from your address already; close a page", 503)
    return _Stream(serving.streams, address, events)
