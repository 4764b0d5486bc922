"""Getting worse while waiting: whether, and how soon after coming in, by the disease's course and time.

Nature does this, and asks nobody: no model, and nobody who plays. Where minutes decide (`time_critical` in the
disease's file), what its untreated course gets worse by does so within the hour; elsewhere within the days after which
it would recover at the earliest, so that an hour or two in a waiting hall seldom matters.
"""

from __future__ import annotations

import random

import msgspec

from polyclinic.cases.case import Case
from polyclinic.hospital.record.happenings import DAY, HOUR
from polyclinic.hospital.town.illness import disease_of, severity_of
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.knowledge import Knowledge

LONGEST = 12 * HOUR
"""Seconds; nobody waits longer than a hospital is open."""


class Worsening(msgspec.Struct, frozen=True):
    """How an illness goes on while nobody treats it."""

    after: int  # seconds after coming in
    case: Case  # the illness from then on


def worsens_after(case: Case, knowledge: Knowledge, rng: random.Random) -> int | None:
    """Returns after how many seconds somebody who came in gets worse, if nobody treats it; None: not while it waits.

    Who is severely ill stays so here; what becomes of that, a ward's course says.

    Args:
        case: the illness as it came in.
        knowledge: that the case was drawn from.
        rng: drawn from twice, whatever comes of it.
    """
    chance, share = rng.random(), rng.random()
    disease, severity = disease_of(case, knowledge), severity_of(case)
    if severity == SEVERITIES[-1]:
        return None
    untreated = disease.course.untreated
    if chance >= untreated.worsening[SEVERITIES.index(severity)]:
        return None
    within = HOUR if severity in disease.time_critical else untreated.days[0] * DAY
    after = round(share * within)
    return after if after < LONGEST else None
