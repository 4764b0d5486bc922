"""The files of what is remembered, and of what was read: made, opened and checked in one place.

Each is a SQLite file that says what it was made with, a structure of its own kind, and is refused where something else
is asked for.
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
from polyclinic.sqlite_file import application, claim, connect

A = TypeVar("A", bound=msgspec.Struct)
T = TypeVar("T")

_FACTS = "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"


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
) -> Iterator[T]:
    """Opens a file of a kind, and yields what is read of it.

    Args:
        folder: holds it.
        kind: see `FileKind`.
        about: what it must be made with, and is where it is empty; None takes it as it is.
        read: given the file and what it was made with.
        must_exist: makes none.

    Raises:
        BadInput: there is none, it is another kind's, it cannot be read, or it was made with something else.
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
            came = read(file, _made_with(file, kind, about, path))
        except (sqlite3.Error, msgspec.MsgspecError, ValueError) as error:
            raise BadInput(f"cannot be read as {kind.what}: {error}", path=path) from None
        yield came
    finally:
        file.close()


def _made_with(file: sqlite3.Connection, kind: FileKind[A], about: A | None, path: Path) -> A:
    made: list[tuple[str, *tuple[Any, ...]]] = []
    if about is not None:
        made += [(table,) for table in (_FACTS, *kind.tables)]
        made.append(("INSERT INTO facts VALUES ('about', ?)", msgspec.json.encode(about).decode()))
    if application(file) != kind.mark and (about is None or not claim(file, kind.mark, made)):
        raise BadInput(f"is not {kind.what}", path=path)
    (text,) = file.execute("SELECT value FROM facts WHERE name = 'about'").fetchone()
    found = msgspec.json.decode(text, type=kind.about)
    if about is not None and (problem := kind.differs(found, about)):
        raise BadInput(problem, path=path)
    return found
