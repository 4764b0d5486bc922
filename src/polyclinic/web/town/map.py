"""The map of a hospital and its town, made from its file, in the layout of Tiled (.tmj, https://doc.mapeditor.org).

A tile is a metre. Rooms lie where the hospital file puts them; where it says nothing, or puts one over another,
they are put side by side. Doors look towards the rooms to which ways lead, and corridors join them. The town lies
some hundred metres away and is drawn beside, smaller than it is.

A room has its walls within its rectangle, and is furnished by its purpose: beds in rows, or staffed counters with seats
below.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Mapping
from typing import Any

import msgspec

from polyclinic.hospital.plan.plan import WITH_BEDS, Area, AreaKind, Hospital

Cell = tuple[int, int]  # column and row of a tile
_FLOORS = {
    "counter floor": (AreaKind.TRIAGE, AreaKind.REGISTRATION, AreaKind.PHARMACY),
    "mat": (AreaKind.ENTRANCE,),
    "hall floor": (AreaKind.WAITING,),
    "lab floor": (AreaKind.EXAMINATION,),
    "theatre floor": (AreaKind.RESUSCITATION, AreaKind.INTENSIVE_CARE, AreaKind.THEATRE),
    "care floor": (AreaKind.WARD, AreaKind.OBSERVATION),
}
_FLOOR_OF = {kind: floor for floor, kinds in _FLOORS.items() for kind in kinds}
_THINGS = {AreaKind.CONSULTATION: "desk", AreaKind.EXAMINATION: "machine", AreaKind.RESUSCITATION: "bed"}


class Station(msgspec.Struct, frozen=True):
    """Where a patient is served."""

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
    def inside(self) -> list[Cell]:
        """Its tiles within the walls, row by row."""
        return [
            (x, y)
            for y in range(self.y + 1, self.y + self.height - 1)
            for x in range(self.x + 1, self.x + self.width - 1)
        ]


def furnish(room: MapRoom, area: Area) -> None:
    """Puts in what an area has, as far as there is room; more people than places share them."""
    free = [cell for cell in room.inside if not any(abs(cell[0] - x) + abs(cell[1] - y) <= 1 for x, y in room.doors)]
    if area.kind in WITH_BEDS:
        _beds(room, area.beds, free)
    elif area.kind not in (AreaKind.ENTRANCE, AreaKind.WAITING, AreaKind.OTHER):
        _stations(room, max(1, area.capacity), free)
    taken = {*room.things, *room.beds, *(cell for one in room.stations for cell in (one.patient, one.staff))}
    left = [cell for cell in free if cell not in taken]
    _seats(room, area.seats, left)
    seated = set(room.seats)
    # People stand in front of the counters, where a line would form, and from there to the door.
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
    """Counters in rows, with staff behind them and patients in front."""
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


TILE = 16  # pixels along a side
COLUMNS = 8  # tiles in a row of the picture
TILES = (
    *("grass", "meadow", "flowers", "tree", "bush", "street", "pavement", "water"),
    *("corridor", "floor", "counter floor", "hall floor", "care floor", "lab floor", "theatre floor", "mat"),
    *("wall", "wall front", "door", "desk", "counter", "chair", "bed", "machine"),
    *("roof left", "roof", "roof right", "house left", "house door", "house right", "plant", "table"),
)

NUMBERS = {name: number + 1 for number, name in enumerate(TILES)}


_TOWN = 24  # columns of the town
_MARGIN = 4  # tiles of garden around the hospital
_LOT = (4, 5)  # tiles of a house with its garden: columns, rows
_LEAST = 5  # tiles of a room's side
_MOST = 400  # tiles of the map's side


class TownMap(msgspec.Struct, kw_only=True):
    """A map while it is made."""

    width: int
    height: int
    rooms: dict[str, MapRoom]
    ground: dict[Cell, str] = {}
    walls: dict[Cell, str] = {}
    houses: list[Cell] = []  # where their doors are


def map_of(hospital: Hospital) -> dict[str, Any]:
    """Returns the map of a hospital: tile layers, its rooms and doors as objects, and every place in each room.

    Properties of a room, as JSON in texts: `seats`, `beds`, `standing` and `posts` are tiles, `stations` pairs of them.
    """
    rooms = _rooms(hospital)
    width = max((room.x + room.width for room in rooms.values()), default=_TOWN) + _MARGIN
    height = max((room.y + room.height for room in rooms.values()), default=_TOWN) + _MARGIN
    made = TownMap(width=width, height=height, rooms=rooms)
    _doors(made, hospital.areas)
    _corridors(made, hospital.areas)
    for room in rooms.values():
        furnish(room, hospital.areas[room.id])
    _walls(made)
    _town(made)
    _garden(made)
    return _tmj(made, hospital)


def _rooms(hospital: Hospital) -> dict[str, MapRoom]:
    rooms = {}
    for id, area in hospital.areas.items():
        if area.kind is not AreaKind.HOME:
            width, height = (max(_LEAST, round(side)) for side in (area.width, area.height))
            x, y = round(area.at[0] - width / 2), round(area.at[1] - height / 2)
            rooms[id] = MapRoom(id=id, kind=area.kind, x=x, y=y, width=width, height=height)
    areas = {id: hospital.areas[id] for id in rooms}
    unknown = any(not (area.width and area.height) for area in areas.values())
    ends = [end for room in rooms.values() for end in (room.x, room.x + room.width)]
    spread = max(ends, default=0) - min(ends, default=0)
    if unknown or spread > _MOST or any(itertools.starmap(_overlap, itertools.combinations(rooms.values(), 2))):
        _pack(rooms, areas)
    left, top = (min((getattr(room, side) for room in rooms.values()), default=0) for side in ("x", "y"))
    for room in rooms.values():
        room.x, room.y = room.x - left + _TOWN + _MARGIN, room.y - top + _MARGIN
    return rooms


def _overlap(one: MapRoom, other: MapRoom) -> bool:
    beside = one.x >= other.x + other.width or other.x >= one.x + one.width
    return not (beside or one.y >= other.y + other.height or other.y >= one.y + one.height)


def _pack(rooms: Mapping[str, MapRoom], areas: Mapping[str, Area]) -> None:
    """Puts the rooms side by side, as large as what is in them needs."""
    x = y = deepest = 0
    for room, area in zip(rooms.values(), areas.values(), strict=True):
        places = max(area.capacity if area.kind is not AreaKind.WAITING else 0, area.seats, area.beds, 4)
        room.width = min(30, max(8, round((places * 2.4) ** 0.5) + 4))
        room.height = min(30, max(7, -(-places * 2 // (room.width - 2)) + 5))
        if x and x + room.width > 90:
            x, y, deepest = 0, y + deepest + 4, 0
        room.x, room.y = x, y
        x, deepest = x + room.width + 4, max(deepest, room.height)


def _doors(made: TownMap, areas: Mapping[str, Area]) -> None:
    """Gives every room a door, two tiles wide, in each wall that looks towards a neighbour."""
    for id, other in _ways(made, areas):
        for room, there in ((made.rooms[id], made.rooms[other]), (made.rooms[other], made.rooms[id])):
            dx = (there.x + there.width / 2 - room.x - room.width / 2) / room.width
            dy = (there.y + there.height / 2 - room.y - room.height / 2) / room.height
            middle_x, middle_y = room.x + room.width // 2, room.y + room.height // 2
            if abs(dx) >= abs(dy):
                x = room.x + room.width - 1 if dx > 0 else room.x
                door = [(x, middle_y - 1), (x, middle_y)]
            else:
                y = room.y + room.height - 1 if dy > 0 else room.y
                door = [(middle_x - 1, y), (middle_x, y)]
            room.doors += [cell for cell in door if cell not in room.doors]
    for room in made.rooms.values():
        if room.kind is AreaKind.ENTRANCE or not room.doors:
            # The town lies to the left.
            middle = room.y + room.height // 2
            room.doors += [cell for cell in ((room.x, middle - 1), (room.x, middle)) if cell not in room.doors]


def _ways(made: TownMap, areas: Mapping[str, Area]) -> list[tuple[str, str]]:
    return [(id, other) for id in made.rooms for other in areas[id].ways if other in made.rooms]


def _corridors(made: TownMap, areas: Mapping[str, Area]) -> None:
    """Joins the doors of neighbours by corridors, which would rather go where one is."""
    solid = {
        (x, y)
        for room in made.rooms.values()
        for x in range(room.x, room.x + room.width)
        for y in range(room.y, room.y + room.height)
    }
    ways = _ways(made, areas)
    ways.sort(key=lambda way: areas[way[0]].ways[way[1]])
    for id, other in ways:
        starts, ends = made.rooms[id].doors, made.rooms[other].doors
        for x, y in _path(made, solid, starts, set(ends)):
            for cell in ((x, y), (x + 1, y), (x, y + 1), (x - 1, y), (x, y - 1), (x + 1, y + 1)):
                if cell not in solid:
                    made.ground[cell] = "corridor"


def _path(made: TownMap, solid: set[Cell], starts: list[Cell], ends: set[Cell]) -> list[Cell]:
    """Returns the shortest way between doors outside of rooms; [] if there is none."""
    goal_x, goal_y = next(iter(ends))
    heap: list[tuple[int, int, Cell, Cell | None]] = [(0, 0, start, None) for start in starts]
    came: dict[Cell, Cell | None] = {}
    while heap:
        _, cost, cell, before = heapq.heappop(heap)
        if cell in came:
            continue
        came[cell] = before
        if cell in ends:
            path = [cell]
            while (at := came[path[-1]]) is not None:
                path.append(at)
            return path
        for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1)):
            near = (cell[0] + dx, cell[1] + dy)
            inside = 1 <= near[0] < made.width - 1 and 1 <= near[1] < made.height - 1
            if not inside or near in came or (near in solid and near not in ends):
                continue
            turn = before is not None and (cell[0] - before[0], cell[1] - before[1]) != (dx, dy)
            more = cost + (1 if made.ground.get(near) == "corridor" else 2) + turn
            heapq.heappush(heap, (more + abs(near[0] - goal_x) + abs(near[1] - goal_y), more, near, cell))
    return []


def _walls(made: TownMap) -> None:
    for room in made.rooms.values():
        floor = _FLOOR_OF.get(room.kind, "floor")
        right, bottom = room.x + room.width - 1, room.y + room.height - 1
        for x in range(room.x, right + 1):
            for y in range(room.y, bottom + 1):
                made.ground[x, y] = floor
                if x in (room.x, right) or y in (room.y, bottom):
                    made.walls[x, y] = "wall front" if y in (room.y, bottom) and x not in (room.x, right) else "wall"
        for cell in room.doors:
            made.walls.pop(cell, None)
            made.ground[cell] = "door"


def _town(made: TownMap) -> None:
    entrance = next((room for room in made.rooms.values() if room.kind is AreaKind.ENTRANCE), None)
    gate = made.height // 2 if entrance is None else entrance.y + entrance.height // 2
    lanes = range(_LOT[0] * 2, _TOWN - 1, _LOT[0] * 2 + 2)
    end = entrance.x if entrance is not None else _TOWN + _MARGIN
    street = {(x, y) for x in range(end) for y in (gate - 1, gate)}
    street |= {(x, y) for lane in lanes for x in (lane, lane + 1) for y in range(2, made.height - 2)}
    made.ground |= dict.fromkeys(street - made.ground.keys(), "street")
    lots = [y for y in range(2, made.height - _LOT[1], _LOT[1]) if y >= gate + 2 or y + _LOT[1] <= gate - 2]
    for lane in lanes:
        for y in lots:
            _house(made, lane - 4, y, lane - 1)
            if lane + 6 <= _TOWN + _MARGIN:
                _house(made, lane + 3, y, lane + 2)


def _garden(made: TownMap) -> None:
    """Fills what is left with grass, and trees where nobody walks."""
    rng = random.Random("the garden")
    built = {*made.ground, *made.walls}
    for x in range(made.width):
        for y in range(made.height):
            if (x, y) in made.ground:
                continue
            lot, high = rng.random(), rng.random()
            made.ground[x, y] = "flowers" if lot < 0.03 else "meadow" if lot < 0.25 else "grass"
            open_air = not any((x + dx, y + dy) in built for dx in (-1, 0, 1) for dy in (-1, 0, 1))
            if open_air and high < 0.07:
                made.walls[x, y] = "tree" if high < 0.05 else "bush"


def _house(made: TownMap, x: int, y: int, gate: int) -> None:
    for row, kind in ((y + 1, "roof"), (y + 2, "house")):
        middle = "roof" if kind == "roof" else "house door"
        for column, name in ((x, f"{kind} left"), (x + 1, middle), (x + 2, f"{kind} right")):
            made.walls[column, row] = name
    made.houses.append((x + 1, y + 3))
    for column in range(min(gate, x + 1), max(gate, x + 1) + 1):
        made.ground.setdefault((column, y + 3), "pavement")


def _tmj(made: TownMap, hospital: Hospital) -> dict[str, Any]:
    things = {cell: name for room in made.rooms.values() for cell, name in room.things.items()}
    rooms, doors, number = [], [], itertools.count(1)
    for room in made.rooms.values():
        places = [_text(name, getattr(room, name)) for name in ("stations", "seats", "beds", "standing", "posts")]
        box = (room.x, room.y, room.width, room.height)
        rooms.append(_object(next(number), room.id, str(room.kind), box) | {"properties": places})
        doors += [_object(next(number), room.id, "door", (x, y, 1, 1)) for x, y in room.doors]
    houses = [_object(next(number), "", "house", (x, y, 1, 1)) for x, y in made.houses]
    layers = []
    for id, (name, tiles) in enumerate((("ground", made.ground), ("walls", made.walls), ("furniture", things)), 1):
        data = [NUMBERS.get(tiles.get((x, y), ""), 0) for y in range(made.height) for x in range(made.width)]
        layer = {"id": id, "name": name, "type": "tilelayer", "width": made.width, "height": made.height, "data": data}
        layers.append(layer | _LAYER)
    for id, (name, objects) in enumerate((("rooms", rooms), ("doors", doors), ("houses", houses)), 4):
        layers.append(
            {"id": id, "name": name, "type": "objectgroup", "draworder": "index", "objects": objects} | _LAYER
        )
    home = hospital.home
    spread = [0.0, 0.0, 1.0, 1.0] if home is None else [*home.at, home.width, home.height]
    return _MAP | {
        "width": made.width,
        "height": made.height,
        "nextobjectid": next(number),
        "properties": [_text("home", spread)],
        "layers": layers,
    }


_LAYER = {"x": 0, "y": 0, "opacity": 1, "visible": True}
_MAP = {
    "type": "map", "version": "1.10", "tiledversion": "1.11.0", "orientation": "orthogonal",
    "renderorder": "right-down", "infinite": False, "tilewidth": TILE, "tileheight": TILE, "nextlayerid": 7,
    "tilesets": [{
        "firstgid": 1, "name": "town", "image": "tiles.png", "columns": COLUMNS, "tilecount": len(TILES),
        "tilewidth": TILE, "tileheight": TILE, "margin": 0, "spacing": 0, "imagewidth": COLUMNS * TILE,
        "imageheight": -(-len(TILES) // COLUMNS) * TILE,
    }],
}  # fmt: skip


def _object(id: int, name: str, type: str, box: tuple[int, int, int, int]) -> dict[str, Any]:
    sides = dict(zip(("x", "y", "width", "height"), (side * TILE for side in box), strict=True))
    return {"id": id, "name": name, "type": type, **sides, "rotation": 0, "visible": True}


def _text(name: str, value: object) -> dict[str, str]:
    return {"name": name, "type": "string", "value": msgspec.json.encode(value).decode()}
