"""The tiles of the town's map, by name; `frontend/art.py` draws them in this order."""

from __future__ import annotations

TILE = 16
"""Pixels along a side."""

COLUMNS = 8
"""Tiles in a row of the picture."""

TILES = (
    *("grass", "meadow", "flowers", "tree", "bush", "street", "pavement", "water"),
    *("corridor", "floor", "counter floor", "hall floor", "care floor", "lab floor", "theatre floor", "mat"),
    *("wall", "wall front", "door", "desk", "counter", "chair", "bed", "machine"),
    *("roof left", "roof", "roof right", "house left", "house door", "house right", "plant", "table"),
)

NUMBERS = {name: number + 1 for number, name in enumerate(TILES)}
