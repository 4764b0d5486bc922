"""Entries and their vectors, found again by the cosine to a query; exact, and growing in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from polyclinic.retrieval.store import Vectors

E = TypeVar("E")

_DECIMALS = 6
"""Of a cosine; a machine's last bits are not the next one's."""

_FIRST_ROOM = 1024

_MANY = 8
"""So many queries are multiplied at once."""

_SPARSE = 4
"""Below this part of a query's numbers, only those that are not 0 are looked at."""

_BLOCK = 2048
"""Of so many vectors what is looked at stays near the processor; threads would take longer to begin than to end."""


class Near(NamedTuple):
    """The entries nearest to a query: their places in the library, the nearest first, and the cosines."""

    places: NDArray[np.int64]
    cosines: NDArray[np.float32]


class MemoryLibrary(Generic[E]):
    """All entries of one kind for one task, in the order in which they came."""

    def __init__(self, dimensions: int) -> None:
        self.entries: list[E] = []
        # A number of all vectors a row: of a query that is mostly zeros, few rows are read.
        self._numbers: Vectors = np.zeros((dimensions, _FIRST_ROOM), dtype=np.float32)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def vectors(self) -> Vectors:
        """A vector of length 1 a row, in the order of the entries."""
        return self._numbers[:, : len(self)].T

    def add(self, entry: E, vector: NDArray[np.float32]) -> None:
        """Takes an entry in, with the vector of its query."""
        dimensions, room = self._numbers.shape
        if len(self) == room:
            wider = np.zeros((dimensions, 2 * room), dtype=np.float32)
            wider[:, :room] = self._numbers
            self._numbers = wider
        said = np.flatnonzero(vector)
        self._numbers[said, len(self)] = vector[said]
        self.entries.append(entry)

    def nearest(self, queries: Vectors, k: int) -> list[Near]:
        """Returns for each query of length 1 (a row each) the `k` nearest; of equals, those that came first."""
        return nearest_rows(self.vectors, queries, k)


def nearest_rows(vectors: Vectors, queries: Vectors, k: int) -> list[Near]:
    """Returns for each query the places of the `k` vectors nearest to it, all of length 1; of equals, the first."""
    k = min(k, len(vectors))
    if not k:
        none = Near(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
        return [none] * len(queries)
    if len(queries) >= _MANY:
        return [_nearest(row, k) for row in queries @ vectors.T]
    return [_nearest(_cosines(vectors, query), k) for query in queries]


def _cosines(vectors: Vectors, query: NDArray[np.float32]) -> NDArray[np.float32]:
    used = np.flatnonzero(query)
    cosines: NDArray[np.float32]
    if len(used) * _SPARSE >= len(query):
        cosines = vectors @ query
        return cosines
    numbers, said = vectors.T, query[used]
    cosines = np.empty(len(vectors), dtype=np.float32)
    for first in range(0, len(vectors), _BLOCK):
        np.dot(said, numbers[used, first : first + _BLOCK], out=cosines[first : first + _BLOCK])
    return cosines


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
