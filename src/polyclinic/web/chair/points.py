"""Points: one number of a hundred for who learns, made of what is shown beside it. For teaching; of no paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from polyclinic.metrics.danger_signs import DangerSigns
from polyclinic.metrics.grades import Aspect, Grade
from polyclinic.metrics.stewardship import Stewardship
from polyclinic.players.human.advice import Rung

HINT_COSTS: dict[Rung, int] = {Rung.STEP: 1, Rung.TURN: 3, Rung.DISEASES: 6}
"""What a hint costs, by how much it tells."""

ASPECT = 14
EXAMINATIONS = 20
DANGER = 10
FOR_NOTHING = 4
"""Points for an aspect graded A, for the needed examinations, for the danger signs; what one not indicated takes."""


class Points(msgspec.Struct, frozen=True, kw_only=True):
    """Points.

    Attributes:
        parts: what was got, and of how much, by what it was for; without what cannot be said of the case.
        hints: what hints cost.
        total: percent of what could be got, less the hints; at least 0.
    """

    parts: dict[str, tuple[float, float]]
    hints: int
    total: int


def points(
    grades: Mapping[Aspect, Grade | None], chosen: Stewardship, signs: DangerSigns, hints: Iterable[Rung]
) -> Points:
    """Returns the points of a visit."""
    parts: dict[str, tuple[float, float]] = {}
    for aspect, grade in grades.items():
        if grade is not None:
            parts[aspect.value] = (round(ASPECT * (grade - 1) / 3, 1), ASPECT)
    if chosen.disease:
        needed = len(chosen.needed) + len(chosen.needed_missed)
        got = EXAMINATIONS * (len(chosen.needed) / needed if needed else 1.0)
        parts["choice"] = (round(max(0.0, got - FOR_NOTHING * len(chosen.not_indicated)), 1), EXAMINATIONS)
    if signs.has:
        good = len(signs.has) - len(signs.missed) - len(signs.unreported) / 2
        parts["danger"] = (round(DANGER * good / len(signs.has), 1), DANGER)
    cost = sum(HINT_COSTS[rung] for rung in hints)
    got, most = (sum(part[place] for part in parts.values()) for place in (0, 1))
    return Points(parts=parts, hints=cost, total=max(0, round(100 * got / most) - cost) if most else 0)
