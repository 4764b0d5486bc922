"""The journal's file: SQLite with a write-ahead log, and a thread that commits in groups."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
from pathlib import Path

from polyclinic.errors import BadInput

APPLICATION = 0x706F6C79
"""Marks a SQLite file as a journal of ours."""

_TABLE = """\
CREATE TABLE calls (
  run TEXT NOT NULL, episode TEXT NOT NULL, request BLOB NOT NULL, k INTEGER NOT NULL,
  purpose TEXT NOT NULL, reply BLOB NOT NULL, PRIMARY KEY (run, episode, request, k)
) WITHOUT ROWID"""

Row = tuple[str, str, bytes, int, str, bytes]
Batch = list[tuple[Row, asyncio.Future[None]]]


def connect(path: Path) -> sqlite3.Connection:
    """Opens the file, and makes it where there is none.

    Raises:
        BadInput: it is something else, or cannot be read or written.
    """
    if path.is_dir():
        raise BadInput("this is a directory; a journal is a file", path=path)
    connection = None
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
        connection.execute("PRAGMA journal_mode = WAL")
        # A commit survives the end of the process. One that a power cut takes away is asked for again.
        connection.execute("PRAGMA synchronous = NORMAL")
        ours = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION
        if not ours and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise BadInput("a SQLite file, but no journal of answers; name another", path=path)
        if not ours:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        raise BadInput(f"cannot be used as a journal ({error})", path=path) from None
    except BadInput:
        if connection is not None:
            connection.close()
        raise
    return connection


class Writer:
    """Stores rows in a thread of its own: what comes while one commit is under way makes up the next.

    Args:
        path: the file.
        loop: the event loop of those who store.
    """

    def __init__(self, path: Path, loop: asyncio.AbstractEventLoop) -> None:
        self._path, self._loop = path, loop
        self._connection = connect(path)
        self._next: Batch = []
        self._busy = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._batches: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="polyclinic-journal", daemon=True)
        self._thread.start()

    async def put(self, row: Row) -> None:
        """Stores a row; returns when it is committed.

        Raises:
            BadInput: the file cannot be written, or another process writes to it.
        """
        done = self._loop.create_future()
        self._next.append((row, done))
        if not self._busy:
            self._busy = True
            self._idle.clear()
            # Not at once: what else is ready in this turn of the loop goes with it.
            self._loop.call_soon(self._send)
        await done

    async def close(self) -> None:
        """Stores what is under way, and ends the thread."""
        await self._idle.wait()
        self._batches.put(None)
        await asyncio.to_thread(self._thread.join)
        self._connection.close()

    def _send(self) -> None:
        batch, self._next = self._next, []
        if batch:
            self._batches.put(batch)
        else:
            self._busy = False
            self._idle.set()

    def _committed(self, batch: Batch, error: Exception | None) -> None:
        for _, done in batch:
            # One who was cancelled waits no more; the row is stored all the same.
            if not done.done():
                if error is None:
                    done.set_result(None)
                else:
                    done.set_exception(error)
        self._send()

    def _write(self) -> None:
        while (batch := self._batches.get()) is not None:
            error: Exception | None = None
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                self._connection.executemany("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?)", [row for row, _ in batch])
                self._connection.execute("COMMIT")
            except sqlite3.IntegrityError:
                error = BadInput(
                    "another process writes to this journal; let each run have one of its own", path=self._path
                )
            except sqlite3.Error as failure:
                error = BadInput(f"cannot be written ({failure})", path=self._path)
            if error is not None and self._connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
            self._loop.call_soon_threadsafe(self._committed, batch, error)
