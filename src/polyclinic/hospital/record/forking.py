"""A new run that begins with all that another has: its happenings, its visits and what models said."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from polyclinic import __version__
from polyclinic.errors import BadInput
from polyclinic.files import make_empty_folder
from polyclinic.hospital.record.run_file import LOCK, RUN, SUMMARY, not_stored, sealed
from polyclinic.sqlite_file import transaction

_OF_A_FILE = ("-wal", "-shm", "-journal")


def fork(folder: Path, to: Path, configuration: Mapping[str, Any]) -> None:
    """Copies a run that has not ended into a folder of its own, with another configuration.

    Raises:
        BadInput: there is something in the folder already, or it cannot be written.
        NotStored: there is no room.
    """
    make_empty_folder(to)
    try:
        for path in sorted(folder.iterdir()):
            if path.name in (LOCK, SUMMARY) or path.name.endswith(_OF_A_FILE):
                continue
            if path.is_dir():
                shutil.copytree(path, to / path.name)
            elif path.suffix == ".sqlite":
                _copy(path, to / path.name)
            else:
                shutil.copy2(path, to / path.name)
    except OSError as error:
        raise BadInput(f"cannot be copied ({error.strerror or error})", path=to) from None
    except sqlite3.Error as error:
        raise not_stored(error, to) from None
    connection = sqlite3.connect(to / RUN, isolation_level=None)
    try:
        with transaction(connection):
            about = [*sealed("configuration", msgspec.json.encode(configuration)), ("package", __version__.encode())]
            connection.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", about)
            connection.execute("DELETE FROM about WHERE name LIKE 'summary%'")
    except sqlite3.Error as error:
        raise not_stored(error, to) from None
    finally:
        connection.close()


def _copy(path: Path, to: Path) -> None:
    """Copies a file of SQLite with what stands in its log."""
    source, target = sqlite3.connect(path), sqlite3.connect(to)
    try:
        source.backup(target)
    finally:
        target.close()
        source.close()
