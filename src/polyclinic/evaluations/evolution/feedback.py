"""What becomes of a patient of the practice after it was treated, by the knowledge's course of its disease.

Luck is drawn once for a patient, and the treatment moves the limits that it is held against: two doctors with the same
patients meet the same luck, and a right treatment is never worse for anybody.
"""

from __future__ import annotations

from enum import StrEnum

from polyclinic.evaluations.evolution.patients import PracticePatient
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.seeds import derive

FOLLOW_UP = 10  # Days after the treatment at which a patient reports back


class Came(StrEnum):
    """How a patient is at the follow-up; `ill` is neither well again nor worse."""

    RECOVERED = "recovered"
    ILL = "ill"
    WORSE = "worse"


def came_of(patient: PracticePatient, *, right: bool, seed: int) -> Came:
    """Returns how a patient is after it was treated."""
    luck = derive(seed, patient.case.id, "outcome")
    chance, share = luck.random(), luck.random()
    course = patient.disease.course.treated if right else patient.disease.course.wrongly
    if chance < course.worsening[SEVERITIES.index(patient.severity)]:
        return Came.WORSE
    first, last = course.days
    return Came.RECOVERED if first + int(share * (last - first + 1)) <= FOLLOW_UP else Came.ILL
