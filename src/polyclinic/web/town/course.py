"""How a run went, as the charts beside the map draw it: a point each half hour, read off the log once for all who look.

A long log takes seconds to read. So it is read a piece at a time, whenever somebody asks, and goes on where it was; the
charts fill while the map is watched already.
"""

from __future__ import annotations

import time
from threading import Lock

import msgspec

from polyclinic.hospital.record.happenings import (
    Acuity,
    CalledIn,
    Died,
    EventBegan,
    EventEnded,
    Happening,
    StaffCalledIn,
    VisitFailed,
    Worsened,
)
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.hospital.record.world import Doing, World

EVERY = 1_800
"""Simulated seconds from one point to the next."""

_AT_ONCE = 0.05  # seconds of reading: whoever seeks meanwhile waits for it
_PIECE = 1_000  # happenings read between two looks at the clock
_MOST_NOTES = 4_000
_MOST_POINTS = 60_000
_NOTED = (Died, Worsened, VisitFailed, EventBegan, EventEnded, StaffCalledIn)


class CoursePoint(msgspec.Struct, array_like=True, frozen=True):
    """The hospital at a time; what is counted is counted from the beginning."""

    t: int
    waiting: tuple[int, int, int]  # by acuity, as the nurse judged it; who is not judged yet among the last
    served: int
    lying: int
    walking: int
    calls: tuple[int, int, int]  # to a doctor, by acuity, so far
    waited: tuple[int, int, int]  # seconds that those had waited, all together
    diagnosed: int
    right: int
    recovered: int
    better: int
    worse: int
    died: int


class CourseNote(msgspec.Struct, array_like=True, frozen=True):
    """Something to jump to."""

    t: int
    what: str  # a happening's tag
    who: str
    about: str  # of which event, or where


class RunCourse:
    """The points of one run, as far as it has been read."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._world = World()
        self._points: list[CoursePoint] = []
        self._notes: list[CourseNote] = []
        self._seq = 0
        self._calls, self._waited = [0, 0, 0], [0, 0, 0]
        self._next = 0

    def read(self, run: RecordedRun, points: int, notes: int) -> tuple[list[CoursePoint], list[CourseNote], bool]:
        """Reads on for a moment.

        Args:
            run: the run.
            points: how many are known already, and not wanted again.
            notes: likewise.

        Returns:
            The other points, the other notes, and whether there is more to be read now.

        Raises:
            BadInput: the run is damaged.
        """
        with self._lock:
            until, more = time.monotonic() + _AT_ONCE, True
            while more and time.monotonic() < until:
                begin = self._seq
                for happening in run.happenings(begin=begin, end=begin + _PIECE):
                    self._add(happening)
                more = self._seq - begin == _PIECE
            return self._points[points:], self._notes[notes:], more

    def _add(self, happening: Happening) -> None:
        if not self._seq:
            self._next = happening.t // EVERY * EVERY
        while self._next <= happening.t and len(self._points) < _MOST_POINTS:
            self._points.append(self._point(self._next))
            self._next += EVERY
        what, who = happening.what, happening.who
        kind = type(what)
        if kind is CalledIn:
            self._call(who, what)  # type: ignore[arg-type]
        elif kind in _NOTED and len(self._notes) < _MOST_NOTES:
            about = next((getattr(what, name) for name in ("event", "queue", "error") if hasattr(what, name)), "")
            self._notes.append(CourseNote(happening.t, str(kind.__struct_config__.tag), who, str(about)))
        self._world.apply(happening)
        self._seq = happening.seq + 1

    def _call(self, who: str, what: CalledIn) -> None:
        person = self._world.people.get(who)
        if person is not None and person.acuity is not None and what.queue == person.department:
            place = _PLACES[person.acuity]
            self._calls[place] += 1
            self._waited[place] += what.waited

    def _point(self, t: int) -> CoursePoint:
        world = self._world
        world.advance(t)
        waiting, counted = [0, 0, 0], dict.fromkeys(Doing, 0)
        for person in world.people.values():
            doing = person.doing(t)
            if doing is Doing.WAITING:
                waiting[2 if person.acuity is None else _PLACES[person.acuity]] += 1
            elif doing is not Doing.WALKING or person.home not in (person.path[0], person.path[-1]):
                counted[doing] += 1
        counts = world.counts
        return CoursePoint(
            t=t,
            waiting=(waiting[0], waiting[1], waiting[2]),
            served=counted[Doing.SERVED] + counted[Doing.CONSULTED],
            lying=counted[Doing.LYING],
            walking=counted[Doing.WALKING] + counted[Doing.THERE],
            calls=(self._calls[0], self._calls[1], self._calls[2]),
            waited=(self._waited[0], self._waited[1], self._waited[2]),
            diagnosed=counts.diagnosed,
            right=counts.diagnosed_right,
            recovered=counts.recovered,
            better=counts.better,
            worse=counts.worse,
            died=counts.died,
        )


_PLACES = {acuity: place for place, acuity in enumerate(Acuity)}
