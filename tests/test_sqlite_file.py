"""Rows come to the file in groups; what cannot be written is told once, and nobody hangs."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from polyclinic.errors import BadInput
from polyclinic.sqlite_file import GroupWriter, claim, connect, is_empty, transaction

ROWS = "CREATE TABLE rows (n INTEGER PRIMARY KEY)"
INSERT = "INSERT INTO rows VALUES (?)"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.sqlite"
    connection = connect(path)
    with transaction(connection):
        connection.execute(ROWS)
    connection.close()
    return path


def writer(file, **options):
    return GroupWriter(connect(file), named=lambda error: BadInput(str(error)), name="test", **options)


def rows(file):
    connection = connect(file)
    found = [n for (n,) in connection.execute("SELECT n FROM rows ORDER BY n")]
    connection.close()
    return found


@pytest.mark.parametrize("gather", [0.0, 0.05])
def test_all_is_there_after_a_flush_and_after_the_end(file, gather):
    writes, told = writer(file, gather=gather), []
    for n in range(100):
        writes.put([(INSERT, (n,))], lambda _, error: told.append(error))
    writes.flush()
    assert rows(file) == list(range(100))
    assert told == [None] * 100
    writes.put([(INSERT, (100,))])
    writes.close()
    assert rows(file)[-1] == 100


def test_a_failure_is_named_and_nothing_is_written_after_it(file):
    writes, told = writer(file, gather=0.05), []
    writes.put([(INSERT, (1,))])
    writes.flush()
    writes.put([(INSERT, (2,))], lambda _, error: told.append(error))
    writes.put([(INSERT, (1,))], lambda _, error: told.append(error))
    with pytest.raises(BadInput, match="UNIQUE"):
        writes.flush()
    assert [type(error) for error in told] == [BadInput, BadInput]  # a group is written whole or not at all
    with pytest.raises(BadInput, match="UNIQUE"):
        writes.put([(INSERT, (3,))])
    writes.close()  # it has been told
    assert rows(file) == [1]


def test_a_failure_that_nobody_was_told_comes_out_at_the_end(file):
    writes = writer(file)
    for n in (1, 1):
        writes.put([(INSERT, (n,))])
    with pytest.raises(BadInput, match="UNIQUE"):
        writes.close()


def test_a_transaction_is_whole_or_nothing(file):
    connection = connect(file)
    with pytest.raises(KeyError), transaction(connection):
        connection.execute(INSERT, (1,))
        raise KeyError
    assert rows(file) == []
    connection.close()


def test_what_is_no_sqlite_file(tmp_path):
    (tmp_path / "text").write_text("hello " * 200)
    with pytest.raises(sqlite3.Error, match="not a database"):
        connect(tmp_path / "text")
    new = connect(tmp_path / "new")
    assert is_empty(new)
    new.close()


def test_of_two_that_make_a_file_at_once_one_makes_it_and_the_other_takes_it(tmp_path):
    path = tmp_path / "new.sqlite"
    first, second = connect(path), connect(path)
    first.execute("BEGIN IMMEDIATE")  # it makes the file while the other has seen that nothing is there
    with ThreadPoolExecutor(1) as pool:
        claimed = pool.submit(claim, second, 7, [(ROWS,)])
        assert not claimed.done()
        first.execute(ROWS)
        first.execute("INSERT INTO rows VALUES (5)")
        first.execute("PRAGMA application_id = 7")
        first.execute("COMMIT")
        assert claimed.result(10)
    assert second.execute("SELECT n FROM rows").fetchall() == [(5,)]
    assert not claim(second, 8, [(ROWS,)])  # it is another's
    first.close()
    second.close()


def test_the_log_is_waited_for_where_another_process_turns_it_on(tmp_path, monkeypatch):
    """SQLite itself says "locked" at once there, whatever patience it was given."""
    refusals = []

    class Contended(sqlite3.Connection):
        def execute(self, statement, *values):
            if "journal_mode" in statement and len(refusals) < 2:
                refusals.append(statement)
                error = sqlite3.OperationalError("database is locked")
                error.sqlite_errorcode = sqlite3.SQLITE_BUSY
                raise error
            return super().execute(statement, *values)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Contended))
    connection = connect(tmp_path / "new.sqlite")
    assert len(refusals) == 2
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
