"""Kills of every command that keeps something: what is taken up again comes out as if nobody had disturbed it.

A command runs undisturbed; then it is killed with signal 9 at random moments, taken up again after each, and let come
to its end. The same must come of both, the endpoint must have answered nothing twice but what was under way at a kill,
and no process may be left.
"""

import itertools
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from bench.attack import Tried
from polyclinic.testing.endpoint import EndpointProcess

LATENCY = 0.03  # seconds before the endpoint answers
AT_ONCE = 4
"""Questions that a command has under way at most, where that can be said; a run has as many as it has patients."""

_A_ROUND = 4  # kills, at most, before a command may come to its end
_CASES = (40, 8)  # patients to practise on, and of the tests
_PASSAGES = 6_000
_THINKING = 0.1  # seconds between two moves of a player
_GONE = 2.0  # seconds in which processes of one that is killed must end
_MARK = "POLYCLINIC_ATTACKED"
_NUMBERS = itertools.count(os.getpid() << 20)
_MARKS: dict[int, bytes] = {}  # by process, what stands in its environment and in that of all that it starts
_SPENT = re.compile(r'"(?:seconds|wall_seconds|cost|usage|money|spent|calls|tokens\w*|mib|new|same|folder|out)": ')
_ADDRESS = re.compile(r"http://[\d.:]+/")
_SAID = ("Since when?", "Do you have a fever?", "Do you smoke?", "Any pain?", "Do you cough?", "What do you take?")


class Scene(NamedTuple):
    """A command that is killed.

    Attributes:
        name: of the command.
        begin: its words, by the folder that it writes.
        again: its words after a kill, by the same.
        result: what came of it, by the folder and what it printed in the end.
        at_once: questions that it has under way at most.
    """

    name: str
    begin: Callable[[Path], tuple[str, ...]]
    again: Callable[[Path], tuple[str, ...]]
    result: Callable[[Path, str], str]
    at_once: int


def kills(seed: int, n: int) -> list[Tried]:
    """Kills `run`, `evolve`, `eval`, `corpus add` and `serve` with signal 9, n times in all."""
    rng, tried = random.Random(seed), []
    with tempfile.TemporaryDirectory() as folder, EndpointProcess(latency=LATENCY) as endpoint:
        scenes = scenes_of(Path(folder), endpoint.url)
        share = [n // 5 + (place < n % 5) for place in range(5)]
        for scene, most in zip(scenes, share[:4], strict=True):
            tried.append(_killed(scene, most, rng, Path(folder) / scene.name, endpoint))
        tried.append(_served(share[4], rng, Path(folder) / "serve", endpoint))
    return [one for one in tried if one.n]


def scenes_of(folder: Path, url: str) -> list[Scene]:
    train, test, prose = _written(folder)
    model = ("--doctor", "direct/d", "--base-url", url)
    four = ("--concurrency", str(AT_ONCE))
    town = ("run", "--residents", "200", "--seed", "5", "--set", "run.max-failures=100", "--days", "1", "--json")
    practice = (
        "evolve",
        "--train",
        train,
        "--test",
        test,
        "--set",
        "practice.batch=4",
        "--set",
        "practice.test-every=20",
        "--snapshots",
        "20",
    )
    exam = ("eval", "exam", "medqa", "shipped", "--method", "medagents", "--model", "direct/d", "--json")
    friends = ("corpus", "add", "friends", prose, "--embedder", "direct/e", "--base-url", url, *four, "--json")

    def asked(out: Path) -> tuple[str, ...]:
        out.mkdir(exist_ok=True)
        return (*exam, "--base-url", url, *four, "--out", f"{out}/results")

    return [
        Scene(
            "run",
            lambda out: (*town, *model, "--on", "local:2", "--out", str(out)),
            lambda out: (*town, *model, "--on", "local:2", "--out", str(out)),
            lambda _, printed: str(json.loads(printed)["log_hash"]),
            100,
        ),
        Scene(
            "evolve",
            lambda out: (*practice, *model, *four, "--json", "--out", str(out)),
            lambda out: (*practice, *model, *four, "--json", "--out", str(out)),
            lambda out, printed: _plain(printed) + _plain((out / "items.jsonl").read_text("utf-8")),
            AT_ONCE,
        ),
        Scene(
            "eval",
            asked,
            asked,
            lambda out, printed: _plain(printed) + _plain((out / "results" / "items.jsonl").read_text("utf-8")),
            AT_ONCE,
        ),
        Scene(
            "corpus add",
            lambda out: (*friends, "--library", str(out)),
            lambda out: (*friends, "--library", str(out)),
            lambda out, printed: _plain(printed) + _found(out, url),
            AT_ONCE,
        ),
    ]


def _written(folder: Path) -> tuple[str, str, str]:
    """Writes patients to learn from and to be tested with, and prose; returns their paths."""
    printed("cases", "generate", "--preset", "agent-hospital", "--out", str(folder / "cases"))
    paths = []
    for name, n in zip(("train", "test"), _CASES, strict=True):
        lines = (folder / "cases" / f"{name}.jsonl").read_text("utf-8").splitlines(keepends=True)
        paths.append(folder / f"{name}.jsonl")
        paths[-1].write_text("".join(lines[:n]), encoding="utf-8")
    prose = folder / "prose.txt"
    prose.write_text("".join(f"Passage {n}: gout, fever {n % 7}, cough {n % 11}.\n\n" for n in range(_PASSAGES)))
    return str(paths[0]), str(paths[1]), str(prose)


def _found(library: Path, url: str) -> str:
    """Returns what is found in a corpus, by words and by meaning, and its passages and vectors."""
    said = []
    for by in ("bm25", "dense"):
        said.append(printed("corpus", "search", "friends", "fever 3", "--library", str(library), "--by", by, "--json"))
    with closing(sqlite3.connect(library / "friends" / "corpus.sqlite")) as store:
        tables = (
            "SELECT id, title, text FROM passages ORDER BY id",
            "SELECT count(*), sum(length(vector)) FROM vectors",
        )
        said += [repr(store.execute(table).fetchall()) for table in tables]
    return "".join(said)


def _plain(printed: str) -> str:
    """Returns lines of JSON without what is spent, and without places of files."""
    document = [json.loads(line) for line in printed.splitlines()] if printed.startswith('{"') else json.loads(printed)

    def without(node: object) -> object:
        if isinstance(node, dict):
            return {key: without(one) for key, one in node.items() if not _SPENT.match(f'"{key}": ')}
        return [without(one) for one in node] if isinstance(node, list) else node

    return json.dumps(without(document), sort_keys=True)


def _killed(scene: Scene, n: int, rng: random.Random, folder: Path, endpoint: EndpointProcess) -> Tried:
    failed: list[str] = []
    what = f"kill -9 of {scene.name}, which is taken up again"
    if not n:
        return Tried(what, 0)
    folder.mkdir()
    before, began = _answered(endpoint), time.monotonic()
    whole = folder / "whole"
    expected = scene.result(whole, printed(*scene.begin(whole)))
    usual, took = _answered(endpoint) - before, time.monotonic() - began
    before = _answered(endpoint)
    printed(*(scene.again(whole) if begun(whole) else scene.begin(whole)))
    each = _answered(endpoint) - before  # what the command asks whenever it is given, also where all is done
    done = number = again = 0
    while done < n:
        number += 1
        out, before, stopped, given = folder / f"killed-{number}", _answered(endpoint), 0, min(_A_ROUND, n - done)
        words = scene.begin(out)
        for _ in range(given):
            with polyclinic(*words) as process:
                time.sleep(rng.uniform(0.3, took))
                ended = process.poll() is not None
                process.kill()
                process.communicate()
                if orphans := orphans_of(process.pid):
                    failed.append(f"round {number}: {orphans} processes are left")
            stopped += not ended
            done += 1
            words = scene.again(out) if begun(out) else scene.begin(out)
        came = scene.result(out, printed(*words))
        more = max(0, _answered(endpoint) - before - usual - each * given)
        again += more
        print(
            f"  {scene.name}: {done} kills, {stopped} in this round; {more} answers of {usual} asked for again",
            flush=True,
        )
        if came != expected:
            failed.append(f"round {number}: another result, {_differs(expected, came)}")
        if more > stopped * scene.at_once:
            failed.append(f"round {number}: {more} answers were asked for again after {stopped} kills")
    return Tried(what, done, tuple(failed[:done]))


def begun(out: Path) -> bool:
    return any(out.glob("*.sqlite")) if out.is_dir() else False


def _differs(expected: str, came: str) -> str:
    at = next((at for at, (a, b) in enumerate(zip(expected, came, strict=False)) if a != b), 0)
    return f"{came[max(at - 60, 0) : at + 60]!r} and not {expected[max(at - 60, 0) : at + 60]!r}"


def _served(n: int, rng: random.Random, folder: Path, endpoint: EndpointProcess) -> Tried:
    """Plays visits in a browser's place, and kills the server between and within its answers."""
    failed: list[str] = []
    folder.mkdir()
    expected, problems = _visit(folder / "whole", endpoint, []) if n else ("", [])
    failed += [f"undisturbed: {problem}" for problem in problems]
    done = number = 0
    while done < n:
        number += 1
        usual = _answered(endpoint)
        waits = [rng.uniform(0.0, 1.2) for _ in range(min(_A_ROUND, n - done))]
        done += len(waits)
        came, problems = _visit(folder / f"killed-{number}", endpoint, waits)
        print(f"  serve: {done} kills; {_answered(endpoint) - usual} answers", flush=True)
        failed += [f"round {number}: {problem}" for problem in problems]
        if came != expected:
            failed.append(f"round {number}: another visit, {_differs(expected, came)}")
    return Tried("kill -9 of serve, in which a visit is played on", done, tuple(failed[:done]))


def _visit(practice: Path, endpoint: EndpointProcess, waits: list[float]) -> tuple[str, list[str]]:
    """Plays one visit, over so many kills; returns its trace, and what was lost on the way."""
    moves: list[dict[str, object]] = [{"do": "say", "text": text} for text in _SAID]
    moves += [{"do": "order", "names": ["chest X-ray"]}, {"do": "conclude"}]
    moves.append({"do": "report", "diagnoses": [{"name": "influenza A", "probability": 0.8}], "symptoms": ["fever"]})
    problems, made, at = [], 0, ""
    coming = list(waits)
    words = ("serve", str(practice.parent), "--port", "0", "--set", f"serve.practice={practice}")
    words += ("--set", "serve.beside=direct/d", "--judge", "direct/j", "--base-url", endpoint.url)
    while True:
        with polyclinic(*words, errors=True) as process:
            url = _address(process)
            timer = threading.Timer(coming[0], process.kill) if coming else None
            if timer is not None:
                timer.start()
            try:
                if not at:
                    at = _begun(url)
                stands = _call(f"{url}api/chair/visits/{at}")["moves"]
                if not made <= stands <= made + 1:
                    problems.append(f"{stands} moves stand of {made} that were answered")
                while made < len(moves):
                    made = _call(f"{url}api/chair/visits/{at}/moves", {"after": made, "move": moves[made]})["moves"]
                    time.sleep(_THINKING)
                if not coming:
                    return _trace(url, at), problems
            except (urllib.error.URLError, ConnectionError, OSError, ValueError) as error:
                if isinstance(error, urllib.error.HTTPError):
                    problems.append(f"move {made}: {error.code} {error.read()[:200]!r}")
                    return "", problems
                if not coming:
                    problems.append(f"move {made}: {error}")
                    return "", problems
            finally:
                if timer is not None:
                    timer.join()
                    coming.pop(0)
                process.kill()
                process.communicate()
            if orphans := orphans_of(process.pid):
                problems.append(f"{orphans} processes are left")


def _begun(url: str) -> str:
    key = _call(f"{url}api/chair/cases?set=shipped")["cases"][0]["key"]
    return str(_call(f"{url}api/chair/visits", {"set": "shipped", "key": key})["id"])


def _trace(url: str, at: str) -> str:
    score = _call(f"{url}api/chair/visits/{at}/score")
    with urllib.request.urlopen(f"{url}api/chair/visits/{at}/trace", timeout=30) as answer:
        return re.sub(r'"(seconds|at|time)": ?[\d.]+', "", answer.read().decode() + json.dumps(score))


def _call(url: str, document: object = None) -> dict[str, object]:
    body = None if document is None else json.dumps(document).encode()
    request = urllib.request.Request(url, data=body, headers={"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def _address(process: "subprocess.Popen[str]") -> str:
    for line in process.stderr:
        if found := _ADDRESS.search(line):
            return found[0]
    raise RuntimeError("the server did not start")


@contextmanager
def polyclinic(*words: str, errors: bool = False) -> "Iterator[subprocess.Popen[str]]":
    process = subprocess.Popen(
        [sys.executable, "-m", "polyclinic", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE if errors else subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env={**os.environ, _MARK: (mark := str(next(_NUMBERS)))},
    )
    _MARKS[process.pid] = f"{_MARK}={mark}".encode()
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def orphans_of(process: int) -> int:
    """Returns how many are left of a process that has ended and of all that it started, after a while; ends them."""
    latest = time.monotonic() + _GONE
    while (found := _started_by(process)) and time.monotonic() < latest:
        time.sleep(0.05)
    for number in found:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    return len(found)


def _started_by(process: int) -> list[int]:
    # By their environment: what a command starts may have a session of its own.
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if _MARKS[process] in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def _answered(endpoint: EndpointProcess) -> int:
    return int(endpoint.counters()["answered"])


def printed(*words: str) -> str:
    ended = subprocess.run([sys.executable, "-m", "polyclinic", *words], capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"polyclinic {' '.join(words)}: {ended.stderr[-500:]}")
    return ended.stdout
