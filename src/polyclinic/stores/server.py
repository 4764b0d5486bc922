"""A connection to a PostgreSQL server: opened with one clear line where that fails, and opened again where it is lost.

Everything of ours is in one schema, whose table `store` says in which format. Whoever may not make the schema is told
what to ask for.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from polyclinic.errors import BadInput, MissingExtra, UserError
from polyclinic.stores.address import KEY_PASSWORD, StoreAddress
from polyclinic.stores.tables import FORMAT, TABLES

if TYPE_CHECKING:
    import psycopg

Connection = Any
"""A psycopg.Connection: without the extra there is none."""

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds in which a server that went away may come back."""

_LAST_WORDS = 10.0
"""So many of them where nobody waits any more but the last rows."""

_CONNECT = 5  # seconds for a server to let us in, unless the address says otherwise
_LONGEST_PAUSE = 5.0
_LOCK = 0x706F6C79
_LOG = logging.getLogger("polyclinic.stores")

_ALIVE: dict[str, object] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "application_name": "polyclinic",
}
"""A server that is gone without a word is noticed within half a minute."""

_READ_ONLY = "25006"
_COMES_BACK = frozenset(("57P01", "57P02", "57P03", "53300", "40001", "40P01", _READ_ONLY))
"""Codes of what passes: shut down, crashed, starting, too many clients, two that met, a copy not in charge yet."""


_NEVER = re.compile(r"authentication failed|no password supplied|no pg_hba\.conf entry|\" does not exist")
"""What libpq says, which has no code for it, of a connection that is refused and will be."""

WAS_THERE = ContextVar("WAS_THERE", default=False)
"""Whether the server was found before, by the command of which this process does a part: it is waited for at once."""


_CLOSED = (
    "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = %s AND relkind = 'r' "
    "AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')) ORDER BY relname"
)


def library() -> Any:
    """Returns psycopg.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        import psycopg  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        raise MissingExtra("what reaches PostgreSQL is not installed: pip install 'polyclinic[postgres]'") from None
    return psycopg


class StoreServer:
    """One connection, used by one thread; connected when it is first needed, and again when it was lost."""

    def __init__(self, address: StoreAddress) -> None:
        self.address = address
        self._psycopg = library()
        self._connection: Connection = None
        self._leaving = threading.Event()

    def open(self, *, make: bool, was_there: bool = False) -> None:
        """Connects and looks whether the store is one that we know.

        Args:
            make: makes the schema and its tables where there are none.
            was_there: the server was found before, and may come back; else this is tried once. See also `WAS_THERE`.

        Raises:
            BadInput: nobody is there, we are not let in, the store is in another format, or it is not there.
        """

        def prepare(connection: Connection) -> None:
            _prepare(connection, self.address, self._psycopg.errors, make=make)

        try:
            if was_there or WAS_THERE.get():
                self.alone(prepare)
            else:
                prepare(self._connect())
        except self._psycopg.Error as error:
            self.close()
            raise self._named(error) from None
        except BaseException:
            self.close()
            raise

    def statement(self, text: str) -> str:
        """Returns a statement with the schema's name where {s} stands."""
        return text.replace("{s}", self.address.schema)

    def together(self, work: Callable[[Connection], T]) -> T:
        """Does something with the connection in one transaction, again where the connection was lost meanwhile.

        Raises:
            BadInput: the server did not come back, or refuses it.
        """

        def whole(connection: Connection) -> T:
            with connection.transaction():
                return work(connection)

        return self.alone(whole)

    def alone(self, work: Callable[[Connection], T]) -> T:
        """As `together`, where there is but one statement."""
        latest, pause = None, 0.1
        while True:
            try:
                return work(self._connect())
            except self._psycopg.Error as error:
                if not self._passes(error):
                    raise self._named(error) from None
                now = time.monotonic()
                if latest is None:
                    latest = now + PATIENCE
                    how = "lets nobody write" if error.sqlstate == _READ_ONLY else "is away"
                    _LOG.warning("%s %s; trying again for %.0f s", self.address.shown, how, PATIENCE)
                if self._leaving.is_set():
                    latest = min(latest, now + _LAST_WORDS)
                if now + pause > latest:
                    went = "it went away and did not come back; the same command goes on from what is stored"
                    raise BadInput(f"{self._named(error).problem}; {went}") from None
                time.sleep(pause) if self._leaving.is_set() else self._leaving.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def leave(self) -> None:
        """Says, from another thread, that nobody waits for long any more."""
        self._leaving.set()

    def close(self) -> None:
        """Ends the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connect(self) -> Connection:
        if self._connection is None or self._connection.closed:
            try:
                told = self._psycopg.conninfo.conninfo_to_dict(self.address.conninfo)
            except self._psycopg.ProgrammingError:
                # libpq would say what it cannot read, and that may be a password.
                needed = "postgresql://USER@HOST:PORT/DATABASE?NAME=VALUE, with names that libpq knows"
                raise UserError(f"--store is no address that PostgreSQL's library can read; it is {needed}") from None
            if key_password := os.environ.get(KEY_PASSWORD):
                told.setdefault("sslpassword", key_password)
            if "PGCONNECT_TIMEOUT" not in os.environ and "service" not in told:
                told.setdefault("connect_timeout", _CONNECT)
            # Without prepared statements, so that a pool of connections may stand in between.
            self._connection = self._psycopg.connect(**{**_ALIVE, **told}, autocommit=True, prepare_threshold=None)
        return self._connection

    def _passes(self, error: psycopg.Error) -> bool:
        if error.sqlstate in _COMES_BACK:
            return True
        lost = self._connection is None or self._connection.closed
        return lost and isinstance(error, self._psycopg.OperationalError)

    def _named(self, error: psycopg.Error) -> BadInput:
        """Returns what the server or the library says, in one line and without a password."""
        said = " ".join(self.address.without_secrets(str(error)).split())
        return BadInput(f"{self.address.shown}: {said}")


def _prepare(connection: Connection, address: StoreAddress, errors: Any, *, make: bool) -> None:
    schema = address.schema
    try:
        with connection.transaction():
            found = _format(connection, schema)
            if found is None and make:
                found = _make(connection, schema)
    except errors.InsufficientPrivilege:
        user = connection.info.user
        raise BadInput(
            f"{address.shown}: {user} may not make or use the schema {schema} there; whoever owns the database lets "
            f"them: CREATE SCHEMA {schema} AUTHORIZATION {user}, or name another with ?schema=NAME"
        ) from None
    except errors.DuplicateTable:
        raise BadInput(
            f"{address.shown}: the schema {schema} there holds tables of somebody else; name another with ?schema=NAME"
        ) from None
    if found is None:
        raise BadInput(f"{address.shown}: there is no store; a run with --store makes one")
    if found != str(FORMAT):
        raise BadInput(
            f"{address.shown}: a store in format {found}; this polyclinic keeps format {FORMAT}: name another schema "
            "with ?schema=NAME, or use the version that made it"
        )
    if make and connection.execute("SHOW transaction_read_only").fetchone()[0] == "on":
        raise errors.ReadOnlySqlTransaction(
            f"nothing can be kept there: it is a copy, or {connection.info.user} may only read "
            "(default_transaction_read_only); name the server that is written to, or a user who may write"
        )
    if make and (closed := [name for (name,) in connection.execute(_CLOSED, (schema,))]):
        # Before anybody is asked: what is answered could not be kept.
        user = connection.info.user
        raise BadInput(
            f"{address.shown}: {user} may not write to {', '.join(closed)} of the schema {schema} there; whoever owns "
            f"it lets them: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {user}, or name "
            "another with ?schema=NAME"
        )


def _format(connection: Connection, schema: str) -> str | None:
    """Returns the format in which the store is, None where there is none."""
    # Asked of the catalogue itself: what to_regclass says may be older than the lock.
    there = (
        "SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace "
        "WHERE relname = 'store' AND nspname = %s"
    )
    if not connection.execute(there, (schema,)).fetchone()[0]:
        return None
    row = connection.execute(f"SELECT value FROM {schema}.store WHERE name = 'format'").fetchone()  # noqa: S608
    return "?" if row is None else str(row[0])


def _make(connection: Connection, schema: str) -> str:
    # Of several that open a new store at once, one makes it.
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    if (found := _format(connection, schema)) is not None:
        return found
    if not connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone()[0]:
        connection.execute(f"CREATE SCHEMA {schema}")
    for table in TABLES:
        connection.execute(table.replace("{s}", schema))
    connection.execute(f"INSERT INTO {schema}.store VALUES ('format', %s)", (str(FORMAT),))  # noqa: S608
    return str(FORMAT)
