"""Student's t: how far a mean of few values may be off, in its standard errors."""

from __future__ import annotations

import math
from functools import cache

_WIDEST = 1e4  # of a quantile; that of one degree of freedom is 12.7


@cache
def student(df: int, *, share: float = 0.95) -> float:
    """Returns the value that Student's t stays within on both sides, with so many degrees of freedom, in that share."""
    if df < 1:
        raise ValueError(f"{df} degrees of freedom")
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
