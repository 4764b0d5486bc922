"""The file of a journal: SQLite, written in groups by a thread."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from polyclinic.errors import BadInput
from polyclinic.models.prompts import INSERTS, TABLES, PromptRow
from polyclinic.sqlite_file import GroupWriter, claim, connect, read_errors

APPLICATION = 0x706F6C79
"""Marks a SQLite file as a journal of ours."""

FORMAT = 2
"""Number of the format; another is refused by name."""

_TABLE = """\
CREATE TABLE calls (
  run TEXT NOT NULL, episode TEXT NOT NULL, request BLOB NOT NULL, k INTEGER NOT NULL,
  purpose TEXT NOT NULL, reply BLOB NOT NULL, PRIMARY KEY (run, episode, request, k)
) WITHOUT ROWID"""
_FIND = "SELECT reply FROM calls WHERE run = ? AND episode = ? AND request = ? AND k = ?"
_INSERT = {**INSERTS, "calls": "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?)"}


class Key(NamedTuple):
    """What a call is known by, in a run."""

    episode: str
    request: bytes
    k: int


class JournalFile:
    """See `polyclinic.models.journal.Keeper`.

    Raises:
        BadInput: a file is something else, or cannot be used.
    """

    def __init__(self, path: Path, run: str, beside: Iterable[Path], *, prompts: bool) -> None:
        self.path, self._run = path, run
        self._coming: list[tuple[Sequence[PromptRow], asyncio.Future[None]]] = []
        self._readers: list[tuple[Path, sqlite3.Connection]] = []
        for one in (path, *beside):
            connection = open_journal(one)
            self._readers.append((one, connection))
            with read_errors(one):
                if connection.execute("SELECT 1 FROM calls WHERE run = ? LIMIT 1", (run,)).fetchone() is None:
                    self._readers.remove((one, connection))
                    connection.close()
        connection = open_journal(path)
        with read_errors(path):
            for table in TABLES if prompts else ():
                connection.execute(table)
        self._writer = GroupWriter(connection, named=self._named, name="polyclinic-journal")

    @property
    def goes_on(self) -> bool:
        """Whether there were answers of this run when it was opened."""
        return bool(self._readers)

    async def find(self, keys: Sequence[Key]) -> tuple[Key, bytes] | None:
        """Returns the first of the keys that was answered, with what is stored."""
        for key in keys:
            for path, reader in self._readers:
                with read_errors(path):
                    row = reader.execute(_FIND, (self._run, *key)).fetchone()
                if row is not None:
                    return key, row[0]
        return None

    async def put(self, rows: Sequence[PromptRow]) -> None:
        """Stores an answer, the last of the rows, with what was asked; returns when it is in the file."""
        loop = asyncio.get_running_loop()
        stored = loop.create_future()
        if not self._coming:
            # All that come in one turn of the loop go to the thread, and are told of, together.
            loop.call_soon(self._send, loop)
        self._coming.append((rows, stored))
        await stored

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        coming, self._coming = self._coming, []
        waiting = [stored for _, stored in coming]
        statements = [(_INSERT[table], values) for rows, _ in coming for table, values in rows]
        try:
            self._writer.put_together(statements, lambda error: loop.call_soon_threadsafe(_settle, waiting, error))
        except BadInput as error:
            _settle(waiting, error)

    async def close(self) -> None:
        """Writes what is left, and closes the files."""
        if self._coming:  # of those who were cancelled in this turn
            self._send(asyncio.get_running_loop())
        try:
            await asyncio.to_thread(self._writer.close)
        finally:
            for _path, reader in self._readers:
                reader.close()

    def _named(self, error: sqlite3.Error) -> BadInput:
        if isinstance(error, sqlite3.IntegrityError):
            return BadInput("another process writes to this journal; let each run have one of its own", path=self.path)
        return BadInput(f"cannot be written ({error})", path=self.path)


def _settle(waiting: Sequence[asyncio.Future[None]], error: Exception | None) -> None:
    for stored in waiting:
        # One who was cancelled waits no more; the row is stored all the same.
        if not stored.done():
            if error is None:
                stored.set_result(None)
            else:
                stored.set_exception(error)


def open_journal(path: Path) -> sqlite3.Connection:
    """Opens the file of a journal, and makes it where there is none."""
    if path.is_dir():
        raise BadInput("this is a directory; a journal is a file", path=path)
    try:
        with ExitStack() as stack:
            connection = connect(path)
            stack.callback(connection.close)
            if not claim(connection, APPLICATION, [(_TABLE,), (f"PRAGMA user_version = {FORMAT}",)]):
                raise BadInput("a SQLite file, but no journal of answers; name another", path=path)
            number = connection.execute("PRAGMA user_version").fetchone()[0]
            if number != FORMAT:
                raise BadInput(
                    f"a journal in format {number}; this polyclinic keeps format {FORMAT}; name another", path=path
                )
            stack.pop_all()
            return connection
    except sqlite3.Error as error:
        raise BadInput(f"cannot be used as a journal ({error})", path=path) from None
