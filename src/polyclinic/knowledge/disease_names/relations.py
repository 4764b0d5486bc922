"""What one name of a disease can be to another, and what is read of a name to find it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from polyclinic.knowledge.disease_names.meaning import NameMeaning


class Relation(StrEnum):
    """What a disease is to another."""

    SAME = "same"
    NARROWER = "narrower"
    """It is a kind of the other, or the other with something more said of it."""
    BROADER = "broader"
    """The other is a kind of it."""
    DIFFERENT = "different"


WITHIN = frozenset((Relation.SAME, Relation.NARROWER))
AROUND = frozenset((Relation.SAME, Relation.BROADER))
TURNED = {Relation.NARROWER: Relation.BROADER, Relation.BROADER: Relation.NARROWER}


class ReadName(NamedTuple):
    """What a name says, and what follows from it.

    Attributes:
        row: its units.
        said: its atoms, with a disease in place of those that define it.
        all: all atoms that are so; `flat` are those that are so where what is said beside the disease is so too.
    """

    row: tuple[str, ...]
    meaning: NameMeaning
    said: frozenset[str]
    all: frozenset[str]
    flat: frozenset[str]
