"""A journal's rows in a store: looked up and written for many questions at once, by two threads.

What stands there first stays: of two commands that ask the same at once, both go on with one answer.

The ids of batches that a run has made are there too, so that whichever machine repeats the command finds them.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from polyclinic.grouping import GroupThread
from polyclinic.storage.server import Connection, StoreAddress, StoreServer, insert_rows, opened_store, plain

Row = tuple[str, tuple[Any, ...]]  # a table and the values of a row, as a journal's file has them
K = TypeVar("K", bound=tuple[str, bytes, int])  # episode, request, and which of the equal requests it is

_FIND = "SELECT id, reply FROM {s}.calls WHERE id = ANY(%b)"
_INSERTS = {
    "messages": "INSERT INTO {s}.messages SELECT * FROM unnest(%b::bytea[], %b::bytea[]) ON CONFLICT DO NOTHING",
    "prompts": "INSERT INTO {s}.prompts SELECT * FROM unnest(%b::bytea[], %b::text[], %b::text[], %b::bytea[], "
    "%b::text[]) ON CONFLICT DO NOTHING",
    "calls": "INSERT INTO {s}.calls SELECT * FROM unnest(%b::bytea[], %b::text[], %b::text[], %b::bytea[], %b::int[], "
    "%b::text[], %b::bytea[]) ON CONFLICT DO NOTHING",
    "batches": "INSERT INTO {s}.batches (line, run) SELECT * FROM unnest(%b::bytea[], %b::text[]) "
    "ON CONFLICT DO NOTHING",
}
"""In the order in which everybody writes, each by its keys in theirs: so no two wait for one another."""

# Made when it is first needed: a store may be older than this table.
_BATCHES = (
    "LOCK TABLE {s}.store IN SHARE ROW EXCLUSIVE MODE",  # of two that make the table at once, one fails otherwise
    "CREATE TABLE IF NOT EXISTS {s}.batches (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run text NOT NULL, "
    "line bytea NOT NULL, kept timestamptz NOT NULL DEFAULT now())",
    # A line names every question of its batch, and is longer than a key may be.
    "ALTER TABLE {s}.batches DROP CONSTRAINT IF EXISTS batches_line_key",
    "CREATE UNIQUE INDEX IF NOT EXISTS batches_line_digest ON {s}.batches (sha256(line))",
)
_KEPT_BATCHES = "SELECT line FROM {s}.batches WHERE run = %s ORDER BY n"

_AT_ONCE = 1 << 23  # bytes in one statement, about; PostgreSQL takes no more than 1 GiB


class _StoreJournal:
    """See `polyclinic.models.journal.Keeper`."""

    goes_on = True

    def __init__(self, reading: StoreServer, writing: StoreServer, run: str) -> None:
        self._run, self._reading, self._writing = run, reading, writing
        self._lookups = GroupThread[Sequence[bytes], dict[bytes, bytes]](
            self._look_up, name="polyclinic-store-reader", end=reading.close
        )
        self._writes = GroupThread[Sequence[Row], bytes | None](
            self._write, name="polyclinic-store-writer", end=writing.close
        )

    def reread(self) -> None:
        pass  # what anybody stored is found

    async def find(self, keys: Sequence[K]) -> tuple[K, bytes] | None:
        ids = [call_id(self._run, *key) for key in keys]
        found = await self._lookups.ask(ids)
        return next(((key, found[id]) for key, id in zip(keys, ids, strict=True) if id in found), None)

    async def put(self, rows: Sequence[Row]) -> bytes | None:
        return await self._writes.ask([*map(_as_stored, rows)])

    async def batches(self) -> list[bytes]:
        def read() -> list[bytes]:
            with opened_store(self._reading.address, make=True) as server:

                def rows(connection: Connection) -> list[bytes]:
                    for statement in _BATCHES:
                        connection.execute(server.statement(statement))
                    found = connection.execute(server.statement(_KEPT_BATCHES), (plain(self._run),), binary=True)
                    return [bytes(line) for (line,) in found]

                return server.together(rows)

        return await asyncio.to_thread(read)

    async def close(self) -> None:
        for server in (self._reading, self._writing):
            server.leave()
        await self._lookups.aclose()
        await self._writes.aclose()

    def _look_up(self, wanted: Sequence[Sequence[bytes]]) -> list[dict[bytes, bytes]]:
        found = dict(self._reading.rows(_FIND, list({id for some in wanted for id in some})))
        return [{id: found[id] for id in some if id in found} for some in wanted]

    def _write(self, batch: Sequence[Sequence[Row]]) -> list[bytes | None]:
        by_table: dict[str, dict[bytes, tuple[Any, ...]]] = {table: {} for table in _INSERTS}
        for rows in batch:
            for table, values in rows:
                by_table[table].setdefault(values[0], values)

        def insert(connection: Connection) -> dict[bytes, bytes]:
            """Inserts rows; returns the answers that stood where one was to be put, and are other ones."""
            stood: dict[bytes, bytes] = {}
            for table, rows in by_table.items():
                for some in _portions(sorted(rows.values(), key=lambda values: values[0])):
                    inserted = insert_rows(connection, self._writing.statement(_INSERTS[table]), some)
                    if table == "calls" and inserted < len(some):
                        ids = [values[0] for values in some]
                        there = connection.execute(self._writing.statement(_FIND), (ids,), binary=True)
                        stood |= {id: reply for id, reply in there if reply != rows[id][-1]}
            return stood

        stood = self._writing.together(insert)
        return [stood.get(rows[-1][1][0]) for rows in batch]


async def open_store_journal(address: StoreAddress, run: str) -> _StoreJournal:
    """Opens a store for the answers of a run, and makes it where there is none."""
    reading, writing = StoreServer(address), StoreServer(address)
    await asyncio.to_thread(writing.open, make=True)
    return _StoreJournal(reading, writing, run)


def call_id(run: str, episode: str, request: bytes, k: int) -> bytes:
    """Returns what a call is known by in a store."""
    return hashlib.blake2b(repr((run, episode, request, k)).encode(), digest_size=16).digest()


_CALLS = (
    "SELECT c.episode, c.request, c.k, c.purpose, c.reply, coalesce(p.model, ''), coalesce(p.role, '') "
    "FROM {s}.calls c LEFT JOIN {s}.prompts p ON p.request = c.request WHERE c.run = %s ORDER BY c.episode"
)


def stored_calls(address: StoreAddress, run: str) -> list[tuple[Any, ...]]:
    """Returns the calls of a run: episode, request, number, purpose, reply, model and role."""
    with opened_store(address, make=True) as server:
        return server.rows(_CALLS, plain(run))


def _as_stored(row: Row) -> Row:
    """Returns a row of a journal's file as a store has it."""
    table, values = row
    if table == "calls":
        run, episode, request, k, purpose, reply = values
        return table, (call_id(*values[:4]), plain(run), plain(episode), request, k, plain(purpose), reply)
    return table, tuple(plain(value) if isinstance(value, str) else value for value in values)


def _portions(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    some, size = [], 0
    for row in rows:
        some.append(row)
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if size > _AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some
