"""A doctor's memory in a store. A folder holds but a file that says where: `memory.store`.

It is read whole into the process that uses it, as the file of SQLite is, and searched there: what comes to mind is the
same to the last digit, wherever it is kept, with pgvector on the server or without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.errors import BadInput, UserError
from polyclinic.files import write_text
from polyclinic.seals import seal
from polyclinic.stores.address import read_address
from polyclinic.stores.server import Connection, StoreServer
from polyclinic.stores.tables import plain

POINTER = "memory.store"

_GIVEN: ContextVar[Mapping[str, str] | None] = ContextVar("given", default=None)
"""Addresses as this command was given them, by what is kept of them."""

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

Row = tuple[str, str, bytes, bytes]
"""Kind, task, entry and vector."""

KeptNote = tuple[int, str, bytes]
"""After how many patients, what, and what came."""


class MemoryPlace(msgspec.Struct, frozen=True):
    """Where a memory is: the store's address without a password, and the memory's name in it."""

    store: str
    memory: str


class StoreMemory:
    """The rows of one memory; see `polyclinic.memory.memory.KeptMemory`. Made by `open_store_memory`."""

    def __init__(self, server: StoreServer, path: Path, name: str) -> None:
        self.path, self._server, self._name = path, server, name
        self._n = 0

    def entries(self) -> Iterator[Row]:
        """Yields all that is remembered, in the order in which it came.

        Raises:
            BadInput: an entry is not what was stored.
        """
        sql = self._server.statement(_ENTRIES)
        rows = self._server.together(lambda connection: connection.execute(sql, (self._name,), binary=True).fetchall())
        self._n = len(rows)
        for *row, sealed in rows:
            if _seal(row) != sealed:
                raise BadInput("the memory is damaged: it is not what was stored", path=self.path)
            yield tuple(row)

    def notes(self) -> list[KeptNote]:
        """Returns all notes."""
        sql = self._server.statement(_NOTES)
        return self._server.together(lambda connection: connection.execute(sql, (self._name,), binary=True).fetchall())

    def commit(self, rows: Sequence[Row], notes: Sequence[KeptNote]) -> None:
        """Remembers all of it, or nothing.

        Raises:
            BadInput: the server does not come back, or another process writes to this memory.
        """
        sealed = [(number, *row, _seal(row)) for number, row in enumerate(rows, self._n)]
        known = [tuple(note) for note in notes]

        def write(connection: Connection) -> None:
            new = _insert(connection, self._server.statement(_ADD), self._name, sealed)
            if new < len(sealed):
                # That is what a commit left behind whose end was not heard of; or somebody else's.
                args = (self._name, self._n, self._n + len(sealed))
                there = [one for (one,) in connection.execute(self._server.statement(_SEALS), args, binary=True)]
                if new or there != [row[-1] for row in sealed]:
                    raise BadInput(_OTHER, path=self.path)
            _insert(connection, self._server.statement(_NOTE), self._name, known)
            if known:
                there = connection.execute(self._server.statement(_NOTES), (self._name,), binary=True).fetchall()
                if not set(known) <= set(there):
                    raise BadInput(_OTHER, path=self.path)

        self._server.together(write)
        self._n += len(sealed)


def _insert(connection: Connection, sql: str, name: str, rows: Sequence[tuple[Any, ...]]) -> int:
    if not rows:
        return 0
    columns = [list(column) for column in zip(*rows, strict=True)]
    return int(connection.execute(sql, (name, *columns)).rowcount)


def _seal(row: Sequence[Any]) -> bytes:
    kind, task, entry, vector = row
    return seal(b"%s %s %d " % (kind.encode(), task.encode(), len(entry)) + entry + vector)


def point(folder: Path, store: str, memory: str) -> None:
    """Says in a folder that its memory is in a store, under a name.

    Raises:
        BadInput: the folder cannot be written to.
    """
    place = MemoryPlace(read_address(store).kept, plain(memory))
    _GIVEN.set({**(_GIVEN.get() or {}), place.store: store})
    write_text(folder / POINTER, msgspec.json.encode(place).decode() + "\n")


def check_there(store: str, memory: str, *, there: bool = True) -> None:
    """Checks that a store has a memory of that name, or that it has none.

    Raises:
        BadInput: it is otherwise, or the store cannot be reached.
    """
    server = StoreServer(read_address(store))
    server.open(make=not there)
    try:
        sql = server.statement(_NAMES)
        names = [name for (name,) in server.alone(lambda connection: connection.execute(sql).fetchall())]
    finally:
        server.close()
    if there and plain(memory) not in names:
        raise BadInput(f"{server.address.shown}: no memory {memory!r}; there are: {', '.join(names) or 'none'}")
    if not there and plain(memory) in names:
        raise BadInput(f"{server.address.shown}: there is a memory {memory!r} already; name the folder otherwise")


def password_of(folder: Path, store: str) -> None:
    """Takes an address that may hold a password for the memory to which a folder points.

    Raises:
        UserError: it is the address of another store.
    """
    place, known = place_of(folder), read_address(store)
    if known.kept != place.store:
        was = read_address(place.store).shown
        raise UserError(f"{folder}: its memory is in {was}, and --store says {known.shown}; leave --store out")
    _GIVEN.set({**(_GIVEN.get() or {}), place.store: store})


def address_of(folder: Path) -> str:
    """Returns the address by which this command reaches the memory to which a folder points."""
    place = place_of(folder)
    return (_GIVEN.get() or {}).get(place.store, place.store)


def place_of(folder: Path) -> MemoryPlace:
    """Returns where the memory of a folder is.

    Raises:
        BadInput: the file that says so cannot be read.
    """
    try:
        return msgspec.json.decode((folder / POINTER).read_bytes(), type=MemoryPlace)
    except (OSError, msgspec.MsgspecError) as error:
        raise BadInput(f"does not say where a memory is ({error})", path=folder / POINTER) from None


@contextmanager
def open_store_memory(folder: Path, made_with: bytes | None) -> Iterator[tuple[StoreMemory, bytes]]:
    """Opens the memory that a folder points to.

    Args:
        folder: holds `memory.store`.
        made_with: what it is made with where there is none yet; None makes none.

    Yields:
        The memory, and what it was made with.

    Raises:
        BadInput: the store cannot be reached, or has no such memory.
    """
    place = place_of(folder)
    server = StoreServer(read_address(address_of(folder)))
    server.open(make=made_with is not None)
    try:
        if made_with is not None:
            sql = server.statement(_NEW)
            server.together(lambda connection: connection.execute(sql, (place.memory, made_with)))
        sql = server.statement(_ABOUT)
        row = server.together(lambda connection: connection.execute(sql, (place.memory,), binary=True).fetchone())
        if row is None:
            raise BadInput(f"{server.address.shown}: there is no memory {place.memory!r}", path=folder / POINTER)
        yield StoreMemory(server, folder / POINTER, place.memory), row[0]
    finally:
        server.close()
