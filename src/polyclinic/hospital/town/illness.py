"""An illness: how it begins, what is done about it, and how it goes on after a visit."""

from __future__ import annotations

import msgspec

from polyclinic.cases.case import Case
from polyclinic.hospital.record.happenings import FollowUpOutcome
from polyclinic.knowledge.data import SEVERITIES, Severity
from polyclinic.knowledge.entries import Disease
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.seeds import derive


class Onset(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody falls ill."""

    resident: int  # its number, from 0
    day: int  # from 0
    disease: str  # its id in the knowledge
    severity: Severity  # how badly


class IllnessCourse(msgspec.Struct, frozen=True, kw_only=True):
    """How an illness goes on after a visit."""

    outcome: FollowUpOutcome  # how the patient is at the follow-up
    recovers_after_days: int | None  # days from the visit until it is healthy; None where it gets worse
    severity: Severity  # of the illness from now on: one up where it gets worse


class Treatment(msgspec.Struct, frozen=True, kw_only=True):
    """What a visit did for a patient."""

    treated: bool = False  # anything at all
    right: bool = False  # the plan of the disease at its severity
    diagnosis: str = ""  # what the doctor took it for; "" where it committed to none
    items: tuple[str, ...] = ()  # what was prescribed and handed out


def disease_of(case: Case, knowledge: Knowledge) -> Disease:
    """Returns the disease that a case was drawn from.

    Raises:
        ValueError: it is none of the knowledge's; such a case does not come from here.
    """
    disease = knowledge.disease_named(case.truth.diagnoses[0].name)
    if disease is None:
        raise ValueError(f"{case.id}: {case.truth.diagnoses[0].name!r} is no disease of the knowledge")
    return disease


def severity_of(case: Case) -> Severity:
    """Returns how badly the patient of a case is ill.

    Raises:
        ValueError: the case does not say; such a case does not come from here.
    """
    if case.truth.severity is None:
        raise ValueError(f"{case.id}: no severity")
    return case.truth.severity


def next_severity(severity: Severity) -> Severity:
    """Returns the next severity up; severe stays severe, as nobody dies here."""
    return SEVERITIES[min(SEVERITIES.index(severity) + 1, len(SEVERITIES) - 1)]


def course(
    case: Case,
    knowledge: Knowledge,
    *,
    visit: int,
    treatment: Treatment,
    follow_up_days: int,
    seed: int,
) -> IllnessCourse:
    """Draws how an illness goes on, by its disease's courses.

    Args:
        case: the illness at this visit.
        knowledge: that the case was drawn from.
        visit: from 1 within the illness.
        treatment: what was done about it.
        follow_up_days: days from the visit to the follow-up.
        seed: the run's seed; it gives the same course for the same case and visit.
    """
    courses, severity = disease_of(case, knowledge).course, severity_of(case)
    way = (courses.treated if treatment.right else courses.wrongly) if treatment.treated else courses.untreated
    rng = derive(seed, "course", case.id, visit)
    # Both are drawn whatever comes of the first: a treatment whose course is better is so for each patient.
    chance, share = rng.random(), rng.random()
    first, last = way.days
    if chance < way.worsening[SEVERITIES.index(severity)]:
        return IllnessCourse(outcome=FollowUpOutcome.WORSE, recovers_after_days=None, severity=next_severity(severity))
    return recovering(first + int(share * (last - first + 1)), severity, follow_up_days=follow_up_days)


def recovering(days: int, severity: Severity, *, follow_up_days: int) -> IllnessCourse:
    """Returns the course of somebody who is healthy `days` after a visit."""
    outcome = FollowUpOutcome.RECOVERED if days <= follow_up_days else FollowUpOutcome.BETTER
    return IllnessCourse(outcome=outcome, recovers_after_days=days, severity=severity)
