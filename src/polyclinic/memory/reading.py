"""The second library: what a doctor learnt from documents (§4.3.1), durable in a file beside the first.

What came of a passage is committed with it, so that reading which was cut off goes on behind the last passage.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from polyclinic.errors import BadInput
from polyclinic.memory.kept_file import FileKind, open_kept
from polyclinic.memory.library import MemoryLibrary
from polyclinic.memory.memory import KeptMemory, MemoryRow
from polyclinic.memory.studying import Studied, StudyRecord
from polyclinic.retrieval.store import Vectors
from polyclinic.sqlite_file import transaction

APPLICATION = 0x706F6C64
"""Marks a SQLite file as what a doctor has read."""

FILE = "reading.sqlite"
POINTER = "reading.store"
"""Says in a folder in which store that is."""
FORMAT = 1

_TABLES = (
    "CREATE TABLE passages (n INTEGER PRIMARY KEY AUTOINCREMENT, passage TEXT NOT NULL UNIQUE, came BLOB NOT NULL)",
    "CREATE TABLE records (n INTEGER PRIMARY KEY AUTOINCREMENT, record BLOB NOT NULL, vector BLOB NOT NULL)",
)
_PASSAGE, _RECORD = "passage", "record"
"""Kinds of rows."""

_encode = msgspec.msgpack.encode


class ReadingAbout(msgspec.Struct, frozen=True, kw_only=True):
    """What a library is made with: who makes the vectors of its questions, and how long they are."""

    embedder: str
    dimensions: int
    format: int = FORMAT


class PassageRead(NamedTuple):
    """What came of a passage, and the vector of each record's question (a row each)."""

    studied: Studied
    vectors: Vectors


class _ReadingFile:
    """The rows of a file; see `polyclinic.memory.memory.KeptMemory`."""

    def __init__(self, file: sqlite3.Connection, path: Path) -> None:
        self.path, self._file = path, file

    def entries(self) -> Iterator[MemoryRow]:
        """Yields what came of each passage, then the records."""
        for passage, came in self._file.execute("SELECT passage, came FROM passages ORDER BY n"):
            yield _PASSAGE, passage, came, b""
        for record, vector in self._file.execute("SELECT record, vector FROM records ORDER BY n"):
            yield _RECORD, "", record, vector

    def notes(self) -> list[tuple[int, str, bytes]]:
        """Returns none: there are no patients here after whom they would be."""
        return []

    def commit(self, rows: Sequence[MemoryRow], notes: Sequence[tuple[int, str, bytes]]) -> None:
        """Remembers all of it, or nothing; a BadInput where it cannot."""
        del notes
        try:
            with transaction(self._file):
                for kind, passage, row, vector in rows:
                    if kind == _PASSAGE:
                        self._file.execute("INSERT INTO passages (passage, came) VALUES (?, ?)", (passage, row))
                    else:
                        self._file.execute("INSERT INTO records (record, vector) VALUES (?, ?)", (row, vector))
        except sqlite3.Error as error:
            raise BadInput(f"what was read cannot be written: {error}") from None


class ReadingLibrary:
    """What was read; made by `open_reading`, or in this process alone with no file."""

    def __init__(self, about: ReadingAbout, kept: KeptMemory | None = None) -> None:
        self.about, self._kept = about, kept
        self.passages: dict[str, Studied] = {}
        self._library: MemoryLibrary[StudyRecord] = MemoryLibrary(about.dimensions)

    def __len__(self) -> int:
        return len(self._library)

    @property
    def records(self) -> Sequence[StudyRecord]:
        """All questions that were answered rightly, in the order in which they were read."""
        return self._library.entries

    def commit(self, read: Sequence[PassageRead]) -> None:
        """Remembers what came of passages, all of it or nothing; one that was read before is passed over.

        Raises:
            BadInput: the file cannot be written.
        """
        new = list({one.studied.passage: one for one in reversed(read)}.values())[::-1]
        new = [one for one in new if one.studied.passage not in self.passages]
        if self._kept is not None:
            self._kept.commit([row for one in new for row in _rows(one)], ())
        for one in new:
            self._take_in(msgspec.structs.replace(one.studied, records=()), one.studied.records, one.vectors)

    def read(self) -> list[PassageRead]:
        """Returns what came of each passage, with its records and their vectors."""
        places: dict[str, list[int]] = {passage: [] for passage in self.passages}
        for place, record in enumerate(self.records):
            places[record.passage].append(place)
        return [
            PassageRead(
                msgspec.structs.replace(self.passages[passage], records=tuple(self.records[n] for n in theirs)),
                self._library.vectors[theirs],
            )
            for passage, theirs in places.items()
        ]

    def nearest(self, query: NDArray[np.float32], k: int) -> list[tuple[StudyRecord, float]]:
        """Returns the records whose questions are most like a vector, the most like first, with the cosine."""
        (near,) = self._library.nearest(query[None, :], k)
        return [(self.records[place], float(cosine)) for place, cosine in zip(*near, strict=True)]

    def _take_in(self, counted: Studied, records: Sequence[StudyRecord], vectors: Vectors) -> None:
        self.passages[counted.passage] = counted
        for record, vector in zip(records, vectors, strict=True):
            self._library.add(record, vector)

    def _read(self, kept: KeptMemory) -> ReadingLibrary:
        for kind, _, row, vector in kept.entries():
            if kind == _PASSAGE:
                counted = msgspec.msgpack.decode(row, type=Studied)
                self.passages[counted.passage] = counted
            else:
                self._library.add(msgspec.msgpack.decode(row, type=StudyRecord), np.frombuffer(vector, dtype="<f4"))
        return self


def _rows(one: PassageRead) -> Iterator[MemoryRow]:
    """Yields what came of a passage as it is kept, then its records."""
    yield _PASSAGE, one.studied.passage, _encode(msgspec.structs.replace(one.studied, records=())), b""
    for record, vector in zip(one.studied.records, one.vectors, strict=True):
        yield _RECORD, "", _encode(record), vector.astype("<f4").tobytes()


def has_read(folder: Path) -> bool:
    """Whether a folder holds what somebody read, or says in which store it is."""
    return (folder / FILE).is_file() or is_read_stored(folder)


def is_read_stored(folder: Path) -> bool:
    """Whether a folder says that what was read is in a store."""
    return (folder / POINTER).is_file()


@contextmanager
def open_reading(folder: Path, about: ReadingAbout | None = None) -> Iterator[ReadingLibrary]:
    """Opens what was read, and makes it where there is none and it is said what with.

    Args:
        folder: holds `reading.sqlite`, or `reading.store`, which says in which store it is; perhaps beside a memory
            of patients.
        about: what it must be made with; None takes it as it is.

    Raises:
        BadInput: there is none, the file is something else, or it was made with another embedder.
    """
    if is_read_stored(folder):
        with _stored(folder, about) as (kept, found):
            yield ReadingLibrary(found, kept)._read(kept)
        return

    def read(file: sqlite3.Connection, found: ReadingAbout) -> ReadingLibrary:
        kept = _ReadingFile(file, folder / FILE)
        return ReadingLibrary(found, kept)._read(kept)

    with open_kept(folder, _KIND, about, read, must_exist=about is None) as library:
        yield library


@contextmanager
def _stored(folder: Path, about: ReadingAbout | None) -> Iterator[tuple[KeptMemory, ReadingAbout]]:
    """Opens what was read in the store to which a folder points, and makes it where it is said what with."""
    from polyclinic.stores.memory import open_store_memory  # noqa: PLC0415 - for those who share a store

    made = None if about is None else msgspec.json.encode(about)
    with open_store_memory(folder, made, POINTER) as (kept, told):
        try:
            found = msgspec.json.decode(told, type=ReadingAbout)
        except msgspec.MsgspecError as error:
            raise BadInput(f"cannot be read as what a doctor has read: {error}", path=kept.path) from None
        if about is not None and (problem := _differs(found, about)):
            raise BadInput(problem, path=kept.path)
        yield kept, found


def _differs(found: ReadingAbout, wanted: ReadingAbout) -> str:
    if found == wanted:
        return ""
    here, there = f"{wanted.embedder} ({wanted.dimensions})", f"{found.embedder} ({found.dimensions})"
    return f"has vectors by {there}, and {here} is asked for; read anew into another folder"


_KIND = FileKind(
    name=FILE,
    mark=APPLICATION,
    what="what a doctor has read",
    made_by="polyclinic memory read DIR",
    about=ReadingAbout,
    tables=_TABLES,
    differs=_differs,
)
