"""Which doctors are on duty when."""

from __future__ import annotations

from polyclinic.hospital.plan.opening_hours import WEEK, OpeningHours
from polyclinic.hospital.plan.plan import Hospital, Job
from polyclinic.hospital.record.happenings import DAY


class Roster:
    """Who sees patients for a department at a time; times are seconds since midnight of the first day."""

    def __init__(self, hospital: Hospital) -> None:
        self._monday = OpeningHours(hospital).weekday(0) * DAY
        self._spans: dict[str, list[tuple[str, list[tuple[int, int]]]]] = {d: [] for d in hospital.departments}
        for member in hospital.staff.values():
            if member.job is Job.DOCTOR:
                spans = sorted((day * DAY + s.begin, day * DAY + s.end) for s in member.shifts for day in s.days)
                for department in member.departments:
                    self._spans[department].append((member.id, spans))

    def doctors(self, department: str, t: int) -> list[str]:
        """Returns who is on duty, in the order of the staff; where nobody is, who comes later on that day."""
        now = (self._monday + t) % WEEK
        midnight = (now // DAY + 1) * DAY
        there = self._spans.get(department, [])
        present = [id for id, spans in there if any(begin <= now < end for begin, end in spans)]
        return present or [id for id, spans in there if any(now <= begin < midnight for begin, _ in spans)]
