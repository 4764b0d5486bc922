"""The ids of batches in a store, so that whichever machine gives the command again finds those that were made."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from polyclinic.stores.address import StoreAddress
from polyclinic.stores.batches import StoreBatches
from polyclinic.stores.server import Connection, StoreServer
from polyclinic.stores.tables import plain

# Made when it is first needed: a store may be older than this table.
_TABLE = (
    "CREATE TABLE IF NOT EXISTS {s}.batches (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run text NOT NULL, "
    "line bytea NOT NULL, kept timestamptz NOT NULL DEFAULT now())"
)
# A line names every question of its batch, and is longer than a key may be.
_INDEX = "batches_line_digest"
_ONCE = (
    "ALTER TABLE {s}.batches DROP CONSTRAINT IF EXISTS batches_line_key",
    f"CREATE UNIQUE INDEX IF NOT EXISTS {_INDEX} ON {{s}}.batches (sha256(line))",
)
_ALONE = "LOCK TABLE {s}.store IN SHARE ROW EXCLUSIVE MODE"  # of two that make the table at once, one fails otherwise
_READ = "SELECT line FROM {s}.batches WHERE run = %s ORDER BY n"
_ADD = "INSERT INTO {s}.batches (run, line) SELECT %s, unnest(%s::bytea[]) ON CONFLICT DO NOTHING"


class StoreBatchIds:
    """See `polyclinic.models.batch_ids.BatchIds`. A line holds a batch's own mark, so that no two are equal.

    Args:
        address: of the store, made where there is none.
        run: whose batches they are.
    """

    def __init__(self, address: StoreAddress, run: str) -> None:
        self._server, self._run = StoreServer(address), plain(run)
        self._lines: StoreBatches[bytes, None] | None = None

    async def read(self) -> list[bytes]:
        """Returns the lines of the run."""
        await asyncio.to_thread(self._server.open, make=True)
        lines = await asyncio.to_thread(self._server.together, self._read)
        self._lines = StoreBatches(self._server, self._add, name="polyclinic-store-batches")
        return lines

    async def add(self, line: bytes) -> None:
        """Returns when the line is committed."""
        if self._lines is None:
            raise RuntimeError("the ids are read before any is added")
        await self._lines.ask(line)

    async def close(self) -> None:
        """Ends the connection."""
        lines, self._lines = self._lines, None
        await asyncio.to_thread(self._server.close if lines is None else lines.close)

    def _read(self, connection: Connection) -> list[bytes]:
        there = "SELECT count(*) FROM pg_indexes WHERE schemaname = %s AND indexname = %s"
        if not connection.execute(there, (self._server.address.schema, _INDEX)).fetchone()[0]:
            for statement in (_ALONE, _TABLE, *_ONCE):
                connection.execute(self._server.statement(statement))
        found = connection.execute(self._server.statement(_READ), (self._run,), binary=True)
        return [bytes(line) for (line,) in found]

    def _add(self, lines: Sequence[bytes]) -> Sequence[None]:
        sql = self._server.statement(_ADD)
        self._server.together(lambda connection: connection.execute(sql, (self._run, list(lines))))
        return [None] * len(lines)
