"""How far two agree: confusion, share, Cohen's kappa (1960), the weighted one (1968), Spearman's rank correlation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np

from polyclinic.statistics.uncertainty import Numbers, share


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """Two readings of the same things.

    Attributes:
        labels: in the order of the confusion's rows and columns.
        confusion: how often each reference label (row) was read as each label (column).
        unreadable: by reference label, how often the other gave none of the labels; it counts as disagreement.
        percent: of the n things, those read alike, with Wilson's 95 % interval; None where there is nothing.
        kappa: agreement beyond chance, at most 1; None where chance alone agrees on everything.
    """

    labels: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    unreadable: tuple[int, ...]
    n: int
    percent: float | None
    low: float | None
    high: float | None
    kappa: float | None


def agreement(reference: Sequence[str], other: Sequence[str | None], *, labels: Sequence[str]) -> Agreement:
    """Compares the labels that were read with a reference's, in the same order; None could not be read.

    Raises:
        ValueError: the two are not of one length, or a reference label is none of the labels.
    """
    if len(reference) != len(other):
        raise ValueError(f"{len(reference)} labels beside {len(other)}")
    if unknown := set(reference) - set(labels):
        raise ValueError(f"no such label: {', '.join(sorted(unknown))}")
    counts = Counter(zip(reference, other, strict=True))
    n = len(reference)
    alike = sum(counts[label, label] for label in labels)
    percent, low, high = share(alike, n)
    rows, columns = Counter(reference), Counter(other)
    by_chance = sum(rows[label] * columns[label] for label in labels)
    return Agreement(
        labels=tuple(labels),
        confusion=tuple(tuple(counts[row, column] for column in labels) for row in labels),
        unreadable=tuple(sum(c for (r, o), c in counts.items() if r == row and o not in labels) for row in labels),
        n=n,
        percent=percent,
        low=low,
        high=high,
        kappa=(n * alike - by_chance) / (n * n - by_chance) if n * n > by_chance else None,
    )


def weighted_kappa(confusion: Sequence[Sequence[int]]) -> float | None:
    """Returns Cohen's kappa with quadratic weights: being two grades apart is four times as wrong as one.

    It is at most 1, 0 for what chance would give, and None where chance alone agrees on everything. The labels of the
    confusion are in their order, and evenly spaced.
    """
    n = sum(map(sum, confusion))
    rows, columns = [sum(row) for row in confusion], [sum(column) for column in zip(*confusion, strict=True)]
    apart = sum((i - j) ** 2 * count for i, row in enumerate(confusion) for j, count in enumerate(row))
    by_chance = sum((i - j) ** 2 * a * b for i, a in enumerate(rows) for j, b in enumerate(columns))
    return 1 - n * apart / by_chance if by_chance else None


def weighted_kappa_error(confusion: Sequence[Sequence[int]]) -> float | None:
    """Returns the standard error of `weighted_kappa` (Fleiss, Cohen and Everitt, 1969); None where it has none."""
    table = np.array(confusion, dtype=np.float64)
    kappa, n, most = weighted_kappa(confusion), table.sum(), len(table) - 1
    if kappa is None:
        return None
    shares, grades = table / n, np.arange(len(table))
    weights = 1 - (grades[:, None] - grades[None, :]) ** 2 / most**2
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    by_chance = float(rows @ weights @ columns)
    means = (weights @ columns)[:, None] + (rows @ weights)[None, :]
    spread = float((shares * (weights - means * (1 - kappa)) ** 2).sum())
    variance = (spread - (kappa - by_chance * (1 - kappa)) ** 2) / (n * (1 - by_chance) ** 2)
    return math.sqrt(max(float(variance), 0.0))


def spearman(columns: Sequence[Sequence[float | None]]) -> list[list[float | None]]:
    """Returns Spearman's rank correlation of all columns (aie-saps §2.4), ties sharing their mean rank.

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
