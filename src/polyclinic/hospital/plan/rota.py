"""Who is at work, and when the hospital is open: looked up in tables of one week, made once.

The simulation asks hundreds of thousands of times; every answer is a search in a short sorted list.
"""

from __future__ import annotations

import datetime
from bisect import bisect_right
from collections.abc import Iterable

import msgspec

from polyclinic.hospital.plan.plan import Hospital, Job, Member
from polyclinic.hospital.record.happenings import DAY

WEEK = 7 * DAY
"""Seconds a week."""

_Table = tuple[list[int], list[tuple[Member, ...]]]


class Duty(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody's shift on one day.

    Attributes:
        begin: seconds since midnight of the first day.
        end: likewise; no longer at work at this moment.
        member: who.
    """

    begin: int
    end: int
    member: Member


class Rota:
    """When who works and when the doors are open, from day 0 of a hospital on. Times are seconds since its midnight.

    A shift holds from its beginning until just before its end, and so do opening hours.
    """

    def __init__(self, hospital: Hospital) -> None:
        self._first = datetime.date.fromisoformat(hospital.first_day).weekday()
        self._staff = tuple(hospital.staff.values())
        spans = [(m, *span) for m in self._staff for span in _spans(m)]
        seen = {d for m in self._staff for d in m.departments}
        self._tables: dict[tuple[Job, str | None], _Table] = {}
        for job in Job:
            of_job = [span for span in spans if span[0].job is job]
            self._tables[job, None] = _table(self._staff, of_job)
            for department in seen:
                self._tables[job, department] = _table(
                    self._staff, [span for span in of_job if department in span[0].departments]
                )
        self._none = _table((), [])
        self._departments = _departments(self._tables[Job.DOCTOR, None], tuple(hospital.departments))
        opening = sorted((d * DAY + begin, d * DAY + end) for d, (begin, end) in hospital.open.items())
        self._opens, self._closes = [begin for begin, _ in opening], [end for _, end in opening]

    def weekday(self, day: int) -> int:
        """Returns the day of the week of a day; 0 is Monday."""
        return (self._first + day) % 7

    def on_duty(self, job: Job, department: str | None = None, *, at: int) -> tuple[Member, ...]:
        """Returns who is at work, in the order of the hospital's staff.

        Args:
            job: doing what.
            department: only those who see patients for it.
            at: when.
        """
        times, members = self._tables.get((job, department), self._none)
        return members[bisect_right(times, self._in_week(at)) - 1]

    def departments(self, *, at: int) -> tuple[str, ...]:
        """Returns the departments that a doctor at work sees patients for, in the order of the hospital's."""
        times, departments = self._departments
        return departments[bisect_right(times, self._in_week(at)) - 1]

    def next_change(self, job: Job, department: str | None = None, *, at: int) -> int | None:
        """Returns the first time after `at` from which on other people are at work; None where it stays as it is.

        Args:
            job: doing what.
            department: only those who see patients for it.
            at: when.
        """
        times, _ = self._tables.get((job, department), self._none)
        if len(times) == 1:
            return None
        now = self._in_week(at)
        number = bisect_right(times, now)
        if number == len(times):
            # The table begins at the week's beginning, which is a change only where the week does not end as it begins.
            _, members = self._tables[job, department]
            later = times[0] if members[0] != members[-1] else times[1]
            return at - now + WEEK + later
        return at - now + times[number]

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

    def duties(self, day: int) -> tuple[Duty, ...]:
        """Returns the shifts of one day, the earlier first, in the order of the staff where they begin together."""
        weekday = self.weekday(day)
        duties = [
            Duty(begin=day * DAY + shift.begin, end=day * DAY + shift.end, member=member)
            for member in self._staff
            for shift in member.shifts
            if weekday in shift.days
        ]
        return tuple(sorted(duties, key=lambda duty: duty.begin))

    def _in_week(self, t: int) -> int:
        return (self._first * DAY + t) % WEEK


def _spans(member: Member) -> Iterable[tuple[int, int]]:
    return ((d * DAY + shift.begin, d * DAY + shift.end) for shift in member.shifts for d in shift.days)


def _table(staff: tuple[Member, ...], spans: list[tuple[Member, int, int]]) -> _Table:
    """Returns the times of the week at which the crew changes, from 0 on, and the crew from each of them on."""
    times: list[int] = []
    crews: list[tuple[Member, ...]] = []
    for time in sorted({0, *(begin for _, begin, _ in spans), *(end for _, _, end in spans if end < WEEK)}):
        there = {member.id for member, begin, end in spans if begin <= time < end}
        crew = tuple(member for member in staff if member.id in there)
        if not crews or crew != crews[-1]:
            times.append(time)
            crews.append(crew)
    return times, crews


def _departments(doctors: _Table, order: tuple[str, ...]) -> tuple[list[int], list[tuple[str, ...]]]:
    times, crews = doctors
    return times, [tuple(d for d in order if any(d in member.departments for member in crew)) for crew in crews]
