"""A team in which some report to others: who is shown whose opinion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec


class Recruit(msgspec.Struct, frozen=True):
    """An expert of a team, and the number, from 1, of the one whom it reports to; 0 for nobody."""

    field: str
    reports_to: Annotated[int, msgspec.Meta(ge=0)] = 0


def links(team: Sequence[Recruit]) -> list[tuple[int, int]]:
    """Returns who reports to whom, by number; nobody reports to itself, or to one who is not there."""
    there = range(1, len(team) + 1)
    return [(n, one.reports_to) for n, one in enumerate(team, 1) if one.reports_to in there and one.reports_to != n]


def hears_of(team: Sequence[Recruit]) -> list[set[int]]:
    """Returns whose opinions each expert is shown, by place from 0.

    Of a hierarchy, those directly above and below it. Those who stand in none hear everybody, and are heard by all.
    """
    beside: list[set[int]] = [set() for _ in team]
    for number, above in links(team):
        beside[number - 1].add(above - 1)
        beside[above - 1].add(number - 1)
    alone = {n for n, linked in enumerate(beside) if not linked}
    return [(set(range(len(team))) if n in alone else linked | alone) - {n} for n, linked in enumerate(beside)]
