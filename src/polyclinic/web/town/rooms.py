"""A room of the map: what stands in it, and where people sit, are served, work and lie, all in tiles.

A room has its walls within its rectangle. Its furniture stands by what it is for: beds in rows, or counters with their
staff behind, and below them seats.
"""

from __future__ import annotations

import msgspec

from polyclinic.hospital.plan.plan import WITH_BEDS, Area, AreaKind

Cell = tuple[int, int]
"""Column and row of a tile."""

_FLOORS = {
    AreaKind.TRIAGE: "counter floor",
    AreaKind.REGISTRATION: "counter floor",
    AreaKind.PHARMACY: "counter floor",
    AreaKind.ENTRANCE: "mat",
    AreaKind.WAITING: "hall floor",
    AreaKind.EXAMINATION: "lab floor",
    AreaKind.RESUSCITATION: "theatre floor",
    AreaKind.INTENSIVE_CARE: "theatre floor",
    AreaKind.THEATRE: "theatre floor",
    AreaKind.WARD: "care floor",
    AreaKind.OBSERVATION: "care floor",
}
_THINGS = {
    AreaKind.CONSULTATION: "desk",
    AreaKind.EXAMINATION: "machine",
    AreaKind.RESUSCITATION: "bed",
}


class Station(msgspec.Struct, frozen=True):
    """Where somebody is served."""

    patient: Cell
    staff: Cell


class MapRoom(msgspec.Struct, kw_only=True):
    """A room on the map."""

    id: str
    kind: AreaKind
    x: int  # of its upper left corner
    y: int
    width: int  # walls included
    height: int
    doors: list[Cell] = []  # in its walls
    things: dict[Cell, str] = {}  # furniture, by tile
    stations: list[Station] = []
    seats: list[Cell] = []
    beds: list[Cell] = []
    standing: list[Cell] = []  # for those who find no seat, in the order in which they are taken
    posts: list[Cell] = []  # where those who work here stand while they serve nobody

    @property
    def floor(self) -> str:
        """The tile of its floor."""
        return _FLOORS.get(self.kind, "floor")

    @property
    def inside(self) -> list[Cell]:
        """Its tiles within the walls, row by row."""
        return [
            (x, y)
            for y in range(self.y + 1, self.y + self.height - 1)
            for x in range(self.x + 1, self.x + self.width - 1)
        ]


def furnish(room: MapRoom, area: Area) -> None:
    """Puts in what an area has, as far as there is room; more people than places share them."""
    free = [cell for cell in room.inside if not any(_beside(cell, door) for door in room.doors)]
    if area.kind in WITH_BEDS:
        _beds(room, area.beds, free)
    elif area.kind not in (AreaKind.ENTRANCE, AreaKind.WAITING, AreaKind.OTHER):
        _stations(room, max(1, area.capacity), free)
    taken = {*room.things, *room.beds, *(cell for one in room.stations for cell in (one.patient, one.staff))}
    left = [cell for cell in free if cell not in taken]
    _seats(room, area.seats, left)
    seated = set(room.seats)
    # Whoever stands, stands before the counters, where a line would form: from there to the door.
    front = sum(one.patient[1] for one in room.stations) / len(room.stations) if room.stations else room.y
    room.standing = sorted(
        (cell for cell in room.inside if cell not in taken and cell not in seated),
        key=lambda cell: (abs(cell[1] - front - 1), cell),
    )
    room.posts = [one.staff for one in room.stations] or [cell for cell in left if cell not in seated][
        :: 1 + len(left) // 12
    ]
    room.posts = room.posts or room.inside[:1]


def _beds(room: MapRoom, n: int, free: list[Cell]) -> None:
    """Rows of beds, two and two with an aisle between, as far apart as there is room."""
    here = [cell for cell in free if (cell[1] - room.y - 1) % 3 != 1]
    for apart in (4, 3, 2, 1):
        spread = [cell for cell in here if (cell[0] - room.x) % apart == apart // 2]
        if len(spread) >= n or apart == 1:
            room.beds = sorted(spread, key=lambda cell: (cell[1], cell[0]))[:n]
            break
    room.things |= dict.fromkeys(room.beds, "bed")
    if room.kind is AreaKind.THEATRE:
        beside = [(x + 1, y) for x, y in room.beds if (x + 1, y) in free and (x + 1, y) not in room.things]
        room.things |= dict.fromkeys(beside, "machine")


def _stations(room: MapRoom, n: int, free: list[Cell]) -> None:
    """Counters in rows: whoever works behind, whoever is served before it."""
    thing, cells, left = _THINGS.get(room.kind, "counter"), set(free), n
    for y in range(room.y + 1, room.y + room.height - 3, 4):
        columns = [x for x in range(room.x + 1, room.x + room.width - 1) if {(x, y), (x, y + 1), (x, y + 2)} <= cells]
        here = min(left, len(columns))
        for place in range(here):
            x = columns[(2 * place + 1) * len(columns) // (2 * here)]
            room.things[x, y + 1] = thing
            room.stations.append(Station((x, y + 2), (x, y)))
        left -= here
    if not room.stations:
        middle = (room.x + room.width // 2, room.y + room.height // 2)
        room.stations.append(Station(middle, middle))


def _seats(room: MapRoom, n: int, left: list[Cell]) -> None:
    """Seats in every other row, from the far wall on."""
    rows = sorted({y for _, y in left}, reverse=True)
    for y in rows[::2] if room.kind is AreaKind.WAITING else rows[:1] + rows[2:3]:
        for cell in sorted(cell for cell in left if cell[1] == y):
            if len(room.seats) >= n:
                return
            if room.kind is not AreaKind.WAITING or (cell[0] - room.x) % 6:  # ways between the seats of a hall
                room.seats.append(cell)
                room.things[cell] = "chair"


def _beside(cell: Cell, door: Cell) -> bool:
    return abs(cell[0] - door[0]) + abs(cell[1] - door[1]) <= 1
