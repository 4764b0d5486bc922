"""How far two agree: confusion, share, Cohen's kappa (1960), the weighted one (1968), Spearman's rank correlation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal

import msgspec
import numpy as np

from polyclinic.statistics.uncertainty import Numbers, ends, resampled, share


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """Two readings of the same things."""

    labels: tuple[str, ...]  # in the order of the confusion's rows and columns
    confusion: tuple[tuple[int, ...], ...]  # how often each reference label (row) was read as each label (column)
    unreadable: tuple[int, ...]  # by reference label, how often the other gave no label; a disagreement
    n: int
    percent: float | None  # of the n things, those read alike, with Wilson's 95 % interval; None where there is nothing
    low: float | None
    high: float | None
    kappa: float | None  # agreement beyond chance, at most 1; None where chance alone agrees on everything


def agreement(reference: Sequence[str], other: Sequence[str | None], *, labels: Sequence[str]) -> Agreement:
    """Compares the labels that were read with a reference's, in the same order; None could not be read."""
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
    kappa, n, most = weighted_kappa(confusion), sum(map(sum, confusion)), len(confusion) - 1
    if kappa is None:
        return None
    # Sums are exact: a matrix product's last digits depend on the machine.
    shares = [[count / n for count in row] for row in confusion]
    grades = range(len(shares))
    weights = [[1 - (a - b) ** 2 / most**2 for b in grades] for a in grades]
    rows, columns = [math.fsum(row) for row in shares], [math.fsum(column) for column in zip(*shares, strict=True)]
    of_row = [math.fsum(weights[a][b] * columns[b] for b in grades) for a in grades]
    of_column = [math.fsum(weights[a][b] * rows[a] for a in grades) for b in grades]
    by_chance = math.fsum(rows[a] * of_row[a] for a in grades)
    spread = math.fsum(
        shares[a][b] * (weights[a][b] - (of_row[a] + of_column[b]) * (1 - kappa)) ** 2 for a in grades for b in grades
    )
    variance = (spread - (kappa - by_chance * (1 - kappa)) ** 2) / (n * (1 - by_chance) ** 2)
    return math.sqrt(max(variance, 0.0))


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
            matrix[row][column] = matrix[column][row] = _correlation(table[row][both], table[column][both])
    return matrix


def _ranks(values: Numbers) -> Numbers:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: Numbers = (ends - (counts - 1) / 2)[inverse]
    return ranks


def _correlation(*values: Numbers) -> float | None:
    if not len(values[0]):
        return None
    a, b = (ranks - math.fsum(ranks) / len(ranks) for ranks in map(_ranks, values))
    scale = math.sqrt(math.fsum(a * a) * math.fsum(b * b))
    return min(1.0, max(-1.0, math.fsum(a * b) / scale)) if scale > 0 else None


Level = Literal["nominal", "ordinal", "interval"]
"""What a difference of two values means: they differ; so many ranks lie between them; their numbers' distance."""

Units = Sequence[Sequence[Hashable]]

_RESAMPLES = 2_000


class Alpha(msgspec.Struct, frozen=True, kw_only=True):
    """Krippendorff's alpha over n units of two or more values, with the ends of its 95 % bootstrap interval.

    At most 1, 0 for what chance would give; None where nothing varies, and so nothing can be said.
    """

    alpha: float | None = None
    low: float | None = None
    high: float | None = None
    n: int


def pairs_alike(units: Units) -> float | None:
    """Returns the share of pairs of values that are equal, averaged over the units; None where no unit has two."""
    shares = [
        sum(count * (count - 1) for count in Counter(unit).values()) / (len(unit) * (len(unit) - 1))
        for unit in units
        if len(unit) > 1
    ]
    return sum(shares) / len(shares) if shares else None


def fleiss_kappa(units: Units) -> float | None:
    """Returns Fleiss' kappa of units that all have equally many values, at least two.

    None where there are no units, or where chance alone agrees on everything.
    """
    if not units:
        return None
    alike = pairs_alike(units)
    counts = Counter(value for unit in units for value in unit)
    by_chance = sum((count / counts.total()) ** 2 for count in counts.values())
    return (alike - by_chance) / (1 - by_chance) if alike is not None and by_chance < 1 else None


def krippendorff_alpha(
    units: Units, *, level: Level = "nominal", order: Sequence[Hashable] = (), seed: int = 0
) -> Alpha:
    """Returns Krippendorff's alpha.

    Ordinal values are in the `order` given, or sorted; interval ones are numbers.
    """
    rated = [unit for unit in units if len(unit) > 1]
    if not rated:
        return Alpha(n=0)
    values = list(order) or sorted({value for unit in rated for value in unit})  # type: ignore[type-var]
    place = {value: number for number, value in enumerate(values)}
    # Whole numbers, so that their sums are the same on every machine.
    parts = math.lcm(*(len(unit) - 1 for unit in rated))
    coincidences = np.zeros((len(rated), len(values), len(values)), dtype=np.int64)
    for row, unit in enumerate(rated):
        counts = np.bincount([place[value] for value in unit], minlength=len(values))
        coincidences[row] = (np.outer(counts, counts) - np.diag(counts)) * (parts // (len(unit) - 1))
    numbers = np.array(values if level == "interval" else [0] * len(values), dtype=np.float64)
    whole = float(_alpha(coincidences.sum(axis=0)[None] / parts, level, numbers)[0])
    if math.isnan(whole):
        return Alpha(n=len(rated))
    flat = coincidences.reshape(len(rated), -1)
    found = []
    for drawn in resampled(len(rated), _RESAMPLES, seed):
        times = np.array([np.bincount(row, minlength=len(rated)) for row in drawn])
        found.append(_alpha((times @ flat).reshape(-1, len(values), len(values)) / parts, level, numbers))
    alphas = np.concatenate(found)
    alphas = alphas[~np.isnan(alphas)]
    low, high = np.percentile(alphas, ends(max(len(rated), 2))) if len(alphas) else (whole, whole)
    return Alpha(alpha=whole, low=min(float(low), whole), high=max(float(high), whole), n=len(rated))


def _alpha(coincidences: Numbers, level: Level, numbers: Numbers) -> Numbers:
    """Returns alpha of each matrix of coincidences; NaN where only one value occurs."""
    totals = coincidences.sum(axis=2)
    n = totals.sum(axis=1)
    distances = _distances(totals, level, numbers)
    observed = (coincidences * distances).sum(axis=(1, 2))
    expected = (totals[:, :, None] * totals[:, None, :] * distances).sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        alphas: Numbers = np.where(expected > 0, 1 - (n - 1) * observed / expected, np.nan)
    return alphas


def _distances(totals: Numbers, level: Level, numbers: Numbers) -> Numbers:
    """Returns the squared distance of every two values, one matrix for each row of totals."""
    size = totals.shape[1]
    if level == "nominal":
        return np.broadcast_to(1 - np.eye(size), (len(totals), size, size))
    if level == "interval":
        return np.broadcast_to((numbers[:, None] - numbers[None, :]) ** 2, (len(totals), size, size))
    # The values between the two count whole, the two themselves by half.
    middles = np.cumsum(totals, axis=1) - totals / 2
    ranks: Numbers = (middles[:, :, None] - middles[:, None, :]) ** 2
    return ranks
