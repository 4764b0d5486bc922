"""The OpenAI-compatible `/chat/completions`: what is sent, what comes back, and what each failure is called."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from polyclinic.errors import Broken, EndpointError, RateLimited, Rejected, TimedOut, UnknownModel, WrongKey
from polyclinic.models.answers import Completion, ToolCall
from polyclinic.models.model import Image, Usage
from polyclinic.models.repair_prompts import spoken_language, wish_for
from polyclinic.models.retry import Fault
from polyclinic.models.schema import Form

Structured = Literal["strict", "loose", "prompt"]
"""How a schema is sent: as one the server must follow to the letter, as one it should follow, or as words."""


class _TokenDetails(msgspec.Struct):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class _TokenCounts(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _TokenDetails | None = None
    completion_tokens_details: _TokenDetails | None = None
    cost: float | None = None


class _ContentPart(msgspec.Struct):
    """A part of a message that some servers send as a list; what a thought is called differs."""

    type: str = "text"
    text: str | None = None
    refusal: str | None = None
    thinking: str | list[_ContentPart] | None = None
    reasoning: str | None = None
    thought: bool = False


class _Message(msgspec.Struct):
    content: str | list[_ContentPart | str] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: Any = None
    tool_calls: tuple[ToolCall, ...] | None = None


class _Alternative(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class Body(msgspec.Struct):
    """The part of a chat completion that we read."""

    choices: list[_Alternative]
    usage: _TokenCounts | None = None


class _Error(msgspec.Struct):
    message: str | None = None
    code: str | int | None = None
    param: str | None = None


class _Failure(msgspec.Struct):
    error: _Error | str | None = None
    message: str | None = None
    detail: msgspec.Raw | None = None


_SAID = {"text", "output_text"}
_NO_DETAILS = _TokenDetails()
_BODY = msgspec.json.Decoder(Body)
_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_UNKNOWN = rb"\ufffd"
_FAILURE = msgspec.json.Decoder(_Failure)

encode = msgspec.json.Encoder().encode


def content(said: Any) -> Any:
    """Returns what a message says as the wire has it."""
    if isinstance(said, str):
        return said
    return [
        {"type": "image_url", "image_url": {"url": part.url}}
        if isinstance(part, Image)
        else {"type": "text", "text": part if isinstance(part, str) else part.text}
        for part in said
    ]


def conversation(said: Iterable[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Returns a conversation as the wire has it."""
    return [{"role": role, "content": content(part)} for role, part in said]


def in_words(messages: list[dict[str, Any]], form: Form) -> list[dict[str, Any]]:
    """Returns the messages with the schema put into words at their end, for a server that takes no schema."""
    wish = wish_for(form, spoken_language((message["role"], message["content"]) for message in messages))
    last = messages[-1]
    if last["role"] != "user":
        return [*messages, {"role": "user", "content": wish}]
    said = last["content"]
    said = f"{said}\n\n{wish}" if isinstance(said, str) else [*said, {"type": "text", "text": wish}]
    return [*messages[:-1], {"role": "user", "content": said}]


@functools.lru_cache(maxsize=512)
def response_format(text: str, strict: bool) -> msgspec.Raw:
    """Returns the part of a request that holds the schema, encoded once for all requests."""
    form = {"name": "answer", "schema": msgspec.Raw(text.encode()), "strict": strict}
    return msgspec.Raw(encode({"type": "json_schema", "json_schema": form}))


def whole_characters(raw: bytes) -> bytes:
    """Returns JSON with U+FFFD for halves of characters, which servers in Python write when a model is cut off."""
    return _ESCAPES.sub(lambda found: _UNKNOWN if found[1] else found[0], raw)


def completion(raw: bytes) -> Completion | Fault:
    """Reads the body of an answer with status 200."""
    if not raw.strip():
        return Fault(Broken, "an empty body")
    try:
        body = _BODY.decode(raw)
    except UnicodeDecodeError:
        return Fault(Broken, "an answer that is not UTF-8")
    except msgspec.ValidationError as error:
        # Some servers report an error with status 200.
        said = server_says(raw)[0]
        return Fault(Broken, f"no chat completion ({said or error})")
    except (msgspec.DecodeError, RecursionError) as error:
        if (mended := whole_characters(raw)) != raw:
            return completion(mended)
        if raw.lstrip()[:1] == b"<":
            return Fault(Broken, "HTML instead of JSON; is the address right?")
        return Fault(Broken, f"broken JSON ({error})")
    if not body.choices:
        return Fault(Broken, "an answer without choices")
    choice = body.choices[0]
    message = choice.message
    usage = Usage()
    if (counts := body.usage) is not None:
        cost = None if counts.cost is None or not math.isfinite(counts.cost) else max(0.0, counts.cost)
        prompt, out = _count(counts.prompt_tokens), _count(counts.completion_tokens)
        cached = min(_count((counts.prompt_tokens_details or _NO_DETAILS).cached_tokens), prompt)
        usage = Usage(
            prompt, cached, out, _count((counts.completion_tokens_details or _NO_DETAILS).reasoning_tokens), cost
        )
    said, refusal, thought = _parts(message)
    return Completion(
        said, choice.finish_reason or "stop", refusal, usage, calls=message.tool_calls or (), thought=thought
    )


def _parts(message: _Message) -> tuple[str, str, str]:
    """Returns what a message says, what it refuses, and what was thought before it."""
    thought = [message.reasoning_content or (message.reasoning if isinstance(message.reasoning, str) else "")]
    if not isinstance(message.content, list):
        return message.content or "", message.refusal or "", thought[0]
    said, refusal = [], message.refusal or ""
    for part in message.content:
        if isinstance(part, str):
            said.append(part)
        elif part.type in _SAID and not part.thought:
            said.append(part.text or "")
        elif part.type == "refusal":
            refusal = refusal or part.refusal or "refused"
        else:
            inner = part.thinking if part.thinking is not None else part.reasoning or part.text
            thought.append("".join(p.text or "" for p in inner) if isinstance(inner, list) else inner or "")
    return "".join(said), refusal, "\n".join(filter(None, thought))


def _count(said: int | None) -> int:
    # What a server counts below nothing would lift a limit.
    return max(0, said or 0)


def server_says(raw: bytes) -> tuple[str, str, str]:
    """Returns the message, code and parameter of an error body, as far as it has them, in one line."""
    try:
        failure = _FAILURE.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _line(raw.decode(errors="replace")) if raw.lstrip()[:1] != b"<" else "an HTML page", "", ""
    error = failure.error if failure.error is not None else failure.message
    if error is None and failure.detail is not None:
        error = bytes(failure.detail).decode(errors="replace")
    if isinstance(error, _Error):
        return _line(error.message or ""), str(error.code or ""), error.param or ""
    return _line(error or ""), "", ""


def model_names(raw: bytes) -> list[str]:
    """Returns the names in the body of an answer to `GET /models`; none where it is something else."""
    try:
        return [_line(str(one["id"])) for one in msgspec.json.decode(raw)["data"]]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, LookupError, TypeError):
        return []


def _line(text: str) -> str:
    return " ".join(text.split())[:300]


def fault(status: int, raw: bytes, *, after: float | None, model: str, key_env: str, has_key: bool) -> Fault:
    """Names the failure that a status other than 200 stands for; `after` are the seconds that Retry-After asks for."""
    if status == 401:
        # What the server says here may hold the key, or parts of it.
        what = f"the key in {key_env} is refused" if has_key else f"a key is wanted; put it into {key_env}"
        return Fault(WrongKey, f"{what} (status 401)", again=False)
    said, code, _ = server_says(raw)
    told = f"status {status}{f': {said}' if said else ''}"
    if status == 404:
        return Fault(UnknownModel, f"no model {model!r}, or no such address ({told})", again=False)
    if status == 429:
        return Fault(RateLimited, told, again=code != "insufficient_quota", after=after)
    error: type[EndpointError] = TimedOut if status in {408, 504} else Broken if status >= 500 else Rejected
    # What stands before a server that begins anew says one of these two.
    away = status in {502, 503}
    return Fault(error, told, again=status >= 500 or status in {408, 409, 425}, after=after, away=away)


PARAMETERS = ("temperature", "top_p", "max_tokens", "reasoning_effort", "seed", "response_format")
"""What a request can do without, or with something else in its place."""

_NEAR = {"response_format": ("json_schema", "schema"), "max_tokens": ("max_completion_tokens",)}


def not_taken(raw: bytes, sent: Iterable[str]) -> str | None:
    """Returns the parameter, of those sent, that the body of a 400 or 422 complains about; None for none."""
    said, _, param = server_says(raw)
    names = [name for name in PARAMETERS if name in sent]
    for name in names:
        if param.split(".")[0] == name:
            return name
    for name in names:
        if any(re.search(rf"\b{word}\b", said) for word in (name, *_NEAR.get(name, ()))):
            return name
    return None
