"""Folders of results in a store: each as it was written, file by file, under a number.

For whoever asks by SQL, the view `items` has a row for each item; nothing of ours reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from polyclinic.errors import BadInput, UserError
from polyclinic.storage.server import Connection, StoreAddress, opened_store, plain, read_address

_LARGEST = 1 << 28  # bytes; PostgreSQL takes no value of 1 GiB

_TAKE_AWAY = "DELETE FROM {s}.results WHERE stopped AND kind = %s AND made_of = %s"
_NEW = "INSERT INTO {s}.results (kind, made_of, stopped) VALUES (%s, %s, %s) RETURNING id"
_FILE = "INSERT INTO {s}.files VALUES (%s, %s, %b)"
_NUMBERS = "SELECT id FROM {s}.results ORDER BY id"
_NAMES = "SELECT name FROM {s}.files WHERE result = %s"
_CONTENT = "SELECT content FROM {s}.files WHERE result = %s AND name = %s"


class StoredFolders(NamedTuple):
    """What an address means: a store, and which of its results; all where no number is named."""

    address: StoreAddress
    numbers: tuple[int, ...]

    @classmethod
    def read(cls, text: str) -> StoredFolders:
        """Reads `postgresql://...#17` or `#17,18`; anything else is a `UserError`."""
        address, sign, which = text.rpartition("#")
        if not sign:
            return cls(read_address(text), ())
        numbers = which.split(",")
        if not all(one.isascii() and one.isdecimal() and len(one) < 19 for one in numbers):
            raise UserError("results in a store are named by their numbers, such as postgresql://HOST/DATABASE#17")
        return cls(read_address(address), tuple(map(int, numbers)))


def keep_folder(
    address: StoreAddress, folder: Path, *, kind: str, made_of: bytes, stopped: bool, may_lack: Sequence[str] = ()
) -> tuple[int, list[str]]:
    """Keeps a folder of results; those of the same run that was stopped are removed. `may_lack` may be too large."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    left = [path for path in files if path.name in may_lack and path.stat().st_size > _LARGEST]
    files = [path for path in files if path not in left]
    for path in files:
        if path.stat().st_size > _LARGEST:
            raise BadInput(f"is larger than {_LARGEST >> 20} MiB, the most that a store keeps in one piece", path=path)
    with opened_store(address, make=True, was_there=True) as server:

        def keep(connection: Connection) -> int:
            connection.execute(server.statement(_TAKE_AWAY), (plain(kind), made_of))
            row = connection.execute(server.statement(_NEW), (plain(kind), made_of, stopped)).fetchone()
            for path in files:
                connection.execute(server.statement(_FILE), (row[0], plain(path.name), path.read_bytes()))
            return int(row[0])

        return server.together(keep), [path.name for path in left]


def check_store(address: StoreAddress) -> None:
    """Makes the store where there is none, before anything is done that is to be kept there."""
    with opened_store(address, make=True):
        pass


def fetch_folders(wanted: StoredFolders, to: Path, names: Sequence[str] = ()) -> list[tuple[int, Path]]:
    """Writes results into a folder each, all files or those of these names; returns their numbers and folders."""
    with opened_store(wanted.address, make=False) as server:

        def fetch(connection: Connection) -> list[tuple[int, Path]]:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            there = [number for (number,) in connection.execute(server.statement(_NUMBERS))]
            if lacking := [number for number in wanted.numbers if number not in there]:
                shown = ", ".join(f"#{number}" for number in there[-5:]) or "none"
                raise BadInput(f"{wanted.address.shown}: no results #{lacking[0]}; there are, the last ones: {shown}")
            if not there:
                raise BadInput(f"{wanted.address.shown}: there are no results yet; a run with --store keeps its own")
            found = []
            for number in wanted.numbers or there:
                folder = to / str(number)
                folder.mkdir(exist_ok=True)
                for (name,) in connection.execute(server.statement(_NAMES), (number,)).fetchall():
                    if Path(name).name != name or (names and name not in names):
                        continue
                    content = connection.execute(server.statement(_CONTENT), (number, name), binary=True).fetchone()
                    (folder / name).write_bytes(content[0])
                found.append((number, folder))
            return found

        return server.together(fetch)
