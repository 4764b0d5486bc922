"""What people make on the pages: visits, shifts, classes and studies, as JSON documents in one SQLite file.

Only one process at a time writes to a folder. Its lock is a SQLite lock on another file, which the system releases.

Earlier versions kept one JSON file per document. These are converted when the file is first opened, and moved to
`converted`; a file that cannot be read stays and is named.
"""

from __future__ import annotations

import logging
import secrets
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

import msgspec

from polyclinic.errors import BadInput, UserError
from polyclinic.files import NO_JSON, make_folder, read_records
from polyclinic.judging.verdicts import read_verdicts
from polyclinic.opened_files import check_regular
from polyclinic.sqlite_file import claim, connect, locked, read_errors, transaction
from polyclinic.web.refused import NotFound, NotNow

FILE = "practice.sqlite"
LOCK = "server.lock"
CONVERTED = "converted"

_MARK = 0x70726163  # "prac", which tells the file from other SQLite files
_TABLES = (
    ("CREATE TABLE documents (kind TEXT, id TEXT, changed REAL, json BLOB, PRIMARY KEY (kind, id))",),
    ("CREATE INDEX latest ON documents (kind, changed)",),
)
_SELECT = "SELECT id, CAST(json AS BLOB) FROM documents WHERE kind = ?"
_ADD = "INSERT INTO documents VALUES (?, ?, ?, ?)"
_PUT = f"{_ADD} ON CONFLICT (kind, id) DO UPDATE SET changed = excluded.changed, json = excluded.json"
_TAKE_OVER = f"{_ADD} ON CONFLICT DO NOTHING"
_MOST_BYTES = 128 * 2**20  # of an old file

T = TypeVar("T")
E = TypeVar("E", bound="Entry[Any]")

_shared = WeakValueDictionary[Path, "Practice"]()  # by their folders
_log = logging.getLogger("uvicorn")


class PracticeTaken(NotNow):
    """Another server writes to the folder."""


class Practice:
    """The documents of a folder, by kind and id; the folder is made when it is held."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._path = folder, folder / FILE
        self._lock = RLock()
        self._connection: sqlite3.Connection | None = None
        self._held: sqlite3.Connection | None = None
        self._damaged: dict[tuple[str, str], BadInput] = {}

    @classmethod
    def at(cls, folder: Path) -> Practice:
        """Returns the practice of a folder, which all servers of this process share."""
        return _shared.setdefault(folder.resolve(), cls(folder))

    def hold(self) -> None:
        """Takes the folder for this process, and makes it if it is missing; `close` gives it back."""
        with self._lock:
            if self._held is None:
                make_folder(self.folder)
                try:
                    self._held = locked(self.folder / LOCK)
                except sqlite3.Error as error:
                    raise UserError(f"nothing can be kept here: {error}") from None
            if self._held is None:
                raise PracticeTaken(
                    "another server keeps what is played, taught and judged in this folder; end it, or begin this "
                    "one with --set serve.practice=FOLDER"
                )

    def get(self, kind: str, id: str, type: type[T]) -> T | None:
        """Returns a document; None where there is none."""
        for _, content in self._rows(f"{_SELECT} AND id = ?", kind, id):
            return self._decoded(kind, id, content, type)
        if error := self._damaged.get((kind, id)):
            raise BadInput(error.problem, path=error.path, line=error.line, field=error.field)
        return None

    def latest(self, kind: str, type: type[T], most: int = -1) -> dict[str, T]:
        """Returns the documents of a kind that were changed last, without those that cannot be read."""
        found: dict[str, T] = {}
        for id, content in self._rows(f"{_SELECT} ORDER BY changed DESC, id LIMIT ?", kind, most):
            try:
                found[id] = self._decoded(kind, id, content, type)
            except BadInput as error:
                self._leave_out(kind, id, error)
        return found

    def holding(self, kind: str, text: str, type: type[T]) -> list[T]:
        """Returns the documents of a kind in which a text occurs."""
        rows = self._rows(f"{_SELECT} AND instr(CAST(json AS BLOB), CAST(? AS BLOB))", kind, text)
        return [self._decoded(kind, id, content, type) for id, content in rows]

    def begin(self, kind: str, type: type[E], **about: Any) -> Moves[E]:
        """Begins a document of moves, under an id that nobody can guess."""
        begun = Moves(self, kind, secrets.token_urlsafe(16), [type(at=round(time.time(), 3), **about)])
        self.put(kind, begun.id, begun.entries)
        return begun

    def moves(self, kind: str, id: str, type: type[E]) -> Moves[E]:
        """Returns a document of moves."""
        entries = self.get(kind, id, list[type])  # type: ignore[valid-type]
        if not entries:
            raise NotFound(f"there is no such {kind} here")
        return Moves(self, kind, id, entries)

    def damaged(self, kind: str) -> list[BadInput]:
        """Returns what is wrong with documents of a kind that could not be read so far."""
        return [error for (its_kind, _), error in self._damaged.items() if its_kind == kind]

    def put(self, kind: str, id: str, content: object) -> None:
        """Keeps a document in place of the one of its kind and id."""
        self.hold()
        with self._lock:
            connection = self._open()
            try:
                with transaction(connection):
                    connection.execute(_PUT, (kind, id, time.time(), msgspec.json.encode(content)))
            except sqlite3.Error as error:
                raise BadInput(f"cannot be written ({error})", path=self._path) from None

    def close(self) -> None:
        """Closes the file, and gives the folder back."""
        with self._lock:
            for connection in filter(None, (self._connection, self._held)):
                connection.close()
            self._connection = self._held = None

    def _rows(self, select: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock, read_errors(self._path):
            if self._connection is None and not self._path.exists() and not self._earlier():
                return []
            return self._open().execute(select, values).fetchall()

    def _decoded(self, kind: str, id: str, content: bytes, type: type[T]) -> T:
        try:
            return msgspec.json.decode(content or b"", type=type)
        except NO_JSON as error:
            raise BadInput(f"the {kind} {id} is damaged ({error})", path=self._path) from None

    def _leave_out(self, kind: str, id: str, error: BadInput) -> None:
        """Keeps in mind that a document cannot be read, and says so on the terminal."""
        if (kind, id) not in self._damaged:
            _log.warning("left out: %s", error)
        self._damaged[kind, id] = error

    def _open(self) -> sqlite3.Connection:
        """Opens the file, makes it if it is missing, and converts what earlier versions kept."""
        if self._connection is None:
            earlier = self._earlier()
            with read_errors(self._path):
                connection = connect(self._path)
                if not claim(connection, _MARK, _TABLES):
                    connection.close()
                    raise BadInput("this is not a file of the pages; move it away", path=self._path)
            for kind, id, files in earlier:
                try:
                    self._convert(kind, id, files, connection)
                except BadInput as error:
                    self._leave_out(kind, id, error)
                except (OSError, sqlite3.Error) as error:
                    self._leave_out(kind, id, BadInput(f"cannot be converted ({error})", path=files[0]))
            self._connection = connection
        return self._connection

    def _earlier(self) -> list[tuple[str, str, list[Path]]]:
        """Returns what is to be converted: kind, id and files; nothing while another server has the folder."""
        found = []
        for kind, pattern in (("class", "classes/*.json"), ("shift", "shifts/*.jsonl"), ("visit", "visits/*.jsonl")):
            for path in sorted(self.folder.glob(pattern)):
                if "." not in path.stem:  # "ID.trace.jsonl" is a trace, which stays
                    score = path.with_name(f"{path.stem}.score.json")
                    found.append((kind, path.stem, [path, *([score] if score.exists() else [])]))
        for path in sorted(self.folder.glob("studies/*/study.json")):
            found.append(("study", path.parent.name, [path, *sorted(path.parent.glob("verdicts-*.jsonl"))]))
        with suppress(PracticeTaken):
            if found:
                self.hold()
            return found
        return []

    def _convert(self, kind: str, id: str, files: list[Path], connection: sqlite3.Connection) -> None:
        """Takes a document over with those that belong to it, and moves its files away."""
        path, *others = files
        lines, changed = _lines(path), path.stat().st_mtime
        documents: list[tuple[str, str, object]] = [(kind, id, lines if path.suffix == ".jsonl" else lines[0])]
        for other in others:
            if kind == "study":
                check_regular(other, most=_MOST_BYTES)
                if other.stat().st_size:
                    documents.append(("verdicts", f"{id}/{other.stem.rpartition('-')[2]}", read_verdicts([other])))
            else:
                with suppress(BadInput):  # without its score a visit is scored again
                    documents.append(("score", id, _lines(other)[0]))
        with transaction(connection):
            rows = [(kind, id, changed, msgspec.json.encode(content)) for kind, id, content in documents]
            connection.executemany(_TAKE_OVER, rows)
        for path in files:
            kept = self.folder / CONVERTED / path.relative_to(self.folder)
            make_folder(kept.parent, parents=True)
            path.rename(kept)


def _lines(path: Path) -> list[Any]:
    check_regular(path, most=_MOST_BYTES)
    return [one for _, one in read_records(path, dict[str, Any], "a document")]


M = TypeVar("M")


class Entry(msgspec.Struct, Generic[M], frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An entry of `Moves`: the first, of a type of its own, says what it is about."""

    at: float  # seconds since 1970
    move: M | None = None


class Moves(Generic[E]):
    """What somebody does, one move after the other, kept as one document."""

    def __init__(self, practice: Practice, kind: str, id: str, entries: list[E]) -> None:
        self._practice, self._kind, self.id, self.entries = practice, kind, id, entries

    @property
    def moves(self) -> list[Any]:
        """All moves."""
        return [one.move for one in self.entries if one.move is not None]

    def is_next(self, move: object, after: int) -> bool:
        """Whether a move, of a sender who knows of so many moves, is to be made; False if it has been made already."""
        made = self.moves
        if after == len(made) - 1 and made[after] == move:
            return False
        if after != len(made):
            raise NotNow(f"the {self._kind} has continued elsewhere, perhaps in another window; reload it")
        return True

    def keep(self, move: object) -> None:
        """Keeps one more; if it cannot be written, it is not kept."""
        entries = [*self.entries, type(self.entries[0])(at=round(time.time(), 3), move=move)]
        self._practice.put(self._kind, self.id, entries)
        self.entries[:] = entries


class Guest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A person with the key of a link."""

    name: str
    key: str = msgspec.field(default_factory=lambda: secrets.token_urlsafe(16))


class Invitation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document that people come to by a link each."""

    id: str = msgspec.field(default_factory=lambda: secrets.token_urlsafe(9))
    made: float = msgspec.field(default_factory=time.time)


K = TypeVar("K", bound=Invitation)
G = TypeVar("G", bound=Guest)


class Invitations(Generic[K, G]):
    """The invitations of a kind; the host is who gives people their links."""

    def __init__(self, practice: Practice, kind: str, type: type[K], guests: Callable[[K], Sequence[G]], host: str):
        self.practice, self._kind, self._type, self._guests, self._host = practice, kind, type, guests, host
        self.all()  # names those that cannot be read

    def all(self) -> list[K]:
        """Returns all of them, the latest first."""
        return sorted(self.practice.latest(self._kind, self._type).values(), key=lambda kept: -kept.made)

    def named(self, id: str) -> K:
        """Returns one of them."""
        kept = self.practice.get(self._kind, id, self._type)
        if kept is None:
            raise NotFound(f"there is no such {self._kind} here")
        return kept

    def guest(self, key: str) -> tuple[K, G]:
        """Returns what a link leads to, and whose it is."""
        for kept in self.practice.holding(self._kind, key, self._type):
            for guest in self._guests(kept):
                if guest.key == key:
                    return kept, guest
        raise NotFound(f"this link is not valid; ask {self._host} for another")

    def keep(self, kept: K) -> K:
        """Keeps one of them."""
        self.practice.put(self._kind, kept.id, kept)
        return kept

    @staticmethod
    def check(title: str, names: Sequence[str], who: str) -> None:
        """Raises a UserError if a title or a name is empty, or two people have the same name; `who` calls them."""
        if not title.strip():
            raise UserError("the title is empty")
        if twice := [name for name in names if not name or names.count(name) > 1]:
            raise UserError(f"two {who} are called {twice[0]!r}; tell them apart" if twice[0] else "a name is empty")
