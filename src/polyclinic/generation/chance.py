"""Chance that lasts: what a person keeps for life, and what one illness keeps while it goes on.

A body is drawn from uniform numbers, one a draw, always in the same order. So two bodies that are drawn from the same
numbers differ only where what they are drawn from differs: an illness that has got worse is the same body, shifted, and
whoever smokes does so whatever it comes with, while each body by itself is distributed as ever.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple, TypeVar

from polyclinic.knowledge.data import Severity
from polyclinic.knowledge.knowledge import Knowledge

T = TypeVar("T")

_quantile = NormalDist().inv_cdf
_LEAST = 1e-12


class EvenRandom(random.Random):
    """A generator that takes one number for each draw, whatever is drawn."""

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        """Draws from a normal distribution."""
        return mu + sigma * _quantile(min(max(self.random(), _LEAST), 1 - _LEAST))

    normalvariate = gauss

    def lognormvariate(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        """Draws from a log-normal distribution; mean and spread are the logarithm's."""
        return math.exp(self.gauss(mu, sigma))

    def choice(self, seq: Sequence[T]) -> T:  # type: ignore[override]
        """Draws one of several."""
        return seq[int(self.random() * len(seq))]


class Lasting(NamedTuple):
    """What stays the same at every visit of one illness.

    Attributes:
        present: for each symptom and circumstance the number, from 0 to 1, that decides whether it is there.
        told: the same for how it is told.
        began: how badly ill the person was at first; circumstances go by that.
    """

    present: dict[str, float]
    told: dict[str, float]
    began: Severity


def lasting(knowledge: Knowledge, life: random.Random, illness: random.Random, began: Severity) -> Lasting:
    """Draws the numbers of a person's illness: of what lasts a life from one generator, of the rest from the other."""
    present: dict[str, float] = {}
    told: dict[str, float] = {}
    for id, symptom in knowledge.symptoms.items():
        source = life if symptom.lasts else illness
        present[id], told[id] = source.random(), source.random()
    return Lasting(present, told, began)
