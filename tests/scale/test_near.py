"""What is near in a memory of a store: with pgvector and without it, what the memory finds that is read whole."""

import json
from functools import partial

import numpy as np
import pytest

from polyclinic.errors import BadInput
from polyclinic.memory.entries import AskedTask, ClinicalTask, Experience, MedicalRecord
from polyclinic.memory.memory import About, New, open_memory
from polyclinic.memory.opening import MEMORY_READ, look_up
from polyclinic.storage.memory import Searcher, point
from polyclinic.testing.postgres import PASSWORD

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'polyclinic[postgres]'")

DIMENSIONS = 24
TASKS = list(ClinicalTask)


def asked(n):
    return AskedTask(case=f"c{n}", number=n + 1, query=f"number {n}", options=("a", "b"))


def entry(n):
    if n % 3:
        return MedicalRecord(asked=asked(n), answer="a")
    return Experience(asked=asked(n), before="a", after="b", right=("b",), principle="look twice")


def drawn(n, seed, *, whole):
    """Vectors of which many are equally near, and some all 0: whole numbers over their length, or nearly those."""
    draw = np.random.default_rng(seed)
    vectors = draw.integers(-1, 2, (n, DIMENSIONS)).astype(float)
    vectors *= 1 if whole else 1 + draw.normal(0, 1e-7, vectors.shape)
    vectors[::17] = 0
    return (vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)).astype(np.float32)


def remembered(folder, vectors, about, first=0):
    with open_memory(folder, about) as memory:
        memory.commit([New(TASKS[n % 2], entry(n), vector) for n, vector in enumerate(vectors, first)])


def has_pgvector(base):
    with psycopg.connect(base) as connection:
        return connection.execute("SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'").fetchone()[0]


@pytest.fixture
def reader(base):
    """The address of somebody who may read what is there, and make nothing."""
    name = f"reader_{base.rpartition('/')[2]}"

    def made():
        with psycopg.connect(base, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'looks'")
            connection.execute(f"GRANT USAGE ON SCHEMA polyclinic TO {name}")
            connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA polyclinic TO {name}")
        scheme, _, rest = base.partition("://")
        return f"{scheme}://{name}:looks@{rest.rpartition('@')[2]}"

    return made


@pytest.mark.parametrize("whole", [True, False])
def test_the_same_is_near_wherever_a_memory_is_and_whoever_says_so(whole, base, reader, tmp_path):
    about = About(embedder="mine", dimensions=DIMENSIONS, knowledge="k")
    file, server, looked = tmp_path / "file", tmp_path / "server", tmp_path / "looked"
    for folder in (server, looked, file):
        folder.mkdir()
    point(server, base, "m")
    vectors = drawn(750, 1, whole=whole)
    for folder in (file, server):
        remembered(folder, vectors[:600], about)
    point(looked, reader(), "m")
    here = {server: Searcher.PGVECTOR if has_pgvector(base) else Searcher.HERE, looked: Searcher.HERE}
    for round_ in range(2):
        for query in drawn(6, 2 + round_, whole=whole):
            for k in (1, 7, 2_000):
                expected = look_up(file, query, TASKS, k)
                assert expected.searched == MEMORY_READ
                assert len(expected.found) == sum(min(k, n) for n in ((200, 100) if not round_ else (250, 125))) * 2
                for folder in (server, looked):
                    came = look_up(folder, query, TASKS, k)
                    assert came.found == expected.found, (folder.name, k)
                    assert came.searched == here[folder]
        if not round_:  # what came since is found, too
            for folder in (file, server):
                remembered(folder, vectors[600:], about, 600)


def test_vectors_that_pgvector_cannot_hold_are_looked_through_here(base, tmp_path):
    about = About(embedder="mine", dimensions=16_001, knowledge="k")
    folder = tmp_path / "long"
    folder.mkdir()
    point(folder, base, "m")
    vectors = np.eye(4, 16_001, dtype=np.float32)
    remembered(folder, vectors, about)
    came = look_up(folder, vectors[2], [ClinicalTask.EXAMINATION], 1)
    assert came.searched == Searcher.HERE
    assert [(one.entry.asked.number, one.cosine) for one in came.found] == [(3, 1.0), (1, 0.0)]


def test_what_was_changed_is_not_taken_for_what_was_remembered(base, tmp_path):
    about = About(embedder="mine", dimensions=DIMENSIONS, knowledge="k")
    folder = tmp_path / "m"
    folder.mkdir()
    point(folder, base, "m")
    vectors = drawn(30, 1, whole=True)
    remembered(folder, vectors, about)
    look_up(folder, vectors[1], TASKS, 3)
    with psycopg.connect(base, autocommit=True) as connection:
        connection.execute("UPDATE polyclinic.entries SET entry = set_byte(entry, 5, 255) WHERE n = 1")
        with pytest.raises(BadInput, match="damaged"):
            look_up(folder, vectors[1], TASKS, 3)
        connection.execute("UPDATE polyclinic.entries SET vector = vector || vector WHERE n = 1")
    with pytest.raises(BadInput, match="damaged"):
        look_up(folder, vectors[1], TASKS, 3)


def test_the_command_says_the_same_of_a_file_and_a_store(base, run, tmp_path):
    train, test = tmp_path / "train.jsonl", tmp_path / "test.jsonl"
    for file, n, seed in ((train, 30, 4), (test, 5, 6)):
        run("cases", "generate", "--n", n, "--seed", seed, "--diseases", "respiratory", "--out", file)
    practice = ["evolve", "--train", train, "--test", test, "--set", "practice.test-every=20", "--out"]
    run(*practice, tmp_path / "file")
    run = partial(run, env={"PGPASSWORD": PASSWORD})
    run(*practice, tmp_path / "stored", "--store", base)
    said = ("a cough", "a fever", "--json")
    here, there = (
        json.loads(run("memory", "show", tmp_path / one, "--near", *said).stdout) for one in ("file", "stored")
    )
    assert here.pop("searched") == "memory, read whole"
    assert there.pop("searched") == ("pgvector" if has_pgvector(base) else "all vectors, read")
    assert here == there and len(here["near"]) > 6
