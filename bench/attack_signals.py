"""Kills and signals at random moments: what is taken up again comes out as if nobody had disturbed it."""

import json
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
from polyclinic.testing.process import EndpointProcess

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


def kills(seed: int, n: int) -> list[Tried]:
    """Kills runs with signal 9, again and again, until they come to their end: same log, no answer lost, no orphan."""
    rng, failed = random.Random(seed), []
    with EndpointProcess(latency=0.02) as endpoint, tempfile.TemporaryDirectory() as folder:
        models = ("--doctor", "direct/d", "--base-url", endpoint.url)
        whole = json.loads(_words(*TOWN, "1", *models, "--out", f"{folder}/whole", "--json"))
        done = run = 0
        while done < n:
            run += 1
            out, command = f"{folder}/killed-{run}", (*TOWN, "1", *models, "--workers", str(rng.choice((1, 2))))
            for _ in range(min(5, n - done)):
                process = _begin(
                    *(("run", "--resume", out) if (Path(out) / "run.sqlite").exists() else (*command, "--out", out))
                )
                time.sleep(rng.uniform(1.0, _LATEST))
                process.kill()
                process.communicate()
                done += 1
            again = ("run", "--resume", out) if (Path(out) / "run.sqlite").exists() else (*command, "--out", out)
            came = json.loads(_words(*again, "--json"))
            print(f"  run {run}, {done} kills so far: {came['log_hash']}", flush=True)
            if came["log_hash"] != whole["log_hash"]:
                failed.append(f"run {run}: another log, {came['log_hash']} and not {whole['log_hash']}")
            if left := _orphans(out):
                failed.append(f"run {run}: {left} processes are left")
            stored = _answers(Path(out))
            if stored != _answers(Path(folder) / "whole"):
                failed.append(f"run {run}: {stored} answers are stored")
    return [Tried("kill -9 of a run, which is taken up again", done, tuple(failed))]


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


def _answers(folder: Path) -> int:
    found = 0
    for path in folder.glob("calls*.sqlite"):
        with closing(sqlite3.connect(path)) as journal:
            found += journal.execute("SELECT count(*) FROM calls").fetchone()[0]
    return found


def _orphans(out: str) -> int:
    """Returns how many processes name a folder in their words."""
    found = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += out.encode() in path.read_bytes()
        except OSError:
            continue
    return found


def _begin(*words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "polyclinic", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def _words(*words: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "polyclinic", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    ).stdout
