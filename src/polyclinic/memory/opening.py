"""Opens memories and records of documents: for players, and as published in a hospital.

Published memories only grow, so a version is the size of each memory at the time. The same publications in the same
order give the same memories in every process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic.errors import BadInput
from polyclinic.language.language import Language
from polyclinic.memory.entries import ClinicalTask, Entry
from polyclinic.memory.library import CaseWordsEmbedder, asked_for, memory_embedder
from polyclinic.memory.memory import PATIENTS, READ, About, DoctorMemory, New, open_memory, snapshot_of
from polyclinic.memory.reading import PassageRead, ReadingLibrary, open_reading
from polyclinic.memory.remembering import Recollection, language_of_memory
from polyclinic.models.session import Session

_MINDS = 64  # memories that are held ready: those of two days of a large hospital
_VERSION = 6  # bytes of a version's name


class Learnt(NamedTuple):
    """A record or a principle, and the holder of the memory."""

    holder: str
    task: ClinicalTask
    entry: Entry


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    """New entries of the memories."""

    version: str  # names the memories with it; see `next_version`
    records: tuple[Learnt, ...] = ()
    experience: tuple[Learnt, ...] = ()

    @property
    def every(self) -> list[Learnt]:
        """All of it: records, then experience."""
        return [*self.records, *self.experience]

    def by_holder(self) -> dict[str, list[New]]:
        """Returns the new entries of each memory."""
        vectors = CaseWordsEmbedder().vectors([one.entry.asked.query for one in self.every])
        news: dict[str, list[New]] = {}
        for (holder, task, entry), vector in zip(self.every, vectors, strict=True):
            news.setdefault(holder, []).append(New(task, entry, vector))
        return news


def next_version(before: str, records: Sequence[Learnt] = (), experience: Sequence[Learnt] = ()) -> str:
    """Returns the name of the next version, with these entries: the same for the same content."""
    digest = hashlib.blake2b(before.encode(), digest_size=_VERSION)
    digest.update(msgspec.msgpack.encode((records, experience)))
    return digest.hexdigest()


def version_of(memory: DoctorMemory | None) -> str:
    """Returns the version of a memory; None is an empty one."""
    if memory is None:
        return next_version("")
    return next_version(
        msgspec.json.encode(memory.about).decode(),
        [Learnt("", task, one) for task in ClinicalTask for one in memory.records[task].entries],
        [Learnt("", task, one) for task in ClinicalTask for one in memory.experience[task].entries],
    )


class PublishedMemories:
    """The memories of all doctors who learn, in one process."""

    def __init__(self, about: About, brought: DoctorMemory | None = None) -> None:
        self.about, self._brought = about, brought
        self._embedder = CaseWordsEmbedder()
        self._own: dict[str, DoctorMemory] = {}
        self._minds: dict[tuple[str, str], Recollection] = {}
        self.first = version_of(brought)
        self._versions: dict[str, dict[str, list[int]]] = {self.first: {}}
        self._last = self.first

    def publish(self, publication: Publication) -> None:
        """Adds new entries; earlier versions can still be read."""
        sizes = dict(self._versions[self._last])
        for holder, new in publication.by_holder().items():
            memory = self._own.setdefault(holder, DoctorMemory(self.about))
            memory.commit(new)
            sizes[holder] = [len(library) for _, library in memory.libraries]
        self._last = publication.version
        self._versions[publication.version] = sizes

    def of(self, holder: str, version: str) -> Recollection:
        """Returns somebody's memory, or that of its department, as it was in a version."""
        key = holder, version
        if key not in self._minds:
            while len(self._minds) >= _MINDS:
                del self._minds[next(iter(self._minds))]
            sizes = self._versions[version].get(holder)
            if sizes is None:
                memory = self._brought or DoctorMemory(self.about)
            else:
                memory = self._own[holder].as_it_was(sizes, self._brought)
            self._minds[key] = Recollection(memory, self._embedder, source=version)
        # The most recently used stay longest.
        self._minds[key] = self._minds.pop(key)
        return self._minds[key]


class OpenedMemory:
    """A folder's memory of patients and its records of documents; one of them may be missing."""

    def __init__(self, folder: Path, memory: DoctorMemory | None, reading: ReadingLibrary | None) -> None:
        self.folder, self.memory, self.reading = folder, memory, reading
        self.source = folder.name

    @property
    def news(self) -> list[New]:
        """All entries of patients."""
        return [] if self.memory is None else self.memory.news()

    @property
    def read(self) -> list[PassageRead]:
        """All passages that were read."""
        return [] if self.reading is None else self.reading.read()

    @property
    def asked(self) -> list[str]:
        """The models that make its vectors, which a session must open."""
        names = [one.about.embedder for one in (self.memory, self.reading) if one is not None]
        return [model for name in dict.fromkeys(names) for model in asked_for(name)]

    def check_language(self, languages: Iterable[Language]) -> None:
        """Raises BadInput if a visit is in another language than the memory."""
        there = None if self.memory is None else language_of_memory(self.memory)
        for here in sorted({*languages} - {there}):
            if there is not None:
                how = f"is in {there!r}, and the visit in {here!r}; let a doctor practise in {here!r} for it"
                raise BadInput(how, path=self.folder)

    def recollection(self, session: Session, wanted: tuple[int, int]) -> Recollection:
        """Returns it as the memory of a doctor in visits."""
        memory, reading = self.memory, self.reading
        return Recollection(
            memory,
            None if memory is None else memory_embedder(memory.about.embedder, session),
            wanted=wanted,
            reading=reading,
            read_with=None if reading is None else memory_embedder(reading.about.embedder, session),
            source=self.source,
        )


def version_at(folder: Path) -> str:
    """Returns the version of the memory in a folder, or of `FOLDER@2000`: the same for the same content."""
    with open_what_is_remembered(folder) as opened:
        version = version_of(opened.memory)
        if opened.reading is None:
            return version
        read = version.encode() + msgspec.msgpack.encode(opened.reading.records)
        return hashlib.blake2b(read, digest_size=len(version) // 2).hexdigest()


@contextmanager
def open_what_is_remembered(named: Path) -> Iterator[OpenedMemory]:
    """Opens the memory of patients and the records of documents in a folder."""
    with ExitStack() as stack:
        folder, until = snapshot_of(named)
        reads = READ.is_in(folder)
        memory = None
        if not reads or until is not None or PATIENTS.is_in(folder):
            memory = stack.enter_context(open_memory(named))
        reading = stack.enter_context(open_reading(folder)) if reads else None
        yield OpenedMemory(named, memory, reading)
