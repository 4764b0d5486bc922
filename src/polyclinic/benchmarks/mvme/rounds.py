"""How soon doctors who discuss come to a consensus (ai-hospital §6.2, Figure 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from polyclinic.statistics.uncertainty import share
from polyclinic.visits.team import TeamVisit


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """How many discussions came to a consensus within so many rounds, and percent of all with its 95 % interval."""

    n: int
    percent: float | None
    low: float | None
    high: float | None


class Rounds(msgspec.Struct, frozen=True, kw_only=True):
    """Discussions that came to a report, by the number of rounds within which they had come to a consensus.

    `kept` counts doctors' answers that could not be used, so that their last report stood.
    """

    discussions: int
    within: dict[int, Reached]
    without: int
    kept: int


def rounds_of(visits: Sequence[TeamVisit]) -> Rounds:
    """Counts the rounds of the visits that came to a report."""
    held = [visit for visit in visits if visit.report is not None]
    after = Counter(visit.consensus for visit in held if visit.consensus is not None)
    within, reached = {}, 0
    for number in range(1, max((visit.rounds for visit in held), default=0) + 1):
        # A doctor who was left alone held no round, and disputes with nobody.
        reached = sum(n for round_number, n in after.items() if round_number <= number)
        percent, low, high = share(reached, len(held))
        within[number] = Reached(n=reached, percent=percent, low=low, high=high)
    return Rounds(
        discussions=len(held),
        within=within,
        without=sum(visit.consensus is None for visit in held),
        kept=sum(visit.kept for visit in visits),
    )
