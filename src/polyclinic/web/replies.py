"""JSON in and out, and errors as JSON with one line for a person."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from polyclinic.errors import BadInput, PolyclinicError, UserError
from polyclinic.files import NO_JSON

MOST_BODY = 1 << 20
"""Bytes that a request may bring."""

_PATIENCE = 30.0  # seconds until a body has come
_LARGE = 16_384  # bytes of an answer that is worth compressing
_encode = msgspec.json.Encoder().encode

T = TypeVar("T")


class RequestRefused(UserError):
    """A request that is not answered, with the status that says so."""

    def __init__(self, problem: str, status: int = 400) -> None:
        super().__init__(problem)
        self.status = status


def reply(document: Any, status: int = 200) -> Response:
    """Returns a document as JSON; nobody keeps it."""
    return Response(_encode(document), status, media_type="application/json", headers={"cache-control": "no-store"})


def packed(request: Request, document: Any) -> Response:
    """Returns a document as JSON, compressed where it is large and whoever asks can read that."""
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
    """Returns what an error says, a file in it by its name alone: where it lies is nobody's business."""
    if isinstance(error, BadInput) and error.path is not None:
        return f"{Path(error.path).name}: {error.problem}"
    return str(error)


async def body(request: Request, type: type[T], *, most: int = MOST_BODY) -> T:
    """Returns what a request brings.

    Args:
        request: the request.
        type: what it must be.
        most: bytes that it may have.

    Raises:
        RequestRefused: it is too long, no JSON, something else than that, or it does not come.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise RequestRefused("send application/json", 415)
    gathered = bytearray()
    try:
        async with asyncio.timeout(_PATIENCE):
            async for piece in request.stream():
                gathered += piece
                if len(gathered) > most:
                    raise RequestRefused(f"at most {most:,} bytes are taken", 413)
    except (TimeoutError, ClientDisconnect):  # that somebody left is nothing that went wrong here
        raise RequestRefused("the request did not come to its end", 408) from None
    try:
        return msgspec.json.decode(bytes(gathered), type=type)
    except NO_JSON as error:
        raise RequestRefused(f"not what is asked for here: {error}", 422) from None


def number(request: Request, name: str, default: int, *, least: int = 0, most: int = 2**53) -> int:
    """Returns a whole number of a request's query.

    Raises:
        RequestRefused: it is none, or not within the bounds.
    """
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
