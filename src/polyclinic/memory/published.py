"""The memories of several doctors who learn at work, as they were published: a version can be read while others follow.

What is published is never changed and only added to, so that a version is how much of each memory there was. Whoever
is given the same publications in the same order has the same memories, in whichever process.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import msgspec

from polyclinic.memory.case_words import CaseWordsEmbedder
from polyclinic.memory.entries import ClinicalTask, Experience, MedicalRecord
from polyclinic.memory.library import MemoryLibrary
from polyclinic.memory.memory import ENOUGH, About, DoctorMemory, New
from polyclinic.memory.remembering import Remembered, Situation
from polyclinic.retrieval.store import Vectors

E = TypeVar("E", MedicalRecord, Experience)

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

    def of(self, holder: str, version: str, *, records: int, experience: int) -> PublishedMemory:
        """Returns somebody's memory as it was in a version, of which so many of each come to mind."""
        sizes = self._versions[version].get(holder)
        parts = [] if self._brought is None else [(self._brought, _sizes(self._brought))]
        parts += [] if sizes is None else [(self._own[holder], sizes)]
        return PublishedMemory(parts, self._embedder, version, records=records, experience=experience)


class PublishedMemory:
    """A memory as it was published; see `polyclinic.memory.remembering.Remembering`."""

    def __init__(
        self,
        parts: Sequence[tuple[DoctorMemory, _Sizes]],
        embedder: CaseWordsEmbedder,
        version: str,
        *,
        records: int,
        experience: int,
    ) -> None:
        self._parts, self._embedder, self.version = parts, embedder, version
        self._wanted = (records, experience)

    async def bring(self, situation: Situation) -> Remembered:
        """Returns what is like it; see `Remembering.bring`."""
        task, (records, experience) = situation.task, self._wanted
        vector = self._embedder.vectors([situation.picture])
        of_experience = [(memory.experience[task], sizes.experience[task]) for memory, sizes in self._parts]
        if sum(n for _, n in of_experience) < min(experience, ENOUGH):
            of_experience = []
        return Remembered(
            task=task,
            source=self.version,
            records=_nearest(
                [(memory.records[task], sizes.records[task]) for memory, sizes in self._parts], vector, records
            ),
            experience=_nearest(of_experience, vector, experience),
        )


def _nearest(libraries: Sequence[tuple[MemoryLibrary[E], int]], vector: Vectors, k: int) -> tuple[tuple[E, float], ...]:
    """Returns the nearest of several libraries, the nearest first; of equals, those of the first."""
    found = []
    for library, n in libraries:
        (near,) = library.nearest(vector, k, among=n)
        found.append([(library.entries[p], c) for p, c in zip(near.places, near.cosines.tolist(), strict=True)])
    if len(found) == 1:
        return tuple(found[0])
    return tuple(heapq.merge(*found, key=lambda pair: -pair[1]))[:k]


def _lengths(libraries: dict[ClinicalTask, MemoryLibrary[E]]) -> dict[ClinicalTask, int]:
    return {task: len(library) for task, library in libraries.items()}


def _sizes(memory: DoctorMemory) -> _Sizes:
    return _Sizes(_lengths(memory.records), _lengths(memory.experience))
