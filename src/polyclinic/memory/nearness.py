"""What a memory holds of patients like one who is described; of one in a store, without reading it whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from polyclinic.errors import BadInput
from polyclinic.memory.entries import ClinicalTask, Entry, Experience, MedicalRecord
from polyclinic.memory.library import MemoryLibrary
from polyclinic.memory.memory import is_stored, open_memory, snapshot_of

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
    from polyclinic.stores.nearest import open_nearby  # noqa: PLC0415 - for those who share a store

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
