"""What a doctor remembers, task by task: a library of records and a base of experience (§4.3), durable in a file.

What is remembered together is committed together: a memory that was cut off at any moment is that after some whole
batch of patients, and goes on from there. As it was after the first 2,000 patients it is read by `FOLDER@2000`.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import msgspec
import numpy as np

from polyclinic.errors import BadInput
from polyclinic.memory.entries import ClinicalTask, Entry, Experience, MedicalRecord
from polyclinic.memory.library import CaseWordsEmbedder, MemoryLibrary, Near, counted_lines
from polyclinic.retrieval.store import Vectors
from polyclinic.seals import row_seal, seal
from polyclinic.sqlite_file import application, claim, connect, transaction
from polyclinic.storage.memory import open_store_memory, point

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


APPLICATION = 0x706F6C6D
"""Marks a SQLite file as a memory of ours."""

FORMAT = 1
FILE = "memory.sqlite"
POINTER = "memory.store"
"""Says in a folder in which store its memory is."""

ENOUGH = 3
"""So much experience there must be before any is used; the paper's k."""

_VECTORS = "make its vectors anew: polyclinic memory build DIR --embedder NAME --out NEW"
_PRACTISE = "practise anew into another folder: polyclinic evolve --out NEW"
_ANEW = {"format": _PRACTISE, "knowledge": _PRACTISE, "embedder": _VECTORS, "dimensions": _VECTORS}
"""What to do about a memory that was made with something else."""

_TABLES = (
    "CREATE TABLE entries (n INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, task TEXT NOT NULL, "
    "entry BLOB NOT NULL, vector BLOB NOT NULL)",
    "CREATE TABLE practice (patients INTEGER NOT NULL, what TEXT NOT NULL, came BLOB NOT NULL, "
    "PRIMARY KEY (patients, what)) WITHOUT ROWID",
)
_AT = re.compile(r"(?P<folder>.+)@(?P<patients>\d+)", re.DOTALL)
_KINDS: dict[str, type[Entry]] = {"record": MedicalRecord, "experience": Experience}
_encode = msgspec.msgpack.encode


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What a memory was made with; it serves whoever works with the same.

    Attributes:
        embedder: made the vectors.
        dimensions: of a vector.
        knowledge: names the choices that its answers are among (diseases, examinations).
    """

    embedder: str
    dimensions: int
    knowledge: str
    format: int = FORMAT


class New(NamedTuple):
    """Something to be remembered."""

    task: ClinicalTask
    entry: Entry
    vector: Vectors


class Note(NamedTuple):
    """What is noted of a practice after so many patients."""

    patients: int
    what: str
    came: bytes


class NearMemories(NamedTuple):
    """What came to mind of one task: of the records and of the experience, the nearest first."""

    records: Near
    experience: Near


MemoryRow = tuple[str, str, bytes, bytes]
"""Kind, task, entry and vector."""


class KeptMemory(Protocol):
    """Where the rows of a memory are: in a file, or in a database that several machines share.

    Attributes:
        path: of the file, or of that which says where the database is.
    """

    path: Path

    def entries(self) -> Iterable[MemoryRow]:
        """Returns kind, task, entry and vector of all that is remembered, in the order in which it came."""

    def notes(self) -> Iterable[tuple[int, str, bytes]]:
        """Returns after how many patients, what, and what came, of each note."""

    def commit(self, rows: Sequence[MemoryRow], notes: Sequence[tuple[int, str, bytes]]) -> None:
        """Remembers all of it, or nothing; a BadInput where it cannot."""


class DoctorMemory:
    """What is remembered; made by `open_memory`, or in this process alone with no file.

    Args:
        about: what it is made with.
        kept: where its rows are; None for nowhere.
        until: only what came of the first so many patients of a practice; it then takes nothing new. None for all.
    """

    def __init__(self, about: About, kept: KeptMemory | None = None, *, until: int | None = None) -> None:
        self.about, self._kept, self._until = about, kept, until
        self.records: dict[ClinicalTask, MemoryLibrary[MedicalRecord]] = {
            t: MemoryLibrary(about.dimensions) for t in ClinicalTask
        }
        self.experience: dict[ClinicalTask, MemoryLibrary[Experience]] = {
            t: MemoryLibrary(about.dimensions) for t in ClinicalTask
        }

    def recall(
        self, task: ClinicalTask, queries: Vectors, *, records: int, experience: int, texts: Sequence[str] = ()
    ) -> list[NearMemories]:
        """Returns for each query (a row each) the nearest records and experience, at most so many of each.

        Of the experience there is none before there are as many as the paper wants (§4.3.2), or fewer are wanted. Where
        `texts` says what the queries are vectors of, it is quicker, and the same.
        """
        whole = [counted_lines(text) for text in texts] if self.about.embedder == CaseWordsEmbedder.name else []
        base = self.experience[task]
        wanted = experience if len(base) >= min(experience, ENOUGH) else 0
        found = self.records[task].nearest(queries, records, whole), base.nearest(queries, wanted, whole)
        return [NearMemories(*pair) for pair in zip(*found, strict=True)]

    def commit(self, new: Sequence[New], notes: Sequence[Note] = ()) -> None:
        """Remembers all of it, or nothing.

        Args:
            new: in the order in which it is found again, where it is equally near.
            notes: how far the practice has come with it.

        Raises:
            BadInput: the file cannot be written, or it is read as it was after so many patients.
        """
        if self._until is not None:
            was = f"is read as it was after {self._until:,} patients, and takes nothing new; name it without @"
            raise BadInput(was, path=None if self._kept is None else self._kept.path)
        if self._kept is not None:
            rows = [(_kind(one.entry), one.task.value, _encode(one.entry), _bytes(one.vector)) for one in new]
            self._kept.commit(rows, notes)
        for one in new:
            self._add(one.task, one.entry, one.vector)

    def notes(self) -> list[Note]:
        """Returns how far the practice had come at each commit, and what was noted then."""
        if self._kept is None:
            return []
        notes = (Note(*row) for row in self._kept.notes())
        return [note for note in notes if self._until is None or note.patients <= self._until]

    def _add(self, task: ClinicalTask, entry: Entry, vector: Vectors) -> None:
        if isinstance(entry, MedicalRecord):
            self.records[task].add(entry, vector)
        else:
            self.experience[task].add(entry, vector)

    def _read(self, kept: KeptMemory) -> Self:
        decoders = {kind: msgspec.msgpack.Decoder(type_) for kind, type_ in _KINDS.items()}
        seen = max((patients for patients, _, _ in kept.notes()), default=0)
        for kind, task, blob, vector in kept.entries():
            entry = decoders[kind].decode(blob)
            seen = max(seen, entry.asked.number)
            if self._until is None or entry.asked.number <= self._until:
                self._add(ClinicalTask(task), entry, np.frombuffer(vector, dtype="<f4"))
        if self._until is not None and self._until > seen:
            raise BadInput(f"has seen {seen:,} patients, not {self._until:,}; @0 to @{seen} is there", path=kept.path)
        return self


def _kind(entry: Entry) -> str:
    return "record" if isinstance(entry, MedicalRecord) else "experience"


def _bytes(vector: Vectors) -> bytes:
    return vector.astype("<f4").tobytes()


class _MemoryFile:
    """The rows of a memory in its file; see `KeptMemory`."""

    def __init__(self, file: sqlite3.Connection, path: Path) -> None:
        self._file, self.path = file, path

    def entries(self) -> Iterable[MemoryRow]:
        return self._file.execute("SELECT kind, task, entry, vector FROM entries ORDER BY n")

    def notes(self) -> Iterable[tuple[int, str, bytes]]:
        return self._file.execute("SELECT * FROM practice ORDER BY patients, what")

    def commit(self, rows: Sequence[MemoryRow], notes: Sequence[tuple[int, str, bytes]]) -> None:
        try:
            with transaction(self._file):
                self._file.executemany("INSERT INTO entries (kind, task, entry, vector) VALUES (?, ?, ?, ?)", rows)
                self._file.executemany("INSERT INTO practice VALUES (?, ?, ?)", notes)
        except sqlite3.Error as error:
            raise BadInput(f"the memory cannot be written: {error}", path=self.path) from None


def snapshot_of(folder: Path) -> tuple[Path, int | None]:
    """Returns the folder that `FOLDER@2000` names, and after how many patients it is meant; None for all of them.

    A folder whose own name ends like that comes first.
    """
    named = None if folder.is_dir() else _AT.fullmatch(str(folder))
    return (folder, None) if named is None else (Path(named["folder"]), int(named["patients"]))


@contextmanager
def open_memory(folder: Path, about: About | None = None) -> Iterator[DoctorMemory]:
    """Opens the memory of a folder, and makes it where there is none and it is said what with.

    Args:
        folder: holds `memory.sqlite`, or `memory.store`, which says in which store it is; `FOLDER@2000` is
            read as it was after 2,000 patients, and takes nothing new.
        about: what it must be made with; None takes it as it is.

    Raises:
        BadInput: there is none, the file is no memory, it was made with something else, or it has not seen so many
            patients.
    """
    folder, until = snapshot_of(folder)

    if is_stored(folder):
        with _stored(folder, None if until is not None else about, about) as (kept, found):
            yield DoctorMemory(found, kept, until=until)._read(kept)
        return

    def read(file: sqlite3.Connection, found: About) -> DoctorMemory:
        kept = _MemoryFile(file, folder / FILE)
        return DoctorMemory(found, kept, until=until)._read(kept)

    with open_kept(folder, _KIND, about, read, must_exist=about is None or until is not None) as memory:
        yield memory


@contextmanager
def open_memory_file(folder: Path) -> Iterator[tuple[About, KeptMemory]]:
    """Opens the file of a folder's memory; yields what it was made with, and its rows. Raises as `open_memory`."""

    def read(file: sqlite3.Connection, found: About) -> tuple[About, KeptMemory]:
        return found, _MemoryFile(file, folder / FILE)

    with open_kept(folder, _KIND, None, read, must_exist=True) as opened:
        yield opened


def about_memory(folder: Path) -> About:
    """Returns what the memory of a folder was made with; `BadInput` where there is none."""
    folder, _ = snapshot_of(folder)
    if is_stored(folder):
        with _stored(folder, None, None) as (_, about):
            return about
    with open_kept(folder, _KIND, None, lambda _, found: found, must_exist=True, rows=False) as about:
        return about


def has_memory(folder: Path) -> bool:
    """Whether a folder holds a memory, or says in which store it is."""
    return (folder / FILE).is_file() or is_stored(folder)


def is_stored(folder: Path) -> bool:
    """Whether a folder says that its memory is in a store."""
    return (folder / POINTER).is_file()


@contextmanager
def _stored(folder: Path, made: About | None, wanted: About | None) -> Iterator[tuple[KeptMemory, About]]:
    """Opens the memory of a store to which a folder points, and makes it where it is said what with."""
    from polyclinic.storage.memory import open_store_memory  # noqa: PLC0415 - for those who share a store

    with open_store_memory(folder, None if made is None else msgspec.json.encode(made)) as (kept, about):
        try:
            found = msgspec.json.decode(about, type=About)
        except msgspec.MsgspecError as error:
            raise BadInput(f"cannot be read as a memory of a doctor: {error}", path=kept.path) from None
        if wanted is not None and (problem := difference(found, wanted)):
            raise BadInput(problem, path=kept.path)
        yield kept, found


def difference(found: About, wanted: About) -> str:
    """Returns how a memory differs from what is asked for, and what to do about it; nothing where it does not."""
    for what in ("format", "embedder", "dimensions", "knowledge"):
        here, there = getattr(wanted, what), getattr(found, what)
        if here != there:
            return f"was made with {what} {there}, and is asked for with {here}; {_ANEW[what]}"
    return ""


_KIND = FileKind(
    name=FILE,
    mark=APPLICATION,
    what="a memory of a doctor",
    made_by="polyclinic evolve --out DIR",
    about=About,
    tables=_TABLES,
    differs=difference,
)


def entries_of(memory: DoctorMemory) -> Iterable[tuple[ClinicalTask, Entry]]:
    """Yields all that is remembered, task by task: records, then experience, in the order in which they came."""
    for task in ClinicalTask:
        for record in memory.records[task].entries:
            yield task, record
        for lesson in memory.experience[task].entries:
            yield task, lesson


_TELLING = 6
"""Lines that a picture must have so that nobody else's is the same; "a woman, a cough" is many people's."""


def merged(memories: Sequence[Sequence[New]]) -> tuple[list[New], int]:
    """Returns what several memories hold together, and how many patients more than one of them has.

    Of each task, what the first has of a patient stays, and what those after it have of the same patient is left out. A
    patient is known by its history, as it was when an examination was chosen: in two hospitals one id is two people,
    and one patient may have two ids.
    """
    pictures = {
        one.entry.asked.query
        for some in memories
        for one in some
        if one.task is ClinicalTask.EXAMINATION and len(one.entry.asked.query.splitlines()) >= _TELLING
    }
    taken: set[tuple[ClinicalTask, str]] = set()
    exactly: set[bytes] = set()
    kept: list[New] = []
    common: set[str] = set()
    for some in memories:
        met: set[tuple[ClinicalTask, str]] = set()
        for one in some:
            who = _who(one.entry.asked.query, pictures)
            if who and (one.task, who) in taken:
                common.add(who)
                continue
            same = msgspec.msgpack.encode((one.task, one.entry))
            if same in exactly:
                continue
            exactly.add(same)
            kept.append(one)
            if who:
                met.add((one.task, who))
        taken |= met
    return kept, len(common)


def _who(query: str, pictures: set[str]) -> str:
    """Returns the history with which a query begins; "" where nobody is known by it."""
    lines = query.splitlines()
    for end in range(len(lines), _TELLING - 1, -1):
        if (begins := "\n".join(lines[:end])) in pictures:
            return begins
    return ""


_AT_ONCE = 2_000  # entries in one commit


def move_to_store(folder: Path, store: str, name: str) -> None:
    """Puts the memory of a folder into a store, and says in the folder where it is.

    Cut off at any moment it is begun again, and nothing is there twice.

    Args:
        folder: of a memory in a file.
        store: the store's address.
        name: of the memory there.

    Raises:
        BadInput: the memory or the store cannot be used, or another memory has the name.
    """
    with open_memory_file(folder) as (about, kept):
        rows, notes = list(kept.entries()), list(kept.notes())
    with tempfile.TemporaryDirectory(prefix="polyclinic-") as place:
        point(Path(place), store, name)
        with open_store_memory(Path(place), msgspec.json.encode(about)) as (stored, _):
            for begin in range(0, len(rows), _AT_ONCE):
                stored.commit(rows[begin : begin + _AT_ONCE], ())
            stored.commit((), notes)
    point(folder, store, name)
    for ending in ("", "-wal", "-shm"):
        (folder / f"{FILE}{ending}").unlink(missing_ok=True)
