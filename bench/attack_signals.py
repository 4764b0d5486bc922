"""Signals at random moments, in start-up, in the midst and at the end: one line, soon, and nothing is lost."""

import os
import random
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from bench.attack import Tried
from bench.attack_kills import LATENCY, Scene, begun, orphans_of, polyclinic, printed, scenes_of
from polyclinic.testing.endpoint import EndpointProcess

SECONDS = 5.0
INTERRUPTED = 130
WAYS = (
    ((signal.SIGINT,), 1),
    ((signal.SIGINT,), 2),
    ((signal.SIGINT,), 3),
    ((signal.SIGINT,), 10),
    ((signal.SIGTERM,), 1),
    ((signal.SIGTERM,), 2),
    ((signal.SIGHUP,), 1),
    ((signal.SIGTERM, signal.SIGINT, signal.SIGHUP), 3),
    ((signal.SIGTERM, signal.SIGINT, signal.SIGHUP), 10),
)
GAPS = (0.0, 0.0, 0.001, 0.01, 0.1, 0.2)
"""Seconds between two signals of a burst."""

MOMENTS = ("first lines", "start-up", "midst", "end")
_STARTED = 0.8  # seconds in which a command starts up
_TAKES = 2.5  # seconds, at most, after which commands that cannot be taken up are stopped
_TAKEN_UP = 2  # of those that can, every so manyth is, to its end
_PLAN = """title = "two runs"
models = ["direct/m"]

[[run]]
name = "exam"
command = "eval exam"
exam = "medqa"
questions = "shipped"
method = "medagents"

[[run]]
name = "visits"
command = "eval aie"
cases = "shipped"
"""
_LIVE = "run --live"
_NEVER = ("Traceback", "Exception ignored", "never retrieved", "Event loop is closed", "hangs", "orphans")
_BY_THE_SYSTEM = (-signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP)


class _Stopped(NamedTuple):
    """What a stopped command left behind; `took` in seconds."""

    took: float
    code: int
    errors: str


def signals(seed: int, n: int) -> list[Tried]:
    """Stops commands by signals, once and often, alone and with all that they have started: soon, in one line."""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_DFL)  # what a shell has ignored in the background, commands would ignore too
    rng, failed, early, over, tried = random.Random(seed), [], 0, 0, Counter[str]()
    with tempfile.TemporaryDirectory() as folder, EndpointProcess(latency=LATENCY) as endpoint:
        stopped = [*scenes_of(Path(folder), endpoint.url), *_others(Path(folder), endpoint.url)]
        usual: dict[str, tuple[float, str]] = {}
        for number in range(n):
            scene = stopped[number % len(stopped)]
            if scene.name not in usual:
                usual[scene.name] = _undisturbed(scene, Path(folder) / f"whole-{scene.name}")
            took, expected = usual[scene.name]
            moment, (ways, times) = rng.choice(MOMENTS), rng.choice(WAYS)
            wait = {
                "first lines": rng.uniform(0.03, 0.3),
                "start-up": rng.uniform(0.1, _STARTED),
                "midst": rng.uniform(_STARTED, max(took, 2 * _STARTED)),
                "end": max(took + rng.uniform(-0.4, 0.1), 0.2),
            }[moment]
            out, together = Path(folder) / str(number), rng.random() < 1 / 3
            came = _stop(
                scene, out, wait, [rng.choice(ways) for _ in range(times)], rng.choice(GAPS), together=together
            )
            named = f"try {number}: {scene.name}, {'+'.join(one.name for one in ways)} x{times}, {moment}"
            named += ", as a terminal does" if together else ""
            print(f"  {named}: {came.took:.1f} s, exit code {came.code}", flush=True)
            early += (is_early := _is_before_us(came))
            over += came.code == 0
            tried[scene.name] += 1
            if problem := "" if is_early else _problem(came, out):
                print(f"    {problem}", flush=True)
                failed.append(f"{named}: {problem}")
            elif expected and tried[scene.name] % _TAKEN_UP == 0:
                again = scene.again(out) if begun(out) else scene.begin(out)
                if scene.result(out, printed(*again)) != expected:
                    failed.append(f"{named}: taken up again, another result")
    print(f"  {early} came before the first line of ours, {over} when all was over")
    return [Tried("signals to run, evolve, eval, corpus add, serve and seven more", n, tuple(failed))]


def _others(folder: Path, url: str) -> list[Scene]:
    """Returns commands that are stopped, and not taken up again: the same command begins anew, or there is no end."""
    plan, done = folder / "plan.toml", folder / "done"
    plan.write_text(_PLAN, encoding="utf-8")
    printed("run", "--residents", "100", "--days", "1", "--seed", "5", "--out", str(done))
    one, model = ("shipped#p1-00001",), ("--base-url", url)
    aie = ("eval", "aie", "--cases", "shipped", "--doctor", "direct/d")
    said = ["Do you have a fever?"] * 40
    commands = {
        "consult": lambda _: ("consult", *one, "--doctor", "direct/d", *model),
        "ask": lambda _: ("ask", *one, *said),
        "eval aie": lambda out: (*aie, *model, "--out", str(out)),
        "study run": lambda out: ("study", "run", str(plan), *model, "--out", str(out)),
        "cases generate": lambda out: ("cases", "generate", "--n", "3000", "--out", f"{out}.jsonl"),
        "report": lambda out: ("report", str(done), "--out", f"{out}.html"),
        _LIVE: lambda out: (
            "run",
            "--residents",
            "300",
            "--days",
            "2",
            "--live",
            "--set",
            "run.port=0",
            "--out",
            str(out),
        ),
    }
    return [_serving(url), *(Scene(name, words, words, lambda *_: "", 0) for name, words in commands.items())]


def _serving(url: str) -> Scene:
    def words(out: Path) -> tuple[str, ...]:
        out.parent.mkdir(exist_ok=True)
        return (
            "serve",
            str(out.parent),
            "--port",
            "0",
            "--set",
            f"serve.practice={out}",
            "--set",
            "serve.beside=direct/d",
            "--base-url",
            url,
        )

    return Scene("serve", words, words, lambda _, __: "", 0)


def _undisturbed(scene: Scene, out: Path) -> tuple[float, str]:
    if not scene.at_once:
        return _TAKES, ""
    began = time.monotonic()
    came = printed(*scene.begin(out))
    return time.monotonic() - began, scene.result(out, came)


def _stop(scene: Scene, out: Path, wait: float, ways: list[signal.Signals], gap: float, *, together: bool) -> _Stopped:
    with polyclinic(*scene.begin(out), errors=True) as process:
        time.sleep(wait)
        began = time.monotonic()
        for way in ways:
            with suppress(ProcessLookupError):  # all of them have ended
                os.killpg(process.pid, way) if together else process.send_signal(way)
            time.sleep(gap)
        try:
            _, errors = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            errors = process.communicate()[1] + "hangs"
        took = time.monotonic() - began
        orphans = "orphans" if orphans_of(process.pid) else ""
        return _Stopped(took, process.returncode, errors + orphans)


def _is_before_us(came: _Stopped) -> bool:
    """Whether a command had not come to its first line: then Python, or the system, says what it always says."""
    return (
        came.code in (-signal.SIGINT, 1, INTERRUPTED) and "Traceback" in came.errors and "polyclinic" not in came.errors
    )


def _problem(came: _Stopped, out: Path) -> str:
    if came.took > SECONDS or any(word in came.errors for word in _NEVER):
        return f"{came.took:.1f} s, {came.errors[-300:]!r}"
    lines = [line for line in came.errors.splitlines() if line.startswith("polyclinic:")]
    # Where nothing is said, the system ended it: before we could listen.
    ended = came.code == 0 or (came.code in _BY_THE_SYSTEM and not came.errors)
    if not ended and (came.code != INTERRUPTED or len(lines) != 1 or "interrupted" not in lines[0]):
        return f"exit code {came.code}, {came.errors[-300:]!r}"
    damaged = [path.name for path in out.rglob("*.sqlite") if not _is_whole(path)] if out.is_dir() else []
    return f"{damaged} are damaged" if damaged else ""


def _is_whole(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as kept:
        return kept.execute("PRAGMA integrity_check").fetchone() == ("ok",)
