"""Finds vectors by their cosine to a query, each compared with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyclinic.retrieval.bm25 import Ranked
from polyclinic.retrieval.store import Vectors

_DECIMALS = 6  # Of a cosine; a machine's last bits are not the next one's
_BLOCK = 64


def nearest(numbers: NDArray[np.int64], vectors: Vectors, query: NDArray[np.float32], k: int) -> Ranked:
    """Returns the `k` vectors nearest to a query; all are of length 1, and each has a number."""
    if k < 1 or not len(numbers):
        return []
    likeness = vectors @ query
    # What is equal in the decimals that count must not depend on which row it is in.
    rows = np.flatnonzero(likeness >= _kth(likeness, k) - 10.0**-_DECIMALS)
    scores = [round(float(one), _DECIMALS) for one in likeness[rows]]
    hits = zip(numbers[rows].tolist(), scores, strict=True)
    return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:k]


def _kth(likeness: NDArray[np.float32], k: int) -> float:
    """Returns a bound that at least `k` values reach, and few more: the k-th largest of the blocks' maxima."""
    blocks = len(likeness) // _BLOCK
    if blocks < 2 * k:
        return float(np.partition(likeness, -k)[-k]) if k < len(likeness) else -np.inf
    maxima = likeness[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return float(np.partition(maxima, -k)[-k])
