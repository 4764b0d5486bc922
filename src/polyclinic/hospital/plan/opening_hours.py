"""When the hospital is open, looked up in a table of one week.

The simulation asks hundreds of thousands of times; every answer is a search in a short sorted list.
"""

from __future__ import annotations

import datetime
from bisect import bisect_right

from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.record.happenings import DAY

WEEK = 7 * DAY
"""Seconds a week."""


class OpeningHours:
    """When the doors are open, from day 0 of a hospital on. Times are seconds since its midnight.

    They are open from the beginning of the hours until just before their end; with `emergencies` those of the door for
    emergencies, where the hospital has one.
    """

    def __init__(self, hospital: Hospital, *, emergencies: bool = False) -> None:
        self._first = datetime.date.fromisoformat(hospital.first_day).weekday()
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
