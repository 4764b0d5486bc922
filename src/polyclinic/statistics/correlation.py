"""How far indicators put things into one order: Spearman's rank correlation (AIE §2.4, Figure 5)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from polyclinic.statistics.uncertainty import Numbers


def spearman(columns: Sequence[Sequence[float | None]]) -> list[list[float | None]]:
    """Returns Spearman's rank correlation of every column with every other, ties sharing their mean rank.

    Each column is an indicator, with one value a thing that is compared; None where it has none, and then that thing is
    left out for the pairs of that indicator. The matrix is symmetric, and None where fewer than two things are shared
    or an indicator does not vary.
    """
    table = np.array([[math.nan if v is None else v for v in column] for column in columns], dtype=np.float64)
    matrix: list[list[float | None]] = [[None] * len(columns) for _ in columns]
    for row in range(len(columns)):
        for column in range(row + 1):
            both = ~np.isnan(table[row]) & ~np.isnan(table[column])
            value = _correlation(_ranks(table[row][both]), _ranks(table[column][both]))
            matrix[row][column] = matrix[column][row] = value
    return matrix


def _ranks(values: Numbers) -> Numbers:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: Numbers = (ends - (counts - 1) / 2)[inverse]
    return ranks


def _correlation(first: Numbers, second: Numbers) -> float | None:
    if not len(first):
        return None
    a, b = first - first.mean(), second - second.mean()
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return min(1.0, max(-1.0, float(a @ b) / scale)) if scale > 0 else None
