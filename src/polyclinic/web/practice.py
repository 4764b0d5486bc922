"""What people make on the pages: their visits, shifts, classes and studies, as JSON documents in one SQLite file.

One server at a time writes to a folder of practice. Its lock is SQLite's, on another file in the folder, so the system
releases it however the server ends; servers within one process share it.

Earlier versions kept a JSON file for each document. Those are taken over when the file is first opened, and moved to
`converted`; one that cannot be read stays where it is and is named.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Generic, TypeVar

import msgspec

from polyclinic.errors import BadInput, UserError
from polyclinic.files import NO_JSON, make_folder, read_records
from polyclinic.judging.verdicts import read_verdicts
from polyclinic.opened_files import check_regular
from polyclinic.sqlite_file import claim, connect, locked, read_errors, transaction
from polyclinic.web.refused import NotNow

FILE = "practice.sqlite"
LOCK = "server.lock"
CONVERTED = "converted"

_MARK = 0x70726163  # "prac", which tells the file from other SQLite files
_TABLES = (
    ("CREATE TABLE documents (kind TEXT, id TEXT, changed REAL, json BLOB, PRIMARY KEY (kind, id))",),
    ("CREATE INDEX latest ON documents (kind, changed)",),
)
_SELECT = "SELECT id, CAST(json AS BLOB) FROM documents WHERE kind = ?"
_LATEST = f"{_SELECT} ORDER BY changed DESC, id LIMIT ?"
_ADD = "INSERT INTO documents VALUES (?, ?, ?, ?)"
_PUT = f"{_ADD} ON CONFLICT (kind, id) DO UPDATE SET changed = excluded.changed, json = excluded.json"
_TAKE_OVER = f"{_ADD} ON CONFLICT DO NOTHING"
_MOST_BYTES = 128 * 2**20  # of an old file

T = TypeVar("T")
Document = tuple[str, str, object]  # kind, id and content

_guard = Lock()
_held: dict[Path, tuple[sqlite3.Connection, int]] = {}  # and by how many servers of this process
_log = logging.getLogger("uvicorn")


class PracticeTaken(NotNow):
    """Another server writes to the folder."""


class Practice:
    """The documents of a folder, by kind and id; the folder is made when it is held."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._path = folder, folder / FILE
        self._place: Path | None = None  # of the folder while it is held
        self._lock = RLock()
        self._connection: sqlite3.Connection | None = None
        self._all: dict[str, dict[str, Any]] = {}  # by kind, those that were asked for as a whole
        self._version = 0  # of the file, as other connections change it
        self._damaged: dict[tuple[str, str], BadInput] = {}

    def hold(self) -> None:
        """Takes the folder for this process, and makes it if it is missing; `close` gives it back."""
        if self._place is None:
            make_folder(self.folder)
            place = self.folder.resolve()
            with _guard:
                connection, count = _held.get(place, (None, 0))
                try:
                    connection = connection or locked(place / LOCK)
                except sqlite3.Error as error:
                    raise UserError(f"nothing can be kept here: {error}") from None
                if connection is None:
                    raise PracticeTaken(
                        "another server keeps what is played, taught and judged in this folder; end it, or begin this "
                        "one with --set serve.practice=FOLDER"
                    )
                _held[place] = (connection, count + 1)
            self._place = place

    def get(self, kind: str, id: str, type: type[T]) -> T | None:
        """Returns a document; None where there is none."""
        for _, content in self._rows(f"{_SELECT} AND id = ?", kind, id):
            return self._decoded(kind, id, content, type)
        self.check(kind, id)
        return None

    def check(self, kind: str, id: str) -> None:
        """Raises the BadInput of a document that was left out; does nothing for any other."""
        if error := self._damaged.get((kind, id)):
            raise BadInput(error.problem, path=error.path, line=error.line, field=error.field)

    def all(self, kind: str, type: type[T]) -> dict[str, T]:
        """Returns all documents of a kind by id, without those that cannot be read; they stay in memory."""
        with self._lock:
            for (version,) in self._rows("PRAGMA data_version"):
                if version != self._version:
                    self._all.clear()
                    self._version = version
            if kind not in self._all:
                self._all[kind] = self.latest(kind, type)
            return dict(self._all[kind])

    def latest(self, kind: str, type: type[T], most: int = -1) -> dict[str, T]:
        """Returns the documents of a kind that were changed last, without those that cannot be read."""
        found: dict[str, T] = {}
        for id, content in self._rows(_LATEST, kind, most):
            try:
                found[id] = self._decoded(kind, id, content, type)
            except BadInput as error:
                self.leave_out(kind, id, error)
        return found

    def damaged(self, kind: str) -> list[BadInput]:
        """Returns what is wrong with documents of a kind that could not be read so far."""
        return [error for (its_kind, _), error in self._damaged.items() if its_kind == kind]

    def count(self, kind: str) -> int:
        """Returns how many documents there are of a kind."""
        return sum(number for (number,) in self._rows("SELECT count(*) FROM documents WHERE kind = ?", kind))

    def put(self, kind: str, id: str, content: object) -> None:
        """Keeps a document in place of the one of its kind and id."""
        with self._lock:
            connection = self._open()
            try:
                with transaction(connection):
                    connection.execute(_PUT, (kind, id, time.time(), msgspec.json.encode(content)))
            except sqlite3.Error as error:
                raise BadInput(f"cannot be written ({error})", path=self._path) from None
            if kind in self._all:
                self._all[kind][id] = content

    def moves(self, kind: str, id: str, type: type[T]) -> KeptMoves[T] | None:
        """Returns a document that is a list and grows; None where there is none."""
        found = self.get(kind, id, list[type])  # type: ignore[valid-type]
        return KeptMoves(self, kind, id, found) if found else None

    def leave_out(self, kind: str, id: str, error: BadInput) -> None:
        """Keeps in mind that a document cannot be read, and says so on the terminal."""
        if (kind, id) not in self._damaged:
            _log.warning("left out: %s", error)
        self._damaged[kind, id] = error

    def close(self) -> None:
        """Closes the file, and gives the folder back."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
        if self._place is not None:
            with _guard:
                connection, count = _held.pop(self._place)
                if count > 1:
                    _held[self._place] = (connection, count - 1)
                else:
                    connection.close()
            self._place = None

    def _rows(self, select: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock, read_errors(self._path):
            if self._connection is None and not self._path.exists() and not self._old():
                return []
            return self._open().execute(select, values).fetchall()

    def _decoded(self, kind: str, id: str, content: bytes, type: type[T]) -> T:
        try:
            return msgspec.json.decode(content or b"", type=type)
        except NO_JSON as error:
            raise BadInput(f"the {kind} {id} is damaged ({error})", path=self._path) from None

    def _open(self) -> sqlite3.Connection:
        """Opens the file, makes it if it is missing, and converts what earlier versions kept."""
        if self._connection is None:
            old = self._old()
            with read_errors(self._path):
                connection = connect(self._path)
                if not claim(connection, _MARK, _TABLES):
                    connection.close()
                    raise BadInput("this is not a file of the pages; move it away", path=self._path)
            for one in old:
                self._convert(one, connection)
            self._connection = connection
        return self._connection

    def _old(self) -> list[_OldDocument]:
        """Returns what is to be converted; nothing while another server has the folder."""
        old = list(_old_documents(self.folder))
        if old:
            try:
                self.hold()
            except PracticeTaken:
                return []
        return old

    def _convert(self, old: _OldDocument, connection: sqlite3.Connection) -> None:
        try:
            rows = [
                (kind, id, old.path.stat().st_mtime, msgspec.json.encode(content))
                for kind, id, content in old.documents()
            ]
            with transaction(connection):
                connection.executemany(_TAKE_OVER, rows)
            for path in old.files:
                kept = self.folder / CONVERTED / path.relative_to(self.folder)
                make_folder(kept.parent, parents=True)
                path.rename(kept)
        except BadInput as error:
            self.leave_out(old.kind, old.id, error)
        except (OSError, sqlite3.Error) as error:
            self.leave_out(old.kind, old.id, BadInput(f"cannot be converted ({error})", path=old.path))


def check_names(title: str, names: Sequence[str], who: str) -> None:
    """Raises a UserError if a title or a name is empty, or two people have the same name; `who` calls them."""
    if not title.strip():
        raise UserError("the title is empty")
    if twice := [name for name in names if not name or names.count(name) > 1]:
        raise UserError(f"two {who} are called {twice[0]!r}; tell them apart" if twice[0] else "a name is empty")


def is_next(made: Sequence[T], move: T, after: int, what: str) -> bool:
    """Whether a move, of a sender who knows of so many moves, is to be made; False if it has been made already."""
    if after == len(made) - 1 and made[after] == move:
        return False
    if after != len(made):
        raise NotNow(f"the {what} has continued elsewhere, perhaps in another window; reload it")
    return True


class KeptMoves(Generic[T]):
    """A list that grows, kept as one document."""

    def __init__(self, practice: Practice, kind: str, id: str, all: list[T]) -> None:
        self._practice, self._kind, self.id, self.all = practice, kind, id, all

    def keep(self, one: T) -> None:
        """Keeps one more; if it cannot be written, it is not kept."""
        self._practice.put(self._kind, self.id, [*self.all, one])
        self.all.append(one)


class _OldDocument(msgspec.Struct, frozen=True):
    """The files in which an earlier version kept a document; the first of them is the document's own."""

    kind: str
    id: str
    files: tuple[Path, ...]

    @property
    def path(self) -> Path:
        return self.files[0]

    def documents(self) -> Iterator[Document]:
        """Yields the document and those that belong to it."""
        path, *others = self.files
        lines = _lines(path)
        yield self.kind, self.id, lines if path.suffix == ".jsonl" else lines[0]
        for other in others:
            if self.kind == "study":
                check_regular(other, most=_MOST_BYTES)
                if other.stat().st_size:
                    yield "verdicts", f"{self.id}/{other.stem.rpartition('-')[2]}", read_verdicts([other])
            else:
                with suppress(BadInput):  # without its score a visit is scored again
                    yield "score", self.id, _lines(other)[0]


def _lines(path: Path) -> list[Any]:
    check_regular(path, most=_MOST_BYTES)
    return [one for _, one in read_records(path, dict[str, Any], "a document")]


def _old_documents(folder: Path) -> Iterator[_OldDocument]:
    for kind, pattern in (("class", "classes/*.json"), ("shift", "shifts/*.jsonl"), ("visit", "visits/*.jsonl")):
        for path in sorted(folder.glob(pattern)):
            if "." not in path.stem:  # "ID.trace.jsonl" is a trace, which stays
                score = path.with_name(f"{path.stem}.score.json")
                yield _OldDocument(kind, path.stem, (path, score) if score.exists() else (path,))
    for path in sorted(folder.glob("studies/*/study.json")):
        yield _OldDocument("study", path.parent.name, (path, *sorted(path.parent.glob("verdicts-*.jsonl"))))
