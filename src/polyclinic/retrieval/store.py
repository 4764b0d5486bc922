"""The passages of a corpus and their vectors, in a SQLite file that is the single source of truth.

The index of words is made from it. A passage that the index lacks, or still has to drop, is listed in `pending` by the
same transaction, so that the next process can finish what an interrupted one began.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from polyclinic.errors import BadInput, UserError
from polyclinic.sqlite_file import claim, connect, read_errors, transaction

APPLICATION = 0x706F6C63  # Marks a SQLite file as a corpus of ours

_TABLES = (
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE passages (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, "
    "text TEXT NOT NULL, batch INTEGER NOT NULL)",
    "CREATE INDEX passages_batch ON passages (batch)",
    "CREATE TABLE vectors (n INTEGER PRIMARY KEY, vector BLOB NOT NULL)",
    "CREATE TABLE pending (n INTEGER PRIMARY KEY)",
)
_FILES = (
    # From which file a passage is; 0: from none. Corpora of earlier versions have no files.
    "CREATE TABLE files (n INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, key TEXT NOT NULL UNIQUE)",
    "ALTER TABLE passages ADD COLUMN file INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX passages_file ON passages (file)",
)
_HAS_FILES = "SELECT count(*) FROM sqlite_master WHERE name = 'files'"

_BEGIN = "SELECT coalesce(max(n), 0), 1 + coalesce(max(batch), 0) FROM passages"
_PUT = """\
INSERT INTO passages (id, title, text, batch, file) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE
SET title = excluded.title, text = excluded.text, batch = excluded.batch, file = excluded.file
WHERE title != excluded.title OR text != excluded.text"""
_COUNT = "SELECT count(*), coalesce(sum(n > ?), 0) FROM passages WHERE batch = ?"
_FORGET_CHANGED = "DELETE FROM vectors WHERE n IN (SELECT n FROM passages WHERE batch = ?)"
_OWN = "UPDATE passages SET file = ? WHERE id = ? AND file != ?"
_NUMBERS = "SELECT id, n FROM passages WHERE id IN (SELECT value FROM json_each(?))"
_OF_FILES = """\
SELECT files.name, passages.n FROM files JOIN passages ON passages.file = files.n
WHERE files.name IN (SELECT value FROM json_each(?))"""
_FORGET_FILES = "DELETE FROM files WHERE n NOT IN (SELECT file FROM passages)"
_GET = "SELECT n, id, title, text FROM passages WHERE n IN (SELECT value FROM json_each(?))"
_WITHOUT_VECTOR = """\
SELECT n, id, title, text FROM passages WHERE n NOT IN (SELECT n FROM vectors) ORDER BY n LIMIT ?"""
_PUT_VECTOR = """\
INSERT OR REPLACE INTO vectors (n, vector)
SELECT n, :vector FROM passages WHERE n = :n AND title = :title AND text = :text"""
_TOGETHER = 2_000  # rows written or read at a time
_SHOWN = 5

Vectors = NDArray[np.float32]  # A vector a row


class NewPassage(NamedTuple):
    """A passage that is to be added."""

    id: str
    title: str
    text: str


class PassageFile(NamedTuple):
    """A file whose passages are to be added."""

    name: str  # in the corpus, where it is unique; "" for passages that come from no file
    key: str  # identifies the file when it comes again
    passages: Iterable[NewPassage]  # all that it holds


class StoredPassage(NamedTuple):
    """A passage with its number, which is never used again."""

    n: int
    id: str
    title: str
    text: str


class Added(NamedTuple):
    """What became of the passages that were added; `gone` are those that their file no longer holds."""

    new: int = 0
    changed: int = 0
    same: int = 0
    gone: int = 0


class PassageStore:
    """The file of a corpus, made where there is none.

    Raises:
        BadInput: it is something else, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = connect(path)
            if not claim(self._file, APPLICATION, [(table,) for table in _TABLES]):
                self._file.close()
                raise BadInput("a SQLite file, but no corpus; name another", path=path)
            if not self._file.execute(_HAS_FILES).fetchone()[0]:
                with transaction(self._file):
                    # Another process may have been quicker.
                    for statement in () if self._file.execute(_HAS_FILES).fetchone()[0] else _FILES:
                        self._file.execute(statement)
        except sqlite3.Error as error:
            raise self._named(error) from None

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __len__(self) -> int:
        return int(self._read("SELECT count(*) FROM passages")[0][0])

    def fact(self, name: str) -> str | None:
        """Returns what is known of the corpus under a name."""
        rows = self._read("SELECT value FROM facts WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else None

    def set_facts(self, **facts: str | None) -> None:
        """Keeps what is known of the corpus; None forgets it."""
        with self._writing():
            for name, value in facts.items():
                self._file.execute("DELETE FROM facts WHERE name = ?", (name,))
                if value is not None:
                    self._file.execute("INSERT INTO facts VALUES (?, ?)", (name, value))

    def put(self, files: Iterable[PassageFile]) -> Added:
        """Adds the passages of files, all or none.

        A passage whose id is there is replaced. What a file held before and no longer holds is taken out.
        """
        given = gone = 0
        with self._writing():
            last, batch = self._file.execute(_BEGIN).fetchone()
            for file in files:
                number = self._number(file) if file.name else 0
                owned = "SELECT id, n FROM passages WHERE file = ? AND file != 0"
                before: dict[str, int] = dict(self._file.execute(owned, (number,)).fetchall())
                passages = iter(file.passages)
                while some := list(islice(passages, _TOGETHER)):
                    given += len(some)
                    self._file.executemany(_PUT, ((*passage, batch, number) for passage in some))
                    if number:
                        self._file.executemany(_OWN, ((number, passage.id, number) for passage in some))
                    for passage in some:
                        before.pop(passage.id, None)
                # At once: the next file may hold what this one held.
                self._delete(list(before.values()))
                gone += len(before)
            self._file.execute(_FORGET_FILES)
            written, new = self._file.execute(_COUNT, (last, batch)).fetchone()
            self._file.execute(_FORGET_CHANGED, (batch,))
            self._file.execute("INSERT OR IGNORE INTO pending SELECT n FROM passages WHERE batch = ?", (batch,))
        return Added(new, written - new, given - written, gone)

    def files(self) -> dict[str, str]:
        """Returns the names of the files that have passages, by their keys."""
        return dict(self._read("SELECT key, name FROM files"))

    def remove(self, ids: Sequence[str]) -> int:
        """Takes passages out, all of these ids or none, and returns how many; a file's name means all of it."""
        with self._writing():
            named: dict[str, list[int]] = {}
            for query in (_NUMBERS, _OF_FILES):
                for id, n in self._file.execute(query, (_encode([id for id in ids if id not in named]),)).fetchall():
                    named.setdefault(id, []).append(n)
            if unknown := [id for id in dict.fromkeys(ids) if id not in named]:
                missing = ", ".join(map(repr, unknown[:_SHOWN])) + (" ..." if len(unknown) > _SHOWN else "")
                kept = "; nothing was removed" if named else ""
                raise UserError(f"corpus {self.path.parent.name!r} has no passage {missing}{kept}")
            gone = sorted({n for numbers in named.values() for n in numbers})
            self._delete(gone)
            self._file.execute(_FORGET_FILES)
        return len(gone)

    def _number(self, file: PassageFile) -> int:
        self._file.execute("INSERT OR IGNORE INTO files (name, key) VALUES (?, ?)", (file.name, file.key))
        number, name = self._file.execute("SELECT max(n), name FROM files WHERE key = ?", (file.key,)).fetchone()
        if name != file.name:
            problem = f"another process has just added a file, which {file.name!r} must be told from; add it again"
            raise BadInput(problem, path=self.path)
        return int(number)

    def _delete(self, numbers: Sequence[int]) -> None:
        rows = [(n,) for n in numbers]
        self._file.executemany("DELETE FROM passages WHERE n = ?", rows)
        self._file.executemany("DELETE FROM vectors WHERE n = ?", rows)
        self._file.executemany("INSERT OR IGNORE INTO pending VALUES (?)", rows)

    def get(self, numbers: Sequence[int]) -> dict[int, StoredPassage]:
        """Returns the passages of these numbers, as far as they are there."""
        return {passage.n: passage for passage in self._passages(_GET, _encode(numbers))}

    def every(self) -> Iterator[StoredPassage]:
        """Yields all passages, in the order of their numbers."""
        return self._passages("SELECT n, id, title, text FROM passages ORDER BY n")

    def without_vector(self, most: int) -> list[StoredPassage]:
        """Returns passages, at most so many, that have no vector yet."""
        return list(self._passages(_WITHOUT_VECTOR, most))

    def pending(self, most: int) -> list[int]:
        """Returns the numbers, at most so many, that the index of words does not know in their present state."""
        return [n for (n,) in self._read("SELECT n FROM pending ORDER BY n LIMIT ?", (most,))]

    def settle(self, numbers: Sequence[int]) -> None:
        """Notes that the index of words knows these."""
        with self._writing():
            self._file.executemany("DELETE FROM pending WHERE n = ?", ((n,) for n in numbers))

    def unsettle(self) -> None:
        """Notes that the index of words knows nothing."""
        with self._writing():
            self._file.execute("INSERT OR IGNORE INTO pending SELECT n FROM passages")

    def put_vectors(self, passages: Sequence[StoredPassage], vectors: Vectors) -> None:
        """Keeps the vectors of those passages that are still there as they were."""
        rows = (
            {"vector": vector.astype("<f4").tobytes(), "n": one.n, "title": one.title, "text": one.text}
            for one, vector in zip(passages, vectors, strict=True)
        )
        with self._writing():
            self._file.executemany(_PUT_VECTOR, rows)

    def forget_vectors(self) -> None:
        """Deletes all vectors, but not who made them and where."""
        with self._writing():
            self._file.execute("DELETE FROM vectors")
            self._file.execute("DELETE FROM facts WHERE name = 'probe'")

    def vectors(self, dimensions: int) -> tuple[NDArray[np.int64], Vectors]:
        """Returns the vectors, in the order of the numbers of their passages, after these numbers."""
        count = self.embedded()
        numbers, matrix, found = np.zeros(count, dtype=np.int64), np.zeros((count, dimensions), dtype=np.float32), 0
        with read_errors(self.path):
            rows = self._file.execute("SELECT n, vector FROM vectors ORDER BY n LIMIT ?", (count,))
            for found, (number, vector) in enumerate(rows, start=1):
                numbers[found - 1], matrix[found - 1] = number, np.frombuffer(vector, dtype="<f4")
        return numbers[:found], matrix[:found]

    def embedded(self) -> int:
        """Returns how many passages have a vector."""
        return int(self._read("SELECT count(*) FROM vectors")[0][0])

    def change(self) -> int:
        """Returns a number that changes whenever another process has written."""
        return int(self._read("PRAGMA data_version")[0][0])

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with transaction(self._file):
                yield
        except sqlite3.Error as error:
            raise self._named(error) from None

    def _read(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        with read_errors(self.path):
            return self._file.execute(query, values).fetchall()

    def _passages(self, query: str, *values: object) -> Iterator[StoredPassage]:
        with read_errors(self.path):
            yield from map(StoredPassage._make, self._file.execute(query, values))

    def _named(self, error: sqlite3.Error) -> BadInput:
        return BadInput(f"cannot be used as a corpus ({error})", path=self.path)


def _encode(values: Sequence[object]) -> str:
    return msgspec.json.encode(values).decode()
