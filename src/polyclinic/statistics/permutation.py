"""Whether paired differences are more than chance: the sign-flip permutation test (Fisher, 1935).

If there is no difference, each case's could as well have the other sign. Of n cases there are 2ⁿ ways to give signs, so
that two-sided p is never below 2 ÷ 2ⁿ: 0.25 of three cases. That bound is the test's honesty, and a bootstrap has none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FEW = 20
"""Cases below which all is exact."""

LEAST = 6
"""Cases below which no two-sided p is as low as 0.05, and there is no interval of 95 %."""

EXACT = FEW - 1
"""Cases that differ up to which all ways to give signs are gone through, whatever the values."""

FLIPS = 10_000
"""How many ways are drawn."""

_BLOCK = 2**20  # numbers held at a time
_STEPS = 2**26  # additions, up to which the ways to come to each sum are counted: a quarter of a second
_CLOSE = 1e-9  # of the largest value: what rounding adds to a whole number of steps


def sign_flip(differences: Sequence[float], *, flips: int = FLIPS, seed: int = 0) -> float | None:
    """Returns the two-sided p of no difference: the share of ways to give signs whose sum is as far from zero.

    It is exact for up to `EXACT` cases that differ, and of more where the values are whole numbers of one step, as
    shares, scores and their sums are: the ways to come to each sum are counted. Else it is (1 + as far) ÷ (1 + flips)
    of ways drawn by the seed. A case without a difference says nothing, whatever its sign. None below two cases.
    """
    if len(differences) < 2:
        return None
    values = np.array([one for one in differences if one], dtype=np.float64)
    if not len(values):
        return 1.0
    measured = abs(float(values.sum()))
    bar = measured - 1e-12 * float(np.abs(values).sum())  # a tie that rounding breaks is still a tie
    if len(values) <= EXACT:
        return float(np.mean(np.abs(_every_sum(values)) >= bar))
    if (steps := _in_steps(values)) is not None:
        return _counted(steps)
    beyond = 0
    generator = np.random.default_rng(seed)
    rows = max(1, _BLOCK // len(values))
    for begin in range(0, flips, rows):
        turned = generator.integers(0, 2, size=(min(rows, flips - begin), len(values)), dtype=np.int8)
        beyond += int(np.count_nonzero(np.abs((1.0 - 2.0 * turned) @ values) >= bar))
    return (1 + beyond) / (1 + flips)


def _in_steps(values: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Returns values as whole numbers of their largest common step; None where they have none that is worth counting.

    The step is found as Euclid finds it, with what rounding adds taken for nothing.
    """
    sizes = np.abs(values)
    close = _CLOSE * float(sizes.max())
    step = 0.0
    for size in np.unique(sizes):
        smaller = float(size)
        while smaller > close:
            step, smaller = smaller, abs(math.remainder(step, smaller))
        # More additions than this are not made, and a step that is as small is a hair that rounding left.
        if len(values) * float(sizes.sum()) > _STEPS * step:
            return None
    whole = np.rint(values / step)
    return whole.astype(np.int64) if np.abs(values - whole * step).max() <= len(values) * close else None


def _counted(steps: NDArray[np.int64]) -> float:
    """Returns the share of all ways to give signs whose sum is as far from zero, as the sums are built up."""
    most = int(np.abs(steps).sum())
    chance = np.zeros(2 * most + 1)  # of each sum from -most to most
    chance[most] = 1.0
    for step in np.abs(steps):
        turned = np.zeros_like(chance)
        turned[step:] += chance[:-step]
        turned[:-step] += chance[step:]
        chance = turned / 2
    far = abs(int(steps.sum()))
    beyond = float(chance[: most - far + 1].sum() + chance[most + far :].sum())
    return min(1.0, beyond if far else 1.0)


def _every_sum(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the sums under all signs but the first value's: turning all of them round is as far from zero."""
    sums = values[:1]
    for value in values[1:]:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def exact_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Returns the ends of the exact interval of a mean, of at least 95 %; None below 6 values, where there is none.

    Of n values, the 2ⁿ - 1 means of some of them cut the line into 2ⁿ parts that are equally likely to hold the centre
    of a symmetric distribution (Hartigan, Journal of the American Statistical Association 64, 1969): the interval that
    the test by `sign_flip` inverts to. Up to `EXACT` values.
    """
    if len(values) > EXACT:
        raise ValueError(f"{len(values)} values; the exact interval is for up to {EXACT}")
    outside = 2 ** len(values) // 40  # parts beyond each end: at most a fortieth of all
    if not outside:
        return None
    sums, sizes = np.zeros(1), np.zeros(1)
    for value in values:
        sums, sizes = np.concatenate([sums, sums + value]), np.concatenate([sizes, sizes + 1])
    means = np.partition(sums[1:] / sizes[1:], [outside - 1, len(sums) - 1 - outside])
    return float(means[outside - 1]), float(means[len(sums) - 1 - outside])
