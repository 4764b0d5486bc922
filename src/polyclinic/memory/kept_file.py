"""The files of what is remembered, and of what was read: made, opened and checked in one place.

Each is a SQLite file that says what it was made with, a structure of its own kind, and is refused where something else
is asked for. What it says of itself and all its rows are sealed: what is not what was stored is an error.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from polyclinic.errors import BadInput
from polyclinic.seals import row_seal, seal
from polyclinic.sqlite_file import application, claim, connect, transaction

A = TypeVar("A", bound=msgspec.Struct)
T = TypeVar("T")

_FACTS = "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
_SEALED = "PRAGMA user_version = 1"
"""Says that a file has its seals; those of earlier versions get them when they are opened."""
_ALL = 1 << 64


@dataclass(frozen=True, kw_only=True)
class FileKind(Generic[A]):
    """A kind of file.

    Attributes:
        name: of the file in its folder.
        mark: the application id of SQLite's that says whose it is.
        what: it is, in messages.
        made_by: the command that makes one.
        about: what it says of itself.
        tables: statements that make them, beside that of `about`.
        differs: returns how a file (the first) is other than what is asked for, and what to do; "" where it is not.
    """

    name: str
    mark: int
    what: str
    made_by: str
    about: type[A]
    tables: tuple[str, ...]
    differs: Callable[[A, A], str]


@contextmanager
def open_kept(
    folder: Path,
    kind: FileKind[A],
    about: A | None,
    read: Callable[[sqlite3.Connection, A], T],
    *,
    must_exist: bool,
    rows: bool = True,
) -> Iterator[T]:
    """Opens a file of a kind, and yields what is read of it.

    Args:
        folder: holds it.
        kind: see `FileKind`.
        about: what it must be made with, and is where it is empty; None takes it as it is.
        read: given the file and what it was made with.
        must_exist: makes none.
        rows: are read, and must be what was stored; without, only what the file says of itself.

    Raises:
        BadInput: there is none, it is another kind's, it cannot be read, is damaged, or was made with something else.
    """
    path = folder / kind.name
    if must_exist and not path.is_file():
        raise BadInput(f"holds no {kind.name}; '{kind.made_by}' makes one", path=folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = connect(path)
    except (OSError, sqlite3.Error) as error:
        raise BadInput(f"cannot be opened as {kind.what}: {error}", path=path) from None
    try:
        try:
            came = read(file, _made_with(file, kind, about, path, rows=rows))
        except (sqlite3.Error, msgspec.MsgspecError, ValueError) as error:
            raise BadInput(f"cannot be read as {kind.what}: {error}", path=path) from None
        yield came
    finally:
        file.close()


def _is_sealed(file: sqlite3.Connection) -> bool:
    return bool(file.execute("PRAGMA user_version").fetchone()[0])


def _seal_all(file: sqlite3.Connection) -> None:
    """Seals what stands in a file, and has the seal of its rows follow what is added."""
    for name, value in (("about seal", _about_seal(file)), ("rows seal", str(_sum_of_rows(file)))):
        file.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))
    for table in _tables(file):
        names = file.execute("SELECT name FROM pragma_table_info(?)", (table,))
        row = ", ".join(f"new.{name}" for (name,) in names)
        adding = f"UPDATE facts SET value = add_seal(value, '{table}', {row}) WHERE name = 'rows seal'"  # noqa: S608
        file.execute(f"CREATE TRIGGER IF NOT EXISTS {table}_seal AFTER INSERT ON {table} BEGIN {adding}; END")
    file.execute(_SEALED)


def _check_seals(file: sqlite3.Connection, *, rows: bool) -> None:
    """Checks that a file says of itself what was stored, and that its `rows` are those that were.

    Raises:
        ValueError: it is not so.
    """
    file.execute("BEGIN")  # at one look: another process may write
    try:
        if _fact(file, "about seal") != _about_seal(file):
            raise ValueError("what it was made with is damaged")
        if rows and _fact(file, "rows seal") != str(_sum_of_rows(file)):
            raise ValueError("what is in it is damaged: it is not what was stored")
    finally:
        file.execute("ROLLBACK")


def _fact(file: sqlite3.Connection, name: str) -> str:
    found = file.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    if found is None:
        raise ValueError(f"it has no {name}")
    return str(found[0])


def _about_seal(file: sqlite3.Connection) -> str:
    return seal(_fact(file, "about").encode()).hex()


def _sum_of_rows(file: sqlite3.Connection) -> int:
    total = 0
    for table in _tables(file):
        for row in file.execute(f'SELECT * FROM "{table}"'):  # noqa: S608
            total += row_seal(table, *row)
    return total % _ALL


def _tables(file: sqlite3.Connection) -> list[str]:
    found = file.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return sorted(name for (name,) in found if name != "facts")


def _add_seal(value: str, *row: object) -> str:
    return str((int(value) + row_seal(*row)) % _ALL)


def _made_with(file: sqlite3.Connection, kind: FileKind[A], about: A | None, path: Path, *, rows: bool) -> A:
    file.create_function("add_seal", -1, _add_seal, deterministic=True)
    made: list[tuple[str, *tuple[Any, ...]]] = []
    if about is not None:
        made += [(table,) for table in (_FACTS, *kind.tables)]
        made.append(("INSERT INTO facts VALUES ('about', ?)", msgspec.json.encode(about).decode()))
    if application(file) != kind.mark and (about is None or not claim(file, kind.mark, made)):
        raise BadInput(f"is not {kind.what}", path=path)
    if not _is_sealed(file):
        with transaction(file):
            if not _is_sealed(file):
                _seal_all(file)
    _check_seals(file, rows=rows)
    found = msgspec.json.decode(_fact(file, "about"), type=kind.about)
    if about is not None and (problem := kind.differs(found, about)):
        raise BadInput(problem, path=path)
    return found
