"""A doctor's memory in a store. A folder holds but a file that says where: `memory.store`.

It is read whole, as the file of SQLite is, and searched in the process: what comes to mind is the same to the last
digit, wherever it is kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import write_text
from polyclinic.opened_files import read_at_once
from polyclinic.seals import seal
from polyclinic.storage.server import Connection, StoreServer, insert_rows, opened_store, plain, read_address

POINTER = "memory.store"
READING = "reading.store"  # the same of what a doctor has read, which is a memory of its own, `NAME/read`

_NAMES = "SELECT name FROM {s}.memories ORDER BY name"
_OTHER = "another process writes to this memory; let each have one of its own"
_ABOUT = "SELECT about FROM {s}.memories WHERE name = %s"
_NEW = "INSERT INTO {s}.memories (name, about) VALUES (%s, %b) ON CONFLICT DO NOTHING"
_ENTRIES = "SELECT kind, task, entry, vector, seal FROM {s}.entries WHERE memory = %s ORDER BY n"
_NOTES = 'SELECT patients, what, came FROM {s}.practice WHERE memory = %s ORDER BY patients, what COLLATE "C"'
_ADD = (
    "INSERT INTO {s}.entries SELECT %s, * FROM unnest(%b::int[], %b::text[], %b::text[], %b::bytea[], %b::bytea[], "
    "%b::bytea[]) ON CONFLICT DO NOTHING"
)
_NOTE = "INSERT INTO {s}.practice SELECT %s, * FROM unnest(%b::int[], %b::text[], %b::bytea[]) ON CONFLICT DO NOTHING"
_SEALS = "SELECT seal FROM {s}.entries WHERE memory = %s AND n >= %s AND n < %s ORDER BY n"

Row = tuple[str, str, bytes, bytes]  # kind, task, entry and vector
KeptNote = tuple[int, str, bytes]  # after how many patients, what, and what came


class MemoryPlace(msgspec.Struct, frozen=True):
    """Where a memory is: the store's address without a password, and the memory's name in it."""

    store: str
    memory: str


class StoreMemory:
    """The rows of one memory; see `polyclinic.memory.memory.KeptMemory`. Made by `open_store_memory`."""

    def __init__(self, server: StoreServer, path: Path, name: str) -> None:
        self.path, self.server, self.name = path, server, name
        self._n = 0

    def entries(self) -> Iterator[Row]:
        """Yields all that is remembered, in the order in which it came."""
        rows = self.server.rows(_ENTRIES, self.name)
        self._n = len(rows)
        for *row, sealed in rows:
            if sealed_row(row) != sealed:
                raise BadInput("the memory is damaged: it is not what was stored", path=self.path)
            yield tuple(row)

    def notes(self) -> list[KeptNote]:
        """Returns all notes."""
        return self.server.rows(_NOTES, self.name)

    def commit(self, rows: Sequence[Row], notes: Sequence[KeptNote]) -> None:
        """Remembers all of it, or nothing."""
        sealed = [(number, *row, sealed_row(row)) for number, row in enumerate(rows, self._n)]
        known = [tuple(note) for note in notes]

        def write(connection: Connection) -> None:
            new = insert_rows(connection, self.server.statement(_ADD), sealed, self.name)
            if new < len(sealed):
                # That is what a commit left behind whose end was not heard of; or somebody else's.
                args = (self.name, self._n, self._n + len(sealed))
                there = [one for (one,) in connection.execute(self.server.statement(_SEALS), args, binary=True)]
                if new or there != [row[-1] for row in sealed]:
                    raise BadInput(_OTHER, path=self.path)
            insert_rows(connection, self.server.statement(_NOTE), known, self.name)
            if known:
                there = connection.execute(self.server.statement(_NOTES), (self.name,), binary=True).fetchall()
                if not set(known) <= set(there):
                    raise BadInput(_OTHER, path=self.path)

        self.server.together(write)
        self._n += len(sealed)


def sealed_row(row: Sequence[Any]) -> bytes:
    """Returns what tells that a row is what was stored."""
    kind, task, entry, vector = row
    return seal(b"%s %s %d " % (kind.encode(), task.encode(), len(entry)) + entry + vector)


def point(folder: Path, store: str, memory: str, pointer: str = POINTER) -> None:
    """Says in a folder that its memory is in a store, under a name."""
    place = MemoryPlace(read_address(store).kept, plain(memory))
    # What is kept of an address has no password: libpq looks for it there.
    os.environ.update(read_address(store).secrets)
    write_text(folder / pointer, msgspec.json.encode(place).decode() + "\n")


def pointers_there(store: str, memory: str) -> list[str]:
    """Returns which files point to what a store has of a memory's name: of patients, of documents, or both."""
    where, names = read_address(store).shown, _names(store, make=False)
    found = [pointer for pointer, name in ((POINTER, memory), (READING, f"{memory}/read")) if plain(name) in names]
    if not found:
        there = ", ".join(dict.fromkeys(name.removesuffix("/read") for name in names)) or "none"
        raise BadInput(f"{where}: no memory {memory!r}; there are: {there}")
    return found


def is_begun(folder: Path, pointer: str = POINTER) -> bool:
    """Whether the store to which a folder points has a memory already; it has none before the first entry."""
    place = place_of(folder, pointer)
    return place.memory in _names(place.store, make=True)


def check_not_there(store: str, memory: str) -> None:
    """Checks that a store has no memory of that name."""
    if plain(memory) in _names(store, make=True):
        raise BadInput(f"{read_address(store).shown}: there is a memory {memory!r} already; name the folder otherwise")


def _names(store: str, *, make: bool) -> list[str]:
    with opened_store(read_address(store), make=make) as server:
        return [name for (name,) in server.rows(_NAMES)]


def place_of(folder: Path, pointer: str = POINTER) -> MemoryPlace:
    """Returns where the memory of a folder is."""
    try:
        return msgspec.json.decode(read_at_once(folder / pointer), type=MemoryPlace)
    except (BadInput, msgspec.MsgspecError) as error:
        raise BadInput(f"does not say where a memory is ({error})", path=folder / pointer) from None


@contextmanager
def open_store_memory(
    folder: Path, made_with: bytes | None, pointer: str = POINTER
) -> Iterator[tuple[StoreMemory, bytes]]:
    """Opens the memory that a folder points to."""
    place = place_of(folder, pointer)
    name, address = place.memory, read_address(place.store)
    with opened_store(address, make=made_with is not None) as server:
        if made_with is not None:
            sql = server.statement(_NEW)
            server.together(lambda connection: connection.execute(sql, (name, made_with)))
        if not (found := server.rows(_ABOUT, name)):
            raise BadInput(f"{address.shown}: there is no memory {name!r}", path=folder / pointer)
        yield StoreMemory(server, folder / pointer, name), found[0][0]
