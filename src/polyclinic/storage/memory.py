"""A doctor's memory in a store. A folder holds but a file that says where: `memory.store`.

It is read whole into the process of a doctor that plays, as the file of SQLite is, and searched there: what comes to
mind is the same to the last digit, wherever it is kept. `nearest` looks up single things without that.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from polyclinic.errors import BadInput, UserError
from polyclinic.files import write_text
from polyclinic.opened_files import read_at_once
from polyclinic.seals import seal
from polyclinic.storage.server import Connection, StoreServer, library, opened_store, plain, read_address

POINTER = "memory.store"
READING = "reading.store"
"""The same of what a doctor has read, which is a memory of its own, `NAME/read`."""

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
        self.path, self.server, self.name = path, server, name
        self._n = 0

    def entries(self) -> Iterator[Row]:
        """Yields all that is remembered, in the order in which it came.

        Raises:
            BadInput: an entry is not what was stored.
        """
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
        """Remembers all of it, or nothing.

        Raises:
            BadInput: the server does not come back, or another process writes to this memory.
        """
        sealed = [(number, *row, sealed_row(row)) for number, row in enumerate(rows, self._n)]
        known = [tuple(note) for note in notes]

        def write(connection: Connection) -> None:
            new = _insert(connection, self.server.statement(_ADD), self.name, sealed)
            if new < len(sealed):
                # That is what a commit left behind whose end was not heard of; or somebody else's.
                args = (self.name, self._n, self._n + len(sealed))
                there = [one for (one,) in connection.execute(self.server.statement(_SEALS), args, binary=True)]
                if new or there != [row[-1] for row in sealed]:
                    raise BadInput(_OTHER, path=self.path)
            _insert(connection, self.server.statement(_NOTE), self.name, known)
            if known:
                there = connection.execute(self.server.statement(_NOTES), (self.name,), binary=True).fetchall()
                if not set(known) <= set(there):
                    raise BadInput(_OTHER, path=self.path)

        self.server.together(write)
        self._n += len(sealed)


def _insert(connection: Connection, sql: str, name: str, rows: Sequence[tuple[Any, ...]]) -> int:
    if not rows:
        return 0
    columns = [list(column) for column in zip(*rows, strict=True)]
    return int(connection.execute(sql, (name, *columns)).rowcount)


def sealed_row(row: Sequence[Any]) -> bytes:
    """Returns what tells that a row is what was stored."""
    kind, task, entry, vector = row
    return seal(b"%s %s %d " % (kind.encode(), task.encode(), len(entry)) + entry + vector)


def name_in_store(folder: Path, pointer: str = POINTER) -> str:
    """Returns under which name the memory of a folder is kept in a store."""
    name = folder.resolve().name
    return f"{name}/read" if pointer == READING else name


def pointers_to(*, patients: bool, read: bool) -> list[str]:
    """Returns the files that point to a memory of patients, of what was read, or both."""
    return [pointer for pointer, wanted in ((POINTER, patients), (READING, read)) if wanted]


def point(folder: Path, store: str, memory: str, pointer: str = POINTER) -> None:
    """Says in a folder that its memory is in a store, under a name.

    Raises:
        BadInput: the folder cannot be written to.
    """
    place = MemoryPlace(read_address(store).kept, plain(memory))
    _take_password(store)
    write_text(folder / pointer, msgspec.json.encode(place).decode() + "\n")


def pointers_there(store: str, memory: str) -> list[str]:
    """Returns which files point to what a store has of a memory's name: of patients, of documents, or both.

    Raises:
        BadInput: it has neither, or cannot be reached.
    """
    where, names = read_address(store).shown, _names(store, make=False)
    found = [pointer for pointer, name in ((POINTER, memory), (READING, f"{memory}/read")) if plain(name) in names]
    if not found:
        there = ", ".join(dict.fromkeys(name.removesuffix("/read") for name in names)) or "none"
        raise BadInput(f"{where}: no memory {memory!r}; there are: {there}")
    return found


def is_begun(folder: Path, pointer: str = POINTER) -> bool:
    """Whether the store to which a folder points has a memory already; it has none before the first entry."""
    name = place_of(folder, pointer).memory
    return name in _names(address_of(folder, pointer), make=True)


def check_not_there(store: str, memory: str) -> None:
    """Checks that a store has no memory of that name.

    Raises:
        BadInput: it has, or cannot be reached.
    """
    if plain(memory) in _names(store, make=True):
        raise BadInput(f"{read_address(store).shown}: there is a memory {memory!r} already; name the folder otherwise")


def _names(store: str, *, make: bool) -> list[str]:
    with opened_store(read_address(store), make=make) as server:
        return [name for (name,) in server.rows(_NAMES)]


def password_of(folder: Path, store: str, pointer: str = POINTER) -> None:
    """Takes an address that may hold a password for the memory to which a folder points.

    Raises:
        UserError: it is the address of another store.
    """
    place, known = place_of(folder, pointer), read_address(store)
    if known.kept != place.store:
        was = read_address(place.store).shown
        raise UserError(f"{folder}: its memory is in {was}, and --store says {known.shown}; leave --store out")
    _take_password(store)


def _take_password(store: str) -> None:
    # What is kept of an address has no password: libpq looks for it there.
    os.environ.update(read_address(store).secrets)


def address_of(folder: Path, pointer: str = POINTER) -> str:
    """Returns the address of the store to which a folder points."""
    return place_of(folder, pointer).store


def place_of(folder: Path, pointer: str = POINTER) -> MemoryPlace:
    """Returns where the memory of a folder is.

    Raises:
        BadInput: the file that says so cannot be read.
    """
    try:
        return msgspec.json.decode(read_at_once(folder / pointer), type=MemoryPlace)
    except (BadInput, msgspec.MsgspecError) as error:
        raise BadInput(f"does not say where a memory is ({error})", path=folder / pointer) from None


@contextmanager
def open_store_memory(
    folder: Path, made_with: bytes | None, pointer: str = POINTER
) -> Iterator[tuple[StoreMemory, bytes]]:
    """Opens the memory that a folder points to.

    Args:
        folder: holds the pointer.
        made_with: what it is made with where there is none yet; None makes none.
        pointer: the file that says where it is.

    Yields:
        The memory, and what it was made with.

    Raises:
        BadInput: the store cannot be reached, or has no such memory.
    """
    name, address = place_of(folder, pointer).memory, read_address(address_of(folder, pointer))
    with opened_store(address, make=made_with is not None) as server:
        if made_with is not None:
            sql = server.statement(_NEW)
            server.together(lambda connection: connection.execute(sql, (name, made_with)))
        if not (found := server.rows(_ABOUT, name)):
            raise BadInput(f"{address.shown}: there is no memory {name!r}", path=folder / pointer)
        yield StoreMemory(server, folder / pointer, name), found[0][0]


_MARGIN = 1e-5
"""Of a cosine: what differs by less may be in another order there than here."""

_MOST_DIMENSIONS = 16_000
"""Of pgvector's vectors."""

_LOCK = 0x706F6C7A
_COPY_BEGINS, _COPY_ENDS = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
_AT_ONCE = 4096

_HAS = "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
_MAY_HAVE = "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"
_READS_ONLY = "SELECT current_setting('transaction_read_only') = 'on'"
_IS_THERE = (
    "SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace "
    "WHERE relname = 'near_entries' AND nspname = %s"
)
_TABLE = (
    "CREATE TABLE {s}.near_entries (memory text NOT NULL REFERENCES {s}.memories ON DELETE CASCADE, n int NOT NULL, "
    "kind text NOT NULL, task text NOT NULL, vector {v}.vector NOT NULL, PRIMARY KEY (memory, n))"
)
# Read with the row, and not from where PostgreSQL puts what is long.
_PLAIN = "ALTER TABLE {s}.near_entries ALTER vector SET STORAGE PLAIN"
_LAST = "SELECT coalesce(max(n), -1) FROM {s}.near_entries WHERE memory = %s"
_MISSING = "SELECT n, kind, task, vector FROM {s}.entries WHERE memory = %s AND n > %s ORDER BY n LIMIT %s"
_COPY = "COPY {s}.near_entries FROM STDIN (FORMAT BINARY)"
# Of vectors of length 1, or of nothing but 0: the inner product, which pgvector has with a minus.
_NEAR = (
    "WITH away AS MATERIALIZED (SELECT n, vector OPERATOR({v}.<#>) %s::{v}.vector AS far "
    "FROM {s}.near_entries WHERE memory = %s AND task = %s AND kind = %s), "
    "edge AS (SELECT far FROM away ORDER BY far OFFSET %s LIMIT 1) "
    "SELECT n FROM away WHERE far <= coalesce((SELECT far FROM edge), 'Infinity') + %s ORDER BY n"
)
_VECTORS_OF = "SELECT n, vector FROM {s}.entries WHERE memory = %s AND n = ANY(%b::int[]) ORDER BY n"
_VECTORS = "SELECT n, vector FROM {s}.entries WHERE memory = %s AND task = %s AND kind = %s ORDER BY n"
_SOME_ENTRIES = "SELECT n, kind, task, entry, vector, seal FROM {s}.entries WHERE memory = %s AND n = ANY(%b::int[])"


class Searcher(StrEnum):
    """Who says what may be near."""

    PGVECTOR = "pgvector"
    HERE = "all vectors, read"


class MaybeNear(NamedTuple):
    """Entries of which the nearest are some.

    Attributes:
        places: their numbers in the memory, in the order in which they came.
        vectors: a row each.
    """

    places: list[int]
    vectors: NDArray[np.float32]


class NearbyEntries:
    """The entries of a memory in a store; made by `open_nearby`.

    Attributes:
        about: what the memory was made with.
        searcher: who says what may be near.
    """

    def __init__(self, kept: StoreMemory, about: bytes) -> None:
        self.about = about
        self._server, self._path, self._memory = kept.server, kept.path, kept.name
        self._extension = self._server.together(self._caught_up)
        self.searcher = Searcher.HERE if self._extension is None else Searcher.PGVECTOR

    def maybe_near(self, task: str, kind: str, vector: NDArray[np.float32], k: int) -> MaybeNear:
        """Returns entries of one task and kind among which the `k` nearest to a vector are.

        Raises:
            BadInput: the server cannot be asked, or a vector is damaged.
        """

        def ask(connection: Connection) -> list[tuple[int, bytes]]:
            if self._extension is None:
                args: tuple[Any, ...] = (self._memory, task, kind)
                return _rows(connection, self._server.statement(_VECTORS), args)
            written = "[" + ",".join(map(repr, vector.tolist())) + "]"
            args = (written, self._memory, task, kind, k - 1, _MARGIN)
            places = [n for (n,) in _rows(connection, self._statement(_NEAR), args)]
            return _rows(connection, self._server.statement(_VECTORS_OF), (self._memory, places))

        rows = self._server.together(ask)
        if any(len(stored) != 4 * len(vector) for _, stored in rows):
            raise self._damaged()
        stored = np.frombuffer(b"".join(one for _, one in rows), dtype="<f4").reshape(len(rows), len(vector))
        return MaybeNear([n for n, _ in rows], stored)

    def entries(self, places: Sequence[int]) -> list[bytes]:
        """Returns entries by their numbers, in that order.

        Raises:
            BadInput: one of them is not what was stored.
        """
        entries: dict[int, bytes] = {}
        for n, *row, sealed in self._server.rows(_SOME_ENTRIES, self._memory, list(places)):
            whole: Row = tuple(row)
            if sealed_row(whole) != sealed:
                raise self._damaged()
            entries[n] = whole[2]
        if missing := set(places) - entries.keys():
            raise BadInput(f"{len(missing)} entries are gone meanwhile; ask again", path=self._path)
        return [entries[n] for n in places]

    def _damaged(self) -> BadInput:
        return BadInput("the memory is damaged: it is not what was stored", path=self._path)

    def _statement(self, text: str) -> str:
        return self._server.statement(text).replace("{v}", self._extension or "")

    def _caught_up(self, connection: Connection) -> str | None:
        """Has pgvector know all entries; returns the schema that it is in, None where it cannot be used."""
        if connection.execute(_READS_ONLY).fetchone()[0]:
            return None
        errors = library().errors
        try:
            with connection.transaction():
                self._extension = _schema_of_pgvector(connection)
                if self._extension is not None:
                    self._catch_up(connection)
                return self._extension
        except (errors.InsufficientPrivilege, errors.UndefinedFile, errors.FeatureNotSupported, errors.DataException):
            # Whoever only looks need not be let write; and what pgvector does not take is found all the same.
            return None

    def _catch_up(self, connection: Connection) -> None:
        # Of several that ask at once, one copies.
        connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (_LOCK, self._memory))
        if not connection.execute(_IS_THERE, (self._server.address.schema,)).fetchone()[0]:
            connection.execute(self._statement(_TABLE))
            connection.execute(self._server.statement(_PLAIN))
        (last,) = connection.execute(self._server.statement(_LAST), (self._memory,)).fetchone()
        missing = self._server.statement(_MISSING)
        while rows := _rows(connection, missing, (self._memory, last, _AT_ONCE)):
            with connection.cursor().copy(self._server.statement(_COPY)) as copy:
                copy.write(b"".join(_copied(self._memory, rows)))
            last = rows[-1][0]


def _schema_of_pgvector(connection: Connection) -> str | None:
    """Returns the schema in which pgvector is, which is made where that can be; None where it is not."""
    row = connection.execute(_HAS).fetchone()
    if row is None and connection.execute(_MAY_HAVE).fetchone()[0]:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        row = connection.execute(_HAS).fetchone()
    return None if row is None else str(library().sql.Identifier(row[0]).as_string(connection))


def _rows(connection: Connection, sql: str, args: Sequence[Any]) -> list[Any]:
    found: list[Any] = connection.execute(sql, args, binary=True).fetchall()
    return found


def _copied(memory: str, rows: Iterable[tuple[int, str, str, bytes]]) -> Iterator[bytes]:
    """Yields rows as COPY takes them in its binary form, vectors as pgvector receives them."""
    yield _COPY_BEGINS
    name = memory.encode()
    for n, kind, task, stored in rows:
        numbers = np.frombuffer(stored, dtype="<f4")
        if len(numbers) > _MOST_DIMENSIONS:
            raise library().errors.FeatureNotSupported
        vector = struct.pack("!hh", len(numbers), 0) + numbers.astype(">f4").tobytes()
        yield struct.pack("!h", 5)
        for field in (name, struct.pack("!i", n), kind.encode(), task.encode(), vector):
            yield struct.pack("!i", len(field)) + field
    yield _COPY_ENDS


@contextmanager
def open_nearby(folder: Path, pointer: str = POINTER) -> Iterator[NearbyEntries]:
    """Opens the memory of a store to which a folder points, to look something up in it.

    Raises:
        BadInput: the store cannot be reached, or has no such memory.
    """
    with open_store_memory(folder, None, pointer) as (kept, about):
        yield NearbyEntries(kept, about)
