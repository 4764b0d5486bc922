"""Journals in a file of SQLite and in PostgreSQL, beside one another: what an answer costs to keep and to find again.

The server is one of our own on this machine, and waits for its disk as one does that is meant to last. Without
PostgreSQL or psycopg, SQLite stands alone.

    python -m bench store [--rows 100000] [--at-once 256]
"""

import argparse
import asyncio
import hashlib
import importlib.util
import resource
import tempfile
import time
from pathlib import Path

from bench.postgres import PostgresProcess, postgres_programs
from polyclinic.models.journal import Journal
from polyclinic.models.model import Reply, Usage

TEXT = "The history speaks for a viral infection of the upper airways; no sign of pneumonia is there. " * 8


class Instant:
    """A model that answers at once."""

    name = "instant"
    limit = None
    addresses = ()

    async def ask(self, messages, **_):
        return Reply(TEXT + messages[-24:], TEXT, Usage(600, 150), 0.4)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def _ask(where, rows, at_once):
    """Asks all questions; returns seconds, and CPU seconds of this process."""
    began, cpu = time.perf_counter(), _cpu()
    async with Journal(where, run="bench") as journal:
        numbers = iter(range(rows))

        async def worker():
            for number in numbers:
                model = journal.wrap(Instant(), episode=f"case-{number}")
                await model.ask(f"{TEXT} {hashlib.sha256(str(number).encode()).hexdigest()}")
                journal.forget(f"case-{number}")

        await asyncio.gather(*(worker() for _ in range(at_once)))
        assert journal.answered + journal.stored == rows
    return time.perf_counter() - began, _cpu() - cpu


def _measure(name, where, rows, at_once):
    for what in ("kept", "found again"):
        seconds, cpu = asyncio.run(_ask(where, rows, at_once))
        print(f"{name:10} {what:12} {rows:8,}  {rows / seconds:9,.0f} a second  {1e6 * cpu / rows:7.1f} us of CPU each")


def run(*options):
    parser = argparse.ArgumentParser(prog="python -m bench store")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--at-once", type=int, default=256)
    given = parser.parse_args(options)
    print(f"answers of {len(TEXT) + 24} characters with their questions, {given.at_once} at once")
    with tempfile.TemporaryDirectory() as folder:
        _measure("SQLite", Path(folder) / "journal", given.rows, given.at_once)
    if postgres_programs() is None or importlib.util.find_spec("psycopg") is None:
        print("PostgreSQL: not installed; pip install 'polyclinic[postgres]' pgserver")
        return
    with PostgresProcess(durable=True) as server:
        _measure("PostgreSQL", server.url, given.rows, given.at_once)
