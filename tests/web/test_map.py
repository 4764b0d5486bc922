"""The map follows the hospital file."""

import json
from collections import deque

import msgspec

from polyclinic.hospital.plan.plan import AreaKind
from polyclinic.web.town.map import NUMBERS, TILE, map_of

SEATS = NUMBERS["chair"]


def layer(made, name):
    return next(one for one in made["layers"] if one["name"] == name)


def rooms_of(made):
    """Each room as its properties, and its box in tiles."""
    return {
        one["name"]: {p["name"]: json.loads(p["value"]) for p in one["properties"]}
        | {"box": [one[side] // TILE for side in ("x", "y", "width", "height")]}
        for one in layer(made, "rooms")["objects"]
    }


def reached(made):
    """Every tile that can be walked to from the left end of the street."""
    walls, things = layer(made, "walls")["data"], layer(made, "furniture")["data"]
    width, height = made["width"], made["height"]
    houses = layer(made, "houses")["objects"]
    start = (houses[0]["x"] // TILE, houses[0]["y"] // TILE)
    seen, line = {start}, deque([start])
    while line:
        x, y = line.popleft()
        for near in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            at = near[1] * width + near[0]
            inside = 0 <= near[0] < width and 0 <= near[1] < height
            if inside and near not in seen and not walls[at] and things[at] in (0, SEATS):
                seen.add(near)
                line.append(near)
    return seen


def test_every_area_is_a_room_with_its_places_and_can_be_walked_to(hospital):
    made = map_of(hospital)
    rooms, there = rooms_of(made), reached(made)
    assert set(rooms) == {id for id, area in hospital.areas.items() if area.kind is not AreaKind.HOME}
    wrong = []
    for id, room in rooms.items():
        area, (x, y, width, height) = hospital.areas[id], room["box"]
        places = room["seats"] + room["beds"] + [one["patient"] for one in room["stations"]]
        if len(room["beds"]) != area.beds or (area.seats and not room["seats"]) or len(room["seats"]) > area.seats:
            wrong.append((id, "places"))
        if not all(x < px < x + width - 1 and y < py < y + height - 1 for px, py in places):
            wrong.append((id, "outside"))
        near = {(px + dx, py + dy) for px, py in places for dx, dy in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))}
        if places and not near & there:
            wrong.append((id, "nobody comes here"))
    assert not wrong
    doors = {(one["x"] // TILE, one["y"] // TILE) for one in layer(made, "doors")["objects"]}
    assert {one["name"] for one in layer(made, "doors")["objects"]} == set(rooms)
    assert len(doors & there) >= 0.9 * len(doors)


def test_it_is_a_map_of_tiled(hospital):
    made = map_of(hospital)
    assert (made["type"], made["orientation"], made["infinite"]) == ("map", "orthogonal", False)
    for one in made["layers"]:
        if one["type"] == "tilelayer":
            assert len(one["data"]) == made["width"] * made["height"]
            assert 0 <= min(one["data"]) <= max(one["data"]) <= made["tilesets"][0]["tilecount"]
    assert made == map_of(hospital)


def test_rooms_that_lie_nowhere_or_over_one_another_are_put_side_by_side(hospital):
    for change in ({"width": 0.0, "height": 0.0}, {"at": (10.0, 10.0)}):
        areas = {
            id: area if area.kind is AreaKind.HOME else msgspec.structs.replace(area, **change)
            for id, area in hospital.areas.items()
        }
        made = map_of(msgspec.structs.replace(hospital, areas=areas))
        tiles = [
            (x + dx, y + dy)
            for x, y, width, height in (room["box"] for room in rooms_of(made).values())
            for dx in range(width)
            for dy in range(height)
        ]
        assert len(tiles) == len(set(tiles))
        assert max(made["width"], made["height"]) < 400
