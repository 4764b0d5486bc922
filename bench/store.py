"""Journals in a file of SQLite and in PostgreSQL, beside one another: what an answer costs to keep and to find again.

The server is one of our own on this machine, and waits for its disk as one does that is meant to last. Without
PostgreSQL or psycopg, SQLite stands alone.

Then what is near in a memory of the store: with pgvector, where the server has it, with all vectors read, and with the
memory read whole; and how often pgvector alone, exact and without an index, would have said something else.

    python -m bench store [--rows 100000] [--at-once 256] [--entries 20000]
"""

import argparse
import asyncio
import hashlib
import importlib.util
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from polyclinic.memory.entries import AskedTask, ClinicalTask, MedicalRecord
from polyclinic.memory.library import MemoryLibrary
from polyclinic.memory.memory import About, New, open_memory
from polyclinic.memory.opening import MEMORY_READ, look_up
from polyclinic.models.journal import Journal
from polyclinic.models.model import Reply, Usage
from polyclinic.storage.memory import point
from polyclinic.testing.postgres import PostgresProcess, postgres_programs

_DIMENSIONS, _QUERIES, _K = 512, 100, 10
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


def _drawn(n):
    """Vectors of counts, as those of cases are."""
    counts = np.random.default_rng(1).binomial(1, 0.04, (n, _DIMENSIONS)).astype(np.float32)
    return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1)


def _filled(folder, url, vectors):
    point(folder, url, "bench")
    with open_memory(folder, About(embedder="bench", dimensions=_DIMENSIONS, knowledge="bench")) as memory:
        new = []
        for place, vector in enumerate(vectors):
            asked = AskedTask(case=f"c{place}", number=place + 1, query=TEXT, options=())
            new.append(New(ClinicalTask.DIAGNOSIS, MedicalRecord(asked=asked, answer="a"), vector))
        memory.commit(new)


def _timed(folder, queries):
    """Returns what is found, by whom it is looked for, and the seconds of each query."""
    found, seconds = [], []
    for query in queries:
        began = time.perf_counter()
        came = look_up(folder, query, [ClinicalTask.DIAGNOSIS], _K)
        seconds.append(time.perf_counter() - began)
        found.append([(one.entry.asked.number, one.cosine) for one in came.found])
    return found, came.searched, seconds


def _nearest(server, n):
    """Prints what it costs to look something up, each time as `polyclinic memory show --near` does it."""
    import psycopg

    vectors = _drawn(n + _QUERIES)
    queries = vectors[n:]
    with tempfile.TemporaryDirectory() as made, psycopg.connect(server.url, autocommit=True) as connection:
        folder = Path(made)
        _filled(folder, server.url, vectors[:n])
        library = MemoryLibrary(_DIMENSIONS)
        for place, vector in enumerate(vectors[:n]):
            library.add(place + 1, vector)
        near = library.nearest(queries, _K)
        right = [list(zip((one.places + 1).tolist(), one.cosines.tolist(), strict=True)) for one in near]
        connection.execute("CREATE ROLE looks LOGIN PASSWORD 'looks'")
        connection.execute("GRANT USAGE ON SCHEMA polyclinic TO looks")
        connection.execute("GRANT SELECT ON polyclinic.store, polyclinic.memories, polyclinic.entries TO looks")
        print(f"the nearest {_K} of {n:,} entries with {_DIMENSIONS} numbers each, {_QUERIES} queries, each alone:")
        for who in (server.url, server.url_with("looks", user="looks")):
            place = folder / str(len(list(folder.iterdir())))
            place.mkdir()
            point(place, who, "bench")
            found, searched, seconds = _timed(place, queries)
            later = 1e3 * sum(seconds[1:]) / (len(seconds) - 1)
            same = sum(one == other for one, other in zip(found, right, strict=True))
            print(
                f"  {searched:20} first {1e3 * seconds[0]:7.0f} ms, later {later:6.1f} ms, {same} as the whole memory's"
            )
        began = time.perf_counter()
        with open_memory(folder) as memory:
            memory.records[ClinicalTask.DIAGNOSIS].nearest(queries[:1], _K)
        print(f"  {MEMORY_READ:20} {1e3 * (time.perf_counter() - began):13.0f} ms")
        if connection.execute("SELECT count(*) FROM pg_extension WHERE extname = 'vector'").fetchone()[0]:
            alone = "SELECT n + 1 FROM polyclinic.near_entries ORDER BY vector <=> %s::vector, n LIMIT %s"
            theirs = [[n for (n,) in connection.execute(alone, (str(query.tolist()), _K))] for query in queries]
            ours = [[n for n, _ in one] for one in right]
            order = sum(a != b for a, b in zip(theirs, ours, strict=True))
            members = sum(set(a) != set(b) for a, b in zip(theirs, ours, strict=True))
            print(f"  pgvector alone: another order in {order}, other entries in {members}")


def run(*options):
    parser = argparse.ArgumentParser(prog="python -m bench store")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--at-once", type=int, default=256)
    parser.add_argument("--entries", type=int, default=20_000)
    given = parser.parse_args(options)
    print(f"answers of {len(TEXT) + 24} characters with their questions, {given.at_once} at once")
    with tempfile.TemporaryDirectory() as folder:
        _measure("SQLite", Path(folder) / "journal", given.rows, given.at_once)
    if postgres_programs() is None or importlib.util.find_spec("psycopg") is None:
        print("PostgreSQL: not installed; pip install 'polyclinic[postgres]' pgserver")
        return
    with PostgresProcess(durable=True) as server:
        _measure("PostgreSQL", server.url, given.rows, given.at_once)
        _nearest(server, given.entries)
