"""A model endpoint on loopback that answers as told and misbehaves on purpose. For tests only: it knows no medicine.

In a test:

    async with Endpoint(plan=["503", None]) as endpoint:
        async with open_model("direct/test", base_url=endpoint.url) as model: ...

In a shell: `python -m polyclinic.testing.endpoint --port 8000 --latency 0.05 --faults 0.1 --seed 1`
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import random
import signal
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import msgspec
from aiohttp import web

from polyclinic.seeds import derive
from polyclinic.testing.batches import Batches
from polyclinic.testing.faults import ENDPOINT_FAULTS, MIXED, MODEL_FAULTS, completion, failure, misbehave, reply
from polyclinic.testing.instances import instance
from polyclinic.testing.prefixes import PromptPrefixes
from polyclinic.testing.vectors import embedded

Answers = Sequence[Any] | Mapping[str, Any] | Callable[[dict[str, Any]], Any] | None


class Endpoint:
    """An OpenAI-compatible server: `POST /v1/chat/completions` and `/v1/embeddings`, `GET /v1/models`, `GET /counters`.

    Args:
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
        prefixes: say of each prompt how much of it has been sent before (`cached_tokens`); half of it else.
        batches: takes batches too; how they go, by the options of `polyclinic.testing.batches`.
        port: 0 for a free one.
    """

    def __init__(
        self,
        *,
        answers: Answers = None,
        latency: float = 0.0,
        spread: float = 0.0,
        faults: float = 0.0,
        kinds: Sequence[str] = MIXED,
        plan: Sequence[str | None] = (),
        seed: int = 0,
        key: str | None = None,
        models: Sequence[str] = (),
        lacks: Sequence[str] = (),
        capacity: int | None = None,
        slots: int | None = None,
        prefixes: bool = False,
        batches: Mapping[str, int] | None = None,
        port: int = 0,
    ) -> None:
        self._answers, self._latency, self._spread = answers, latency, spread
        self._faults, self._kinds, self._plan, self._seed = faults, tuple(kinds), list(plan), seed
        self._key, self._models, self._lacks, self._capacity, self._port = key, models, lacks, capacity, port
        self._slots = contextlib.nullcontext() if slots is None else asyncio.Semaphore(slots)
        self._prefixes = PromptPrefixes() if prefixes else None
        self.batches = None if batches is None else Batches(self._of_batch, **batches)
        self._rng = random.Random(seed)
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
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/embeddings", self._chat)
        app.router.add_get("/v1/models", self._list)
        app.router.add_get("/counters", self._count)
        if self.batches is not None:
            self.batches.add_to(app)
        # A hung request must not hold up the end of a test.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port, backlog=2048)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def counters(self) -> dict[str, Any]:
        """Returns what happened so far: requests, right answers, faults by kind, requests in flight."""
        return {
            "requests": self.requests,
            "answered": self.answered,
            "faults": dict(self.met),
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
            **({} if self._prefixes is None else {"prefix_share": self._prefixes.share}),
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
        data = [{"id": name} for name in self._models or ["test"]]
        return reply(msgspec.json.encode({"object": "list", "data": data}))

    def _locked(self, request: web.Request) -> bool:
        return self._key is not None and request.headers.get("Authorization") != f"Bearer {self._key}"

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
        if self._models and body["model"] not in self._models:
            return failure(404, f"The model `{body['model']}` does not exist.", code="model_not_found")
        for name in self._lacks:
            if name in body:
                told = f"Unsupported parameter: '{name}' is not supported with this model. {self.hints.get(name, '')}"
                return failure(400, told, param=name)
        if self._capacity is not None and self.in_flight > self._capacity:
            self.met["capacity"] += 1
            return failure(429, "too many requests at once")
        fault = self._fault(raw)
        vectors = "input" in body
        value = None if vectors else self._value(body, raw)
        if fault is not None:
            self.met[fault] += 1
            return await misbehave(fault, request, body, value)
        if self._latency:
            spread = self._rng.lognormvariate(0, self._spread) if self._spread else 1.0
            async with self._slots:
                await asyncio.sleep(self._latency * spread)
        self.answered += 1
        self._change.set()
        if vectors:
            return reply(embedded(body, self._seed))
        share = 0.5 if self._prefixes is None else self._prefixes.add(body["messages"])
        return reply(completion(body, value, cached=share))

    async def _of_batch(self, body: dict[str, Any], raw: bytes) -> tuple[int, bytes]:
        """Answers one request of a batch; a fault is a 500."""
        self.requests += 1
        self.bodies.append(body)
        for name in self._lacks:
            if name in body:
                said = {"error": {"message": f"Unsupported parameter: '{name}'", "param": name}}
                return 400, msgspec.json.encode(said)
        fault = self._fault(raw)
        if fault is not None:
            self.met[fault] += 1
            return 500, b'{"error": {"message": "on purpose"}}'
        self.answered += 1
        return 200, completion(body, self._value(body, raw))

    def _fault(self, raw: bytes) -> str | None:
        if self._plan:
            return self._plan.pop(0)
        if not self._faults:
            return None
        digest = hashlib.blake2b(raw, digest_size=16).digest()
        self._seen[digest] += 1
        rng = derive(self._seed, "fault", digest.hex(), self._seen[digest])
        return rng.choice(self._kinds) if rng.random() < self._faults else None

    def _value(self, body: dict[str, Any], raw: bytes) -> Any:
        if callable(self._answers):
            return self._answers(body)
        said = body["messages"][-1]["content"]
        if isinstance(self._answers, Mapping):
            return self._answers[said]
        if self._answers is not None:
            return self._answers[self.answered % len(self._answers)]
        form = body.get("response_format", {}).get("json_schema")
        schema = form["schema"] if form is not None else _schema_in(said)
        if schema is None:
            return f"You said: {said}"
        return instance(schema, derive(self._seed, "answer", hashlib.blake2b(raw).hexdigest()))


def _schema_in(said: Any) -> dict[str, Any] | None:
    """Returns the JSON Schema that a message ends with, as a model would follow one that it is told of in words."""
    at = said.find('{"') if isinstance(said, str) else -1
    try:
        schema = msgspec.json.decode(said[at:]) if at >= 0 else None
    except msgspec.DecodeError:
        return None
    return schema if isinstance(schema, dict) and "properties" in schema else None


async def serve(**options: Any) -> None:
    """Runs an endpoint until it is stopped, and says its address first."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        # A shell starts what runs in the background with SIGINT ignored; a program that is told to stop must stop.
        with contextlib.suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with Endpoint(**options) as endpoint:
        print(endpoint.url, flush=True)  # noqa: T201
        await stopped.wait()


def main() -> None:
    """Reads the command line and serves."""
    parser = argparse.ArgumentParser(prog="python -m polyclinic.testing.endpoint", description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, default=8000, help="0 for a free one")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before an answer")
    parser.add_argument("--spread", type=float, default=0.0, help="sigma of the log-normal distribution of latencies")
    parser.add_argument("--faults", type=float, default=0.0, help="share of requests that meet a fault")
    parser.add_argument("--kinds", nargs="+", default=MIXED, choices=ENDPOINT_FAULTS + MODEL_FAULTS, metavar="FAULT")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--key", help="let in only requests with this key")
    parser.add_argument("--models", nargs="+", default=(), help="names of the models that are here; any, unless given")
    parser.add_argument("--lacks", nargs="+", default=(), help="parameters to refuse")
    parser.add_argument("--capacity", type=int, help="requests at once; 429 for those beyond")
    parser.add_argument("--slots", type=int, help="requests to work at at once; those beyond wait")
    parser.add_argument("--prefixes", action="store_true", help="count what of a prompt has been sent before")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
