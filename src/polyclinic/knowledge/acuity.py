"""How soon somebody must be seen: the logic of the Emergency Severity Index.

Emergency Severity Index Handbook, fifth edition, Emergency Nurses Association, 2023: level 1 where life must be saved
now, 2 where waiting is dangerous, else by how many kinds of resources the visit will take (5 none, 4 one, 3 more), and
2 where the vital signs of somebody of level 3 lie in the danger zone. The body decides, and what a disease's file says
of time; not how severe its grade is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from polyclinic.knowledge.data import Severity
from polyclinic.knowledge.entries import Disease, Examination

Level = Literal[1, 2, 3, 4, 5]

_SAVE_NOW = (("oxygen_saturation", "below", 85.0), ("systolic", "below", 75.0), ("gcs", "below", 9.0))
_SAVE_NOW_RATE = (("respiratory_rate", "above", 35.0), ("respiratory_rate", "below", 8.0))
_WAITING_IS_DANGEROUS = (("oxygen_saturation", "below", 90.0), ("systolic", "below", 90.0), ("gcs", "below", 14.0))
_DANGER_ZONE = (
    ("oxygen_saturation", "below", 92.0),
    ("heart_rate", "above", 110.0),
    ("respiratory_rate", "above", 24.0),
)

MEASURED = ("temperature", "heart_rate", "respiratory_rate", "systolic", "diastolic", "oxygen_saturation", "gcs")
"""What a nurse measures at the door, by item id: temperature, pulse, breathing, pressure, saturation, consciousness."""


LEVELS: tuple[Level, ...] = (1, 2, 3, 4, 5)


class WaitTarget(NamedTuple):
    """How long somebody of a level may wait for a doctor."""

    minutes: int  # also until it is looked at again
    share: int  # per cent of a level who are to be seen within that


TARGETS: dict[Level, WaitTarget] = {
    1: WaitTarget(0, 98),
    2: WaitTarget(15, 95),
    3: WaitTarget(30, 90),
    4: WaitTarget(60, 85),
    5: WaitTarget(120, 80),
}
"""The index names no times. These are another five-level scale's, the Canadian Triage and Acuity Scale's (Beveridge et
al., Implementation Guidelines, CJEM 1(3) suppl., 1999; Bullard et al., CJEM 19(S2), 2017): time to the physician, the
share of visits in which that is to be kept, and, as long again, the time until who waits is assessed once more."""

_LABORATORY = ("laboratory", "microbiology", "pathology")


def acuity_level(
    disease: Disease,
    severity: Severity,
    vital_signs: Mapping[str, float],
    examinations: Mapping[str, Examination],
    flagged: Literal["emergency", "urgent"] | None = None,
) -> Level:
    """Returns the level, 1 (at once) to 5, of somebody with a disease at a severity."""
    of_signs = by_signs(vital_signs)
    if of_signs == 1:
        return 1
    if severity in disease.time_critical or of_signs is not None or flagged == "emergency":
        return 2
    resources = needed_resources(disease, severity, examinations)
    if resources >= 2:
        return 2 if in_danger_zone(vital_signs) else 3
    if flagged == "urgent":
        return 3
    return 4 if resources else 5


def by_signs(vital_signs: Mapping[str, float]) -> Literal[1, 2] | None:
    """Returns the level that vital signs (quantities by id, as an adult's numbers) make by themselves; None: none."""
    if _any(_SAVE_NOW + _SAVE_NOW_RATE, vital_signs):
        return 1
    return 2 if _any(_WAITING_IS_DANGEROUS, vital_signs) else None


def in_danger_zone(vital_signs: Mapping[str, float]) -> bool:
    """Whether somebody who would be of level 3 is of level 2 by these vital signs."""
    return _any(_DANGER_ZONE, vital_signs)


def telling_signs(vital_signs: Mapping[str, float]) -> tuple[str, ...]:
    """Returns which vital signs lie beyond a limit, by id."""
    limits = _SAVE_NOW + _SAVE_NOW_RATE + _WAITING_IS_DANGEROUS + _DANGER_ZONE
    return tuple(dict.fromkeys(limit[0] for limit in limits if _any((limit,), vital_signs)))


def _any(limits: tuple[tuple[str, str, float], ...], vital_signs: Mapping[str, float]) -> bool:
    return any(
        vital_signs[id] < limit if side == "below" else vital_signs[id] > limit
        for id, side, limit in limits
        if id in vital_signs
    )


def needed_resources(disease: Disease, severity: Severity, examinations: Mapping[str, Examination]) -> int:
    """Returns how many kinds of resources it takes: laboratory, imaging, function tests, drugs by needle, a ward."""
    kinds = {
        "laboratory" if examinations[id].kind in _LABORATORY else examinations[id].kind
        for id in disease.indicated.needed
        if examinations[id].kind != "physical"
    }
    plan = disease.plan(severity)
    by_needle = {
        "by needle"
        for measure in plan.measures
        for prescription in measure.give[:1]
        if prescription.route in ("intravenous", "intramuscular")
    }
    procedures = {"procedure"} if any(measure.procedure is not None for measure in plan.measures) else set()
    return len(kinds) + len(by_needle) + len(procedures) + (plan.disposition != "home")
