"""What of a memory in a store is near to something, without reading the memory whole.

Where the server has pgvector (https://github.com/pgvector/pgvector) it names those that may be the nearest, which is
far less than all; else all vectors of that kind come here. Which of them are the nearest, and in what order, is
computed here from what was stored: pgvector rounds otherwise, so it is asked for somewhat more than is wanted.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyclinic.errors import BadInput
from polyclinic.stores.address import read_address
from polyclinic.stores.memory import POINTER, Row, address_of, place_of, sealed_row
from polyclinic.stores.server import Connection, StoreServer, library

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
_ENTRIES = "SELECT n, kind, task, entry, vector, seal FROM {s}.entries WHERE memory = %s AND n = ANY(%b::int[])"
_ABOUT = "SELECT about FROM {s}.memories WHERE name = %s"


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

    def __init__(self, server: StoreServer, path: Path, memory: str, about: bytes) -> None:
        self.about = about
        self._server, self._path, self._memory = server, path, memory
        self._extension = server.together(self._caught_up)
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
        sql, args = self._server.statement(_ENTRIES), (self._memory, list(places))
        rows = self._server.together(lambda connection: _rows(connection, sql, args))
        entries: dict[int, bytes] = {}
        for n, *row, seal in rows:
            whole: Row = tuple(row)
            if sealed_row(whole) != seal:
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
    place = place_of(folder, pointer)
    server = StoreServer(read_address(address_of(folder, pointer)))
    server.open(make=False)
    try:
        sql = server.statement(_ABOUT)
        row = server.together(lambda connection: connection.execute(sql, (place.memory,), binary=True).fetchone())
        if row is None:
            raise BadInput(f"{server.address.shown}: there is no memory {place.memory!r}", path=folder / pointer)
        yield NearbyEntries(server, folder / pointer, place.memory, row[0])
    finally:
        server.close()
