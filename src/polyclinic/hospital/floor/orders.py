"""Examinations as they are ordered: how long they take, and how much of that the patient is there."""

from __future__ import annotations

import random
from dataclasses import dataclass

from polyclinic.hospital.plan.plan import Durations

SAMPLED = ("laboratory", "microbiology")
"""The kinds of examinations that are made of samples, which one taking serves."""

CULTURED = "microbiology"
"""The kind of examinations for whose results the treatment of an emergency does not wait."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """An examination as it was ordered."""

    examination: str
    kind: str  # "" where it is not known
    seconds: int  # from its beginning to its result
    there: int  # of these, how many the patient is there


@dataclass(frozen=True, slots=True)
class LateResult:
    """A result that comes while the patient is elsewhere, who hears of it back in the hall."""

    comes: int  # when
    examination: str
    area: str  # where it was done


def order(examination: str, kind: str, durations: Durations, rng: random.Random) -> Ordered:
    """Draws how long an examination takes; one of no known kind takes no time."""
    duration = durations.examination.get(kind)
    if duration is None:
        return Ordered(examination, kind, 0, 0)
    seconds = duration.draw(rng)
    present = durations.present.get(kind)
    there = seconds if present is None else min(seconds, present.draw(rng))
    return Ordered(examination, kind, seconds, there)
