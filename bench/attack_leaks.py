"""What is so stays out of every prompt: a canary in the truth, and every command that asks a model."""

import asyncio
import json
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from bench.attack import Tried
from bench.attack_files import call
from polyclinic.cases.loaders import read_cases, write_cases
from polyclinic.cases.truth import Truth
from polyclinic.cli.commands import APP
from polyclinic.generation import draw
from polyclinic.testing.endpoint import Endpoint

CANARY = "zyzzogeton"
"""Stands in what a case's truth says, and nowhere else; no table knows it, so that nothing withholds it by its name."""

_ROLES = ("--doctor", "direct/d", "--patient", "direct/p", "--examiner", "direct/e")
_TOWN = ("--residents", "200", "--days", "1", "--visits", "3", "--set", "run.max-failures=100", "--out", "{out}")
_TOLD = {"j", "c"}
"""Models that are told what is so, as it is their task: who judges, and who says how an illness goes on."""

_Words = tuple[str, ...]

ASKED: dict[str, tuple[_Words, ...]] = {
    "run": (
        (
            *_TOWN,
            *_ROLES,
            "--set",
            "run.nurse=direct/n",
            "--set",
            "run.pharmacist=direct/h",
            "--set",
            "run.course=direct/c",
        ),
    ),
    "evolve": (("--train", "{train}", "--test", "{test}", "--doctor", "direct/d", "--out", "{out}"),),
    "consult": (
        ("{cases}", *_ROLES, "--set", "run.max-failures=100"),
        ("{cases}", "--doctors", "direct/d", "direct/d2", "--set", "run.max-failures=100"),
    ),
    "ask": (
        ("{cases}#p1-00001", "--patient", "direct/p", "Since when?", "What is the diagnosis?"),
        ("{cases}#p1-00001", "--examiner", "direct/e", "chest X-ray"),
    ),
    # The options of its question name the diagnosis, and what looks like it.
    "eval aie": (
        (
            "--cases",
            "{known}",
            *_ROLES,
            "--doctor",
            "direct/d2",
            "--judge",
            "direct/j",
            "--set",
            "run.max-failures=100",
        ),
    ),
    "eval mvme": (("--cases", "{cases}", *_ROLES, "--judge", "direct/j", "--set", "run.max-failures=100"),),
    "eval reliability": (("--cases", "{cases}", *_ROLES, "--judge", "direct/j", "--set", "run.max-failures=100"),),
    "eval tor": (
        ("--cases", "{inpatients}", "--model", "direct/d", "--judge", "direct/j", "--set", "run.max-failures=100"),
    ),
}
"""Every command that shows a case to a model, with the options of the tries."""

NO_CASE = {
    "serve": "has a test of its own of all that is sent before the end; models play as in consult",
    "cases generate": "the writer is told what is drawn, and writes the record of it",
    "cases patient-test": "the writer is told a record",
    "cases convert": "the writer is told a record",
    "corpus add": "reads no case",
    "corpus search": "reads no case",
    "models check": "reads no case",
    "eval patient-simulator": "its dialogues are over",
    "eval examiner": "its dialogues are over",
    "eval exam": "the key is a letter, and no method can import it",
    "score director": "judges what is over",
    "score icd": "judges what is over",
    "study run": "runs other commands",
    "memory read": "reads books",
    "memory build": "reads what was remembered",
    "memory show": "takes what is said of a patient, and no case",
    "knowledge compare": "reads no case",
}
"""Every other command that can ask a model, and why no truth is there that could leak."""


def asking() -> list[str]:
    """Returns all commands that can ask a model, by walking the command line."""
    found: list[str] = []

    def walk(app: Any, words: _Words) -> None:
        for name in app:
            if name.startswith("-"):
                continue
            inner, chain = app[name], (*words, name)
            if inner.default_command is not None:
                options = {one for argument in inner.assemble_argument_collection() for one in argument.names}
                if "--base-url" in options:
                    found.append(" ".join(chain))
            walk(inner, chain)

    walk(APP, ())
    return found


def canaries(seed: int, n: int) -> list[Tried]:
    """Runs every command with a canary in the truth; no prompt holds it but of those who are told what is so."""
    failed = [f"{name}: nobody has said how it is tried" for name in asking() if name not in ASKED | NO_CASE]
    tries = [(name, words) for name, all_words in ASKED.items() for words in all_words][:n]
    prompts = 0
    with tempfile.TemporaryDirectory() as folder, _marked():
        places = _written(Path(folder), seed, str(tries))
        for number, (name, words) in enumerate(tries):
            with served() as endpoint:
                given = [word.format(**places, out=f"{folder}/out-{number}") for word in words]
                code, _, errors = call(*name.split(), *given, "--base-url", endpoint.url, "--json")
                asked = [body for body in endpoint.bodies if body["model"] not in _TOLD]
                prompts += len(asked)
                if leaks := [body for body in asked if CANARY in json.dumps(body).casefold()]:
                    failed.append(f"{name}: {len(leaks)} prompts, the first to {leaks[0]['model']}")
                if not asked:
                    failed.append(f"{name}: asked nothing, exit code {code}: {errors[-200:]!r}")
    print(f"  {prompts:,} prompts of {len(tries)} commands", flush=True)
    return [Tried("commands with a canary in what is so", len(tries), tuple(failed[: len(tries)]))]


def marked(truth: Truth, fields: Sequence[str]) -> Truth:
    """Returns what is so with canaries in these fields of it."""
    told = {name: (*getattr(truth, name), f"{CANARY} {name}") for name in fields if name != "diagnoses"}
    if "diagnoses" in fields:
        told["diagnoses"] = tuple(msgspec.structs.replace(one, name=f"{CANARY} fever") for one in truth.diagnoses)
    return msgspec.structs.replace(truth, **told)


_NO_OPTIONS = ("rationale", "treatment", "complications", "prevention")
_TEXTS = (*_NO_OPTIONS, "differential")
_CASES = (
    ("cases", "shipped", 2, (*_TEXTS, "diagnoses")),
    ("known", "shipped", 2, _NO_OPTIONS),
    ("train", "1", 3, _TEXTS),
    ("test", "2", 2, _TEXTS),
    ("inpatients", "inpatients", 1, _TEXTS),
)
"""Files of cases: what commands call them, out of which file or by which seed, how many, and where canaries are."""


def _written(folder: Path, seed: int, named: str) -> dict[str, str]:
    """Writes cases with canaries, those that the words of commands name, and returns where."""
    places = {}
    for name, source, n, fields in _CASES:
        places[name] = str(folder / f"{name}.jsonl")
        if f"{{{name}}}" not in named:
            continue
        place = source
        if source.isdigit():
            drawn = folder / f"drawn-{name}.jsonl"
            call(
                "cases", "generate", "--n", n, "--seed", seed + int(source), "--diseases", "respiratory", "--out", drawn
            )
            place = str(drawn)
        some = [case for case, _ in zip(read_cases(place), range(n), strict=False)]
        kept = [msgspec.structs.replace(one, truth=marked(one.truth, fields)) for one in some]
        write_cases(Path(places[name]), kept)
    return places


@contextmanager
def _marked() -> Iterator[None]:
    """While it lasts, what the hospital draws has canaries too."""
    before = draw.Truth
    draw.Truth = lambda **told: marked(before(**told), _TEXTS)
    try:
        yield
    finally:
        draw.Truth = before


@contextmanager
def served(endpoint: Endpoint | None = None) -> Iterator[Endpoint]:
    """Serves an endpoint that keeps all that it is asked, in a thread of its own."""
    ready, held = threading.Event(), []

    async def serve() -> None:
        async with endpoint or Endpoint() as serving:
            serving.keep = 1_000_000
            stop = asyncio.Event()
            held.extend((serving, asyncio.get_running_loop(), stop))
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield held[0]
    finally:
        held[1].call_soon_threadsafe(held[2].set)
        thread.join(10)
