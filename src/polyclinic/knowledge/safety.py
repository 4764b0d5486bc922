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


class Interaction(Data, frozen=True, kw_only=True):
    """Drugs that nobody is given who takes one of those that the words name."""

    words: Texts
    drugs: tuple[str, ...]
    reason: Name


class Duplicate(Data, frozen=True, kw_only=True):
    """A group of drugs of which one at a time is enough."""

    name: Name
    drugs: tuple[str, ...]


class Cautions(Data, frozen=True, kw_only=True):
    """All that a pharmacist looks for; drugs by ATC codes or the beginnings of these."""

    sources: tuple[Source, ...]
    allergies: tuple[Allergy, ...]
    ages: tuple[AgeLimit, ...]
    pregnancy: tuple[InPregnancy, ...]
    interactions: tuple[Interaction, ...]
    duplicates: tuple[Duplicate, ...]


@functools.cache
def read_red_flags(path: Path = DATA / "red_flags.yaml") -> RedFlags:
    """Reads the red flags."""
    return read_yaml(path, RedFlags)


@functools.cache
def read_cautions(path: Path = DATA / "cautions.yaml") -> Cautions:
    """Reads the cautions."""
    return read_yaml(path, Cautions)
