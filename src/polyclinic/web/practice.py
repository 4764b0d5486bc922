"""One server at a time writes to a folder of practice: two would undo what the other keeps.

The lock is SQLite's own, on a file in the folder, as that of a run is: it holds on every system, and the system gives
it back however the server ends. Servers within one process share it.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from threading import Lock

from polyclinic.errors import UserError
from polyclinic.files import make_folder

LOCK = "server.lock"
_PATIENCE = 0.2  # seconds

_guard = Lock()
_held: dict[Path, tuple[sqlite3.Connection, int]] = {}  # and by how many servers of this process


class PracticeTaken(UserError):
    """Another server writes to the folder."""

    status = 409


def hold(folder: Path) -> Path:
    """Takes a folder of practice for this process, and makes it where it is not there; returns what `let_go` takes.

    Raises:
        PracticeTaken: another process has it.
        BadInput: it cannot be made.
    """
    make_folder(folder)
    place = folder.resolve()
    with _guard:
        connection, count = _held.get(place) or (_locked(place), 0)
        _held[place] = (connection, count + 1)
    return place


def let_go(place: Path) -> None:
    """Gives a folder back that `hold` has taken."""
    with _guard:
        connection, count = _held.pop(place)
        if count > 1:
            _held[place] = (connection, count - 1)
        else:
            connection.close()


def _locked(place: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(place / LOCK, isolation_level=None, timeout=_PATIENCE, check_same_thread=False)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        connection.close()
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise PracticeTaken(
                "another server keeps what is played, taught and judged in this folder; end it, or begin this one with "
                "--practice and another folder"
            ) from None
        raise UserError(f"what is played cannot be kept: {error}") from None
    return connection
