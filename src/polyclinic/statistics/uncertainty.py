"""How sure a number is: standard errors, bootstrap intervals, paired comparisons, corrections.

Where several values come from one case, `clusters` says what each belongs to: cases are resampled, whole. `resamples`
and `seed` are of the bootstrap, which is vectorised and holds a bounded block of resamples at a time.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from functools import cache
from statistics import NormalDist

import msgspec
import numpy as np
from numpy.typing import NDArray

FEW = 20  # cases below which all is exact
LEAST = 6  # cases below which no two-sided p is as low as 0.05, and there is no interval of 95 %
EXACT = FEW - 1  # cases that differ up to which all ways to give signs are gone through, whatever the values
FLIPS = 10_000  # how many ways are drawn
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
    outside = 2 ** len(values) // 40  # parts beyond each end: at most a fortieth of all
    if not outside:
        return None
    sums, sizes = np.zeros(1), np.zeros(1)
    for value in values:
        sums, sizes = np.concatenate([sums, sums + value]), np.concatenate([sizes, sizes + 1])
    means = np.partition(sums[1:] / sizes[1:], [outside - 1, len(sums) - 1 - outside])
    return float(means[outside - 1]), float(means[len(sums) - 1 - outside])


_WIDEST = 1e4  # of a quantile; that of one degree of freedom is 12.7


@cache
def student(df: int, *, share: float = 0.95) -> float:
    """Returns the value that Student's t stays within on both sides, with so many degrees of freedom, in that share."""
    low, high = 0.0, _WIDEST
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, df) < share else (low, middle)
    return high


def _within(t: float, df: int) -> float:
    """Returns the share of Student's t between -t and t, by the finite series for whole degrees of freedom.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.3 and 26.7.4.
    """
    angle = math.atan(t / math.sqrt(df))
    cosine = math.cos(angle)
    odd = df % 2
    term = total = (cosine if odd else 1.0) if df > 1 else 0.0
    for k in range(3 if odd else 2, df - 1, 2):
        term *= (k - 1) / k * cosine * cosine
        total += term
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total


RESAMPLES = 10_000

_MANY = 1_000  # of which Student's t is the normal distribution

Numbers = NDArray[np.float64]


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over n values, with the ends of its 95 % bootstrap interval.

    If all values are equal there is neither an error nor an interval: that does not make the mean certain.
    """

    mean: float | None = None  # None if nothing was measured
    stderr: float | None = None  # from the variance with n - 1; None below two clusters
    low: float | None = None  # None below 6 clusters, which allow no interval of 95 %
    high: float | None = None
    n: int


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The difference of two on the n cases that both have, with the ends of its 95 % interval."""

    mean: float | None  # of the differences, case by case; None if they share no case
    low: float | None  # exact below 20 cases; None below 6, and if all cases differ alike
    high: float | None
    p: float | None  # two-sided, for no difference; None below two cases
    n: int
    detectable: float | None = None  # the smallest that so many cases show with power 0.8 at 0.05; None below 6


def estimate(
    values: Sequence[float], *, clusters: Sequence[Hashable] | None = None, resamples: int = RESAMPLES, seed: int = 0
) -> Estimate:
    """Returns the mean with its standard error and bootstrap interval."""
    return ratio(values, [1.0] * len(values), clusters=clusters, resamples=resamples, seed=seed)


def ratio(
    numerators: Sequence[float],
    denominators: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """Returns the pooled ratio, sum by sum, with its standard error (linearised) and bootstrap interval.

    Where every denominator is 1 this is the mean, and the standard error the usual one with n - 1. No denominator may
    be negative; a resample in which all are 0 is left out.
    """
    n = len(numerators)
    above, below = _by_cluster(numerators, clusters), _by_cluster(denominators, clusters)
    whole = float(below.sum())
    if whole == 0:
        return Estimate(n=n)
    mean = float(above.sum()) / whole
    count = len(above)
    stderr = None
    residuals = above - mean * below
    # Rounding leaves a hair where all values are equal.
    if count > 1 and np.abs(residuals).max() > 1e-12 * max(1.0, float(np.abs(above).max())):
        stderr = math.sqrt(count / (count - 1) * float(math.fsum(residuals * residuals))) / whole
    if stderr is None or count < LEAST:
        return Estimate(mean=mean, stderr=stderr, low=None, high=None, n=n)
    low, high = _interval(above, below, resamples, seed, ends(len(above)))
    # Rounding may put an end a hair beyond the mean where all values are equal.
    return Estimate(mean=mean, stderr=stderr, low=min(low, mean), high=max(high, mean), n=n)


def share_estimate(percents: Sequence[float], *, clusters: Sequence[Hashable] | None = None) -> Estimate:
    """Returns the mean of values in percent, such as 0 and 100, with the ends of Wilson's 95 % interval.

    With clusters, n in Wilson's formula is the number of values over the design effect (Korn and Graubard, Survey
    Methodology 24, 1998), never below what values that are alike within each cluster would leave (Kish, Survey
    Sampling, 1965). The design effect is estimated from the clusters that have the rarer value, and drawn towards its
    maximum as if one more cluster were alike: few clusters do not determine it well. Equal values have no error.
    """
    n = len(percents)
    if not n:
        return Estimate(n=0)
    sums, sizes = _by_cluster(percents, clusters), _by_cluster([1.0] * n, clusters)
    mean, count = float(sums.sum()) / n, len(sums)
    # Where all values are equal, those of one case say no more than one of them.
    stderr, effective = None, float(n if 0 < mean < 100 else count)
    if count > 1 and (residuals := sums - mean * sizes).any():
        stderr = math.sqrt(count / (count - 1) * float(math.fsum(residuals * residuals))) / n
        if count < n and 0 < mean < 100:
            effective = _effective(mean, stderr, sums, sizes)
    low, high = wilson(mean / 100 * effective, effective)
    return Estimate(mean=mean, stderr=stderr, low=max(0.0, min(low, mean)), high=min(100.0, max(high, mean)), n=n)


def _effective(mean: float, stderr: float, sums: Numbers, sizes: Numbers) -> float:
    """Returns of how many values that are all of a cluster of their own a share is as sure."""
    n = float(sizes.sum())
    most = math.fsum(sizes * sizes) / n  # the design effect where values are alike within each cluster
    found = min(max(n * stderr**2 / (mean * (100 - mean)), 1.0), most)
    rarer = int(min(np.count_nonzero(sums > 0), np.count_nonzero(sums < 100 * sizes)))
    return n / ((found * rarer + most) / (rarer + 1))


def share(successes: int, n: int) -> tuple[float | None, float | None, float | None]:
    """Returns a share in percent and the ends of Wilson's 95 % interval; three times None where n is 0."""
    if n == 0:
        return None, None, None
    percent = 100 * successes / n
    low, high = wilson(successes, n)
    # Rounding may put an end a hair beyond the share, or outside of what a share can be.
    return percent, max(0.0, min(low, percent)), min(100.0, max(high, percent))


def standard_error(values: Sequence[float]) -> float | None:
    """Returns the standard error of the mean, from the variance with n - 1; None below two values."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None


def _by_cluster(values: Sequence[float], clusters: Sequence[Hashable] | None) -> Numbers:
    numbers = np.asarray(values, dtype=np.float64)
    if clusters is None:
        return numbers
    position: dict[Hashable, int] = {}
    index = np.array([position.setdefault(c, len(position)) for c in clusters], dtype=np.intp)
    return np.bincount(index, weights=numbers, minlength=len(position)).astype(np.float64)


def resampled(count: int, resamples: int, seed: int) -> Iterator[NDArray[np.intp]]:
    """Yields blocks of resamples: each row draws `count` of `count` things, at least one, with replacement."""
    generator = np.random.default_rng(seed)
    rows = max(1, _BLOCK // count)
    for begin in range(0, resamples, rows):
        yield generator.integers(0, count, size=(min(rows, resamples - begin), count), dtype=np.intp)


def percentile_half(values: Sequence[float], *, clusters: Sequence[Hashable], seed: int = 0) -> float | None:
    """Returns half of what lies between the bootstrap's 2.5th and 97.5th percentile, as papers print it beside a mean.

    It is `estimate`'s interval, not widened for few; None below 6 clusters.
    """
    above, below = _by_cluster(values, clusters), _by_cluster([1.0] * len(values), clusters)
    if len(above) < LEAST:
        return None
    low, high = _interval(above, below, RESAMPLES, seed, (2.5, 97.5))
    return (high - low) / 2


def _interval(
    above: Numbers, below: Numbers, resamples: int, seed: int, percentiles: tuple[float, float]
) -> tuple[float, float]:
    means = []
    for drawn in resampled(len(above), resamples, seed):
        wholes = below[drawn].sum(axis=1)
        means.append(above[drawn].sum(axis=1)[wholes > 0] / wholes[wholes > 0])
    low, high = np.percentile(np.concatenate(means), percentiles)
    return float(low), float(high)


def ends(count: int) -> tuple[float, float]:
    """Returns the percentiles of a bootstrap of so many things that are the ends of an interval of 95 %.

    Between the 2.5th and the 97.5th, six values would hold their mean in 85 of 100 intervals: resamples spread less
    than the sample. So the ends are as far out as those of Student's interval (Hesterberg, The American Statistician
    69, 2015, section 4.3).
    """
    few = min(count, _MANY)
    away = student(few - 1) * math.sqrt(few / (few - 1))
    beyond = 100 * NormalDist().cdf(-away)
    return beyond, 100 - beyond


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Difference:
    """Returns how much `first` is above `second` on the same cases: the interval, and p by turning signs.

    p is that of `sign_flip`, of each cluster's sum where there are clusters. The interval is exact below `FEW` clusters
    (`exact_interval`), and by bootstrap from there on.
    """
    differences = [a - b for a, b in zip(first, second, strict=True)]
    sums = _by_cluster(differences, clusters)
    measured = estimate(differences, clusters=clusters, resamples=resamples, seed=seed)
    low, high = measured.low, measured.high
    if measured.stderr is not None and len(sums) < FEW:
        each = len(differences) / max(len(sums), 1)
        ends = exact_interval((sums / each).tolist())
        low, high = ends if ends is not None else (None, None)
    p = sign_flip(sums.tolist(), seed=seed)
    detectable = detectable_errors(len(sums)) * measured.stderr if measured.stderr and len(sums) >= LEAST else None
    return Difference(mean=measured.mean, low=low, high=high, p=p, n=len(differences), detectable=detectable)


def share_difference(
    first: Sequence[bool], second: Sequence[bool], *, clusters: Sequence[Hashable] | None = None, seed: int = 0
) -> Difference:
    """Returns how much more often the first are right, in percent, on the same cases; p is McNemar's.

    With clusters, p is that of turning the signs of clusters, which is McNemar's if each has one pair. If nothing
    distinguishes the two, the interval extends to Wilson's upper end of 0 of n.
    """
    percents = [[100.0 * one for one in some] for some in (first, second)]
    found = paired_difference(*percents, clusters=clusters, seed=seed)
    if found.n == 0:
        return found
    cases = len(set(clusters)) if clusters is not None else found.n
    if clusters is None:
        found = msgspec.structs.replace(found, p=mcnemar(first, second))
    if found.detectable is None and list(first) == list(second) and cases >= LEAST:
        apart = wilson(0, cases)[1]
        detectable = detectable_errors(cases) * math.sqrt(100 * apart / cases)
        found = msgspec.structs.replace(found, low=-apart, high=apart, detectable=detectable)
    # No share differs by more than 100: so few cases could find nothing at all.
    beyond = found.detectable is not None and found.detectable > 100
    return msgspec.structs.replace(found, detectable=None) if beyond else found


def detectable_errors(cases: int) -> float:
    """Returns the standard errors of a difference that so many cases show with power 0.8 at a two-sided 0.05.

    Of few cases that is more than the 2.8 of many: their spread is not well known, and the p that turning signs comes
    to goes by steps, so that of six cases none between 0.031 and 0.063 is possible.
    """
    few = min(cases, _MANY)
    ways = 2 ** (few - 1)
    level = (ways // 20) / ways  # the highest p of at most 0.05
    return student(few - 1, share=1 - level) + student(few - 1, share=0.6)


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Returns McNemar's exact two-sided p: whether two are right equally often on the same cases."""
    only_first = sum(1 for a, b in zip(first, second, strict=True) if a and not b)
    only_second = sum(1 for a, b in zip(first, second, strict=True) if b and not a)
    n, fewer = only_first + only_second, min(only_first, only_second)
    # Whole numbers throughout: 2 to the n is beyond a float from n = 1024 on.
    term, tail = 1, 1
    for k in range(fewer):
        term = term * (n - k) // (k + 1)
        tail += term
    return min(1.0, 2 * tail / (1 << n))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Returns Holm's (1979) adjusted p values, in the order that came; where there was none is none."""
    adjusted: list[float | None] = [None] * len(p_values)
    tested = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    highest = 0.0
    for rank, (p, index) in enumerate(tested):
        adjusted[index] = highest = max(highest, min(1.0, (len(tested) - rank) * p))
    return adjusted


def wilson(successes: float, n: float, *, z: float = 1.959964) -> tuple[float, float]:
    """Returns Wilson's interval of a share, in percent: of 95 %, or of so many standard deviations."""
    p = successes / n
    centre = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return 100 * (centre - half) / (1 + z * z / n), 100 * (centre + half) / (1 + z * z / n)


LOOK_AHEAD = 5  # replications, up to the hundredth; of n beyond it, as many per cent of n
FEWEST = 3  # fewer say nothing of how they spread
_ANY = 100.0  # percent, where nobody asks how narrow an interval is


class Precision(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over n replications with Student's 95 % interval, and whether that is narrow enough."""

    mean: float | None = None  # None where nothing was measured
    low: float | None = None  # None below two replications
    high: float | None = None
    half_width: float | None = None
    percent: float | None = None  # half-width of the absolute mean; None where the mean is 0 and the half-width is not
    n: int
    needed: int | None = None  # replications after which it stayed narrow enough; None if it is not yet


def precision(values: Sequence[float], *, within: float) -> Precision:
    """Returns how well the mean of replications is known; a half-width of `within` percent of the mean is allowed."""
    if not values:
        return Precision(n=0)
    mean, half = _mean_and_half_width(values)
    return Precision(
        mean=mean,
        low=None if half is None else mean - half,
        high=None if half is None else mean + half,
        half_width=half,
        percent=_relative(mean, half),
        n=len(values),
        needed=needed(values, within=within),
    )


def mean_of_runs(values: Sequence[float]) -> Estimate:
    """Returns the mean of replications with Student's interval, which few values do not make too narrow."""
    known = precision(values, within=_ANY)
    return Estimate(mean=known.mean, stderr=standard_error(values), low=known.low, high=known.high, n=known.n)


def needed(values: Sequence[float], *, within: float, look_ahead: int = LOOK_AHEAD) -> int | None:
    """Returns after how many replications the interval was narrow enough and stayed so; None where it has not yet."""
    wide = [True] * FEWEST  # after so many replications
    for n in range(FEWEST, len(values) + 1):
        percent = _relative(*_mean_and_half_width(values[:n]))
        wide[n:] = [percent is None or percent > within]
    for n in range(FEWEST, len(values) + 1):
        further = look_ahead if n <= 100 else look_ahead * n // 100
        if n + further > len(values):
            return None
        if not any(wide[n : n + further + 1]):
            return n
    return None


def _mean_and_half_width(values: Sequence[float]) -> tuple[float, float | None]:
    n = len(values)
    mean = math.fsum(values) / n
    if n < 2:
        return mean, None
    return mean, student(n - 1) * math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)


def _relative(mean: float, half: float | None) -> float | None:
    if half is None or (half and not mean):
        return None
    return 100 * half / abs(mean) if half else 0.0
