"""What examinations consist of: procedures, regions of the body, materials, what is looked at, and panels of it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from polyclinic.yaml_files import read_yaml

PROCEDURE, REGION, MATERIAL, ANALYTE, PANEL = "procedure", "region", "material", "analyte", "panel"

ANYWHERE, BODY = "any", "body"
"""What is looked at in no certain material (a germ), and on the body itself (its temperature)."""

_Parents = Mapping[str, tuple[str, ...]]


class _Concepts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    procedures: dict[str, tuple[str, ...]]
    regions: dict[str, tuple[str, ...]]
    materials: dict[str, tuple[str, ...]]
    analytes: dict[str, dict[str, tuple[str, ...]]]
    panels: dict[str, tuple[str, ...]]
    at: dict[str, tuple[str, ...]]
    signs: dict[str, tuple[str, ...]]


_read = read_yaml(Path(__file__).with_name("concepts.yaml"), _Concepts)
_analytes: _Parents = {name: up for within in _read.analytes.values() for name, up in within.items()}
_parents: _Parents = {**_read.procedures, **_read.regions, **_read.materials, **_analytes}

KINDS: Mapping[str, str] = {
    **dict.fromkeys(_read.procedures, PROCEDURE),
    **dict.fromkeys(_read.regions, REGION),
    **dict.fromkeys(_read.materials, MATERIAL),
    **dict.fromkeys(_analytes, ANALYTE),
    **dict.fromkeys(_read.panels, PANEL),
}
"""Of which kind each concept is."""

AT: _Parents = _read.at
"""Where a procedure is done where nothing else is said."""

SIGNS: _Parents = _read.signs
"""How and where a sign on the body is looked for."""

_MATERIAL_OF = {name: material for material, within in _read.analytes.items() for name in within}


@functools.cache
def above(concept: str) -> frozenset[str]:
    """Returns a concept and all that it is a kind or a part of."""
    return frozenset((concept,)).union(*map(above, _parents.get(concept, ())))


@functools.cache
def parts(panel: str) -> frozenset[str]:
    """Returns a panel with all panels and analytes that belong to it."""
    return frozenset((panel,)).union(*map(parts, _read.panels.get(panel, ())))


@functools.cache
def material_of(concept: str) -> str:
    """Returns the material in which an analyte or a panel is looked at where nothing else is said."""
    if concept in _read.panels:
        return material_of(_read.panels[concept][0])
    return _MATERIAL_OF.get(concept, ANYWHERE)


def related(one: str, other: str) -> bool:
    """Whether two concepts are the same, or one is a kind or a part of the other."""
    return one in above(other) or other in above(one)


def any_related(some: Iterable[str], others: Iterable[str]) -> bool:
    """Whether a concept of some is related to one of others."""
    others = tuple(others)
    return any(related(one, other) for one in some for other in others)


def siblings(one: str, other: str) -> bool:
    """Whether two concepts are kinds of the same."""
    return bool(above(one) & above(other))


def is_a(concept: str, *kinds: str) -> bool:
    """Whether a concept is one of these or a kind of one."""
    return not above(concept).isdisjoint(kinds)
