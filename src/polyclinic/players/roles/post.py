"""A doctor's post in a hospital: who it is there, what it may do, and what it remembers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from polyclinic.cases.presentation import Sex

Skill = Literal["junior", "specialist", "senior"]
"""How practised a doctor is. By rules a junior is content with less certainty, and a senior with more."""


class CaseSeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A patient as its doctor remembers it. Nothing in it is the truth: how it went on is what the follow-up said."""

    day: str  # the date, as 2026-01-05
    age: float | None = None  # in years
    sex: Sex | None = None
    complaint: str
    examinations: tuple[str, ...] = ()  # names
    diagnosis: str = ""  # what the doctor took it for
    plan: str = ""  # the severity whose plan it chose
    outcome: str = ""  # "recovered", "better", "worse" or "died"; "" where nobody knows yet


class Post(msgspec.Struct, frozen=True, kw_only=True):
    """A doctor's post; texts are in the language of the visit.

    Attributes:
        department: its id; what the rules doctor knows goes by it.
        departments: all that see patients here, id to name.
        orders: names of what it may order; not said where empty.
        candidates: names of the diseases that the diagnosis is one of; not said where empty.
        memory: cases of its own, the latest last.
    """

    name: str = ""
    hospital: str = ""
    department: str
    departments: Mapping[str, str]
    skill: Skill = "specialist"
    about: str = ""
    orders: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    memory: tuple[CaseSeen, ...] = ()

    @property
    def department_name(self) -> str:
        """The name of its department."""
        return self.departments.get(self.department, self.department)
