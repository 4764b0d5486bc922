"""SQLite files of ours: opened with a write-ahead log, and written in groups."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from polyclinic.errors import BadInput
from polyclinic.grouping import GroupThread

_PATIENCE = 10.0  # seconds for another process to let go of the file
_LOCKED = 0.2  # seconds after which a lock is another's
Rows = Sequence[tuple[str, tuple[Any, ...]]]  # statements that write a row each, with their values


def connect(path: Path) -> sqlite3.Connection:
    """Opens a file to read and write, and makes it where there is none."""
    if path.exists() and not path.is_file():  # SQLite would wait for a pipe
        raise BadInput("this is a folder, a pipe, a device or a socket; name a file", path=path)
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_PATIENCE)
    try:
        _log_ahead(connection)
        # A commit survives the end of the process. What a power cut takes away is computed or asked for again.
        connection.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def locked(path: Path) -> sqlite3.Connection | None:
    """Takes a file as a lock, or returns None if another process has it; the system releases SQLite's lock."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=_LOCKED, check_same_thread=False)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        connection.close()
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            return None
        raise
    return connection


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Turns the write-ahead log on. SQLite does not wait where another process does so too: that is done here."""
    latest = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > latest:
                raise
            time.sleep(0.01)


def application(connection: sqlite3.Connection) -> int:
    """Returns the number that says whose file it is; 0 where nobody has marked it."""
    return int(connection.execute("PRAGMA application_id").fetchone()[0])


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether there is no table yet."""
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Gives what SQLite says of a file that it cannot read a name."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        raise BadInput(f"the file is damaged, or cannot be read ({error})", path=path) from None


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commits what is executed within it, or nothing of it where something is raised."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        raise


def claim(connection: sqlite3.Connection, mark: int, statements: Iterable[tuple[str, *tuple[Any, ...]]]) -> bool:
    """Gives an empty file its tables and its mark. Of several processes that open a new file at once, one makes it."""
    if application(connection) == mark:
        return True
    if not is_empty(connection):
        return application(connection) == mark  # it may have been made between the two looks
    with transaction(connection):
        if is_empty(connection):
            for statement, *values in statements:
                connection.execute(statement, values)
            connection.execute(f"PRAGMA application_id = {mark}")
    return application(connection) == mark


class GroupWriter(GroupThread[Rows, None]):
    """Commits rows in groups."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        named: Callable[[sqlite3.Error], Exception],
        name: str,
        gather: float = 0.0,
    ) -> None:
        self._connection, self._named = connection, named
        super().__init__(self._commit, name=name, end=connection.close, gather=gather)

    def _commit(self, items: Sequence[Rows]) -> list[None]:
        rows: dict[str, list[tuple[Any, ...]]] = {}
        for item in items:
            for statement, row in item:
                rows.setdefault(statement, []).append(row)
        try:
            with transaction(self._connection):
                for statement, values in rows.items():
                    self._connection.executemany(statement, values)
        except sqlite3.Error as error:
            raise self._named(error) from None
        return [None] * len(items)
