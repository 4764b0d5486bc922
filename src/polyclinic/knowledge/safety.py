"""What must not wait at the door, and what must not be handed out at the pharmacy: typed data, and its readers.

`red_flags.yaml` and `cautions.yaml` name their sources; where one of them is wrong, `BadInput` says where.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from polyclinic.knowledge.data import DATA, Data, Name, Texts
from polyclinic.knowledge.entries import Source
from polyclinic.yaml_files import read_yaml


class SignLimit(Data, frozen=True, kw_only=True):
    """A vital sign, by item id, above a value in its unit as it is measured; and what it makes.

    `then` is what is done with somebody whose illness by itself would be treated at home.
    """

    of: str
    above: float
    makes: Literal["emergency", "urgent"]
    then: Name | None = None


class DangerGroup(Data, frozen=True, kw_only=True):
    """What must not wait in some people more than in others.

    Attributes:
        from_age, below: of those as old as the first or older, and younger than the second, in years; None: of any age.
        pregnant: of those who have, or may have, a child within them.
        emergency, urgent: symptoms, by id.
        signs: vital signs.
    """

    from_age: float = 0.0
    below: float | None = None
    pregnant: bool = False
    emergency: tuple[str, ...] = ()
    urgent: tuple[str, ...] = ()
    signs: tuple[SignLimit, ...] = ()

    def has(self, age: float | None, *, pregnant: bool) -> bool:
        """Whether somebody is of the group."""
        young = self.below is None or (age is not None and self.from_age <= age < self.below)
        return young and (pregnant or not self.pregnant)


class RedFlags(Data, frozen=True, kw_only=True):
    """Symptoms, by id, that make an emergency, and those that make a patient urgent; of some people more.

    `may_be_pregnant` is the symptom by which a woman may be.
    """

    sources: tuple[Source, ...]
    emergency: tuple[str, ...]
    urgent: tuple[str, ...]
    may_be_pregnant: str = ""
    groups: tuple[DangerGroup, ...] = ()

    def of(self, age: float | None, *, pregnant: bool) -> RedFlags:
        """Returns the flags of somebody, with those of its groups; the only groups left are its own."""
        groups = tuple(group for group in self.groups if group.has(age, pregnant=pregnant))
        emergency = dict.fromkeys((*self.emergency, *(s for group in groups for s in group.emergency)))
        urgent = dict.fromkeys((*self.urgent, *(s for group in groups for s in group.urgent)))
        return msgspec.structs.replace(self, emergency=(*emergency,), urgent=(*urgent,), groups=groups)

    def crossed(self, measured: Mapping[str, float]) -> tuple[SignLimit, ...]:
        """Returns the limits of all these groups that measured vital signs lie beyond."""
        return tuple(s for g in self.groups for s in g.signs if measured.get(s.of, s.above) > s.above)

    def by_sign(self, measured: Mapping[str, float]) -> Literal["emergency", "urgent"] | None:
        """Returns what measured vital signs make in somebody of all these groups; None: nothing."""
        made = [limit.makes for limit in self.crossed(measured)]
        return "emergency" if "emergency" in made else "urgent" if made else None


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
    """A group of drugs of which one at a time is enough.

    Attributes:
        name: of the group, in the singular.
        drugs: ATC codes.
        words: by which somebody says that it takes one of them.
        stays: what is taken goes on where one of the group is due; otherwise a drug of another group is looked for.
        both: two of the group may be handed out together, and only beside what is taken one is enough.
    """

    name: Name
    drugs: tuple[str, ...]
    words: Texts = Texts()
    stays: bool = True
    both: bool = False


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
