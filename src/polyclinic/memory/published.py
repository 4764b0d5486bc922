"""The memories of several doctors who learn at work, as they were published: a version can be read while others follow.

What is published is never changed and only added to, so that a version is how much of each memory there was. Whoever
is given the same publications in the same order has the same memories, in whichever process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import msgspec

from polyclinic.memory.case_words import CaseWordsEmbedder
from polyclinic.memory.cases_in_mind import CaseMemory
from polyclinic.memory.entries import ClinicalTask, Experience, MedicalRecord
from polyclinic.memory.library import MemoryLibrary
from polyclinic.memory.memory import About, DoctorMemory, New

E = TypeVar("E")

_MINDS = 64
"""So many memories, each of somebody in a version, are held ready; those of two days of a large hospital."""

_VERSION = 6
"""Bytes of a version's name."""


class LearntRecord(msgspec.Struct, frozen=True, array_like=True):
    """A record, and in whose memory it is."""

    holder: str
    task: ClinicalTask
    entry: MedicalRecord


class LearntExperience(msgspec.Struct, frozen=True, array_like=True):
    """A principle, and in whose memory it is."""

    holder: str
    task: ClinicalTask
    entry: Experience


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    """What is new in the memories.

    Attributes:
        version: names the memories with it; see `next_version`.
    """

    version: str
    records: tuple[LearntRecord, ...] = ()
    experience: tuple[LearntExperience, ...] = ()

    @property
    def every(self) -> list[LearntRecord | LearntExperience]:
        """All of it: records, then experience."""
        return [*self.records, *self.experience]


def next_version(before: str, records: Sequence[LearntRecord] = (), experience: Sequence[LearntExperience] = ()) -> str:
    """Returns the name of what a memory of some name becomes with these: the same for the same content."""
    digest = hashlib.blake2b(before.encode(), digest_size=_VERSION)
    digest.update(msgspec.msgpack.encode((records, experience)))
    return digest.hexdigest()


def version_of(memory: DoctorMemory | None) -> str:
    """Returns the name of what a memory holds; that of nothing where there is none."""
    if memory is None:
        return next_version("")
    tasks = list(ClinicalTask)
    return next_version(
        msgspec.json.encode(memory.about).decode(),
        [LearntRecord("", task, one) for task in tasks for one in memory.records[task].entries],
        [LearntExperience("", task, one) for task in tasks for one in memory.experience[task].entries],
    )


class _Sizes(NamedTuple):
    """How much of a memory there was."""

    records: dict[ClinicalTask, int]
    experience: dict[ClinicalTask, int]


class PublishedMemories:
    """The memories of all who learn, in one process.

    Args:
        about: what they are made with; its embedder is `case-words`.
        brought: what everybody remembers from before; nothing where None.
    """

    def __init__(self, about: About, brought: DoctorMemory | None = None) -> None:
        self.about, self._brought = about, brought
        self._embedder = CaseWordsEmbedder()
        self._own: dict[str, DoctorMemory] = {}
        self._minds: dict[tuple[str, str], CaseMemory] = {}
        self.first = version_of(brought)
        self._versions: dict[str, dict[str, _Sizes]] = {self.first: {}}
        self._last = self.first

    def publish(self, publication: Publication) -> None:
        """Adds what is new; the versions of before can still be read."""
        vectors = self._embedder.vectors([one.entry.asked.query for one in publication.every])
        news: dict[str, list[New]] = {}
        for one, vector in zip(publication.every, vectors, strict=True):
            news.setdefault(one.holder, []).append(New(one.task, one.entry, vector))
        sizes = dict(self._versions[self._last])
        for holder, new in news.items():
            memory = self._own.setdefault(holder, DoctorMemory(self.about))
            memory.commit(new)
            sizes[holder] = _Sizes(_lengths(memory.records), _lengths(memory.experience))
        self._last = publication.version
        self._versions[publication.version] = sizes

    def of(self, holder: str, version: str, *, records: int, experience: int) -> CaseMemory:
        """Returns somebody's memory as it was in a version, of which so many of each come to mind."""
        key = holder, version
        if key not in self._minds:
            while len(self._minds) >= _MINDS:
                del self._minds[next(iter(self._minds))]
            memory = self._memory(self._versions[version].get(holder), holder)
            self._minds[key] = CaseMemory(
                memory, self._embedder, records=records, experience=experience, source=version
            )
        # Those that were used last stay longest.
        self._minds[key] = self._minds.pop(key)
        return self._minds[key]

    def _memory(self, sizes: _Sizes | None, holder: str) -> DoctorMemory:
        """Returns what somebody brought and had learnt by then."""
        brought = self._brought
        if sizes is None:
            return brought or DoctorMemory(self.about)
        own, memory = self._own[holder], DoctorMemory(self.about)
        for task in ClinicalTask:
            before = ([], []) if brought is None else ([brought.records[task]], [brought.experience[task]])
            memory.records[task] = own.records[task].as_it_was(sizes.records[task], after=before[0])
            memory.experience[task] = own.experience[task].as_it_was(sizes.experience[task], after=before[1])
        return memory


def _lengths(libraries: dict[ClinicalTask, MemoryLibrary[E]]) -> dict[ClinicalTask, int]:
    return {task: len(library) for task, library in libraries.items()}
