"""What other processes were answered: a journal's rows, carried from the file of one into the file of another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Self

from polyclinic.errors import BadInput
from polyclinic.models.journal import Key, open_journal, read_stored
from polyclinic.models.ledger import KeptCall, Line
from polyclinic.models.prompts import TABLES
from polyclinic.sqlite_file import read_errors, transaction

_KEYS = {"messages": 1, "prompts": 1, "calls": 4}
"""By table, how many of a row's values it is known by; what was asked comes before what was answered."""

_WITH_SERVER = "SELECT episode, request, k, reply FROM calls WHERE instr(reply, CAST('\"server\":' AS BLOB)) > 0"
_CALL = "SELECT calls.episode, calls.request, calls.k, purpose, reply"
_UNASKED = f"{_CALL}, '', '' FROM calls ORDER BY episode"
_ASKED = (
    f"{_CALL}, ifnull(model, ''), ifnull(role, '') FROM calls LEFT JOIN prompts ON prompts.request = calls.request "
    "ORDER BY episode"
)
_THERE = "SELECT name FROM sqlite_master WHERE type = 'table'"


class JournalRow(NamedTuple):
    """A row of a journal as it stands in the file."""

    table: str
    values: tuple[Any, ...]

    @property
    def key(self) -> tuple[Any, ...]:
        """What no other row has."""
        return (self.table, *self.values[: _KEYS[self.table]])


class JournalPart:
    """The file of a journal, whose rows are taken out as they come, or put in. Use it with `with`.

    Raises:
        BadInput: it is something else, or cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open_journal(path)
        self._given: set[tuple[Any, ...]] = set()
        self._version = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def new(self) -> list[JournalRow]:
        """Returns the rows that were not returned before; a `BadInput` where the file is damaged."""
        with read_errors(self.path):
            version = self._file.execute("PRAGMA data_version").fetchone()[0]
            if version == self._version:
                return []
            there = {name for (name,) in self._file.execute(_THERE)}
            every = (
                JournalRow(table, values)
                for table in _KEYS
                if table in there
                for values in self._file.execute(f"SELECT * FROM {table}")  # noqa: S608 - one of ours
            )
            found = [row for row in every if row.key not in self._given]
        self._version = version
        self._given.update(row.key for row in found)
        return found

    def add(self, rows: Iterable[JournalRow]) -> None:
        """Puts rows in; of one that is there already the first stays."""
        rows = list(rows)
        self._given.update(row.key for row in rows)
        with read_errors(self.path), transaction(self._file):
            for table in TABLES if any(row.table != "calls" for row in rows) else ():
                self._file.execute(table)
            for row in rows:
                blanks = ", ".join("?" * len(row.values))
                self._file.execute(f"INSERT OR IGNORE INTO {row.table} VALUES ({blanks})", row.values)  # noqa: S608


def rows_of(paths: Iterable[Path]) -> list[JournalRow]:
    """Returns all rows of several files, each once."""
    rows: dict[tuple[Any, ...], JournalRow] = {}
    for path in paths:
        with JournalPart(path) as part:
            for row in part.new():
                rows.setdefault(row.key, row)
    return list(rows.values())


def servers_of(paths: Iterable[Path]) -> dict[tuple[str, str], Line]:
    """Returns what each of several servers answered, out of the files of journals, as a ledger has it.

    Raises:
        BadInput: a file is no journal, or damaged.
    """
    found: dict[tuple[str, str], Line] = {}
    for path in paths:
        with closing(open_journal(path)) as file, read_errors(path):
            for *key, stored in file.execute(_WITH_SERVER):
                try:
                    reply = read_stored(Key(*key), stored)
                except ValueError as error:
                    raise BadInput(f"an answer is damaged ({error})", path=path) from None
                if reply.server:
                    found.setdefault(("", reply.server), Line()).add(Line(1, 0, reply.attempts, reply.usage))
    return found


def calls_of(paths: Iterable[Path]) -> Iterator[KeptCall]:
    """Yields every call whose answer stands in the files of journals, as the folder of a run keeps it.

    Who asked which model stands beside the answers where what was asked is kept; else both are "".

    Raises:
        BadInput: a file is no journal, or damaged.
    """
    for path in paths:
        with closing(open_journal(path)) as file, read_errors(path):
            there = {name for (name,) in file.execute(_THERE)}
            for *key, purpose, stored, model, role in file.execute(_ASKED if "prompts" in there else _UNASKED):
                try:
                    reply = read_stored(Key(*key), stored)
                except ValueError as error:
                    raise BadInput(f"an answer is damaged ({error})", path=path) from None
                yield KeptCall(
                    role=role,
                    model=model,
                    purpose=purpose,
                    item=key[0],
                    tokens_in=reply.usage.tokens_in,
                    cached=reply.usage.cached,
                    tokens_out=reply.usage.tokens_out,
                    cost=reply.usage.cost,
                    seconds=round(reply.seconds, 3),
                    requests=reply.attempts,
                    error=reply.failure,
                )
