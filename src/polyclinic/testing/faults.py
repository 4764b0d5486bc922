"""The ways an endpoint can fail, each as a real server does it."""

from __future__ import annotations

import asyncio
import email.utils
import time
from typing import Any

import msgspec
from aiohttp import web

from polyclinic.testing.instances import damage

ENDPOINT_FAULTS = (
    "429", "429-after", "429-date", "500", "502", "503", "reset", "close", "hang",
    "empty", "html", "cut", "huge", "not-utf8",
)  # fmt: skip
"""Faults of the endpoint: no answer comes, or one that is no answer."""

MODEL_FAULTS = (
    "length", "refusal", "silent", "wrong-type", "missing-field", "no-option", "prose", "fenced",
)  # fmt: skip
"""Faults of the model: the endpoint works, and the answer is not what was asked for."""

MIXED = tuple(kind for kind in ENDPOINT_FAULTS + MODEL_FAULTS if kind not in {"hang", "429-after", "429-date"})
"""What `faults=0.1` draws from: all but those that only take time."""

HUGE = 10_000_000
"""Bytes in the answer of the fault "huge"."""


async def misbehave(kind: str, request: web.Request, body: dict[str, Any], value: Any) -> web.StreamResponse:
    """Answers a request with a fault of `ENDPOINT_FAULTS` or `MODEL_FAULTS`, in place of a value."""
    if kind in MODEL_FAULTS:
        return reply(_wrong(kind, body, value))
    right = completion(body, value)
    match kind:
        case "429" | "500" | "502" | "503":
            return failure(int(kind), f"{kind} on purpose")
        case "429-after" | "429-date":
            # A date has whole seconds; two from now are at least one.
            date = email.utils.formatdate(time.time() + 2, usegmt=True)
            return failure(429, "slow down", headers={"Retry-After": "1" if kind == "429-after" else date})
        case "reset" | "close":
            if kind == "reset":
                await half(request, right)
            return gone(request)
        case "hang":
            await asyncio.sleep(3600)
            return gone(request)
        case "empty":
            return reply(b"")
        case "html":
            return web.Response(text="<html><body><h1>Welcome to nginx!</h1></body></html>", content_type="text/html")
        case "cut":
            return reply(right[: len(right) // 2])
        case "huge":
            return reply(completion(body, "a" * HUGE))
        case "not-utf8":
            return reply(right.replace(b'"content":"', b'"content":"\xff\xfe\xe9', 1))
        case _:
            raise ValueError(f"no such fault: {kind}")


def _wrong(kind: str, body: dict[str, Any], value: Any) -> bytes:
    text = plain(value)
    match kind:
        case "length":
            return completion(body, text[: len(text) // 2], finish="length")
        case "refusal":
            return completion(body, None, refusal="I'm sorry, I can't help with that.")
        case "silent":
            return completion(body, "")
        case "prose":
            return completion(body, f"Certainly! Here is my answer:\n\n{text}\n\nLet me know if {{it}} helps.")
        case "fenced":
            return completion(body, f"```json\n{text}\n```")
        case _:
            return completion(body, damage(value, kind))


def gone(request: web.Request) -> web.Response:
    """Breaks the connection off."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def completion(
    body: dict[str, Any], value: Any, *, finish: str = "stop", refusal: str | None = None, cached: float = 0.5
) -> bytes:
    """Returns the body of a chat completion that says the value (text as it is, anything else as JSON).

    The share of the prompt that is `cached` is said as tokens.
    """
    text = None if value is None else plain(value)
    words_in = sum(len(str(message.get("content", "")).split()) for message in body.get("messages", []))
    words_out = len(text.split()) if text else 0
    message = {"role": "assistant", "content": text, "refusal": refusal}
    return msgspec.json.encode(
        {
            "id": "chatcmpl-test",
            "object": "chat.completion",
            "created": 0,
            "model": body.get("model", ""),
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": words_in,
                "completion_tokens": words_out,
                "total_tokens": words_in + words_out,
                "prompt_tokens_details": {"cached_tokens": int(words_in * cached)},
                "completion_tokens_details": {"reasoning_tokens": 0},
            },
        }
    )


def plain(value: Any) -> str:
    """Returns text as it is, and anything else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def reply(body: bytes) -> web.Response:
    """Returns an answer that went well."""
    return web.Response(body=body, content_type="application/json")


def failure(
    status: int, message: str, *, headers: dict[str, str] | None = None, param: str | None = None, code: str = ""
) -> web.Response:
    """Returns an error in the shape that OpenAI-compatible servers use."""
    error = {"message": message, "type": "error", "param": param, "code": code or str(status)}
    body = msgspec.json.encode({"error": error})
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)


async def half(request: web.Request, body: bytes) -> None:
    """Sends the head and the first half of the body, and stops."""
    response = web.StreamResponse(headers={"Content-Length": str(len(body)), "Content-Type": "application/json"})
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
