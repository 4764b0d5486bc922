"""A connection to a PostgreSQL server: opened with one clear line where that fails, and opened again where it is lost.

Everything of ours is in one schema, whose table `store` says in which format. Whoever may not make the schema is told
what to ask for. Texts that we read back are bytes or JSON, as PostgreSQL's texts take no NUL; those written by `plain`
are for people who look, and are not read back.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote, unquote, urlencode

from polyclinic.errors import BadInput, MissingExtra, UserError

if TYPE_CHECKING:
    import psycopg


SCHEMA = "polyclinic"  # the schema of the database in which everything is, unless the address names another

_SCHEMES = ("postgresql://", "postgres://")
_HOST = r"(?:\[[0-9A-Fa-f:.%]+\]|[^/?#@:,\[\]]*)(?::\d*)?"
_ADDRESS = re.compile(
    rf"postgres(?:ql)?://(?:(?P<user>[^@/?#]*)@)?(?P<host>{_HOST}(?:,{_HOST})*)(?:/(?P<base>[^?#@/]*))?"
)
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
PASSWORD, KEY_PASSWORD = "PGPASSWORD", "POLYCLINIC_SSLPASSWORD"
"""Variables that hold what an address need not: the password, as libpq has it, and that of the client's key, for which
libpq has none."""

_HIDDEN = "***"
_WITH_PASSWORD = re.compile(r"(postgres(?:ql)?:/{1,2}[^\s:@/]*):\S*@|\b((?:ssl)?password\s*=\s*)(?:'[^']*'|[^\s&'#]+)")
"""Also as a path has it, which loses a stroke, and as libpq's other form has it."""


class StoreAddress(NamedTuple):
    """An address, taken apart."""

    conninfo: str  # what libpq is told; it may hold a password
    schema: str  # the name of the schema
    shown: str  # what may be printed and kept
    kept: str  # the address with the user and without passwords, as it may be kept in a file of ours
    secrets: dict[str, str]  # the passwords in it, by the variables that hand them to a process which is given `kept`

    def without_secrets(self, text: str) -> str:
        """Returns what a server or a library said, without the passwords that may stand in it."""
        secrets = {*self.secrets.values(), *(os.environ.get(name, "") for name in (PASSWORD, KEY_PASSWORD))}
        forms = {form for secret in secrets for form in (secret, unquote(secret), quote(secret, safe=""))}
        for secret in sorted(filter(None, forms), key=len, reverse=True):
            text = text.replace(secret, _HIDDEN)
        return text


def is_store(text: object) -> bool:
    """Whether this names a database, and no file."""
    return isinstance(text, str) and text.startswith(_SCHEMES)


def read_address(text: str) -> StoreAddress:
    """Takes an address apart."""
    whole, _, fragment = text.partition("#")
    address, _, query = whole.partition("?")
    found = _ADDRESS.fullmatch(address)
    # A sign that stands where it may not is one of a password, which would be taken for a part of the address.
    if found is None or fragment or "@" in query:
        signs = "signs such as @ / ? # in a password are written %40 %2F %3F %23"
        raise UserError(f"--store needs the address of a database, postgresql://USER@HOST:PORT/DATABASE; {signs}")
    # As libpq reads them, to which + is a sign and no space.
    pairs = (part.partition("=") for part in query.split("&") if part)
    options = {unquote(name): unquote(value) for name, _, value in pairs}
    schema = options.pop("schema", SCHEMA)
    if not _NAME.fullmatch(schema):
        raise UserError(f"--store ?schema={schema}: a schema is named in small letters, digits and _, at most 63")
    named = {} if schema == SCHEMA else {"schema": schema}
    open_options = {name: value for name, value in options.items() if name not in ("password", "sslpassword")}
    user, _, password = (found["user"] or "").partition(":")
    secrets = {PASSWORD: options.get("password") or unquote(password), KEY_PASSWORD: options.get("sslpassword", "")}
    scheme, _, rest = address.partition("://")
    at = "@" if found["user"] is not None else ""
    return StoreAddress(
        conninfo=_with(address, options),
        schema=schema,
        shown=_with(f"postgresql://{found['host']}/{found['base'] or ''}", named),
        kept=_with(f"{scheme}://{user}{at}{rest.rpartition('@')[2]}", open_options | named),
        secrets={name: secret for name, secret in secrets.items() if secret},
    )


def _with(address: str, options: Mapping[str, str]) -> str:
    return f"{address}?{urlencode(options, quote_via=quote)}" if options else address


def without_passwords(text: str) -> str:
    """Returns a text in which no address of a database has a password."""
    return _WITH_PASSWORD.sub(lambda found: f"{found[2]}{_HIDDEN}" if found[2] else f"{found[1]}:{_HIDDEN}@", text)


def shown(text: str) -> str:
    """Returns what may be printed and kept of an address, of one that cannot be read too."""
    try:
        return read_address(text).shown
    except UserError:
        return "postgresql://(not kept)"


FORMAT = 1  # number of the format; another is refused by name

_TABLES = Path(__file__).with_name("tables.sql")


def plain(text: str) -> str:
    """Returns a text as PostgreSQL takes it."""
    return text.replace("\x00", "␀").encode("utf-8", "backslashreplace").decode()


Connection = Any  # a psycopg.Connection: without the extra there is none

T = TypeVar("T")

PATIENCE = 120.0  # seconds in which a server that went away may come back
_LAST_WORDS = 10.0  # so many of them where nobody waits any more but the last rows
_CONNECT = 5  # seconds for a server to let us in, unless the address says otherwise
_LONGEST_PAUSE = 5.0
_LOCK = 0x706F6C79
_LOG = logging.getLogger("polyclinic.storage")

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

_CLOSED = (
    "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = %s AND relkind = 'r' "
    "AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')) ORDER BY relname"
)


def library() -> Any:
    """Returns psycopg."""
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
        """Connects and checks the store, and makes it if there is none; once, unless the server was there before."""

        def prepare(connection: Connection) -> None:
            _prepare(connection, self.address, self._psycopg.errors, make=make)

        try:
            if was_there:
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
        """Does something with the connection in one transaction, again where the connection was lost meanwhile."""

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
                    went = "it went away and did not come back; the same command resumes from what is stored"
                    raise BadInput(f"{self._named(error).problem}; {went}") from None
                time.sleep(pause) if self._leaving.is_set() else self._leaving.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def rows(self, text: str, *values: object) -> list[Any]:
        """Returns the rows of a statement; raises as `together`."""
        sql = self.statement(text)
        found: list[Any] = self.alone(lambda connection: connection.execute(sql, values, binary=True).fetchall())
        return found

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


def insert_rows(connection: Connection, sql: str, rows: Sequence[Sequence[object]], *values: object) -> int:
    """Inserts rows by a statement that takes some values and then each column as an array; returns how many."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    return int(connection.execute(sql, (*values, *columns)).rowcount) if rows else 0


@contextmanager
def opened_store(address: StoreAddress, *, make: bool, was_there: bool = False) -> Iterator[StoreServer]:
    """Opens a store as long as it is needed; see `StoreServer.open`."""
    server = StoreServer(address)
    server.open(make=make, was_there=was_there)
    try:
        yield server
    finally:
        server.close()


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
    connection.execute(_TABLES.read_text().replace("{s}", schema))
    connection.execute(f"INSERT INTO {schema}.store VALUES ('format', %s)", (str(FORMAT),))  # noqa: S608
    return str(FORMAT)
