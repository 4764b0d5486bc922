"""What a log says day by day, hour by hour and department by department: the rows behind the pictures of a report.

Fed happening by happening, like `results`; what is kept grows with days, departments and residents who are ill.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from enum import StrEnum

import msgspec

from polyclinic.hospital.record.happenings import (
    DAY,
    Acuity,
    Diagnosed,
    FollowedUp,
    Happening,
    LeftUnseen,
    Outcome,
    Prescribed,
    Queued,
    Triaged,
    VisitFailed,
    WentHome,
)
from polyclinic.hospital.record.results import Share
from polyclinic.hospital.record.world import Doing, World, apply
from polyclinic.statistics.uncertainty import share

_CENSUS = {
    Doing.WAITING: "waiting",
    Doing.CONSULTED: "served",
    Doing.SERVED: "served",
    Doing.WALKING: "other",
    Doing.THERE: "other",
}

HOUR = 60 * 60
"""Seconds an hour."""


class Treated(StrEnum):
    """How somebody was treated before a follow-up."""

    RIGHT = "right plan"
    WRONG = "wrong plan"
    NOT = "untreated"


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """One day.

    Attributes:
        day: from 0.
        arrived: people who came to the hospital.
        seen: went home treated on that day.
        left: went home before.
        failed: visits that came to no report.
        diagnosis: how many diagnoses of the day are right.
    """

    day: int
    arrived: int
    seen: int
    left: int
    failed: int
    diagnosis: Share


class Hour(msgspec.Struct, frozen=True, kw_only=True):
    """People in the hospital at a full hour of the day, the mean over the days on which somebody was there.

    Attributes:
        hour: from 0 to 23.
        waiting: in a queue.
        served: with staff, or at a counter without.
        other: on the way within the hospital, or neither.
        most: all together, on the day on which they were most.
    """

    hour: int
    waiting: float
    served: float
    other: float
    most: int


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """The rows behind the pictures.

    Attributes:
        days: every day up to the last on which somebody came to the hospital or left it.
        hours: every hour of the day.
        diagnosis: right diagnoses, by the department that made them.
        acuity: visits by right acuity, then by acuity as judged.
        outcomes: first follow-ups after a visit, or after one that did not come about, by how the patient was treated.
    """

    days: tuple[Day, ...]
    hours: tuple[Hour, ...]
    diagnosis: dict[str, Share]
    acuity: dict[str, dict[str, int]]
    outcomes: dict[str, dict[str, int]]


class Tally:
    """Counts as happenings come."""

    def __init__(self) -> None:
        self._world = World()
        self._next = 0  # the next full hour
        self._day: dict[int, Counter[str]] = defaultdict(Counter)
        self._hours: list[Counter[str]] = [Counter() for _ in range(24)]
        self._most = [0] * 24
        self._today: list[tuple[int, Counter[str]]] = []
        self._visited = 0  # days on which somebody was there
        self._departments: dict[str, Counter[bool]] = defaultdict(Counter)
        self._acuity: Counter[tuple[Acuity, Acuity]] = Counter()
        self._outcomes: Counter[tuple[Treated, Outcome]] = Counter()
        self._treated: dict[str, Treated] = {}
        self._inside: set[str] = set()

    def add(self, happening: Happening) -> None:
        """Takes the next line of the log."""
        while self._next <= happening.t:
            self._count_people(self._next)
            self._next += HOUR
        apply(self._world, happening)
        day, who, what = self._day[max(0, happening.t) // DAY], happening.who, happening.what
        match what:
            case Queued():
                if who not in self._inside:
                    self._inside.add(who)
                    day["arrived"] += 1
            case Triaged():
                self._acuity[what.right_acuity, what.acuity] += 1
            case Diagnosed():
                day["right"] += what.right
                day["diagnosed"] += 1
                person = self._world.people.get(who)
                self._departments[person.department if person is not None else ""][what.right] += 1
            case Prescribed():
                self._treated[who] = Treated.RIGHT if what.right else Treated.WRONG
            case WentHome() | LeftUnseen() | VisitFailed():
                self._inside.discard(who)
                day[{WentHome: "seen", LeftUnseen: "left", VisitFailed: "failed"}[type(what)]] += 1
                if not isinstance(what, WentHome):
                    self._treated[who] = Treated.NOT
            case FollowedUp():
                self._follow_up(who, what.outcome)
            case _:
                pass

    def series(self) -> Series:
        """Returns what the log says so far."""
        self._end_day()
        days = range(max((day for day, counts in self._day.items() if counts), default=-1) + 1)
        return Series(
            days=tuple(self._one_day(day, self._day[day]) for day in days),
            hours=tuple(self._one_hour(hour) for hour in range(24)),
            diagnosis={
                department: share_of(counts[True], counts.total())
                for department, counts in sorted(self._departments.items())
            },
            acuity={right.value: {given.value: self._acuity[right, given] for given in Acuity} for right in Acuity},
            outcomes={
                treated.value: {outcome.value: self._outcomes[treated, outcome] for outcome in Outcome}
                for treated in Treated
            },
        )

    def _follow_up(self, who: str, outcome: Outcome) -> None:
        treated = self._treated.pop(who, None)
        # Somebody who was better is told of again when recovered; that is no second outcome.
        if treated is not None:
            self._outcomes[treated, outcome] += 1
        if outcome is Outcome.WORSE:
            self._treated[who] = Treated.NOT

    def _count_people(self, t: int) -> None:
        self._world.advance(t)
        hour = t // HOUR % 24
        counts: Counter[str] = Counter()
        for person in self._world.people.values():
            doing = person.doing(t)
            if doing is Doing.WALKING and person.home in (person.path[0], person.path[-1]):
                continue
            counts[_CENSUS[doing]] += 1
        if not hour:
            self._end_day()
        self._today.append((hour, counts))

    def _end_day(self) -> None:
        if any(counts for _, counts in self._today):
            self._visited += 1
            for hour, counts in self._today:
                self._hours[hour].update(counts)
                self._most[hour] = max(self._most[hour], counts.total())
        self._today = []

    def _one_day(self, day: int, counts: Counter[str]) -> Day:
        return Day(
            day=day,
            arrived=counts["arrived"],
            seen=counts["seen"],
            left=counts["left"],
            failed=counts["failed"],
            diagnosis=share_of(counts["right"], counts["diagnosed"]),
        )

    def _one_hour(self, hour: int) -> Hour:
        n = max(1, self._visited)
        counts = self._hours[hour]
        return Hour(
            hour=hour,
            waiting=counts["waiting"] / n,
            served=counts["served"] / n,
            other=counts["other"] / n,
            most=self._most[hour],
        )


def share_of(right: int, n: int) -> Share:
    """Returns so many of so many, with the interval."""
    percent, low, high = share(right, n)
    return Share(right=right, n=n, percent=percent, low=low, high=high)
