"""Kills and signals at random moments: what is taken up again comes out as if nobody had disturbed it."""

import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from bench.attack import Tried

TOWN = ("run", "--residents", "200", "--seed", "5", "--max-failures", "100", "--days")
WAYS = (
    (signal.SIGINT, 1),
    (signal.SIGINT, 2),
    (signal.SIGINT, 3),
    (signal.SIGINT, 10),
    (signal.SIGTERM, 1),
    (signal.SIGHUP, 1),
)
SECONDS = 5.0
_LATEST = 4.0  # seconds after its beginning in which a run is stopped


def signals(seed: int, n: int) -> list[Tried]:
    """Stops runs by signals, once and often: soon, in one line, and as it was until then."""
    rng, failed = random.Random(seed), []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(n):
            out = f"{folder}/{number}"
            process = _begin(*TOWN, "3", "--out", out)
            while not (Path(out) / "run.sqlite").exists() and process.poll() is None:
                time.sleep(0.05)
            time.sleep(rng.uniform(0, _LATEST / 2))
            what, times = WAYS[number % len(WAYS)]
            began = time.monotonic()
            for _ in range(times):
                process.send_signal(what)
                time.sleep(rng.choice((0, 0, 0.01, 0.1)))
            try:
                _, errors = process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                failed.append(f"try {number}: {what.name} x{times}: hangs")
                continue
            took = time.monotonic() - began
            if process.returncode == 0:
                continue  # it was over before
            print(f"  try {number}: {what.name} x{times}: {took:.1f} s, exit code {process.returncode}", flush=True)
            if took > SECONDS or "Traceback" in errors or "interrupted" not in errors:
                failed.append(f"try {number}: {what.name} x{times}: {took:.1f} s, {errors[-200:]!r}")
            elif not _is_whole(Path(out)):
                failed.append(f"try {number}: {what.name} x{times}: what is kept is damaged")
    return [Tried("one to ten SIGINTs, SIGTERM, SIGHUP", n, tuple(failed))]


def _is_whole(folder: Path) -> bool:
    with closing(sqlite3.connect(folder / "run.sqlite")) as run:
        return run.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _begin(*words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "polyclinic", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
