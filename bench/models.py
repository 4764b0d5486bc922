"""What a call costs: `direct` beside bare aiohttp, the openai SDK and Inspect, against a server in another process."""

import asyncio
import importlib.util
import json
import os
import resource
import statistics
import tempfile
import time
from pathlib import Path

import aiohttp
import msgspec

from polyclinic.lazy import collect_seldom
from polyclinic.models.direct import Direct
from polyclinic.models.journal import Journal
from polyclinic.models.schema import form_of
from polyclinic.testing.endpoint import EndpointProcess

AT_ONCE = 256
LATENCY = 0.05
CALLS = 4000
SLOW_CALLS = 400  # for those that cost tens of times as much
ROUNDS = 5
STABLE = "You are a careful physician. Ask one thing at a time, and say what you think. " * 6

BARS = {"direct": 1.4, "direct, journal": 1.8}
WALL_BAR = 1.15


class Turn(msgspec.Struct):
    kind: str
    question: str
    findings: list[str]


def messages(number):
    return [("system", STABLE), ("user", f"Patient {number} has coughed for {number % 30} days.")]


async def measure(ask, calls):
    """Returns CPU and wall seconds a call, all processes and threads of ours counted."""
    await many(ask, min(calls, AT_ONCE))
    cpu, wall = time.process_time(), time.perf_counter()
    await many(ask, calls)
    return (time.process_time() - cpu) / calls, (time.perf_counter() - wall) / calls


async def many(ask, calls):
    numbers = iter(range(calls))

    async def worker():
        for number in numbers:
            await ask(number)

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))


def request(number):
    form = {"name": "answer", "strict": True, "schema": form_of(Turn).schema}
    return {
        "model": "test",
        "messages": [{"role": role, "content": text} for role, text in messages(number)],
        "response_format": {"type": "json_schema", "json_schema": form},
    }


async def bare(url, calls):
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(number):
            async with session.post(f"{url}/chat/completions", json=request(number)) as response:
                body = await response.json()
            return json.loads(body["choices"][0]["message"]["content"])

        return await measure(ask, calls)


async def direct(url, calls):
    async with Direct("test", base_url=url) as model:
        return await measure(lambda number: model.ask(messages(number), answer=Turn), calls)


async def journalled(url, calls):
    with tempfile.TemporaryDirectory() as folder:
        async with Direct("test", base_url=url) as model, Journal(Path(folder) / "run.journal") as journal:
            wrapped = journal.wrap(model, episode="bench")
            return await measure(lambda number: wrapped.ask(messages(number), answer=Turn), calls)


async def openai_sdk(url, calls):
    import openai

    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

        async def ask(number):
            body = await client.chat.completions.create(**request(number))
            return json.loads(body.choices[0].message.content)

        return await measure(ask, calls)


async def inspect_around_openai(url, calls):
    return await with_inspect("openai/test", url, calls, api_key="none", responses_api=False)


async def inspect_around_direct(url, calls):
    import polyclinic.models.inspect_provider  # noqa: F401

    return await with_inspect("direct/test", url, calls)


async def with_inspect(name, url, calls, **options):
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig, ResponseSchema, get_model
    from inspect_ai.util import JSONSchema

    schema = ResponseSchema(name="answer", json_schema=JSONSchema.model_validate(form_of(Turn).schema), strict=True)
    config = GenerateConfig(max_connections=AT_ONCE, response_schema=schema)
    async with get_model(name, base_url=url, config=config, memoize=False, **options) as model:

        async def ask(number):
            (_, system), (_, user) = messages(number)
            output = await model.generate([ChatMessageSystem(content=system), ChatMessageUser(content=user)])
            return json.loads(output.completion)

        return await measure(ask, calls)


def rows():
    """Yields what is measured: name, function, calls."""
    yield "bare aiohttp", bare, CALLS
    yield "direct", direct, CALLS
    yield "direct, journal", journalled, CALLS
    has_openai = importlib.util.find_spec("openai") is not None
    has_inspect = importlib.util.find_spec("inspect_ai") is not None
    if has_openai:
        yield "openai SDK", openai_sdk, SLOW_CALLS
    if has_inspect:
        yield "Inspect around direct", inspect_around_direct, SLOW_CALLS
    if has_openai and has_inspect:
        yield "Inspect around openai", inspect_around_openai, SLOW_CALLS
    for name, there in (("openai SDK", has_openai), ("Inspect", has_inspect)):
        if not there:
            print(f"(not installed, and so not measured: {name})")


def run() -> None:
    collect_seldom()  # as the command line does
    print(f"{AT_ONCE} calls in flight, {1000 * LATENCY:.0f} ms latency, a JSON Schema, {ROUNDS} rounds", flush=True)
    # Started before we keep to one core: the servers have the others.
    with EndpointProcess(latency=LATENCY) as quick, EndpointProcess(latency=0.5) as slow:
        allowed = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else None
        if allowed:
            os.sched_setaffinity(0, {min(allowed)})
        try:
            table(quick.url)
            throughput(slow.url, calls=5000, latency=0.5)
        finally:
            if allowed:
                os.sched_setaffinity(0, allowed)
    print(f"memory at the peak: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


def table(url):
    results = {}
    todo = list(rows())
    # Round by round, so that what else the machine does meets all alike.
    for _ in range(ROUNDS):
        for name, function, calls in todo:
            results.setdefault(name, []).append(asyncio.run(function(url, calls)))
    print(f"{'':<24}{'CPU ms/call':>12}{'wall ms/call':>13}{'CPU ratio':>11}{'calls/s on one core':>21}")
    for name, measured in results.items():
        cpu, wall = (statistics.median(part) for part in zip(*measured, strict=True))
        # Each beside the bare aiohttp of its own round: the machine may be slower in one than in another.
        pairs = zip(measured, results["bare aiohttp"], strict=True)
        ratio = statistics.median(own / other for (own, _), (other, _) in pairs)
        bar = f"  bar {BARS[name]}: {'met' if ratio <= BARS[name] else 'MISSED'}" if name in BARS else ""
        print(f"{name:<24}{1000 * cpu:>12.3f}{1000 * wall:>13.3f}{ratio:>11.2f}{1 / cpu:>21,.0f}{bar}")


def throughput(url, *, calls, latency):
    _, wall = asyncio.run(journalled(url, calls))
    ideal = latency / AT_ONCE
    print(
        f"{calls} calls at {1000 * latency:.0f} ms, journal on: {wall * calls:.2f} s, ideal {ideal * calls:.2f} s, "
        f"ratio {wall / ideal:.3f}  bar {WALL_BAR}: {'met' if wall / ideal <= WALL_BAR else 'MISSED'}"
    )


if __name__ == "__main__":
    run()
