"""Which doctors are on duty when."""

from __future__ import annotations

from bisect import bisect_right

from polyclinic.hospital.plan.opening_hours import WEEK, OpeningHours
from polyclinic.hospital.plan.plan import Hospital, Job
from polyclinic.hospital.record.happenings import DAY


class Roster:
    """Who sees patients for a department at a time; times are seconds since midnight of the first day."""

    def __init__(self, hospital: Hospital) -> None:
        self._monday = OpeningHours(hospital).weekday(0) * DAY
        self._spans: dict[str, list[tuple[str, list[tuple[int, int]]]]] = {d: [] for d in hospital.departments}
        changes = set(range(0, WEEK, DAY))
        for member in hospital.staff.values():
            if member.job is Job.DOCTOR:
                spans = sorted((day * DAY + s.begin, day * DAY + s.end) for s in member.shifts for day in s.days)
                changes.update(time for span in spans for time in span)
                for department in member.departments:
                    self._spans[department].append((member.id, spans))
        self._changes = sorted(changes)  # of the week, between which nothing does
        self._found: dict[tuple[str, int], list[str]] = {}

    def doctors(self, department: str, t: int) -> list[str]:
        """Returns who is on duty, in the order of the staff; where nobody is, who comes later on that day."""
        now = (self._monday + t) % WEEK
        number = bisect_right(self._changes, now)
        found = self._found.get((department, number))
        if found is None:
            found = self._found[department, number] = self._doctors(department, now)
        return list(found)

    def _doctors(self, department: str, now: int) -> list[str]:
        midnight = (now // DAY + 1) * DAY
        there = self._spans.get(department, [])
        present = [id for id, spans in there if any(begin <= now < end for begin, end in spans)]
        return present or [id for id, spans in there if any(now <= begin < midnight for begin, _ in spans)]
