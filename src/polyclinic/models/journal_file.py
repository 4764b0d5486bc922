"""The journal's file: one row for each answer, written in groups."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import ExitStack
from pathlib import Path

from polyclinic.errors import BadInput
from polyclinic.sqlite_file import GroupWriter, application, connect, is_empty, transaction

APPLICATION = 0x706F6C79
"""Marks a SQLite file as a journal of ours."""

_TABLE = """\
CREATE TABLE calls (
  run TEXT NOT NULL, episode TEXT NOT NULL, request BLOB NOT NULL, k INTEGER NOT NULL,
  purpose TEXT NOT NULL, reply BLOB NOT NULL, PRIMARY KEY (run, episode, request, k)
) WITHOUT ROWID"""
_INSERT = "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?)"


def open_journal(path: Path) -> sqlite3.Connection:
    """Opens the file, and makes it where there is none.

    Raises:
        BadInput: it is something else, or cannot be read or written.
    """
    if path.is_dir():
        raise BadInput("this is a directory; a journal is a file", path=path)
    try:
        with ExitStack() as stack:
            connection = connect(path)
            stack.callback(connection.close)
            if application(connection) != APPLICATION:
                if not is_empty(connection):
                    raise BadInput("a SQLite file, but no journal of answers; name another", path=path)
                with transaction(connection):
                    connection.execute(_TABLE)
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
            stack.pop_all()
            return connection
    except sqlite3.Error as error:
        raise BadInput(f"cannot be used as a journal ({error})", path=path) from None


def journal_writer(path: Path) -> GroupWriter:
    """Returns what writes to the file; see `store`."""

    def named(error: sqlite3.Error) -> BadInput:
        if isinstance(error, sqlite3.IntegrityError):
            return BadInput("another process writes to this journal; let each run have one of its own", path=path)
        return BadInput(f"cannot be written ({error})", path=path)

    return GroupWriter(open_journal(path), named=named, name="polyclinic-journal")


async def store(writer: GroupWriter, row: tuple[str, str, bytes, int, str, bytes]) -> None:
    """Stores a row; returns when it is committed.

    Raises:
        BadInput: the file cannot be written, or another process writes to it.
    """
    loop = asyncio.get_running_loop()
    stored = loop.create_future()
    writer.put(_INSERT, row, lambda error: loop.call_soon_threadsafe(_settle, stored, error))
    await stored


def _settle(stored: asyncio.Future[None], error: Exception | None) -> None:
    # One who was cancelled waits no more; the row is stored all the same.
    if not stored.done():
        if error is None:
            stored.set_result(None)
        else:
            stored.set_exception(error)
