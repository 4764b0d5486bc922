"""When the hospital is open, and which doctors are on duty, looked up in tables of one week.

The simulation asks hundreds of thousands of times; every answer is a search in a short sorted list.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from polyclinic.hospital.plan.plan import Hospital, Job, Member
from polyclinic.hospital.record.happenings import DAY

WEEK = 7 * DAY
"""Seconds a week."""


class OpeningHours:
    """When the doors are open, from day 0 of a hospital on. Times are seconds since its midnight.

    They are open from the beginning of the hours until just before their end; with `emergencies` those of the door for
    emergencies, where the hospital has one.
    """

    def __init__(self, hospital: Hospital, *, emergencies: bool = False) -> None:
        self._first = hospital.date(0).weekday()
        opened = (hospital.emergencies if emergencies else {}) or hospital.open
        hours = sorted((day * DAY + begin, day * DAY + end) for day, (begin, end) in opened.items())
        self._opens, self._closes = [begin for begin, _ in hours], [end for _, end in hours]

    def weekday(self, day: int) -> int:
        """Returns the day of the week of a day; 0 is Monday."""
        return (self._first + day) % 7

    def is_open(self, t: int) -> bool:
        """Whether the doors are open."""
        now = self._in_week(t)
        number = bisect_right(self._opens, now) - 1
        return number >= 0 and now < self._closes[number]

    def next_opening(self, t: int) -> int:
        """Returns the first time from `t` on at which the doors are open: `t` itself where they are."""
        if self.is_open(t):
            return t
        now = self._in_week(t)
        number = bisect_right(self._opens, now)
        return t - now + (self._opens[number] if number < len(self._opens) else WEEK + self._opens[0])

    def next_closing(self, t: int) -> int:
        """Returns when the doors close that are open at `t`, or that open next."""
        now = self._in_week(opening := self.next_opening(t))
        return opening - now + self._closes[bisect_right(self._opens, now) - 1]

    def _in_week(self, t: int) -> int:
        return (self._first * DAY + t) % WEEK


class Roster:
    """Who sees patients for a department at a time; times are seconds since midnight of the first day."""

    def __init__(self, hospital: Hospital) -> None:
        self._monday = OpeningHours(hospital).weekday(0) * DAY
        doctors = [member for member in hospital.staff.values() if member.job is Job.DOCTOR]
        times = {time for member in doctors for span in member.week for time in span}
        self._changes = sorted({*range(0, WEEK, DAY), *times})  # of the week, between which nothing changes
        self._there = {
            department: [
                _doctors([member for member in doctors if department in member.departments], now)
                for now in self._changes
            ]
            for department in hospital.departments
        }

    def doctors(self, department: str, t: int) -> list[str]:
        """Returns who is on duty, in the order of the staff; where nobody is, who comes later on that day."""
        return self._there[department][bisect_right(self._changes, (self._monday + t) % WEEK) - 1]


def _doctors(members: Sequence[Member], now: int) -> list[str]:
    midnight = (now // DAY + 1) * DAY
    present = [one.id for one in members if any(begin <= now < end for begin, end in one.week)]
    return present or [one.id for one in members if any(now <= begin < midnight for begin, _ in one.week)]
