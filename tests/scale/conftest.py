"""A PostgreSQL server of the tests' own, and where answers are kept: in a file, or there."""

import time

import pytest
from bench.postgres import PASSWORD, PostgresProcess, postgres_programs


@pytest.fixture(scope="session")
def server():
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'polyclinic[postgres]'")
    if postgres_programs() is None:
        pytest.skip("no PostgreSQL: pip install pgserver, or Debian's")
    with PostgresProcess() as server:
        yield server


@pytest.fixture
def base(server):
    """A database of the test's own."""
    import psycopg

    name = f"t{time.monotonic_ns()}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.url_with(PASSWORD, database=name)


@pytest.fixture(params=["sqlite", "postgres"])
def kept(request, tmp_path):
    """The options that keep answers in the one or the other."""
    if request.param == "sqlite":
        return ["--out", tmp_path / "kept"]
    return ["--out", request.getfixturevalue("base")]
