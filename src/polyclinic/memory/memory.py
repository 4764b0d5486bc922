"""The memory of a doctor, task by task: a library of records and a base of experience (§4.3), kept in a file.

The entries of a batch of patients are committed together: after an interruption at any moment, the memory is that after
a whole batch, and continues from there. `FOLDER@2000` is the memory after the first 2,000 patients.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from polyclinic.errors import BadInput
from polyclinic.memory.entries import KINDS, ClinicalTask, Entry, Experience, MedicalRecord, kind_of
from polyclinic.memory.library import MemoryLibrary
from polyclinic.memory.recall import CameToMind
from polyclinic.retrieval.store import Vectors
from polyclinic.seals import row_seal, seal
from polyclinic.sqlite_file import application, claim, connect, transaction
from polyclinic.storage.memory import POINTER, READING, read_memory

FORMAT = 1
ENOUGH = 3
"""The least experience before any is used; the paper's k."""

_ENTRIES = (
    "CREATE TABLE entries (n INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, task TEXT NOT NULL, "
    "entry BLOB NOT NULL, vector BLOB NOT NULL)"
)
_NOTES = (
    "CREATE TABLE practice (patients INTEGER NOT NULL, what TEXT NOT NULL, came BLOB NOT NULL, "
    "PRIMARY KEY (patients, what)) WITHOUT ROWID"
)
_FACTS = "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
_ADD = "INSERT INTO entries (kind, task, entry, vector) VALUES (?, ?, ?, ?)"
_OLD_READING = (
    _ENTRIES,
    _NOTES,
    "INSERT INTO entries (kind, task, entry, vector) SELECT 'passage', passage, came, x'' FROM passages ORDER BY n",
    "INSERT INTO entries (kind, task, entry, vector) SELECT 'record', '', record, vector FROM records ORDER BY n",
    "DROP TABLE passages",
    "DROP TABLE records",
)
_SEALED = 2
"""The `user_version` of files whose seals follow each commit; 1 had triggers for that, and 0 has no seals."""
_ALL = 1 << 64

_VECTORS = "make its vectors anew: polyclinic memory build DIR --embedder NAME --out NEW"
_PRACTISE = "practise anew into another folder: polyclinic evolve --out NEW"
_ANEW = {"format": _PRACTISE, "knowledge": _PRACTISE, "embedder": _VECTORS, "dimensions": _VECTORS}
"""Advice for a memory that was made with something else."""

MemoryRow = tuple[str, str, bytes, bytes]  # kind, task, entry and vector


class About(msgspec.Struct, frozen=True, kw_only=True):
    """The embedder and choices of a memory; it can only be used with the same.

    Attributes:
        embedder: that made the vectors, which have so many `dimensions`.
        knowledge: names the choices that its answers are among (diseases, examinations); "" for documents.
    """

    embedder: str
    dimensions: int
    knowledge: str = ""
    format: int = FORMAT

    def difference(self, wanted: About) -> str:
        """Returns how it differs from the wanted one, with advice; "" if it does not."""
        for what, advice in _ANEW.items():
            here, there = getattr(wanted, what), getattr(self, what)
            if here != there:
                return f"was made with {what} {there}, and is asked for with {here}; {advice}"
        return ""


@dataclass(frozen=True)
class MemoryKind:
    """A kind of memory.

    Attributes:
        file: its name in the folder; `pointer` is the file by which earlier versions named a database instead.
        mark: SQLite's application id.
        what: its name in messages.
        made_by: the command that makes one.
    """

    file: str
    pointer: str
    mark: int
    what: str
    made_by: str

    def is_in(self, folder: Path) -> bool:
        """Whether a folder has such a memory, or names the database that has it."""
        return (folder / self.file).is_file() or (folder / self.pointer).is_file()


PATIENTS = MemoryKind("memory.sqlite", POINTER, 0x706F6C6D, "a memory of a doctor", "polyclinic evolve --out DIR")
READ = MemoryKind("reading.sqlite", READING, 0x706F6C64, "what a doctor has read", "polyclinic memory read DIR")


class MemoryFile:
    """The rows of a memory in its file."""

    def __init__(self, file: sqlite3.Connection, path: Path) -> None:
        self._file, self.path = file, path

    def entries(self) -> Iterable[MemoryRow]:
        """Returns all entries, in the order in which they came."""
        return self._file.execute("SELECT kind, task, entry, vector FROM entries ORDER BY n")

    def notes(self) -> Iterable[tuple[int, str, bytes]]:
        """Returns every note: after how many patients, its kind, and its content."""
        return self._file.execute("SELECT * FROM practice ORDER BY patients, what")

    def commit(self, rows: Sequence[MemoryRow], notes: Sequence[tuple[int, str, bytes]]) -> None:
        """Writes all of it, or nothing; raises BadInput if it cannot."""
        file = self._file
        try:
            with transaction(file):
                added = [row_seal("entries", file.execute(_ADD, row).lastrowid, *row) for row in rows]
                file.executemany("INSERT INTO practice VALUES (?, ?, ?)", notes)
                added += [row_seal("practice", *note) for note in notes]
                rows_seal = (int(_fact(file, "rows seal")) + sum(added)) % _ALL
                file.execute("UPDATE facts SET value = ? WHERE name = 'rows seal'", (str(rows_seal),))
        except sqlite3.Error as error:
            raise BadInput(f"the memory cannot be written: {error}", path=self.path) from None


@contextmanager
def open_kept(
    folder: Path, kind: MemoryKind, about: About | None, *, must_exist: bool, rows: bool = True
) -> Iterator[tuple[About, MemoryFile]]:
    """Opens the memory of a folder.

    Without `about`, it must exist; without `rows`, its rows are not checked for damage.
    """
    path = folder / kind.file
    if (folder / kind.pointer).is_file() and not path.is_file():
        _fetch(folder, kind)
    if must_exist and not path.is_file():
        raise BadInput(f"holds no {kind.file}; '{kind.made_by}' makes one", path=folder)
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(closing(connect(path)))
        except (OSError, sqlite3.Error) as error:
            raise BadInput(f"cannot be opened as {kind.what}: {error}", path=path) from None
        with reading(kind, path):
            found = _made_with(file, kind, about, path, rows=rows)
        if about is not None and (problem := found.difference(about)):
            raise BadInput(problem, path=path)
        yield found, MemoryFile(file, path)


def _fetch(folder: Path, kind: MemoryKind) -> None:
    """Copies a memory from the database that a folder names."""
    pointer = folder / kind.pointer
    made_with, rows, notes = read_memory(pointer)
    with reading(kind, pointer):
        about = msgspec.json.decode(made_with, type=About)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".polyclinic-") as scratch:
        with open_kept(Path(scratch), kind, about, must_exist=False) as (_, kept):
            kept.commit(rows, notes)
        (Path(scratch) / kind.file).rename(folder / kind.file)
    pointer.unlink()


@contextmanager
def reading(kind: MemoryKind, path: Path) -> Iterator[None]:
    """Turns errors of reading the file into BadInput."""
    try:
        yield
    except (sqlite3.Error, msgspec.MsgspecError, ValueError) as error:
        raise BadInput(f"cannot be read as {kind.what}: {error}", path=path) from None


def _made_with(file: sqlite3.Connection, kind: MemoryKind, about: About | None, path: Path, *, rows: bool) -> About:
    """Makes, updates and checks a file, and returns what it was made with."""
    if application(file) != kind.mark:
        facts = "" if about is None else msgspec.json.encode(about).decode()
        add = ("INSERT INTO facts VALUES ('about', ?)", facts)
        if about is None or not claim(file, kind.mark, [(_FACTS,), (_ENTRIES,), (_NOTES,), add]):
            raise BadInput(f"is not {kind.what}", path=path)
    if _version(file) < _SEALED:
        with transaction(file):
            if (before := _version(file)) < _SEALED:
                if before:
                    _check_seals(file)
                _bring_up_to_date(file)
    file.execute("BEGIN")  # a single snapshot, as another process may write
    try:
        _check_seals(file, rows=rows)
    finally:
        file.execute("ROLLBACK")
    return msgspec.json.decode(_fact(file, "about"), type=About)


def _version(file: sqlite3.Connection) -> int:
    return int(file.execute("PRAGMA user_version").fetchone()[0])


def _bring_up_to_date(file: sqlite3.Connection) -> None:
    """Gives a new file, or one of an earlier version, its seals."""
    for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        file.execute(f'DROP TRIGGER "{name}"')
    if "passages" in _tables(file):
        for statement in _OLD_READING:
            file.execute(statement)
    for fact, value in (("about seal", _about_seal(file)), ("rows seal", str(_sum_of_rows(file)))):
        file.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (fact, value))
    file.execute(f"PRAGMA user_version = {_SEALED}")


def _check_seals(file: sqlite3.Connection, *, rows: bool = True) -> None:
    if _fact(file, "about seal") != _about_seal(file):
        raise ValueError("what it was made with is damaged")
    if rows and _fact(file, "rows seal") != str(_sum_of_rows(file)):
        raise ValueError("what is in it is damaged: it is not what was stored")


def _fact(file: sqlite3.Connection, name: str) -> str:
    found = file.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    if found is None:
        raise ValueError(f"it has no {name}")
    return str(found[0])


def _about_seal(file: sqlite3.Connection) -> str:
    return seal(_fact(file, "about").encode()).hex()


def _sum_of_rows(file: sqlite3.Connection) -> int:
    rows = ((table, row) for table in _tables(file) for row in file.execute(f'SELECT * FROM "{table}"'))  # noqa: S608
    return sum(row_seal(table, *row) for table, row in rows) % _ALL


def _tables(file: sqlite3.Connection) -> list[str]:
    found = file.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return sorted(name for (name,) in found if name != "facts")


_AT = re.compile(r"(?P<folder>.+)@(?P<patients>\d+)", re.DOTALL)
_encode = msgspec.msgpack.encode


class New(NamedTuple):
    """A new entry with its vector."""

    task: ClinicalTask
    entry: Entry
    vector: Vectors


class Note(NamedTuple):
    """A note on a practice after so many patients."""

    patients: int
    what: str
    came: bytes


class DoctorMemory:
    """A memory: from a file, if made by `open_memory`, or in this process only."""

    def __init__(self, about: About, kept: MemoryFile | None = None, *, until: int | None = None) -> None:
        self.about, self._kept, self._until = about, kept, until
        self.seen = 0  # patients, at opening
        self.records = {task: MemoryLibrary[MedicalRecord](about.dimensions) for task in ClinicalTask}
        self.experience = {task: MemoryLibrary[Experience](about.dimensions) for task in ClinicalTask}

    @property
    def libraries(self) -> list[tuple[ClinicalTask, MemoryLibrary[Any]]]:
        """Records and experience, task by task."""
        return [(task, one[task]) for task in ClinicalTask for one in (self.records, self.experience)]

    def recall(self, task: ClinicalTask, query: NDArray[np.float32], wanted: tuple[int, int]) -> CameToMind:
        """Returns the records and the experience nearest to a query, at most as many of each as are wanted.

        There is no experience before there is as much as the paper wants (§4.3.2), unless less is wanted.
        """
        (records, experience), base = wanted, self.experience[task]
        k = experience if len(base) >= min(experience, ENOUGH) else 0
        diagnosed = self.records[ClinicalTask.DIAGNOSIS], self.experience[ClinicalTask.DIAGNOSIS]
        return CameToMind(self.records[task].nearest(query, records), base.nearest(query, k), diagnosed)

    def commit(self, new: Sequence[New], notes: Sequence[Note] = ()) -> None:
        """Adds all of it, or nothing."""
        if self._until is not None:
            was = f"is read as it was after {self._until:,} patients, and takes nothing new; name it without @"
            raise BadInput(was, path=None if self._kept is None else self._kept.path)
        if self._kept is not None:
            rows = [
                (kind_of(one.entry), one.task.value, _encode(one.entry), one.vector.astype("<f4").tobytes())
                for one in new
            ]
            self._kept.commit(rows, notes)
        for one in new:
            self._add(*one)

    def notes(self) -> list[Note]:
        """Returns the notes of all commits."""
        notes = [] if self._kept is None else [Note(*row) for row in self._kept.notes()]
        return [note for note in notes if self._until is None or note.patients <= self._until]

    def news(self) -> list[New]:
        """Returns all entries, task by task: records, then experience, in the order in which they came."""
        return [New(task, *pair) for task, library in self.libraries for pair in library.items()]

    def as_it_was(self, sizes: Sequence[int], after: DoctorMemory | None) -> DoctorMemory:
        """Returns the memory when its libraries had these sizes, after all of another memory; it must not grow."""
        made, left = DoctorMemory(self.about), iter(sizes)
        for task in ClinicalTask:
            for one in ("records", "experience"):
                before = None if after is None else getattr(after, one)[task]
                getattr(made, one)[task] = getattr(self, one)[task].as_it_was(next(left), after=before)
        return made

    def _add(self, task: ClinicalTask, entry: Entry, vector: Vectors) -> None:
        library: MemoryLibrary[Any] = (self.records if isinstance(entry, MedicalRecord) else self.experience)[task]
        library.add(entry, vector)

    def _read(self, kept: MemoryFile) -> Self:
        decoders = {kind: msgspec.msgpack.Decoder(type_) for kind, type_ in KINDS.items()}
        seen = max((patients for patients, _, _ in kept.notes()), default=0)
        for kind, task, blob, vector in kept.entries():
            entry = decoders[kind].decode(blob)
            seen = max(seen, entry.asked.number)
            if self._until is None or entry.asked.number <= self._until:
                self._add(ClinicalTask(task), entry, np.frombuffer(vector, dtype="<f4"))
        self.seen = seen if self._until is None else self._until
        if self.seen > seen:
            raise BadInput(f"has seen {seen:,} patients, not {self.seen:,}; @0 to @{seen} is there", path=kept.path)
        return self


def snapshot_of(folder: Path) -> tuple[Path, int | None]:
    """Returns the folder that `FOLDER@2000` names, and the number of patients; None for all of them.

    A folder that has that very name takes precedence.
    """
    named = None if folder.is_dir() else _AT.fullmatch(str(folder))
    return (folder, None) if named is None else (Path(named["folder"]), int(named["patients"]))


@contextmanager
def open_memory(folder: Path, about: About | None = None) -> Iterator[DoctorMemory]:
    """Opens the memory of a folder; with `about`, makes one if there is none."""
    folder, until = snapshot_of(folder)
    with open_kept(folder, PATIENTS, about, must_exist=about is None or until is not None) as (found, kept):
        with reading(PATIENTS, kept.path):
            memory = DoctorMemory(found, kept, until=until)._read(kept)
        yield memory


def about_memory(folder: Path) -> About:
    """Returns the embedder and choices of a folder's memory; raises BadInput if there is none."""
    with open_kept(snapshot_of(folder)[0], PATIENTS, None, must_exist=True, rows=False) as (about, _):
        return about


_TELLING = 6  # lines that a picture needs to be unique; "a woman, a cough" describes many people


def merged(memories: Sequence[Sequence[New]]) -> tuple[list[New], int]:
    """Returns the entries of several memories, and how many patients are in more than one of them.

    For each task, the entries on a patient are those of the first memory that has any. Patients are identified by their
    history when an examination was chosen: in two hospitals one id is two people, and one patient may have two ids.
    """
    queries = [one.entry.asked.query for some in memories for one in some if one.task is ClinicalTask.EXAMINATION]
    pictures = {query for query in queries if len(query.splitlines()) >= _TELLING}
    first: dict[tuple[ClinicalTask, str], int] = {}
    exactly, common, kept = set[bytes](), set[str](), list[New]()
    for number, some in enumerate(memories):
        for one in some:
            lines = one.entry.asked.query.splitlines()
            beginnings = ("\n".join(lines[:end]) for end in range(len(lines), _TELLING - 1, -1))
            who = next((begins for begins in beginnings if begins in pictures), "")
            if who and first.setdefault((one.task, who), number) < number:
                common.add(who)
            elif (same := _encode((one.task, one.entry))) not in exactly:
                exactly.add(same)
                kept.append(one)
    return kept, len(common)
