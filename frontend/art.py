"""Draws the pictures of the town, pixel by pixel: its tiles, and those who walk in it. Ours, and free for any use (CC0).

`python frontend/art.py` writes them into `frontend/public/town`; it needs polyclinic, which names the tiles.
"""

from __future__ import annotations

import random
import struct
import zlib
from pathlib import Path

from polyclinic.web.town.map import COLUMNS, TILE, TILES

THERE = Path(__file__).parent / "public" / "town"
Color = tuple[int, int, int, int]


def rgb(text: str, alpha: int = 255) -> Color:
    return int(text[0:2], 16), int(text[2:4], 16), int(text[4:6], 16), alpha


def mixed(one: Color, other: Color, share: float) -> Color:
    return (*(round(a + (b - a) * share) for a, b in zip(one[:3], other[:3], strict=True)), one[3])  # type: ignore[return-value]


class Picture:
    """Pixels, to be drawn on."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.pixels = [[(0, 0, 0, 0)] * width for _ in range(height)]

    def box(self, x: int, y: int, width: int, height: int, color: Color) -> None:
        for row in range(y, y + height):
            for column in range(x, x + width):
                self.pixels[row][column] = color

    def png(self) -> bytes:
        raw = b"".join(b"\0" + b"".join(struct.pack("4B", *pixel) for pixel in row) for row in self.pixels)
        head = struct.pack(">IIBBBBB", self.width, self.height, 8, 6, 0, 0, 0)
        parts = [(b"IHDR", head), (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b"")]
        return b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
            for name, data in parts
        )


# --- tiles

GRASS, DIRT = rgb("8fbf6a"), rgb("c8b48a")
WALL, WALL_TOP, WALL_FRONT = rgb("7d8794"), rgb("98a2ae"), rgb("c9d0d6")
WOOD, WOOD_DARK = rgb("b98a5a"), rgb("8e6540")


def speckled(at: Picture, x: int, y: int, ground: Color, share: float, amount: float, seed: str) -> None:
    rng = random.Random(seed)
    at.box(x, y, TILE, TILE, ground)
    for row in range(TILE):
        for column in range(TILE):
            if rng.random() < share:
                lighter = rgb("ffffff") if rng.random() < 0.5 else rgb("000000")
                at.pixels[y + row][x + column] = mixed(ground, lighter, amount)


def tiled(at: Picture, x: int, y: int, ground: Color, step: int) -> None:
    at.box(x, y, TILE, TILE, ground)
    line = mixed(ground, rgb("000000"), 0.07)
    for place in range(0, TILE, step):
        at.box(x + place, y, 1, TILE, line)
        at.box(x, y + place, TILE, 1, line)


def draw_tile(at: Picture, name: str, x: int, y: int) -> None:
    floors = {
        "corridor": ("e9e6dd", 16), "floor": ("e3e7e2", 8), "counter floor": ("e6e0cf", 8), "hall floor": ("dfe3ea", 16),
        "care floor": ("d9e8e4", 8), "lab floor": ("dde6ee", 8), "theatre floor": ("cfe6da", 4), "mat": ("b8aa90", 4),
    }  # fmt: skip
    if name in floors:
        tiled(at, x, y, rgb(floors[name][0]), floors[name][1])
    elif name in ("grass", "meadow", "flowers", "tree", "bush"):
        speckled(at, x, y, GRASS if name != "meadow" else rgb("9ac873"), 0.12, 0.10, name)
        green = rgb("4f8a45")
        if name == "flowers":
            for dx, dy, color in ((3, 4, "f2e06b"), (10, 3, "e88ba5"), (6, 10, "ffffff"), (12, 11, "f2e06b")):
                at.box(x + dx, y + dy, 2, 2, rgb(color))
        elif name == "tree":
            at.box(x + 7, y + 11, 3, 5, WOOD_DARK)
            for dx, dy, w, h, shade in ((3, 2, 10, 9, 0.0), (2, 4, 12, 5, 0.0), (5, 1, 6, 3, 0.0), (4, 3, 4, 3, 0.25)):
                at.box(x + dx, y + dy, w, h, mixed(green, rgb("ffffff"), shade))
        elif name == "bush":
            at.box(x + 2, y + 6, 12, 8, green)
            at.box(x + 4, y + 5, 8, 2, mixed(green, rgb("ffffff"), 0.2))
    elif name == "street":
        speckled(at, x, y, rgb("a9a79f"), 0.10, 0.06, name)
    elif name == "pavement":
        tiled(at, x, y, rgb("cfc9bb"), 8)
    elif name == "water":
        speckled(at, x, y, rgb("7fb3d5"), 0.10, 0.15, name)
    elif name == "wall":
        at.box(x, y, TILE, TILE, WALL)
        at.box(x, y, TILE, 4, WALL_TOP)
    elif name == "wall front":
        at.box(x, y, TILE, 6, WALL)
        at.box(x, y, TILE, 2, WALL_TOP)
        at.box(x, y + 6, TILE, 10, WALL_FRONT)
        at.box(x, y + 14, TILE, 2, mixed(WALL_FRONT, rgb("000000"), 0.15))
    elif name == "door":
        tiled(at, x, y, rgb("d3b98c"), 16)
        at.box(x + 1, y + 1, 14, 14, rgb("dcc69d"))
    else:
        draw_thing(at, name, x, y)


def draw_thing(at: Picture, name: str, x: int, y: int) -> None:
    if name in ("desk", "counter", "table"):
        top = {"desk": WOOD, "counter": rgb("9db7b3"), "table": rgb("c9a678")}[name]
        at.box(x, y + 3, TILE, 10, top)
        at.box(x, y + 11, TILE, 3, mixed(top, rgb("000000"), 0.3))
        if name != "table":
            at.box(x + 5, y + 4, 6, 4, rgb("39434a"))
            at.box(x + 6, y + 5, 4, 2, rgb("8fd3e8"))
    elif name == "chair":
        at.box(x + 3, y + 3, 10, 3, rgb("3f6f8f"))
        at.box(x + 3, y + 6, 10, 6, rgb("5a8fb0"))
        at.box(x + 3, y + 12, 2, 2, rgb("3c4a52"))
        at.box(x + 11, y + 12, 2, 2, rgb("3c4a52"))
    elif name == "bed":
        at.box(x + 2, y + 1, 12, 14, rgb("8a96a0"))
        at.box(x + 3, y + 2, 10, 12, rgb("ffffff"))
        at.box(x + 4, y + 2, 8, 3, rgb("dbe6ee"))
        at.box(x + 3, y + 8, 10, 6, rgb("9fc6d8"))
    elif name == "machine":
        at.box(x + 1, y + 2, 14, 12, rgb("6d7b86"))
        at.box(x + 2, y + 3, 12, 7, rgb("e8edf0"))
        at.box(x + 4, y + 4, 6, 4, rgb("2f6f62"))
        at.box(x + 5, y + 6, 4, 1, rgb("9af0c0"))
        at.box(x + 11, y + 5, 2, 2, rgb("e06a5a"))
    elif name == "plant":
        at.box(x + 5, y + 9, 6, 5, rgb("b0623c"))
        at.box(x + 3, y + 3, 10, 6, rgb("4f9a52"))
        at.box(x + 6, y + 1, 4, 3, rgb("6bb56a"))
    elif name.startswith("roof"):
        red = rgb("b5604c")
        at.box(x, y, TILE, TILE, red)
        for row in range(0, TILE, 4):
            at.box(x, y + row, TILE, 1, mixed(red, rgb("000000"), 0.18))
        side = {"roof left": 0, "roof right": TILE - 2}.get(name)
        if side is not None:
            at.box(x + side, y, 2, TILE, mixed(red, rgb("000000"), 0.3))
    elif name.startswith("house"):
        at.box(x, y, TILE, TILE, rgb("efe2c6"))
        at.box(x, y, TILE, 2, mixed(rgb("efe2c6"), rgb("000000"), 0.2))
        if name == "house door":
            at.box(x + 5, y + 5, 6, 11, WOOD_DARK)
            at.box(x + 9, y + 10, 1, 1, rgb("f2d777"))
        else:
            at.box(x + 4, y + 5, 8, 6, rgb("6f97ad"))
            at.box(x + 5, y + 6, 6, 4, rgb("bfe0ee"))


# --- people: a row each; columns: down 1, down 2, side 1, side 2, up 1, up 2, lying

WIDE, HIGH, FRAMES = 16, 20, 7
SKINS = ("f3cfae", "d9a47a", "a8714a", "6f4a33")
HAIRS = ("3a2a20", "6d4a2c", "c79a4b", "1c1c22", "8a8a8a", "a34a2a")
SHIRTS = ("c4573f", "3f72a8", "5b8f4d", "8d5fa3", "d39a3a", "4a9a97", "a85a7a", "6b6f78")
RESIDENTS = 24
STAFF = {  # top, legs, cap
    "doctor": ("ffffff", "5b7a94", None), "nurse": ("7fc7c0", "4a8f8a", "ffffff"), "technician": ("a9b8d8", "5a6a8a", None),
    "pharmacist": ("bfe0b0", "5f8a52", None), "clerk": ("e3c98f", "6a5a44", None),
}  # fmt: skip


def person(
    at: Picture, row: int, skin: str, hair: str, top: str, legs: str, cap: str | None, *, long_hair: bool
) -> None:
    y, edge = row * HIGH, rgb("2b2b33")
    colors = [rgb(one) for one in (skin, hair, top, legs)]
    for frame in range(6):
        x, side, step = frame * WIDE, frame // 2, frame % 2
        # An outline first, so that whoever stands on anything is seen.
        at.box(x + 4, y + 1, 8, 9, edge)
        at.box(x + 3, y + 9, 10, 8, edge)
        at.box(x + 4, y + 16, 8, 4, edge)
        at.box(x + 5, y + 2, 6, 7, colors[0])
        at.box(x + 5, y + 2, 6, 7 if side == 2 else 2, colors[1])
        if long_hair or side == 1:
            at.box(x + (5 if side != 1 else 9), y + 2, 2 if side == 1 else 1, 6, colors[1])
            if side == 0 and long_hair:
                at.box(x + 10, y + 2, 1, 6, colors[1])
        if cap:
            at.box(x + 5, y + 1, 6, 2, rgb(cap))
        if side == 0:
            at.box(x + 6, y + 5, 1, 2, edge)
            at.box(x + 9, y + 5, 1, 2, edge)
        elif side == 1:
            at.box(x + 6, y + 5, 1, 2, edge)
        at.box(x + 4, y + 10, 8, 6, colors[2])
        at.box(x + 4, y + 12, 1, 3, colors[0])
        at.box(x + 11, y + 12, 1, 3, colors[0])
        at.box(x + 5, y + 16, 2, 3 - step, colors[3])
        at.box(x + 9, y + 16, 2, 2 + step, colors[3])
    x = 6 * WIDE  # lying in a bed: the head, and a blanket
    at.box(x + 5, y + 3, 6, 6, edge)
    at.box(x + 6, y + 4, 4, 4, colors[0])
    at.box(x + 6, y + 4, 4, 1, colors[1])
    at.box(x + 4, y + 9, 8, 8, mixed(rgb("9fc6d8"), colors[2], 0.5))


def people() -> Picture:
    picture = Picture(WIDE * FRAMES, HIGH * (RESIDENTS + 2 * len(STAFF)))
    rng = random.Random("people of the town")
    for row in range(RESIDENTS):
        skin, hair, top = SKINS[row % 4], HAIRS[rng.randrange(len(HAIRS))], SHIRTS[row % len(SHIRTS)]
        legs = rng.choice(("3f4a5c", "5c4a3f", "2f3a44", "6a6f5a"))
        person(picture, row, skin, hair, top, legs, None, long_hair=row % 2 == 0)
    for number, (top, legs, cap) in enumerate(STAFF.values()):
        for second in range(2):
            row = RESIDENTS + 2 * number + second
            person(picture, row, SKINS[(row + second) % 4], HAIRS[row % 6], top, legs, cap, long_hair=second == 0)
    return picture


def tiles() -> Picture:
    picture = Picture(COLUMNS * TILE, -(-len(TILES) // COLUMNS) * TILE)
    for number, name in enumerate(TILES):
        draw_tile(picture, name, number % COLUMNS * TILE, number // COLUMNS * TILE)
    return picture


if __name__ == "__main__":
    THERE.mkdir(exist_ok=True)
    (THERE / "tiles.png").write_bytes(tiles().png())
    (THERE / "people.png").write_bytes(people().png())
