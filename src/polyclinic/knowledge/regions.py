"""Where patients live: how usual circumstances and older illnesses are in a region, where that is published.

The knowledge as it is read is that of `HOME`; `in_region` returns it as it is elsewhere, for those who draw patients
and for those who read them alike.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal

import msgspec

from polyclinic.cases.presentation import Sex
from polyclinic.errors import BadInput
from polyclinic.knowledge.data import DATA, Data, Name, Share
from polyclinic.knowledge.entries import Source
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.yaml_files import read_yaml

RegionName = Literal["europe", "north-america", "east-asia", "sub-saharan-africa"]
HOME: RegionName = "europe"

Rows = tuple[tuple[int, int, Sex | Literal["both"], Share], ...]


class Region(Data, frozen=True, kw_only=True):
    """A part of the world.

    Attributes:
        circumstances: by the id of the symptom rows of first year, last year, sex or "both", and how usual it is.
        background: the same by the id of the condition of `background.yaml`.
    """

    name: Name
    sources: tuple[Source, ...] = ()
    circumstances: dict[str, Rows] = msgspec.field(default_factory=dict)
    background: dict[str, Rows] = msgspec.field(default_factory=dict)


@functools.cache
def read_regions(path: Path = DATA / "regions.yaml") -> dict[str, Region]:
    """Reads the regions, by id."""
    return read_yaml(path, dict[str, Region])


def in_region(knowledge: Knowledge, region: str) -> Knowledge:
    """Returns the knowledge as it is in a region.

    Raises:
        BadInput: there is no such region; says which there are.
    """
    regions = read_regions()
    if region not in regions:
        raise BadInput(f"no region {region!r}; there are: {', '.join(regions)}")
    rows = regions[region].circumstances
    symptoms = {
        id: msgspec.structs.replace(symptom, prevalence=rows[id]) if id in rows else symptom
        for id, symptom in knowledge.symptoms.items()
    }
    return msgspec.structs.replace(knowledge, symptoms=symptoms, region=region)
