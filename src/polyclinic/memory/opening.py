"""Opens what doctors remember and have read: for players, for patients like one described, and as published at work.

A publication is only ever added to, so that a version of it is how much of each memory there was; the same publications
in the same order give the same memories in every process. `recall` reads all of a memory: where only the outcome of
some patients is known, a treatment is drawn by how similar patients did after it (Thompson, Biometrika 25:285, 1933).
"""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from polyclinic.errors import BadInput
from polyclinic.language.language import Language
from polyclinic.memory.entries import ClinicalTask, Entry, Experience, MedicalRecord
from polyclinic.memory.library import CaseWordsEmbedder, MemoryLibrary, asked_for, memory_embedder
from polyclinic.memory.memory import About, DoctorMemory, New, has_memory, is_stored, open_memory, snapshot_of
from polyclinic.memory.options import MemoryOptions
from polyclinic.memory.reading import ReadingLibrary, has_read, open_reading
from polyclinic.memory.recall import CameToMind, Put, RecallDoctor, TaskAnswer
from polyclinic.memory.remembering import Recollection, language_of_memory
from polyclinic.models.session import Session
from polyclinic.retrieval.embedders import Embedder
from polyclinic.seeds import derive

_WEIGHED = 100
_SHARPNESS = 6.0
_LEAST = 1e-6

_BEFOREHAND = 4.0
"""How many patients it counts as much as that an answer is as good as what was tried."""

_TRIED: dict[Language, str] = {
    "en": "Of {n} like it, so many did well after {answer}, or too few had it.",
    "zh": "{n}例相似的情况中，{answer}之后好转者较多，或尚少尝试。",
}


class CaseMemory(Recollection):
    """A memory as it is when visits begin, from which `recall` decides as well; see `Recollection`.

    Args:
        memory: what is remembered; must not grow.
        embedder: made its vectors.
    """

    def __init__(self, memory: DoctorMemory, embedder: Embedder, *, records: int, experience: int, source: str) -> None:
        super().__init__(memory, embedder, records=records, experience=experience, source=source)
        self._cases, self._maker = memory, embedder
        self._doctors: dict[int, RecallDoctor] = {}

    def options(self, task: ClinicalTask) -> tuple[str, ...]:
        """Returns among what its last cases had to choose."""
        records, experience = self._cases.records[task].entries, self._cases.experience[task].entries
        last = [one.asked for one in records[-1:]] + [one.asked for one in experience[-1:]]
        return tuple(dict.fromkeys(option for asked in last for option in asked.options))

    async def decide(self, put: Put, *, seed: int) -> TaskAnswer:
        """Answers by cases alone."""
        brought = await self.think(put, seed=seed)
        if any(_came_to_worse(one) for one in _of_experience(brought)):
            return _try(put, brought, derive(seed, put.asked.case, put.task, "try"))
        return await self.doctor(seed).answer(put, brought)

    def doctor(self, seed: int) -> RecallDoctor:
        """Returns the doctor that answers; one for all visits, as it learns what is alike."""
        return self._doctors.setdefault(seed, RecallDoctor(seed=seed))

    async def think(self, put: Put, *, seed: int) -> CameToMind:
        """Returns what comes to its mind."""
        vector = await self._maker.query(put.asked.query)
        records, experience = self.doctor(seed).wanted
        memory = self._cases
        (near,) = memory.recall(put.task, vector[None, :], records=records, experience=experience)
        diagnosed = memory.records[ClinicalTask.DIAGNOSIS], memory.experience[ClinicalTask.DIAGNOSIS]
        return CameToMind(
            memory.records[put.task], near.records, memory.experience[put.task], near.experience, diagnosed
        )


def _of_experience(brought: CameToMind) -> list[Experience]:
    return [brought.experience.entries[place] for place in brought.near_experience.places]


def _came_to_worse(entry: Experience) -> bool:
    """Whether an entry says only that somebody got worse after an answer, and not what would have been right."""
    return not entry.right


def _try(put: Put, brought: CameToMind, rng: random.Random) -> TaskAnswer:
    """Draws of each answer how often patients like this one do well after it, by how they did, and takes the best."""
    records = [brought.records.entries[place] for place in brought.near_records.places]
    entries: list[MedicalRecord | Experience] = [*records, *_of_experience(brought)]
    cosines = np.concatenate([brought.near_records.cosines, brought.near_experience.cosines]).astype(float)
    nearest = np.argsort(-cosines, kind="stable")[:_WEIGHED].tolist()
    weights = np.round(np.maximum(cosines[nearest], 0.0) ** _SHARPNESS, 9)
    weights *= len(nearest) / max(float(weights.sum()), _LEAST)
    well: dict[str, float] = defaultdict(float)
    badly: dict[str, float] = defaultdict(float)
    for place, weight in zip(nearest, weights.tolist(), strict=True):
        entry = entries[place]
        if isinstance(entry, MedicalRecord):
            well[entry.answer] += weight
        else:
            badly[entry.before] += weight
    so_far = sum(well.values()), sum(badly.values())
    usual = (so_far[0] + 1) / (sum(so_far) + 2)
    hoped = {
        label: rng.betavariate(_BEFOREHAND * usual + well[label], _BEFOREHAND * (1 - usual) + badly[label])
        for label in put.labels
    }
    best = max(put.labels, key=lambda label: hoped[label])
    return TaskAnswer(best, _TRIED[put.question.language].format(n=len(nearest), answer=best))


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


class OpenedMemory:
    """A folder's memory of patients, and what was read beside it; either may be missing, not both.

    Attributes:
        folder: where it is, with its snapshot.
        source: what traces call it: the folder's name, with its snapshot.
    """

    def __init__(self, folder: Path, memory: DoctorMemory | None, reading: ReadingLibrary | None) -> None:
        self.folder, self.memory, self.reading = folder, memory, reading
        self.source = folder.name

    @property
    def asked(self) -> list[str]:
        """The models that make its vectors; a session must open them."""
        names = [one.about.embedder for one in (self.memory, self.reading) if one is not None]
        return [model for name in dict.fromkeys(names) for model in asked_for(name)]

    def check_language(self, languages: Iterable[Language]) -> None:
        """Raises BadInput where somebody is to be seen in another language than the memory's."""
        there = None if self.memory is None else language_of_memory(self.memory)
        for here in sorted({*languages} - {there}):
            if there is not None:
                how = f"is in {there!r}, and the visit in {here!r}; let a doctor practise in {here!r} for it"
                raise BadInput(how, path=self.folder)

    def recollection(self, session: Session, *, records: int, experience: int) -> Recollection:
        """Returns it as what doctors remember.

        Raises:
            MissingExtra: what made the vectors is not installed.
        """
        reading = self.reading
        if reading is None and self.memory is not None:
            embedder = memory_embedder(self.memory.about.embedder, session)
            return CaseMemory(self.memory, embedder, records=records, experience=experience, source=self.source)
        return Recollection(
            self.memory,
            None if self.memory is None else memory_embedder(self.memory.about.embedder, session),
            records=records,
            experience=experience,
            reading=reading,
            read_with=None if reading is None else memory_embedder(reading.about.embedder, session),
            source=self.source,
        )


@asynccontextmanager
async def open_what_is_remembered(options: MemoryOptions) -> AsyncIterator[OpenedMemory | None]:
    """Opens the folder of a memory, as long as it is needed; None where none is named.

    Raises:
        BadInput: there is no such memory, or it cannot be read.
    """
    if options.memory is None:
        yield None
        return
    with _opened(options.memory) as opened:
        yield opened


def version_at(folder: Path) -> str:
    """Returns the name of what a folder's memory holds, as it was then (`FOLDER@2000`): the same for the same content.

    Raises:
        BadInput: there is no such memory, or it cannot be read.
    """
    with _opened(folder) as opened:
        version = version_of(opened.memory)
        if opened.reading is None:
            return version
        read = version.encode() + msgspec.msgpack.encode(opened.reading.records)
        return hashlib.blake2b(read, digest_size=len(version) // 2).hexdigest()


@contextmanager
def _opened(named: Path) -> Iterator[OpenedMemory]:
    with ExitStack() as stack:
        folder, until = snapshot_of(named)
        reads = has_read(folder)
        memory = None
        if not reads or until is not None or has_memory(folder):
            memory = stack.enter_context(open_memory(named))
        reading = stack.enter_context(open_reading(folder)) if reads else None
        yield OpenedMemory(named, memory, reading)


MEMORY_READ = "memory, read whole"
"""How that is found which is in a file, or is wanted as it was once."""


class NearEntry(NamedTuple):
    """Something that is remembered, and the cosine of what it is found by to what is said."""

    task: ClinicalTask
    entry: Entry
    cosine: float


class FoundNear(NamedTuple):
    """What is near, task by task, records before experience, the nearest first; and by what it was found."""

    found: list[NearEntry]
    searched: str


def look_up(folder: Path, vector: NDArray[np.float32], tasks: Sequence[ClinicalTask], k: int) -> FoundNear:
    """Returns the `k` nearest records and the `k` nearest pieces of experience of each task, exactly.

    Args:
        folder: holds the memory, or says in which store it is; `FOLDER@2000` is it as it was then.
        vector: of what is said, of length 1, by the embedder that the memory was made with.
        tasks: whose libraries are looked through.
        k: so many of each, at most.

    Raises:
        BadInput: there is no such memory, or it is damaged.
    """
    where, until = snapshot_of(folder)
    if is_stored(where) and until is None:
        return _in_store(where, vector, tasks, k)
    found: list[NearEntry] = []
    with open_memory(folder) as memory:
        for task in tasks:
            for library in (memory.records[task], memory.experience[task]):
                (near,) = library.nearest(vector[None, :], k)
                pairs = zip(near.places.tolist(), near.cosines.tolist(), strict=True)
                found += [NearEntry(task, library.entries[place], cosine) for place, cosine in pairs]
    return FoundNear(found, MEMORY_READ)


def _in_store(folder: Path, vector: NDArray[np.float32], tasks: Sequence[ClinicalTask], k: int) -> FoundNear:
    from polyclinic.storage.memory import open_nearby  # noqa: PLC0415 - for those who share a store

    found: list[NearEntry] = []
    kinds: dict[str, type[Entry]] = {"record": MedicalRecord, "experience": Experience}
    with open_nearby(folder) as nearby:
        for task in tasks:
            for kind, type_ in kinds.items():
                maybe = nearby.maybe_near(task.value, kind, vector, k)
                library: MemoryLibrary[int] = MemoryLibrary(len(vector))
                for place, stored in zip(maybe.places, maybe.vectors, strict=True):
                    library.add(place, stored)
                (near,) = library.nearest(vector[None, :], k)
                places = [library.entries[place] for place in near.places]
                try:
                    entries = [msgspec.msgpack.decode(one, type=type_) for one in nearby.entries(places)]
                except msgspec.MsgspecError as error:
                    raise BadInput(f"cannot be read as a memory of a doctor: {error}", path=folder) from None
                pairs = zip(entries, near.cosines.tolist(), strict=True)
                found += [NearEntry(task, entry, cosine) for entry, cosine in pairs]
        return FoundNear(found, nearby.searcher.value)
