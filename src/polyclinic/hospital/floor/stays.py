"""Stays of admitted patients: beds, waiting for them, operations, moves between wards, discharge.

A stay is a list of places with lengths, from the plan of the disease that is treated. A patient who waits for a bed
stays in the present bed, or where the doctor left it ("boarding"). The time of the stay passes meanwhile, except before
an operation. The place decides how much care is given; a patient who waits for an operation gets that of an observation
at most. Nature (`polyclinic.hospital.town.illness`) decides when the patient gets worse or dies. After getting worse,
the stay begins again for what is treated and for the present severity. Patients go home from a ward by day.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

from polyclinic.hospital.floor.clock import Clock, Signal, Steps
from polyclinic.hospital.floor.lines import Encounter
from polyclinic.hospital.plan.plan import WITH_BEDS, Area, AreaKind
from polyclinic.hospital.record import happenings as events
from polyclinic.hospital.record.episodes import Episode
from polyclinic.hospital.record.happenings import DAY, HOUR, ORDER, Acuity, What
from polyclinic.hospital.town.illness import Nature
from polyclinic.knowledge.entries import Disposition
from polyclinic.knowledge.stays import FIRST, Place

_OF_PLACE: dict[Place, tuple[AreaKind, ...]] = {
    "observation": (AreaKind.OBSERVATION, AreaKind.WARD, AreaKind.INTENSIVE_CARE),
    "ward": (AreaKind.WARD, AreaKind.OBSERVATION, AreaKind.INTENSIVE_CARE),
    "intensive care": (AreaKind.INTENSIVE_CARE, AreaKind.WARD, AreaKind.OBSERVATION),
    "theatre": (AreaKind.THEATRE,),
}
"""Where somebody lies, the first kind that the hospital has."""


@dataclass(eq=False, slots=True)
class BedTicket:
    """Somebody's wait for a bed."""

    kind: AreaKind
    department: str
    rank: tuple[int, int]  # the least comes first
    since: int
    area: str = ""  # of the bed, once there is one
    waits: bool = True
    come: Callable[[], None] | None = None  # called when there is one

    def __lt__(self, other: BedTicket) -> bool:
        return self.rank < other.rank


class Beds:
    """All beds, by the id of their area."""

    def __init__(self, areas: Mapping[str, Area]) -> None:
        self._areas = {id: area for id, area in areas.items() if area.kind in WITH_BEDS}
        self.free = {id: area.beds for id, area in self._areas.items()}
        self._waiting: dict[AreaKind, list[BedTicket]] = {kind: [] for kind in WITH_BEDS}
        self._asked = 0

    def kind(self, place: Place) -> AreaKind | None:
        """Returns the kind of area that a place is here; None where the hospital has none."""
        kinds = {area.kind for area in self._areas.values()}
        return next((kind for kind in _OF_PLACE[place] if kind in kinds), None)

    def kind_of(self, area: str) -> AreaKind | None:
        """Returns the kind of the area of a bed; None for ""."""
        return self._areas[area].kind if area else None

    def admits(self, disposition: Disposition) -> bool:
        """Whether somebody stays in this hospital whose plan treats so."""
        place = FIRST.get(disposition)
        return place is not None and (self.kind(place) is not None or self.kind("ward") is not None)

    def ask(self, kind: AreaKind, *, department: str, acuity: int, now: int) -> BedTicket:
        """Somebody needs a bed: it has one at once (`area`), or waits."""
        self._asked += 1
        ticket = BedTicket(kind, department, (acuity, self._asked), now)
        free = [id for id, area in self._areas.items() if area.kind is kind and self.free[id]]
        if free:
            # A bed of the department, else one of everybody's.
            named = {id: self._areas[id].departments for id in free}
            self._give(ticket, min(free, key=lambda id: (department not in named[id], bool(named[id]))))
        else:
            heappush(self._waiting[kind], ticket)
        return ticket

    def drop(self, ticket: BedTicket) -> None:
        """Somebody waits no more, or does not take the bed that it has been given."""
        ticket.waits = False
        if ticket.area:
            self.give_back(ticket.area)

    def give_back(self, area: str) -> None:
        """A bed is free again; the first who waits has it."""
        self.free[area] += 1
        line = self._waiting[self._areas[area].kind]
        while line and not line[0].waits:
            heappop(line)
        if line:
            ticket = heappop(line)
            self._give(ticket, area)
            if ticket.come is not None:
                ticket.come()

    def _give(self, ticket: BedTicket, area: str) -> None:
        self.free[area] -= 1
        ticket.area, ticket.waits = area, False


_BOARDING = 1
"""Care that is given to whoever waits in the hospital without a bed, or for an operation: that of an observation."""

_BY_DAY = (9 * HOUR, 18 * HOUR)
"""When patients go home from a ward."""


def handed_out(episode: Episode, pharmacist: str = "") -> events.Dispensed:
    """Returns what the pharmacy gave for a visit: to the patient at its counter, or to where it lies."""
    return events.Dispensed(
        staff=pharmacist,
        drugs=episode.dispensed,
        withheld=episode.withheld,
        instead=episode.instead,
        lacking=episode.lacking,
    )


class Stay:
    """One stay of a patient; `note` writes something down about it, and `walk` lets it go to an area."""

    def __init__(
        self,
        beds: Beds,
        clock: Clock,
        note: Callable[[What], None],
        walk: Callable[[str], Steps],
        *,
        patient: Encounter,
        inpatient: Nature,
    ) -> None:
        self._beds, self._clock, self._note, self._walk = beds, clock, note, walk
        self._patient, self._inpatient = patient, inpatient
        self._bed = ""  # the area of its bed
        self._since = self._admitted = self._clock.now  # when it lay down in it, and in its first
        self._ticket: BedTicket | None = None
        self._operated = True

    def run(self) -> Steps:
        """Lets the patient lie in beds until it can go home; returns whether it has died there."""
        legs = list(self._inpatient.legs())
        self._operated = all(place != "theatre" for place, _ in legs)
        while legs:
            place, seconds = legs.pop(0)
            kind = self._beds.kind(place)
            if kind is None:
                continue  # no theatre: it is not operated on
            yield from self._ask(kind)
            dies = yield from self._lie(kind, seconds, last=not legs)
            if dies is not None:
                cause = self._inpatient.cause_of(self._gives(), death=dies)
            if dies:
                died = events.Died(
                    disease=self._inpatient.disease.id, cause=cause, area=self._bed, stayed=self._stayed()
                )
                self._out(died)
                return True
            if dies is not None:
                self._inpatient.worsen()
                severity, recognised = self._inpatient.severity, self._inpatient.recognised
                self._note(events.Worsened(severity=severity, cause=cause, recognised=recognised))
                legs = list(self._inpatient.legs())
                if any(place == "theatre" for place, _ in legs) and self._operated:
                    legs = [leg for leg in legs if leg[0] != "theatre"]  # operated on already
            elif place == "theatre":
                self._operated = True
                self._note(events.Operated(area=self._bed, took=seconds))
        days = round((self._clock.now - self._admitted) / DAY, 3)
        if self._bed:
            self._out(events.Discharged(area=self._bed, stayed=self._stayed(), days=days))
        else:
            self._drop()
        return False

    # --- beds

    def _ask(self, kind: AreaKind) -> Steps:
        """Asks for a bed of a kind unless it lies in one; takes it where one is free."""
        self._drop()
        if self._beds.kind_of(self._bed) is kind:
            return
        acuity = self._patient.acuity or Acuity.ROUTINE
        ticket = self._beds.ask(kind, department=self._patient.department, acuity=ORDER[acuity], now=self._clock.now)
        self._ticket = ticket
        if ticket.area:
            yield from self._move()
        else:
            self._note(events.Queued(queue=kind.value, acuity=self._patient.acuity, again=True))

    def _drop(self) -> None:
        ticket, self._ticket = self._ticket, None
        if ticket is not None:
            self._beds.drop(ticket)

    def _move(self) -> Steps:
        """Goes to the bed that it has been given."""
        ticket, self._ticket = self._ticket, None
        assert ticket is not None  # noqa: S101
        before, waited = self._bed, self._clock.now - ticket.since
        stayed = self._clock.now - self._since
        self._bed = ticket.area
        yield from self._walk(ticket.area)
        if before:
            self._beds.give_back(before)
            self._note(events.Moved(area=ticket.area, care=ticket.kind.value, stayed=stayed, waited=waited))
        else:
            self._admitted = self._clock.now
            self._note(events.Admitted(area=ticket.area, care=ticket.kind.value, waited=waited))
        self._since = self._clock.now

    # --- time

    def _gives(self) -> int:
        kind = self._beds.kind_of(self._bed)
        if kind is None:
            return _BOARDING
        place: Place = kind.value  # type: ignore[assignment]
        gives = self._inpatient.gives(place)
        return gives if self._operated or place == "theatre" else min(gives, _BOARDING)

    def _lie(self, kind: AreaKind, seconds: int, *, last: bool) -> Steps:
        """Lets time pass in a place, or waiting for it; returns True at a death, False if it gets worse, or None."""
        left = float(seconds)
        while True:
            gives, came = self._gives(), None
            there = self._beds.kind_of(self._bed) is kind
            end = math.inf if kind is AreaKind.THEATRE and not there else self._until(left, last=last)
            turn = self._inpatient.next_turn(gives)
            if turn is not None and turn[1] <= end:
                came, end = turn
            began = self._clock.now
            yield self._either(end)
            passed = self._clock.now - began
            self._inpatient.spend(passed, gives)
            if end < math.inf and passed >= math.ceil(end):
                return came
            left = max(0.0, left - passed) if end < math.inf or kind is not AreaKind.THEATRE else left
            if self._ticket is not None and self._ticket.area:
                yield from self._move()

    def _until(self, left: float, *, last: bool) -> float:
        """Returns the seconds until the end of a place: of the last, by day, but for an observation."""
        if not last or self._beds.kind_of(self._bed) is AreaKind.OBSERVATION:
            return left
        time = (self._clock.now + left) % DAY
        if time < _BY_DAY[0]:
            return left + _BY_DAY[0] - time
        return left + (DAY - time + _BY_DAY[0] if time > _BY_DAY[1] else 0)

    def _either(self, seconds: float) -> Signal:
        """Returns what happens when time is up or the bed that is waited for is free."""
        first = self._clock.signal()
        over = False

        def come() -> None:
            nonlocal over
            if not over:
                over = True
                first.succeed()

        if self._ticket is not None:
            if self._ticket.area:
                come()
            self._ticket.come = come
        if seconds < math.inf:
            self._clock.call(math.ceil(seconds), come)
        return first

    def _out(self, what: What) -> None:
        self._drop()
        self._note(what)
        if self._bed:
            bed, self._bed = self._bed, ""
            self._beds.give_back(bed)

    def _stayed(self) -> int:
        return self._clock.now - self._since if self._bed else 0
