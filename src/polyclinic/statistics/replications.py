"""How many replications a simulation needs: until the mean is known well enough, and stays so for some more.

Source: Hoad, Robinson and Davies, "Automated selection of the number of replications for a discrete-event simulation",
Journal of the Operational Research Society 61 (2010): after each replication, the half-width of Student's interval is
held against the mean so far; where it is small enough, and stays so over the next `LOOK_AHEAD` replications (of more
than 100, as many per cent of them), that many were needed. Looking ahead keeps a chance dip from being taken for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from polyclinic.statistics.student import student
from polyclinic.statistics.uncertainty import Estimate, standard_error

LOOK_AHEAD = 5
"""Replications, up to the hundredth; of n beyond it, as many per cent of n."""

LEAST = 3
"""Fewer say nothing of how they spread."""

_ANY = 100.0  # percent, where nobody asks how narrow an interval is


class Precision(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over n replications with Student's 95 % interval, and whether that is narrow enough."""

    mean: float | None  # None where nothing was measured
    low: float | None  # None below two replications
    high: float | None
    half_width: float | None
    percent: float | None  # half-width of the absolute mean; None where the mean is 0 and the half-width is not
    n: int
    needed: int | None  # replications after which it was narrow enough and stayed so; None where it has not been yet


def precision(values: Sequence[float], *, within: float, look_ahead: int = LOOK_AHEAD) -> Precision:
    """Returns how well a mean is known.

    Args:
        values: one of each replication, in their order.
        within: half-width that is allowed, in percent of the mean.
        look_ahead: see `LOOK_AHEAD`.
    """
    n = len(values)
    if not n:
        return Precision(mean=None, low=None, high=None, half_width=None, percent=None, n=0, needed=None)
    mean, half = _interval(values)
    return Precision(
        mean=mean,
        low=None if half is None else mean - half,
        high=None if half is None else mean + half,
        half_width=half,
        percent=_relative(mean, half),
        n=n,
        needed=needed(values, within=within, look_ahead=look_ahead),
    )


def mean_of_runs(values: Sequence[float]) -> Estimate:
    """Returns the mean of replications with Student's interval, which few values do not make too narrow."""
    known = precision(values, within=_ANY)
    return Estimate(mean=known.mean, stderr=standard_error(values), low=known.low, high=known.high, n=known.n)


def needed(values: Sequence[float], *, within: float, look_ahead: int = LOOK_AHEAD) -> int | None:
    """Returns after how many replications the interval was narrow enough and stayed so; None where it has not yet."""
    narrow = []
    mean = squares = 0.0
    for n, value in enumerate(values, 1):
        off = value - mean
        mean += off / n
        squares += off * (value - mean)  # Welford, Technometrics 4 (1962)
        if n >= LEAST:
            percent = _relative(mean, student(n - 1) * math.sqrt(squares / (n - 1) / n))
            narrow.append(percent is not None and percent <= within)
    for place, n in enumerate(range(LEAST, len(values) + 1)):
        further = look_ahead if n <= 100 else look_ahead * n // 100
        if n + further > len(values):
            return None
        if all(narrow[place : place + further + 1]):
            return n
    return None


def _interval(values: Sequence[float]) -> tuple[float, float | None]:
    """Returns the mean and the half-width of its interval; None below two values."""
    n = len(values)
    mean = math.fsum(values) / n
    if n < 2:
        return mean, None
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return mean, student(n - 1) * math.sqrt(variance / n)


def _relative(mean: float, half: float | None) -> float | None:
    if half is None or (half and not mean):
        return None
    return 100 * half / abs(mean) if half else 0.0
