"""Where in the town somebody lives: a place on the map for each resident."""

from __future__ import annotations

from polyclinic.hospital.plan.plan import AreaKind, Hospital
from polyclinic.seeds import derive

STREET = 60
"""Metres from one street to the next."""

PLOT = 20
"""Metres from one house to the next on a street."""


def home_of(hospital: Hospital, seed: int, resident: int) -> tuple[int, int]:
    """Returns the place of a resident's home, (x, y) in whole metres from the entrance.

    Houses stand at both sides of streets over the area of the homes, as wide and high as the hospital's file says; it
    depends on the file, the seed and the resident's number alone. Some live in one house.
    """
    homes = next((area for area in hospital.areas.values() if area.kind is AreaKind.HOME), None)
    if homes is None:
        return 0, 0
    rng = derive(seed, "home", resident)
    plots, sides = max(1, int(homes.width // PLOT)), max(1, int(2 * homes.height // STREET))
    plot, side = rng.randrange(plots), rng.randrange(sides)
    x = homes.at[0] + (plot - (plots - 1) / 2) * PLOT
    # Two rows of houses face each other over a street.
    row = side // 2 * STREET + (side % 2) * STREET / 3
    y = homes.at[1] + row - ((sides - 1) // 2 * STREET + ((sides - 1) % 2) * STREET / 3) / 2
    return round(x), round(y)
