"""Care after the door: where and how long patients of a disease lie, and how many die of it (`stays.yaml`)."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal

import msgspec

from polyclinic.knowledge.data import DATA, Data, Severity, Share
from polyclinic.knowledge.entries import Disposition
from polyclinic.yaml_files import read_yaml

Place = Literal["observation", "ward", "intensive care", "theatre"]
Places = dict[Place, tuple[float, float]]
"""Places in their order, each with the least and the most that is usual: hours in observation and theatre, or days."""

_HOUR, _DAY = 3600, 24 * 3600
_UNIT: dict[Place, int] = {"observation": _HOUR, "ward": _DAY, "intensive care": _DAY, "theatre": _HOUR}
FIRST: dict[Disposition, Place] = {
    "observation": "observation",
    "ward": "ward",
    "intensive care": "intensive care",
    "operation": "theatre",
}
"""Where somebody goes first, by disposition; who is sent home goes nowhere."""

_USUAL: dict[Disposition, Places] = {
    "home": {},
    "observation": {"observation": (6, 18)},
    "ward": {"ward": (2, 5)},
    "intensive care": {"intensive care": (2, 4), "ward": (2, 5)},
    "operation": {"theatre": (1, 2), "ward": (2, 4)},
}
"""Of a disposition that the table does not have for a disease: short stays of the usual kind."""


class _StaySource(Data):
    title: str
    publisher: str
    year: int


class Fatality(Data):
    """Of those who have a disease at a severity, mild to severe, the share that dies before it changes."""

    treated: tuple[Share, Share, Share]
    untreated: tuple[Share, Share, Share]


class HospitalCourse(Data):
    """What a disease takes in beds, and in lives; without `dies` it kills nobody."""

    stay: dict[Severity, Places] = msgspec.field(default_factory=dict)
    dies: Fatality = Fatality(treated=(0, 0, 0), untreated=(0, 0, 0))
    sources: tuple[str, ...] = ()


class StayTable(Data):
    """The whole table, by disease."""

    sources: dict[str, _StaySource]
    diseases: dict[str, HospitalCourse]

    def stay(
        self, disease: str, severity: Severity, disposition: Disposition, share: float
    ) -> tuple[tuple[Place, int], ...]:
        """Returns where somebody lies and for how long, in seconds."""
        known = self.diseases.get(disease, _NOTHING).stay.get(severity, {})
        places = known if next(iter(known), None) == FIRST.get(disposition) else _USUAL[disposition]
        return tuple(
            (place, round((least + share * (most - least)) * _UNIT[place])) for place, (least, most) in places.items()
        )

    def fatality(self, disease: str) -> Fatality:
        """Returns how many die of a disease."""
        return self.diseases.get(disease, _NOTHING).dies


_NOTHING = HospitalCourse()


@functools.cache
def read_stays(path: Path = DATA / "stays.yaml") -> StayTable:
    """Reads the table; the same object for the same path."""
    return read_yaml(path, StayTable)
