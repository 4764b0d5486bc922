"""Entries and their vectors, found again by the cosine to a query; exact, and growing in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from polyclinic.memory.counts import CountedVectors, WholeVector, counts_of
from polyclinic.retrieval.store import Vectors

E = TypeVar("E")

_DECIMALS = 6
"""Of a cosine; a machine's last bits are not the next one's."""

_FIRST_ROOM = 256

_MANY = 8
"""So many queries are multiplied at once."""


class Near(NamedTuple):
    """The entries nearest to a query: their places in the library, the nearest first, and the cosines."""

    places: NDArray[np.int64]
    cosines: NDArray[np.float32]


class MemoryLibrary(Generic[E]):
    """All entries of one kind for one task, in the order in which they came."""

    def __init__(self, dimensions: int) -> None:
        self.entries: list[E] = []
        self._vectors: Vectors = np.zeros((_FIRST_ROOM, dimensions), dtype=np.float32)
        # None where a vector came that is not of whole numbers.
        self._counted: CountedVectors | None = CountedVectors(dimensions)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def vectors(self) -> Vectors:
        """A vector of length 1 a row, in the order of the entries."""
        return self._vectors[: len(self)]

    def add(self, entry: E, vector: NDArray[np.float32]) -> None:
        """Takes an entry in, with the vector of its query."""
        room, dimensions = self._vectors.shape
        if len(self) == room:
            longer = np.zeros((2 * room, dimensions), dtype=np.float32)
            longer[:room] = self._vectors
            self._vectors = longer
        self._vectors[len(self)] = vector
        counts = None if self._counted is None else counts_of(vector)
        if self._counted is not None and counts is not None:
            self._counted.add(counts)
        else:
            self._counted = None
        self.entries.append(entry)

    def nearest(self, queries: Vectors, k: int, whole: Sequence[WholeVector | None] = ()) -> list[Near]:
        """Returns for each query of length 1 (a row each) the `k` nearest; of equals, those that came first.

        `whole` are the queries in whole numbers, where they are known.
        """
        k = min(k, len(self))
        counted: Sequence[WholeVector | None] = []
        if k and self._counted is not None:
            counted = whole or [counts_of(query) for query in queries]
        if self._counted is not None and counted and None not in counted:
            return [_nearest(self._counted.cosines(one), k) for one in counted if one is not None]
        return nearest_rows(self.vectors, queries, k)

    def as_it_was(self, n: int, *, after: Sequence[MemoryLibrary[E]] = ()) -> MemoryLibrary[E]:
        """Returns the first so many entries, behind all of other libraries; it must not grow."""
        parts = [*((library, len(library)) for library in after), (self, n)]
        made: MemoryLibrary[E] = MemoryLibrary(0)
        made.entries = [entry for library, length in parts for entry in library.entries[:length]]
        vectors = [library.vectors[:length] for library, length in parts]
        made._vectors = vectors[0] if len(parts) == 1 else np.concatenate(vectors)
        counted = [(library._counted, length) for library, length in parts if library._counted is not None]
        whole = len(counted) == len(parts)
        made._counted = CountedVectors.of(counted, vectors[0].shape[1]) if whole else None
        return made


def nearest_rows(vectors: Vectors, queries: Vectors, k: int) -> list[Near]:
    """Returns for each query the places of the `k` vectors nearest to it, all of length 1; of equals, the first."""
    k = min(k, len(vectors))
    if not k:
        none = Near(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
        return [none] * len(queries)
    if len(queries) >= _MANY:
        return [_nearest(row, k) for row in queries @ vectors.T]
    return [_nearest(vectors @ query, k) for query in queries]


def _nearest(cosines: NDArray[np.float32], k: int) -> Near:
    least = np.partition(cosines, -k)[-k] if k < len(cosines) else -np.inf
    # What is equal in the decimals that count must not depend on its last bits.
    places = np.flatnonzero(cosines >= least - 10.0**-_DECIMALS)
    rounded = np.round(cosines[places], _DECIMALS)
    order = np.lexsort((places, -rounded))[:k]
    return Near(places[order], rounded[order])


def of(library: MemoryLibrary[E], near: Near) -> Sequence[E]:
    """Returns the entries that were found."""
    return [library.entries[place] for place in near.places]
