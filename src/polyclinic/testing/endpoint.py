"""A model endpoint on loopback that answers as scripted and fails on purpose, in this process or its own. For tests.

In a test:

    async with Endpoint(plan=["503", None]) as endpoint:
        async with open_model("direct/test", base_url=endpoint.url) as model: ...

In a shell: `python -m polyclinic.testing.endpoint --port 8000 --latency 0.05 --faults 0.1 --seed 1`
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import hashlib
import json
import random
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self, TypeVar

import msgspec
from aiohttp import web
from cyclopts import App, Parameter

from polyclinic.seeds import derive
from polyclinic.testing.instances import damage, instance

HUGE = 10_000_000  # bytes in the answer of the fault "huge"

_STATUSES = ("429", "429-after", "429-date", "500", "502", "503")
_CONNECTIONS = ("reset", "close", "hang")
_BODIES: dict[str, Callable[[dict[str, Any], Any], bytes]] = {
    "empty": lambda body, value: b"",
    "html": lambda body, value: b"<html><body><h1>Welcome to nginx!</h1></body></html>",
    "cut": lambda body, value: _half(completion(body, value)),
    "huge": lambda body, value: completion(body, "a" * HUGE),
    "not-utf8": lambda body, value: completion(body, value).replace(b'"content":"', b'"content":"\xff\xfe\xe9', 1),
}
_ANSWERS: dict[str, Callable[[dict[str, Any], Any], bytes]] = {
    "length": lambda body, value: completion(body, _half(plain(value)), finish="length"),
    "refusal": lambda body, value: completion(body, None, refusal="I'm sorry, I can't help with that."),
    "silent": lambda body, value: completion(body, ""),
    "wrong-type": lambda body, value: completion(body, damage(value, "wrong-type")),
    "missing-field": lambda body, value: completion(body, damage(value, "missing-field")),
    "no-option": lambda body, value: completion(body, damage(value, "no-option")),
    "prose": lambda body, value: completion(
        body, f"Certainly! Here is my answer:\n\n{plain(value)}\n\nLet me know if {{it}} helps."
    ),
    "fenced": lambda body, value: completion(body, f"```json\n{plain(value)}\n```"),
}

ENDPOINT_FAULTS = (*_STATUSES, *_CONNECTIONS, *_BODIES)
"""Faults of the endpoint: no answer comes, or one that is no answer."""

MODEL_FAULTS = tuple(_ANSWERS)  # faults of the model: the endpoint works, and the answer is not what was asked for

MIXED = tuple(kind for kind in ENDPOINT_FAULTS + MODEL_FAULTS if kind not in {"hang", "429-after", "429-date"})
"""What `faults=0.1` draws from: all but those that only take time."""

AnyText = TypeVar("AnyText", str, bytes)


def _half(text: AnyText) -> AnyText:
    return text[: len(text) // 2]


async def misbehave(kind: str, request: web.Request, body: dict[str, Any], value: Any) -> web.StreamResponse:
    """Answers a request with a fault, in place of a value."""
    if (made := _BODIES.get(kind) or _ANSWERS.get(kind)) is not None:
        return reply(made(body, value))
    if kind in _STATUSES:
        # A date has whole seconds; two from now are at least one.
        after = {"429-after": "1", "429-date": email.utils.formatdate(time.time() + 2, usegmt=True)}.get(kind)
        headers = {} if after is None else {"Retry-After": after}
        return failure(int(kind[:3]), f"{kind} on purpose", headers=headers)
    if kind == "reset":
        right = completion(body, value)
        response = web.StreamResponse(headers={"Content-Length": str(len(right)), "Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(_half(right))
    elif kind == "hang":
        await asyncio.sleep(3600)
    elif kind != "close":
        raise ValueError(f"no such fault: {kind}")
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def completion(
    body: dict[str, Any], value: Any, *, finish: str = "stop", refusal: str | None = None, cached: float = 0.5
) -> bytes:
    """Returns the body of a chat completion that says the value, as JSON unless it is text."""
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


DIMENSIONS = 64


def embedded(body: dict[str, Any], seed: int) -> bytes:
    """Returns the body of an answer to `POST /v1/embeddings`; another seed gives other vectors, as another model."""
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    data = [{"object": "embedding", "index": n, "embedding": _vector(text, seed)} for n, text in enumerate(texts)]
    tokens = sum(len(text.split()) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    # The last first: what counts is the index.
    return msgspec.json.encode({"object": "list", "data": data[::-1], "model": body["model"], "usage": usage})


def _vector(text: str, seed: int) -> Sequence[float]:
    vector = [0.0] * DIMENSIONS
    for word in re.findall(r"[^\W\u3400-\u9fff]+|[\u3400-\u9fff]", text.casefold()):
        digest = hashlib.blake2b(f"{seed} {word}".encode(), digest_size=DIMENSIONS).digest()
        vector = [sum(pair) for pair in zip(vector, (byte - 127.5 for byte in digest), strict=True)]
    return vector


Answers = Sequence[Any] | Mapping[str, Any] | Callable[[dict[str, Any]], Any] | None


@dataclass(kw_only=True, eq=False, repr=False)
class Endpoint:
    """An OpenAI-compatible server: `POST /v1/chat/completions` and `/v1/embeddings`, `GET /v1/models`, `GET /counters`.

    Attributes:
        answers: a list (in order of arrival), a mapping from the last message's text, or a function of the request's
            body; text is said as it is, anything else as JSON. Without it, a request with a schema gets a value that
            the schema allows, always the same for the same request, and any other "You said: …".
        latency: seconds before an answer; the median where there is a spread.
        spread: sigma of the log-normal distribution of latencies; 0 for always the same.
        faults: share of the requests that meet a fault; which do is given by the seed and the request, not by arrival.
        kinds: the faults to draw from.
        plan: faults of the first requests, in order of arrival, None for none; before `faults` is looked at.
        seed: gives faults, latencies and answers.
        key: the only key that is let in; 401 for others. None lets everyone in.
        models: the names of the models that are here; 404 for others. Empty for any name.
        lacks: parameters that are refused with 400.
        capacity: requests at once; 429 for those beyond. None for any number.
        slots: requests that it works at at once; those beyond wait for one. None for any number.
        port: 0 for a free one.
    """

    answers: Annotated[Answers, Parameter(parse=False)] = None
    latency: float = 0.0
    spread: float = 0.0
    faults: float = 0.0
    kinds: Sequence[str] = MIXED
    plan: Annotated[Sequence[str | None], Parameter(parse=False)] = ()
    seed: int = 0
    key: str | None = None
    models: Sequence[str] = ()
    lacks: Sequence[str] = ()
    capacity: int | None = None
    slots: int | None = None
    port: int = 0

    def __post_init__(self) -> None:
        self._plan = list(self.plan)
        self._working = contextlib.nullcontext() if self.slots is None else asyncio.Semaphore(self.slots)
        self._rng = random.Random(self.seed)
        self._seen: Counter[bytes] = Counter()
        self._change = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self.url = ""
        self.requests = self.answered = self.in_flight = self.most_in_flight = 0
        self.met: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.keep = 1000
        self.hints: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=2**26)
        self.add_to(app)
        # A hung request must not hold up the end of a test.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, backlog=2048)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def add_to(self, app: web.Application) -> None:
        """Adds its addresses to a server."""
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/embeddings", self._chat)
        app.router.add_get("/v1/models", self._list)
        app.router.add_get("/counters", self._count)

    def counters(self) -> dict[str, Any]:
        """Returns what happened so far: requests, right answers, faults by kind, requests in flight."""
        return {
            "requests": self.requests,
            "answered": self.answered,
            "faults": dict(self.met),
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
        }

    async def until(self, *, requests: int = 0, answered: int = 0) -> None:
        """Returns when so many requests have come, and so many right answers are given."""
        while self.requests < requests or self.answered < answered:
            self._change.clear()
            await self._change.wait()

    async def _count(self, _: web.Request) -> web.Response:
        return reply(msgspec.json.encode(self.counters()))

    async def _list(self, request: web.Request) -> web.Response:
        if self._locked(request):
            return failure(401, "Incorrect API key provided.")
        data = [{"id": name} for name in self.models or ["test"]]
        return reply(msgspec.json.encode({"object": "list", "data": data}))

    def _locked(self, request: web.Request) -> bool:
        return self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}"

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        self.requests += 1
        self._change.set()
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._respond(request, raw)
        finally:
            self.in_flight -= 1

    async def _respond(self, request: web.Request, raw: bytes) -> web.StreamResponse:
        if self._locked(request):
            # Some servers say the key back; a client must not pass that on.
            return failure(401, f"Incorrect API key provided: {request.headers.get('Authorization', '')}")
        body = msgspec.json.decode(raw)
        if len(self.bodies) < self.keep:
            self.bodies.append(body)
        if self.models and body["model"] not in self.models:
            return failure(404, f"The model `{body['model']}` does not exist.", code="model_not_found")
        if (lacking := self._lacking(body)) is not None:
            return failure(400, lacking[0], param=lacking[1])
        if self.capacity is not None and self.in_flight > self.capacity:
            self.met["capacity"] += 1
            return failure(429, "too many requests at once")
        fault = self._fault(raw)
        vectors = "input" in body
        value = None if vectors else self._value(body, raw)
        if fault is not None:
            self.met[fault] += 1
            return await misbehave(fault, request, body, value)
        if self.latency:
            spread = self._rng.lognormvariate(0, self.spread) if self.spread else 1.0
            async with self._working:
                await asyncio.sleep(self.latency * spread)
        self.answered += 1
        self._change.set()
        if vectors:
            return reply(embedded(body, self.seed))
        return reply(completion(body, value, cached=self.cached(body)))

    def cached(self, body: dict[str, Any]) -> float:
        """Returns the share of a prompt that is reported as cached."""
        del body
        return 0.5

    def _lacking(self, body: dict[str, Any]) -> tuple[str, str] | None:
        for name in filter(body.__contains__, self.lacks):
            told = f"Unsupported parameter: '{name}' is not supported with this model. {self.hints.get(name, '')}"
            return told, name
        return None

    def _fault(self, raw: bytes) -> str | None:
        if self._plan:
            return self._plan.pop(0)
        if not self.faults:
            return None
        digest = hashlib.blake2b(raw, digest_size=16).digest()
        self._seen[digest] += 1
        rng = derive(self.seed, "fault", digest.hex(), self._seen[digest])
        return rng.choice(self.kinds) if rng.random() < self.faults else None

    def _value(self, body: dict[str, Any], raw: bytes) -> Any:
        if callable(self.answers):
            return self.answers(body)
        said = body["messages"][-1]["content"]
        if isinstance(self.answers, Mapping):
            return self.answers[said]
        if self.answers is not None:
            return self.answers[self.answered % len(self.answers)]
        form = body.get("response_format", {}).get("json_schema")
        schema = form["schema"] if form is not None else _schema_in(said)
        if schema is None:
            return f"You said: {said}"
        return instance(schema, derive(self.seed, "answer", hashlib.blake2b(raw).hexdigest()))


def _schema_in(said: Any) -> dict[str, Any] | None:
    """Returns the JSON Schema that a message ends with, as a model would follow one that it is told of in words."""
    at = said.find('{"') if isinstance(said, str) else -1
    try:
        schema = msgspec.json.decode(said[at:]) if at >= 0 else None
    except msgspec.DecodeError:
        return None
    return schema if isinstance(schema, dict) and "properties" in schema else None


async def serve(options: Annotated[Endpoint | None, Parameter(name="*")] = None) -> None:
    """Runs a model endpoint that misbehaves on purpose until it is stopped, and says its address first."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        # A shell starts what runs in the background with SIGINT ignored; a program that is told to stop must stop.
        with contextlib.suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with options or Endpoint() as endpoint:
        print(endpoint.url, flush=True)  # noqa: T201
        await stopped.wait()


def main() -> None:
    """Reads the command line and serves."""
    app = App("python -m polyclinic.testing.endpoint", default_parameter=Parameter(consume_multiple=True))
    app.default(serve)
    app()


if __name__ == "__main__":
    main()


class EndpointProcess:
    """Runs `python -m polyclinic.testing.endpoint` on a free port, with its options: `latency=0.05, faults=0.1`."""

    def __init__(self, **options: object) -> None:
        self._options = options
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "polyclinic.testing.endpoint", "--port", "0"]
        for name, value in self._options.items():
            values = value if isinstance(value, (list, tuple)) else [value]
            command += [f"--{name}", *map(str, values)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
        assert self._process.stdout is not None  # noqa: S101
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError("the endpoint did not start")
        return self

    def __exit__(self, *_: object) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def counters(self) -> dict[str, Any]:
        """Returns the endpoint's counters."""
        with urllib.request.urlopen(self.url.removesuffix("/v1") + "/counters", timeout=10) as answer:  # noqa: S310
            counters: dict[str, Any] = json.load(answer)
        return counters
