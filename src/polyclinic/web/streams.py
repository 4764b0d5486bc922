"""Server-sent events with ids, so that a browser that was cut off goes on where it was (`Last-Event-ID`).

Nothing is kept for a client: whoever writes a stream reads what comes next when the client has taken what came before.
A slow client slows nobody, and loses nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from polyclinic.web.replies import RequestRefused
from polyclinic.web.serving import MOST_STREAMS, Serving

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


def streamed(serving: Serving, events: AsyncIterator[bytes]) -> Response:
    """Returns a stream of events.

    Raises:
        RequestRefused: there are too many streams.
    """
    if serving.streams >= MOST_STREAMS:
        raise RequestRefused(f"{MOST_STREAMS} streams are open already; close a page", 503)

    async def counted() -> AsyncIterator[bytes]:
        serving.streams += 1
        try:
            async for one in events:
                yield one
        finally:
            serving.streams -= 1

    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(counted(), media_type="text/event-stream", headers=headers)
