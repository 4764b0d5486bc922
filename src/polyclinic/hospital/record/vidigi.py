"""A run's log in the columns that vidigi 2 reads: who arrives, waits, uses a place, and departs.

    entity_id,event_type,event,time,resource_id,run_number
    r00042-d0003/1,arrival_departure,arrival,421.5,,1
    r00042-d0003/1,queue,waits for triage,421.5,,1
    r00042-d0003/1,resource_use,triage,422.25,1,1
    r00042-d0003/1,resource_use_end,triage ends,427.0,1,1

An entity is one coming: it arrives once, where it first waits, and departs once, as it sets out for home or dies. A
resource is one of the places of an area (a room, a counter, a bed), numbered from 1 within it, the lowest that is free;
whose hands are at work there stands in the log itself. Times are in minutes since midnight of the first day.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from polyclinic.hospital.record.happenings import (
    Admitted,
    CalledIn,
    Died,
    Discharged,
    Dispensed,
    FellIll,
    Happening,
    LeftUnseen,
    Moved,
    Queued,
    Referred,
    Registered,
    Triaged,
    VisitFailed,
    Walked,
    What,
)
from polyclinic.hospital.record.visits import ResidentRead

COLUMNS = ("entity_id", "event_type", "event", "time", "resource_id", "run_number")

Row = tuple[str, str, str, float, int | None, int]

_ENDS = (Triaged, Registered, Referred, Dispensed, Discharged, LeftUnseen, VisitFailed)
"""After these somebody no longer has the place where it was served or lay."""


class _TakenPlaces:
    """Which places of each area are taken."""

    def __init__(self) -> None:
        self._taken: dict[str, set[int]] = defaultdict(set)

    def take(self, area: str) -> int:
        """Returns the lowest place that is free, which is taken from now on."""
        taken, place = self._taken[area], 1
        while place in taken:
            place += 1
        taken.add(place)
        return place

    def free(self, area: str, place: int) -> None:
        """Lets a place go."""
        self._taken[area].discard(place)


class _Coming:
    """Somebody who is on its way, or there."""

    def __init__(self, entity: str, home: str, places: _TakenPlaces, run: int) -> None:
        self._entity, self._home, self._places, self._run = entity, home, places, run
        self.arrived = self._lies = False
        self._at: tuple[str, int] | None = None  # an area, and the place in it

    def rows(self, t: int, what: What) -> Iterator[Row]:
        """Yields what vidigi is to know of what happens to it."""
        if isinstance(what, Queued):
            if not self.arrived:
                self.arrived = True
                yield self._row("arrival_departure", "arrival", t)
            if not self._lies:
                yield from self._let_go(t)
                yield self._row("queue", f"waits for {what.queue}", t)
        elif isinstance(what, CalledIn | Admitted | Moved):
            yield from self._let_go(t)
            self._lies = not isinstance(what, CalledIn)
            self._at = what.area, self._places.take(what.area)
            yield self._row("resource_use", what.area, t, self._at[1])
        elif isinstance(what, _ENDS):
            yield from self._let_go(t)
            self._lies = False
        elif isinstance(what, Walked):
            if self._at is not None and self._at[0] != what.path[-1] and not self._lies:
                yield from self._let_go(t)
            if what.path[-1] == self._home:
                yield from self._depart(t)
        elif isinstance(what, Died):
            yield from self._depart(t)

    def _let_go(self, t: int) -> Iterator[Row]:
        if self._at is not None:
            area, place = self._at
            self._places.free(area, place)
            self._at = None
            yield self._row("resource_use_end", f"{area} ends", t, place)

    def _depart(self, t: int) -> Iterator[Row]:
        yield from self._let_go(t)
        if self.arrived:
            yield self._row("arrival_departure", "depart", t)

    def _row(self, kind: str, event: str, t: int, place: int | None = None) -> Row:
        return self._entity, kind, event, round(t / 60, 4), place, self._run


def rows(happenings: Iterable[Happening], run: int) -> Iterator[Row]:
    """Yields the rows of a log, in order.

    Args:
        happenings: the log.
        run: the number of the run among several.
    """
    lives: dict[str, ResidentRead] = defaultdict(ResidentRead)
    comings: dict[str, _Coming] = {}
    places = _TakenPlaces()
    for happening in happenings:
        who, what = happening.who, happening.what
        if who not in lives and not isinstance(what, FellIll | Walked):
            continue  # of the staff
        life = lives[who]
        was_out = life.out
        life.take(happening)
        if life.out and not was_out and life.visit is not None:
            entity = life.visit.id if life.visit.comings == 1 else f"{life.visit.id} again"
            comings[who] = _Coming(entity, life.home, places, run)
        if who in comings:
            yield from comings[who].rows(happening.t, what)
            if not life.out:
                del comings[who]
