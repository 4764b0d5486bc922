"""Reads a log for what became of those who were admitted: who lay where how long, who died, why somebody got worse."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import msgspec

from polyclinic.hospital.record.happenings import (
    DAY,
    Admitted,
    Died,
    Discharged,
    FollowedUp,
    FollowUpOutcome,
    HarmCause,
    Moved,
    Operated,
    What,
    Worsened,
)
from polyclinic.hospital.record.window import TimeInWindow, Window


class Occupancy(msgspec.Struct, frozen=True, kw_only=True):
    """The beds of an area."""

    patients: int  # who lay down there
    mean: float  # beds in use, over the time that is counted (`RunSummary.counted`)
    most: int  # beds in use at once
    stays: int  # that have ended
    mean_days: float | None  # of those; None where there are none
    median_days: float | None
    waited: int  # who waited for a bed there
    mean_wait: float  # minutes of those who did


class _AreaBeds:
    def __init__(self, window: Window, lying: int = 0) -> None:
        self.patients = 0
        self.now = self.most = lying
        self.since, self._filled = window.begin, TimeInWindow(window)
        self.stays: list[int] = []
        self.waits: list[int] = []

    @property
    def filled(self) -> int:
        """Seconds in which beds were in use, of all together."""
        return self._filled.so_far(self.since, self.now)

    def until(self, t: int) -> None:
        self._filled.add(self.since, max(0, t), self.now)
        self.since = max(0, t)

    def enter(self, t: int, waited: int) -> None:
        self.until(t)
        self.now += 1
        self.patients += 1
        self.most = max(self.most, self.now)
        if waited:
            self.waits.append(waited)

    def leave(self, t: int, stayed: int) -> None:
        self.until(t)
        self.now -= 1
        self.stays.append(stayed)


class Inpatients:
    """What a log says so far of beds, deaths, and why patients got worse.

    Args:
        window: from when to when it counts.
        before: who counted until then; who lies in a bed goes on lying there, and nothing else is taken over.
    """

    def __init__(self, window: Window, *, before: Inpatients | None = None) -> None:
        self._window = window
        self.operations = 0
        self.admitted: Counter[str] = Counter()  # by the kind of the first area
        self.died: Counter[str] = Counter()  # by cause
        self.died_of: Counter[str] = Counter()  # by disease
        self.worse: Counter[str] = Counter()  # by cause
        self._areas: dict[str, _AreaBeds] = defaultdict(lambda: _AreaBeds(window))
        self._lies: dict[str, str] = {} if before is None else before._lies
        if before is not None:
            for area, beds in before._areas.items():
                self._areas[area] = _AreaBeds(window, beds.now)

    def add(self, t: int, who: str, what: What) -> None:
        """Takes a happening that is one of `OF_BEDS`."""
        take: Any = OF_BEDS[type(what)]
        take(self, t, who, what)

    def _admit(self, t: int, who: str, what: Admitted) -> None:
        self.admitted[what.care] += 1
        self._areas[what.area].enter(t, what.waited)
        self._lies[who] = what.area

    def _move(self, t: int, who: str, what: Moved) -> None:
        self._areas[self._lies[who]].leave(t, what.stayed)
        self._areas[what.area].enter(t, what.waited)
        self._lies[who] = what.area

    def _operate(self, _: int, __: str, ___: Operated) -> None:
        self.operations += 1

    def _discharge(self, t: int, who: str, what: Discharged) -> None:
        self._areas[self._lies.pop(who)].leave(t, what.stayed)

    def _die(self, t: int, who: str, what: Died) -> None:
        self.died[what.cause.value] += 1
        self.died_of[what.disease] += 1
        if who in self._lies:
            self._areas[self._lies.pop(who)].leave(t, what.stayed)

    def _worsen(self, _: int, __: str, what: Worsened) -> None:
        self.worse[what.cause.value] += 1

    def _follow_up(self, _: int, __: str, what: FollowedUp) -> None:
        if what.outcome is FollowUpOutcome.WORSE and what.cause is not None:
            self.worse[what.cause.value] += 1

    def occupancy(self) -> dict[str, Occupancy]:
        """Returns how full the beds were, by area."""
        return {area: _occupancy(beds, self._window.seconds) for area, beds in sorted(self._areas.items())}


def _occupancy(beds: _AreaBeds, seconds: int) -> Occupancy:
    stays = sorted(beds.stays)
    return Occupancy(
        patients=beds.patients,
        mean=round(beds.filled / max(1, seconds), 3),
        most=beds.most,
        stays=len(stays),
        mean_days=round(sum(stays) / len(stays) / DAY, 3) if stays else None,
        median_days=round(stays[(len(stays) - 1) // 2] / DAY, 3) if stays else None,
        waited=len(beds.waits),
        mean_wait=round(sum(beds.waits) / len(beds.waits) / 60, 1) if beds.waits else 0.0,
    )


def by_cause(counts: Counter[str]) -> dict[str, int]:
    """Returns counts in the order of the causes."""
    return {cause.value: counts[cause.value] for cause in HarmCause if counts[cause.value]}


OF_BEDS: dict[type, Any] = {
    Admitted: Inpatients._admit,
    Moved: Inpatients._move,
    Operated: Inpatients._operate,
    Discharged: Inpatients._discharge,
    Died: Inpatients._die,
    Worsened: Inpatients._worsen,
    FollowedUp: Inpatients._follow_up,
}
"""What is counted here."""
