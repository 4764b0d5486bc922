"""Finds vectors by their cosine to a query, each compared with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from polyclinic.retrieval.bm25 import Ranked
from polyclinic.retrieval.store import Vectors

_DECIMALS = 6  # Of a cosine; a machine's last bits are not the next one's
_BLOCK = 64


class ExactVectors:
    """All vectors in one matrix, each compared with the query; at first there is `room` for so many."""

    def __init__(self, dimensions: int, *, room: int = 1024) -> None:
        self._matrix: Vectors = np.zeros((room, dimensions), dtype=np.float32)
        self._numbers: NDArray[np.int64] = np.zeros(room, dtype=np.int64)
        self._row: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._row)

    def add(self, numbers: Sequence[int], vectors: Vectors) -> None:
        """Takes vectors of length 1 in; one whose number is there takes its place."""
        room = len(self) + len(numbers)
        if room > len(self._numbers):
            room = max(room, len(self._numbers) * 5 // 4)
            self._matrix = np.concatenate([self._matrix, np.zeros((room - len(self._matrix), vectors.shape[1]), "f4")])
            self._numbers = np.concatenate([self._numbers, np.zeros(room - len(self._numbers), "i8")])
        rows = [self._row.setdefault(number, len(self._row)) for number in numbers]
        self._matrix[rows], self._numbers[rows] = vectors, numbers

    def remove(self, numbers: Iterable[int]) -> None:
        """Takes vectors out, of those numbers that are there."""
        for number in numbers:
            row = self._row.pop(number, None)
            last = len(self._row)
            if row is not None and row != last:
                self._matrix[row], self._numbers[row] = self._matrix[last], self._numbers[last]
                self._row[int(self._numbers[row])] = row

    def search(self, query: NDArray[np.float32], k: int) -> Ranked:
        """Returns the `k` vectors nearest to a query of length 1."""
        if k < 1 or not len(self):
            return []
        likeness = self._matrix[: len(self)] @ query
        least = _kth(likeness, k)
        # What is equal in the decimals that count must not depend on which row it is in.
        rows = np.flatnonzero(likeness >= least - 10.0**-_DECIMALS)
        scores = [round(float(one), _DECIMALS) for one in likeness[rows]]
        hits = zip(self._numbers[rows].tolist(), scores, strict=True)
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:k]


def _kth(likeness: NDArray[np.float32], k: int) -> float:
    """Returns a bound that at least `k` values reach, and few more: the k-th largest of the blocks' maxima."""
    blocks = len(likeness) // _BLOCK
    if blocks < 2 * k:
        return float(np.partition(likeness, -k)[-k]) if k < len(likeness) else -np.inf
    maxima = likeness[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return float(np.partition(maxima, -k)[-k])
