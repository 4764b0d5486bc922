"""The beds of a hospital, and who waits for one.

A bed is free, or somebody's; there are never more patients than beds. Who waits for a kind of bed gets the first that
is free, by acuity as the nurse judged it, then by how long it has waited. An area that names departments takes their
patients first, and others where it is the only one with a free bed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

from polyclinic.hospital.plan.plan import WITH_BEDS, Area, AreaKind
from polyclinic.knowledge.stays import Place

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

    def ask(self, kind: AreaKind, *, department: str, acuity: int, now: int) -> BedTicket:
        """Somebody needs a bed: it has one at once (`area`), or waits."""
        self._asked += 1
        ticket = BedTicket(kind, department, (acuity, self._asked), now)
        free = [id for id, area in self._areas.items() if area.kind is kind and self.free[id]]
        if free:
            self._give(ticket, min(free, key=lambda id: self._fit(id, department)))
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

    def _fit(self, area: str, department: str) -> int:
        named = self._areas[area].departments
        return 0 if department in named else 1 if not named else 2
