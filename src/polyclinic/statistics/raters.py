"""How far several raters agree: share of pairs, Fleiss' kappa, Krippendorff's alpha with its bootstrap interval.

Sources: Fleiss, Psychological Bulletin 76 (1971); Krippendorff, *Content Analysis* (2004), chapter 11, and *Computing
Krippendorff's Alpha-Reliability* (2011). A unit is what was rated, with the values that raters gave it; who gave which
does not matter, and a unit with fewer than two values says nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal

import msgspec
import numpy as np

from polyclinic.statistics.uncertainty import Numbers, ends, resampled

Level = Literal["nominal", "ordinal", "interval"]
"""What a difference of two values means: they differ; so many ranks lie between them; their numbers' distance."""

Units = Sequence[Sequence[Hashable]]

_RESAMPLES = 2_000


class Alpha(msgspec.Struct, frozen=True, kw_only=True):
    """Krippendorff's alpha over n units of two or more values, with the ends of its 95 % bootstrap interval.

    At most 1, 0 for what chance would give; None where nothing varies, and so nothing can be said.
    """

    alpha: float | None
    low: float | None
    high: float | None
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

    Raises:
        ValueError: the units have different numbers of values, or one.
    """
    sizes = set(map(len, units))
    if not sizes:
        return None
    if len(sizes) > 1 or min(sizes) < 2:
        raise ValueError(f"Fleiss' kappa needs one number of values a unit, two or more; got {sorted(sizes)}")
    alike = pairs_alike(units)
    counts = Counter(value for unit in units for value in unit)
    by_chance = sum((count / counts.total()) ** 2 for count in counts.values())
    return (alike - by_chance) / (1 - by_chance) if alike is not None and by_chance < 1 else None


def krippendorff_alpha(
    units: Units, *, level: Level = "nominal", order: Sequence[Hashable] = (), seed: int = 0
) -> Alpha:
    """Returns Krippendorff's alpha.

    Ordinal values are in the `order` given, or sorted; interval ones are numbers.

    Raises:
        ValueError: a value is not in the order, or not a number where one is wanted.
    """
    rated = [unit for unit in units if len(unit) > 1]
    if not rated:
        return Alpha(alpha=None, low=None, high=None, n=0)
    values = list(order) or sorted({value for unit in rated for value in unit}, key=_sorting)
    place = {value: number for number, value in enumerate(values)}
    if unknown := {value for unit in rated for value in unit} - place.keys():
        raise ValueError(f"no such value: {', '.join(sorted(map(str, unknown)))}")
    coincidences = np.zeros((len(rated), len(values), len(values)))
    for row, unit in enumerate(rated):
        counts = np.bincount([place[value] for value in unit], minlength=len(values)).astype(np.float64)
        coincidences[row] = (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    numbers = _numbers(values) if level == "interval" else np.zeros(len(values))
    whole = _alpha(coincidences.sum(axis=0)[None], level, numbers)[0]
    if np.isnan(whole):
        return Alpha(alpha=None, low=None, high=None, n=len(rated))
    flat = coincidences.reshape(len(rated), -1)
    found = []
    for drawn in resampled(len(rated), _RESAMPLES, seed):
        times = np.array([np.bincount(row, minlength=len(rated)) for row in drawn], dtype=np.float64)
        found.append(_alpha((times @ flat).reshape(-1, len(values), len(values)), level, numbers))
    alphas = np.concatenate(found)
    low, high = (
        np.percentile(alphas[~np.isnan(alphas)], ends(max(len(rated), 2)))
        if not np.isnan(alphas).all()
        else (whole, whole)
    )
    return Alpha(
        alpha=float(whole), low=min(float(low), float(whole)), high=max(float(high), float(whole)), n=len(rated)
    )


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


def _sorting(value: Hashable) -> tuple[bool, float, str]:
    number = isinstance(value, int | float)
    return (not number, float(value) if isinstance(value, int | float) else 0.0, str(value))


def _numbers(values: Sequence[Hashable]) -> Numbers:
    if any(not isinstance(value, int | float) for value in values):
        raise ValueError("alpha of intervals is of numbers")
    return np.array(values, dtype=np.float64)
