"""The passages of a corpus and their vectors, in a SQLite file that is the single source of truth.

The index of words is made from it. A passage that the index lacks, or still has to drop, is listed in `pending` by the
same transaction, so that the next process can finish what one that died began. Passages, vectors and facts carry
checksums: a damaged one is an error, never an answer.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from polyclinic.errors import BadInput, UserError
from polyclinic.sqlite_file import claim, connect, read_errors, transaction

APPLICATION = 0x706F6C63
"""Marks a SQLite file as a corpus of ours."""

_TABLES = (
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE passages (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, "
    "text TEXT NOT NULL, batch INTEGER NOT NULL)",
    "CREATE INDEX passages_batch ON passages (batch)",
    "CREATE TABLE vectors (n INTEGER PRIMARY KEY, vector BLOB NOT NULL)",
    "INSERT INTO facts VALUES ('written', '0')",
    "CREATE TRIGGER put AFTER INSERT ON vectors BEGIN UPDATE facts SET value = value + 1 WHERE name = 'written'; END",
    "CREATE TRIGGER gone AFTER DELETE ON vectors BEGIN UPDATE facts SET value = value + 1 WHERE name = 'written'; END",
    "CREATE TABLE pending (n INTEGER PRIMARY KEY)",
)
_FILES = (
    "CREATE TABLE files (n INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, key TEXT NOT NULL UNIQUE)",
    "ALTER TABLE passages ADD COLUMN file INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX passages_file ON passages (file)",
)
"""What came later: from which file a passage is, 0 where from none."""
_HAS_FILES = "SELECT count(*) FROM sqlite_master WHERE name = 'files'"
_SEALS = (
    "ALTER TABLE passages ADD COLUMN seal INTEGER",
    "ALTER TABLE vectors ADD COLUMN seal INTEGER",
    "UPDATE passages SET seal = seal(id, title, text)",
    "UPDATE vectors SET seal = seal(n, vector)",
)
"""What came later still: what tells whether a passage, or a vector, is the one that was stored."""
_HAS_SEALS = "SELECT count(*) FROM pragma_table_info('passages') WHERE name = 'seal'"
_SEAL = "seal"
_UNSEALED = frozenset(("written", _SEAL))
"""Facts that a seal of the others does not hold for: triggers change the one."""


def made(file: sqlite3.Connection) -> bool:
    """Gives an empty file the tables of a corpus, and one of an earlier version what it lacks.

    Returns:
        Whether it is a corpus now; False leaves it as it is.

    Raises:
        sqlite3.Error: it cannot be read or written.
    """
    file.create_function("seal", -1, seal, deterministic=True)
    if not claim(file, APPLICATION, [(table,) for table in _TABLES]):
        return False
    for asked, statements in ((_HAS_FILES, _FILES), (_HAS_SEALS, _SEALS)):
        _bring_up(file, asked, statements)
    return True


def _bring_up(file: sqlite3.Connection, asked: str, statements: Sequence[str]) -> None:
    if file.execute(asked).fetchone()[0]:
        return
    with transaction(file):
        if not file.execute(asked).fetchone()[0]:
            for statement in statements:
                file.execute(statement)
            seal_facts(file)


def seal(*parts: object) -> int:
    """Returns what tells texts, numbers and bytes, in this order, from others; it finds damage, not forgery."""
    told = 0
    for part in parts:
        told = zlib.crc32(part if isinstance(part, bytes) else f"{part}\0".encode(), told)
    return told


def seal_facts(file: sqlite3.Connection) -> None:
    """Seals the facts as they are now."""
    file.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_SEAL, _of(_facts(file))))


def facts_are_whole(file: sqlite3.Connection) -> bool:
    """Whether the facts are those that were sealed."""
    facts = _facts(file)  # at one look: another process may write
    return facts.get(_SEAL) == _of(facts)


def _facts(file: sqlite3.Connection) -> dict[str, str]:
    return dict(file.execute("SELECT name, value FROM facts ORDER BY name").fetchall())


def _of(facts: dict[str, str]) -> str:
    return str(seal(*(word for name, value in facts.items() if name not in _UNSEALED for word in (name, value))))


Vectors = NDArray[np.float32]
"""A vector a row."""

_PUT = """\
INSERT INTO passages (id, title, text, batch, file, seal) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE
SET title = excluded.title, text = excluded.text, batch = excluded.batch, file = excluded.file, seal = excluded.seal
WHERE title != excluded.title OR text != excluded.text"""
_COUNT = "SELECT count(*), coalesce(sum(n > ?), 0) FROM passages WHERE batch = ?"
_FORGET_CHANGED = "DELETE FROM vectors WHERE n IN (SELECT n FROM passages WHERE batch = ?)"
_OWN = "UPDATE passages SET file = ? WHERE id = ? AND file != ?"
_NUMBERS = "SELECT id, n FROM passages WHERE id IN (SELECT value FROM json_each(?))"
_OF_FILES = """\
SELECT files.name, passages.n FROM files JOIN passages ON passages.file = files.n
WHERE files.name IN (SELECT value FROM json_each(?))"""
_FORGET_FILES = "DELETE FROM files WHERE n NOT IN (SELECT file FROM passages)"
_GET = "SELECT n, id, title, text, seal FROM passages WHERE n IN (SELECT value FROM json_each(?))"
_GET_VECTORS = "SELECT n, vector, seal FROM vectors WHERE n IN (SELECT value FROM json_each(?)) ORDER BY n"
_WITHOUT_VECTOR = """\
SELECT n, id, title, text, seal FROM passages WHERE n NOT IN (SELECT n FROM vectors) ORDER BY n LIMIT ?"""
_PUT_VECTOR = """\
INSERT OR REPLACE INTO vectors (n, vector, seal)
SELECT n, :vector, seal(n, :vector) FROM passages WHERE n = :n AND title = :title AND text = :text"""
_TOGETHER = 2_000  # rows written or read at a time
_SHOWN = 5


class NewPassage(NamedTuple):
    """A passage that is to be added."""

    id: str
    title: str
    text: str


class PassageFile(NamedTuple):
    """A file whose passages are to be added.

    Attributes:
        name: in the corpus; no other file of it has that name.
        key: tells it from all other files, so that it is known when it comes again.
        passages: all that it holds.
    """

    name: str
    key: str
    passages: Iterable[NewPassage]


class StoredPassage(NamedTuple):
    """A passage with its number, which no other ever has."""

    n: int
    id: str
    title: str
    text: str


class Added(NamedTuple):
    """What became of the passages that were added; `gone` are those that their file held, and holds no more."""

    new: int = 0
    changed: int = 0
    same: int = 0
    gone: int = 0


class PassageStore:
    """The file of a corpus, made where there is none.

    Raises:
        BadInput: it is something else, or cannot be written; later, that what is read is not what was stored.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = connect(path)
            if not made(self._file):
                self._file.close()
                raise BadInput("a SQLite file, but no corpus; name another", path=path)
            if not facts_are_whole(self._file):
                self._file.close()
                raise self._damaged("what it says of its vectors is")
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

    def set_facts(self, facts: Mapping[str, str]) -> None:
        """Writes down what is known of the corpus."""
        with self._writing():
            self._file.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())
            seal_facts(self._file)

    def forget(self, name: str) -> None:
        """Forgets what is known of the corpus under a name."""
        with self._writing():
            self._file.execute("DELETE FROM facts WHERE name = ?", (name,))
            seal_facts(self._file)

    def put(self, passages: Iterable[NewPassage]) -> tuple[Added, list[int]]:
        """Adds passages, all or none; one whose id is there takes its place. Returns the numbers of what changed too.

        Raises:
            BadInput: the file cannot be written.
        """
        with self._writing(), self._batch() as batch:
            batch.given = self._put(passages, batch.number, 0)
        return batch.added, batch.numbers

    def put_files(self, files: Iterable[PassageFile]) -> tuple[Added, list[int]]:
        """Adds the passages of files, all or none; what such a file held before and holds no more is taken out.

        Raises:
            BadInput: the file of the corpus cannot be written, or a name is another file's by now.
        """
        with self._writing(), self._batch() as batch:
            for file in files:
                number = self._number(file)
                before = dict(self._file.execute("SELECT id, n FROM passages WHERE file = ?", (number,)).fetchall())
                batch.given += self._put(_crossed_off(file.passages, before), batch.number, number)
                # At once: the next file may hold what this one held.
                self._delete(list(before.values()))
                batch.gone += before.values()
            self._file.execute(_FORGET_FILES)
        return batch.added, batch.numbers

    def files(self) -> dict[str, str]:
        """Returns what the files are called of which there are passages, by their keys."""
        return dict(self._read("SELECT key, name FROM files"))

    def remove(self, ids: Sequence[str]) -> list[int]:
        """Takes passages out, all of these ids or none, and returns their numbers.

        In place of an id, the name of a file stands for all of its passages.

        Raises:
            UserError: there is no such passage; names all that are not there.
        """
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
        return gone

    @contextmanager
    def _batch(self) -> Iterator[_Batch]:
        """Yields what is written together, and takes note of it for the vectors and the index of words."""
        last = int(self._file.execute("SELECT coalesce(max(n), 0) FROM passages").fetchone()[0])
        batch = _Batch(1 + int(self._file.execute("SELECT coalesce(max(batch), 0) FROM passages").fetchone()[0]))
        yield batch
        number = (batch.number,)
        written, new = self._file.execute(_COUNT, (last, *number)).fetchone()
        self._file.execute(_FORGET_CHANGED, number)
        self._file.execute("INSERT OR IGNORE INTO pending SELECT n FROM passages WHERE batch = ?", number)
        changed = [n for (n,) in self._file.execute("SELECT n FROM passages WHERE batch = ?", number)]
        batch.numbers = changed + batch.gone
        batch.added = Added(new, written - new, batch.given - written, len(batch.gone))

    def _put(self, passages: Iterable[NewPassage], batch: int, file: int) -> int:
        """Writes passages, and returns how many they were."""
        given = 0
        for some in _in_batches(passages):
            given += len(some)
            self._file.executemany(_PUT, ((*passage, batch, file, seal(*passage)) for passage in some))
            if file:
                self._file.executemany(_OWN, ((file, passage.id, file) for passage in some))
        return given

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
        with read_errors(self.path):
            return {passage.n: passage for passage in self._whole(self._file.execute(_GET, (_encode(numbers),)))}

    def every(self) -> Iterator[StoredPassage]:
        """Yields all passages, in the order of their numbers."""
        with read_errors(self.path):
            yield from self._whole(self._file.execute("SELECT n, id, title, text, seal FROM passages ORDER BY n"))

    def pending(self, most: int) -> list[int]:
        """Returns the numbers, at most so many, that the index of words does not know in their present state."""
        return [n for (n,) in self._read("SELECT n FROM pending ORDER BY n LIMIT ?", (most,))]

    def settle(self, numbers: Sequence[int]) -> None:
        """Takes note that the index of words knows these."""
        with self._writing():
            self._file.executemany("DELETE FROM pending WHERE n = ?", ((n,) for n in numbers))

    def unsettle(self) -> None:
        """Takes note that the index of words knows nothing."""
        with self._writing():
            self._file.execute("INSERT OR IGNORE INTO pending SELECT n FROM passages")

    def without_vector(self, most: int) -> list[StoredPassage]:
        """Returns passages, at most so many, that have no vector yet."""
        with read_errors(self.path):
            return list(self._whole(self._file.execute(_WITHOUT_VECTOR, (most,))))

    def put_vectors(self, passages: Sequence[StoredPassage], vectors: Vectors) -> None:
        """Keeps the vectors of passages, of those among them that are still there as they were."""
        with self._writing():
            self._file.executemany(
                _PUT_VECTOR,
                (
                    {"vector": vector.astype("<f4").tobytes(), "n": one.n, "title": one.title, "text": one.text}
                    for one, vector in zip(passages, vectors, strict=True)
                ),
            )

    def forget_vectors(self) -> None:
        """Throws all vectors away, and what tells whether their maker has changed; who it is, and where, stays."""
        with self._writing():
            self._file.execute("DELETE FROM vectors")
            self._file.execute("DELETE FROM facts WHERE name = 'probe'")
            seal_facts(self._file)

    def written(self) -> int:
        """Returns how often a vector was written or taken out: another number for every other set of vectors."""
        return int(self.fact("written") or 0)

    def vectors(self) -> Iterator[tuple[list[int], Vectors]]:
        """Yields numbers and their vectors, in the order of the numbers, some thousands at a time."""
        with read_errors(self.path):
            rows = self._file.execute("SELECT n, vector, seal FROM vectors ORDER BY n")
            while some := rows.fetchmany(_TOGETHER):
                yield self._matrix(some)

    def vectors_of(self, numbers: Sequence[int]) -> tuple[list[int], Vectors]:
        """Returns numbers and vectors, of those of the numbers that have one."""
        with read_errors(self.path):
            return self._matrix(self._file.execute(_GET_VECTORS, (_encode(numbers),)).fetchall())

    def embedded(self) -> int:
        """Returns how many passages have a vector."""
        return int(self._read("SELECT count(*) FROM vectors")[0][0])

    def change(self) -> int:
        """Returns a number that is another one after somebody else has written."""
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

    def _whole(self, rows: Iterable[tuple[int, str, str, str, int]]) -> Iterator[StoredPassage]:
        for n, id, title, text, sealed in rows:
            if seal(id, title, text) != sealed:
                raise self._damaged(f"passage {id!r} is")
            yield StoredPassage(n, id, title, text)

    def _matrix(self, rows: Sequence[tuple[int, bytes, int]]) -> tuple[list[int], Vectors]:
        if any(seal(n, vector) != sealed for n, vector, sealed in rows):
            raise self._damaged("a vector is")
        together = np.frombuffer(b"".join(vector for _, vector, _ in rows), dtype="<f4")
        return [n for n, _, _ in rows], together.reshape(len(rows), -1).astype(np.float32, copy=False)

    def _damaged(self, what: str) -> BadInput:
        return BadInput(
            f"the corpus is damaged: {what} not what was stored; add its files to a new one", path=self.path
        )

    def _named(self, error: sqlite3.Error) -> BadInput:
        return BadInput(f"cannot be used as a corpus ({error})", path=self.path)


class _Batch:
    """What one transaction writes."""

    def __init__(self, number: int) -> None:
        self.number, self.given = number, 0
        self.gone: list[int] = []
        self.numbers: list[int] = []
        self.added = Added()


def _crossed_off(passages: Iterable[NewPassage], before: dict[str, int]) -> Iterator[NewPassage]:
    """Yields passages, and takes their ids out of those that were there before."""
    for passage in passages:
        before.pop(passage.id, None)
        yield passage


def _encode(values: Sequence[object]) -> str:
    return msgspec.json.encode(values).decode()


def _in_batches(passages: Iterable[NewPassage]) -> Iterator[list[NewPassage]]:
    given = iter(passages)
    while some := list(islice(given, _TOGETHER)):
        yield some
