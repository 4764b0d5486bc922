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
from polyclinic.sqlite_file import locked

LOCK = "server.lock"

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
    try:
        connection = locked(place / LOCK)
    except sqlite3.Error as error:
        raise UserError(f"what is played cannot be kept: {error}") from None
    if connection is None:
        raise PracticeTaken(
            "another server keeps what is played, taught and judged in this folder; end it, or begin this one with "
            "--practice and another folder"
        )
    return connection
