"""Signals at random moments, in start-up, in the midst and at the end: one line, soon, and nothing is lost."""

import random
import signal
import sqlite3
import subprocess
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from bench.attack import Tried
from bench.attack_kills import LATENCY, Scene, begun, orphans_of, polyclinic, printed, scenes_of
from polyclinic.testing.process import EndpointProcess

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
)
MOMENTS = ("start-up", "midst", "end")
_STARTED = 0.8  # seconds in which a command starts up
_TAKEN_UP = 4  # every so manyth that was stopped is taken up again, to its end


class _Stopped(NamedTuple):
    """What a stopped command left behind; `took` in seconds."""

    took: float
    code: int
    errors: str


def signals(seed: int, n: int) -> list[Tried]:
    """Stops commands by signals, once and often: soon, in one line, and as it was until then."""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_DFL)  # what a shell has ignored in the background, commands would ignore too
    rng, failed, early, over = random.Random(seed), [], 0, 0
    with tempfile.TemporaryDirectory() as folder, EndpointProcess(latency=LATENCY) as endpoint:
        stopped = [*scenes_of(Path(folder), endpoint.url), _serving(endpoint.url)]
        usual: dict[str, tuple[float, str]] = {}
        for number in range(n):
            scene = stopped[number % len(stopped)]
            if scene.name not in usual:
                usual[scene.name] = _undisturbed(scene, Path(folder) / f"whole-{scene.name}")
            took, expected = usual[scene.name]
            moment, (ways, times) = rng.choice(MOMENTS), rng.choice(WAYS)
            wait = {
                "start-up": rng.uniform(0.1, _STARTED),
                "midst": rng.uniform(_STARTED, max(took, 2 * _STARTED)),
                "end": max(took + rng.uniform(-0.4, 0.1), 0.2),
            }[moment]
            out = Path(folder) / str(number)
            came = _stop(scene, out, wait, [rng.choice(ways) for _ in range(times)], rng)
            named = f"try {number}: {scene.name}, {'+'.join(one.name for one in ways)} x{times}, {moment}"
            print(f"  {named}: {came.took:.1f} s, exit code {came.code}", flush=True)
            early += (is_early := _is_before_us(came))
            over += came.code == 0
            if problem := "" if is_early else _problem(came, out):
                failed.append(f"{named}: {problem}")
            elif expected and number % _TAKEN_UP == 0:
                again = scene.again(out) if begun(out) else scene.begin(out)
                if scene.result(out, printed(*again)) != expected:
                    failed.append(f"{named}: taken up again, another result")
    print(f"  {early} came before the first line of ours, {over} when all was over")
    return [Tried("signals to run, evolve, eval, corpus add and serve", n, tuple(failed))]


def _serving(url: str) -> Scene:
    def words(out: Path) -> tuple[str, ...]:
        out.parent.mkdir(exist_ok=True)
        return (
            "serve",
            str(out.parent),
            "--port",
            "0",
            "--practice",
            str(out),
            "--beside",
            "direct/d",
            "--base-url",
            url,
        )

    return Scene("serve", words, words, lambda _, __: "", 0)


def _undisturbed(scene: Scene, out: Path) -> tuple[float, str]:
    if scene.name == "serve":
        return 4.0, ""
    began = time.monotonic()
    came = printed(*scene.begin(out))
    return time.monotonic() - began, scene.result(out, came)


def _stop(scene: Scene, out: Path, wait: float, ways: list[signal.Signals], rng: random.Random) -> _Stopped:
    with polyclinic(*scene.begin(out), errors=True) as process:
        time.sleep(wait)
        began = time.monotonic()
        for way in ways:
            process.send_signal(way)
            time.sleep(rng.choice((0, 0, 0.01, 0.1)))
        try:
            _, errors = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            errors = process.communicate()[1] + "hangs"
        took = time.monotonic() - began
        return _Stopped(took, process.returncode, errors + ("orphans" if orphans_of(process.pid) else ""))


def _is_before_us(came: _Stopped) -> bool:
    """Whether a command had not come to its first line: then Python, or the system, says what it always says."""
    return (
        came.code in (-signal.SIGINT, 1, INTERRUPTED) and "Traceback" in came.errors and "polyclinic" not in came.errors
    )


def _problem(came: _Stopped, out: Path) -> str:
    if came.took > SECONDS or "Traceback" in came.errors or "hangs" in came.errors or "orphans" in came.errors:
        return f"{came.took:.1f} s, {came.errors[-300:]!r}"
    # Where nothing is said, the system ended it: before we could listen, or when all had been written.
    if came.code not in (0, -signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP) and (
        came.code != INTERRUPTED or came.errors.count("polyclinic: interrupted") != 1
    ):
        return f"exit code {came.code}, {came.errors[-300:]!r}"
    damaged = [path.name for path in out.rglob("*.sqlite") if not _is_whole(path)] if out.is_dir() else []
    return f"{damaged} are damaged" if damaged else ""


def _is_whole(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as kept:
        return kept.execute("PRAGMA integrity_check").fetchone() == ("ok",)
