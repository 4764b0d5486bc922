"""More than one server, and more than one can count: what is held where a model has several servers and many callers.

`python -m bench scale [--only servers|prefixes|flight]`; servers stand in processes of their own.

servers: conversations at four servers, one of them slow, one killed in the middle: how much of what those alive can do
is done, how many turns go where the conversation's prefix is, and that none is lost. Servers refuse what is too much
(429), queue it, or are given so many questions at a time.
prefixes: which share of the prompts' characters repeats a prefix that was sent before.
flight: CPU of a call and memory, with 256 and with 10,000 calls in flight.
"""

import argparse
import asyncio
import contextlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.episodes import answer as answer_visit
from bench.serving import Served, held_against, serve_or_run
from bench.virtual_time import SimulatedServer, converse, simulate
from polyclinic.lazy import collect_seldom
from polyclinic.models.direct import Direct
from polyclinic.models.limits import Limit
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import journal_of, open_models
from polyclinic.models.settings import ModelSettings
from polyclinic.testing.endpoint import Endpoint, EndpointProcess

LATENCY, SLOWER, SLOTS = 0.4, 4.0, 24
LATENCIES = (LATENCY, LATENCY, LATENCY, SLOWER * LATENCY)
SIMULATED, SERVED = {"conversations": 1000, "turns": 12}, {"conversations": 240, "turns": 30}
LEAST_THROUGHPUT, LEAST_AT_HOME = 0.85, 0.90
SYSTEM = "You are a careful physician. Ask one thing at a time, and say what you think. " * 4

LEAST_REPEATED = 0.85

FEW, MANY, CALLS = 256, 10_000, 10_000
MOST_RATIO, MOST_MIB = 1.5, 1536


def run(*words) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench scale")
    parser.add_argument("--only", choices=("servers", "prefixes", "flight"))
    only = parser.parse_args(words).only
    good = [
        measure()
        for name, measure in (("servers", servers), ("prefixes", prefixes), ("flight", flight))
        if only in (None, name)
    ]
    if not all(good):
        sys.exit(1)


def servers() -> bool:
    print(
        f"4 servers of {SLOTS} places, {1000 * LATENCY:.0f} ms an answer; one takes {SLOWER:g} times as long, another "
        f"dies in the middle"
    )
    good = []
    for how, held in (("simulated", _simulated), ("served on this machine", _served)):
        many = SIMULATED if held is _simulated else SERVED
        print(f"  {how}: {many['conversations']} conversations of {many['turns']} turns")
        for what, options, concurrency in (
            ("429 for what is too much", {"capacity": SLOTS}, "adaptive"),
            ("a queue of the server's own", {"slots": SLOTS}, "adaptive"),
            (f"--concurrency {SLOTS}", {}, SLOTS),
        ):
            limit = Limit(1024, adaptive=True) if concurrency == "adaptive" else concurrency
            good.append(_told(what, *held(options, limit, **many), many))
    return all(good)


def _simulated(options, limit, **many):
    return simulate([SimulatedServer(latency=one, **options) for one in LATENCIES], concurrency=limit, **many)


def _served(options, limit, **many):
    with contextlib.ExitStack() as stack:
        alive = [stack.enter_context(EndpointProcess(latency=one, **options)) for one in LATENCIES]
        dies, urls = alive[0], [one.url for one in alive]

        async def held():
            async with Direct("test", base_url=urls, concurrency=limit, report=lambda _: None) as model:
                return await converse(model, kill=dies.__exit__, system=SYSTEM, **many)

        return asyncio.run(held()), urls[0]


def _told(what, came, died, many) -> bool:
    throughput, home = came.throughput([SLOTS / one for one in LATENCIES]), came.at_home(died)
    lost = many["conversations"] * many["turns"] - sum(map(len, came.servers))
    good = throughput >= LEAST_THROUGHPUT and home >= LEAST_AT_HOME and not lost
    print(
        f"    {what:<28}{came.seconds:>6.1f} s, {100 * throughput:.0f} % of what those alive can do (at least "
        f"{100 * LEAST_THROUGHPUT:.0f}); {100 * home:.1f} % of later turns at their server (at least "
        f"{100 * LEAST_AT_HOME:.0f}); {lost} lost: {'met' if good else 'MISSED'}",
        flush=True,
    )
    return good


def talks_on(body):
    """Answers as anybody would; a doctor says something in all the turns that it has."""
    said = answer_visit(body)
    return said | {"conclude": False} if isinstance(said, dict) and "conclude" in said else said


def prefixes() -> bool:
    good = []
    for what, words in (
        ("consultations", ("consult", "shipped")),
        ("AIE", ("eval", "aie", "--cases", "shipped")),
    ):
        calls, share = asyncio.run(_sent(words))
        good.append(share >= LEAST_REPEATED)
        print(
            f"{what}: {calls} calls, {share:.3f} of the prompts' characters repeat a prefix that was sent before "
            f"(at least {LEAST_REPEATED}): {'met' if good[-1] else 'MISSED'}"
        )
    return all(good)


_BLOCK = 4  # characters; a prefix is repeated in whole blocks, as engines cache blocks of tokens


class PromptPrefixes:
    """Prompts that were sent so far, by their beginnings.

    Attributes:
        characters: of all prompts.
        repeated: those of them in a prefix that an earlier prompt had too.
    """

    def __init__(self):
        self.characters = self.repeated = 0
        self._seen = set()

    def add(self, messages):
        """Takes note of a prompt, as the wire has it; returns which share of it repeats a prefix."""
        text = "\n".join(f"{message['role']}\n{message.get('content')}" for message in messages)
        before, repeated, place = len(self._seen), 0, 0
        for start in range(0, len(text), _BLOCK):
            # A block counts with all that stands before it.
            place = hash((place, text[start : start + _BLOCK]))
            if place in self._seen and len(self._seen) == before:
                repeated = min(start + _BLOCK, len(text))
            self._seen.add(place)
        self.characters += len(text)
        self.repeated += repeated
        return repeated / len(text) if text else 0.0

    @property
    def share(self):
        """The share of all characters that repeat a prefix; 0 before there are any."""
        return self.repeated / self.characters if self.characters else 0.0


class _CachingEndpoint(Endpoint):
    """Says of each prompt how much of it was sent before."""

    def __post_init__(self):
        super().__post_init__()
        self.prefixes = PromptPrefixes()

    def cached(self, body):
        return self.prefixes.add(body["messages"])


async def _sent(words):
    """Returns how many calls a command makes with a model in every role, and how much of them repeats a prefix."""
    async with _CachingEndpoint(answers=talks_on) as endpoint:
        model = ("--doctor", "direct/test", "--patient", "direct/test", "--base-url", endpoint.url)
        command = (sys.executable, "-m", "polyclinic", *words, *model, "--seed", "1", "--concurrency", "32")
        process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert await process.wait() == 0
        return endpoint.answered, endpoint.prefixes.share


def flight() -> bool:
    print(f"{CALLS} calls with journal and ledger, a server in a process of its own")
    few = _in_process(FEW)
    many = _in_process(MANY)
    for at_once, (cpu, mib, most) in ((FEW, few), (MANY, many)):
        print(f"  {at_once:>6,} in flight ({most:,} at the most): {1000 * cpu:.3f} ms of CPU a call, {mib:.0f} MiB")
    ratio = many[0] / few[0]
    good = ratio <= MOST_RATIO and many[1] <= MOST_MIB
    print(f"  {held_against(ratio, MOST_RATIO)}; memory {'met' if many[1] <= MOST_MIB else 'MISSED'} ({MOST_MIB} MiB)")
    return good


def _in_process(at_once):
    """Measures in a process of its own; returns CPU seconds a call, MiB at the peak, calls in flight at the server."""
    command = [sys.executable, "-m", "bench.scale", "flight", str(at_once)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


async def _fly(at_once):
    # Long enough that all are in flight before the first is answered.
    latency = max(0.05, at_once * 0.0005)
    with Served("bench.scale", latency) as url, tempfile.TemporaryDirectory() as folder:
        options = ModelSettings(base_url=url, concurrency=at_once)
        async with open_models(["direct/test"], options, journal=journal_of(Path(folder) / "journal")) as session:
            most = 0

            async def ask(number):
                nonlocal most
                model = session.model("direct/test", Asker("doctor", f"e{number}"))
                await model.ask([("system", SYSTEM), ("user", f"Patient {number} coughs.")], purpose="turn 1")
                most = max(most, model.limit.inside)

            await asyncio.gather(*map(ask, range(at_once)))  # which opens the connections
            cpu = time.process_time()
            await asyncio.gather(*map(ask, range(at_once, at_once + CALLS)))
            cpu = time.process_time() - cpu
    return cpu / CALLS, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, most


def answer(_body):
    """Returns what the endpoint says."""
    return "It is better."


if __name__ == "__main__":
    if sys.argv[1:2] == ["flight"]:
        collect_seldom()  # as the command line does
        print(json.dumps(asyncio.run(_fly(int(sys.argv[2])))))
    else:
        serve_or_run(answer, run)
