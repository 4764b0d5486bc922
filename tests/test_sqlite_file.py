"""Rows come to the file in groups; what cannot be written is told once, and nobody hangs."""

import sqlite3

import pytest

from polyclinic.errors import BadInput
from polyclinic.sqlite_file import GroupWriter, connect, is_empty, transaction

INSERT = "INSERT INTO rows VALUES (?)"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.sqlite"
    connection = connect(path)
    with transaction(connection):
        connection.execute("CREATE TABLE rows (n INTEGER PRIMARY KEY)")
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
        writes.put(INSERT, (n,), told.append)
    writes.flush()
    assert rows(file) == list(range(100))
    assert told == [None] * 100
    writes.put(INSERT, (100,))
    writes.close()
    assert rows(file)[-1] == 100


def test_a_failure_is_named_and_nothing_is_written_after_it(file):
    writes, told = writer(file, gather=0.05), []
    writes.put(INSERT, (1,))
    writes.flush()
    writes.put(INSERT, (2,), told.append)
    writes.put(INSERT, (1,), told.append)
    with pytest.raises(BadInput, match="UNIQUE"):
        writes.flush()
    assert [type(error) for error in told] == [BadInput, BadInput]  # a group is written whole or not at all
    with pytest.raises(BadInput, match="UNIQUE"):
        writes.put(INSERT, (3,))
    writes.close()  # it has been told
    assert rows(file) == [1]


def test_a_failure_that_nobody_was_told_comes_out_at_the_end(file):
    writes = writer(file)
    for n in (1, 1):
        writes.put(INSERT, (n,))
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
