"""Reads a log for who is in the hospital at each full hour of the day."""

from __future__ import annotations

from collections import Counter

from polyclinic.hospital.record.figures import Hour
from polyclinic.hospital.record.happenings import HOUR
from polyclinic.hospital.record.people import Doing
from polyclinic.hospital.record.world import World

_CENSUS = {
    Doing.WAITING: "waiting",
    Doing.CONSULTED: "served",
    Doing.SERVED: "served",
    Doing.LYING: "lying",
    Doing.WALKING: "other",
    Doing.THERE: "other",
}


class Census:
    """Who is in the hospital at each full hour, counted by what they do, up to the last day with a service."""

    def __init__(self, *, begin: int = 0) -> None:
        self.next = begin  # the next full hour
        self._hours: list[Counter[str]] = [Counter() for _ in range(24)]
        self._most = [0] * 24
        self._today: list[tuple[int, Counter[str]]] = []
        self._serves = False  # somebody has been served today
        self._later: list[list[tuple[int, Counter[str]]]] = []  # days since somebody has been served
        self._visited = 0  # days on which somebody was there

    def until(self, t: int, world: World) -> None:
        """Counts at every full hour up to a time; nothing happens in the world before it."""
        while self.next <= t:
            world.advance(self.next)
            self._take(world)
            self.next += HOUR

    def serve(self) -> None:
        """Somebody has been served: the days before count."""
        self._serves = True
        for day in self._later:
            self._count(day)
        self._later = []

    def hours(self) -> tuple[Hour, ...]:
        """Returns the mean day."""
        self._end_day()
        n = max(1, self._visited)
        return tuple(
            Hour(
                hour=hour,
                waiting=counts["waiting"] / n,
                served=counts["served"] / n,
                lying=counts["lying"] / n,
                other=counts["other"] / n,
                most=self._most[hour],
            )
            for hour, counts in enumerate(self._hours)
        )

    def _take(self, world: World) -> None:
        counts: Counter[str] = Counter()
        for person in world.people.values():
            doing = person.doing(world.t)
            if doing is Doing.WALKING and person.home in (person.path[0], person.path[-1]):
                continue
            counts[_CENSUS[doing]] += 1
        hour = world.t // HOUR % 24
        if not hour:
            self._end_day()
        self._today.append((hour, counts))

    def _end_day(self) -> None:
        if self._serves:
            self._count(self._today)
        else:
            self._later.append(self._today)
        self._today, self._serves = [], False

    def _count(self, day: list[tuple[int, Counter[str]]]) -> None:
        if any(counts for _, counts in day):
            self._visited += 1
            for hour, counts in day:
                self._hours[hour].update(counts)
                self._most[hour] = max(self._most[hour], counts.total())
