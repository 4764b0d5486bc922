"""Visits: one case and its players, several doctors who confer, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.visits.one_call import consult
    from polyclinic.visits.revisit import revisit_all
    from polyclinic.visits.team import TeamVisit, confer
    from polyclinic.visits.visit import Visit, see

__all__ = [
    "TeamVisit",
    "Visit",
    "confer",
    "consult",
    "revisit_all",
    "see",
]

__getattr__ = lazily(
    __name__,
    {
        "one_call": "consult",
        "revisit": "revisit_all",
        "team": "TeamVisit confer",
        "visit": "Visit see",
    },
)
