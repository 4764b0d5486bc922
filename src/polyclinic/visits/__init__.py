"""Visits: one case and its players, several doctors who confer, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.visits.visit import consult as consult
    from polyclinic.visits.team import TeamVisit as TeamVisit, confer as confer, revisit_all as revisit_all
    from polyclinic.visits.visit import Visit as Visit, see as see

__getattr__ = lazily(__name__, __file__)
