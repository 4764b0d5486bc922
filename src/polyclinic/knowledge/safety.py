"""What must not wait at the door, and what must not be handed out at the pharmacy: typed data, and its readers.

`red_flags.yaml` and `cautions.yaml` name their sources; where one of them is wrong, `BadInput` says where.
"""

from __future__ import annotations

import functools
from pathlib import Path

from polyclinic.knowledge.data import DATA, Data, Name, Texts
from polyclinic.knowledge.entries import Source
from polyclinic.yaml_files import read_yaml


class RedFlags(Data, frozen=True, kw_only=True):
    """Symptoms, by id, that make an emergency, and those that make a patient urgent."""

    sources: tuple[Source, ...]
    emergency: tuple[str, ...]
    urgent: tuple[str, ...]


class Allergy(Data, frozen=True, kw_only=True):
    """A group of drugs: by which words somebody says that it is not borne, and the ATC codes of the group."""

    name: Name
    words: Texts
    drugs: tuple[str, ...]


class AgeLimit(Data, frozen=True, kw_only=True):
    """Drugs that nobody below an age, in years, is given."""

    below: float
    drugs: tuple[str, ...]
    reason: Name


class InPregnancy(Data, frozen=True, kw_only=True):
    """Drugs that nobody is given in pregnancy."""

    drugs: tuple[str, ...]
    reason: Name


class KidneyLimit(Data, frozen=True, kw_only=True):
    """Drugs that nobody is given whose kidneys filter less, in mL/min/1.73 m2."""

    below: float
    drugs: tuple[str, ...]
    reason: Name


class InIllness(Data, frozen=True, kw_only=True):
    """Drugs that nobody is given who tells of an illness, earlier or lasting, in one of the words."""

    name: Name
    words: Texts
    drugs: tuple[str, ...]
    reason: Name


class Interaction(Data, frozen=True, kw_only=True):
    """Drugs that nobody is given who takes one of those that the words name."""

    words: Texts
    drugs: tuple[str, ...]
    reason: Name


class Duplicate(Data, frozen=True, kw_only=True):
    """A group of drugs of which one at a time is enough."""

    name: Name
    drugs: tuple[str, ...]


class Cautions(Data, frozen=True, kw_only=True, eq=False):
    """All that a pharmacist looks for; drugs by ATC codes or the beginnings of these.

    `heights` are median heights of children by age: years, cm.
    """

    sources: tuple[Source, ...]
    allergies: tuple[Allergy, ...]
    ages: tuple[AgeLimit, ...]
    pregnancy: tuple[InPregnancy, ...]
    kidney: tuple[KidneyLimit, ...]
    conditions: tuple[InIllness, ...]
    interactions: tuple[Interaction, ...]
    duplicates: tuple[Duplicate, ...]
    heights: tuple[tuple[float, float], ...]


@functools.cache
def read_red_flags(path: Path = DATA / "red_flags.yaml") -> RedFlags:
    """Reads the red flags."""
    return read_yaml(path, RedFlags)


@functools.cache
def read_cautions(path: Path = DATA / "cautions.yaml") -> Cautions:
    """Reads the cautions."""
    return read_yaml(path, Cautions)
