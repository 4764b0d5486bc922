"""An illness: how it begins, what is done about it, and how it goes on after a visit."""

from __future__ import annotations

import msgspec

from polyclinic.cases.case import Case
from polyclinic.hospital.record.episodes import CareGiven
from polyclinic.hospital.record.happenings import FollowUpOutcome, HarmCause
from polyclinic.knowledge.data import SEVERITIES, Severity
from polyclinic.knowledge.entries import Disease
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.plans import Disposition


class Onset(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody falls ill."""

    resident: int  # its number, from 0
    day: int  # from 0
    disease: str  # its id in the knowledge
    severity: Severity  # how badly
    at: int | None = None  # when, of one of many who come at once, in seconds; None: at waking


class IllnessCourse(msgspec.Struct, frozen=True, kw_only=True):
    """How an illness goes on after a visit."""

    outcome: FollowUpOutcome  # how the patient is at the follow-up
    recovers_after_days: int | None  # days from the visit until it is healthy; None where it gets worse
    severity: Severity  # of the illness from now on: one up where it gets worse
    worsens_after: int | None = None  # seconds from the visit until it is worse, where it cannot wait for the follow-up
    dies_after: int | None = None  # seconds from the visit until the patient dies; None where it does not
    cause: HarmCause | None = None  # why it gets worse or dies


class Treatment(msgspec.Struct, frozen=True, kw_only=True):
    """What a visit did for a patient."""

    treated: bool = False  # anything at all
    right: bool = False  # the plan of the disease at its severity
    diagnosis: str = ""  # what the doctor took it for; "" where it committed to none
    items: tuple[str, ...] = ()  # what was prescribed and handed out
    right_diagnosis: bool = False  # it is what it was taken for
    treated_for: str = ""  # the disease whose plan was followed, by id; "" where there was none
    plan: Severity = "mild"  # which of its plans
    disposition: Disposition = "home"  # where that plan treats
    care: CareGiven | None = None  # held against what the disease needs; None where that is not known


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
    """Returns the next severity up; severe stays severe."""
    return SEVERITIES[min(SEVERITIES.index(severity) + 1, len(SEVERITIES) - 1)]


def recovering(days: int, severity: Severity, *, follow_up_days: int) -> IllnessCourse:
    """Returns the course of somebody who is healthy `days` after a visit."""
    outcome = FollowUpOutcome.RECOVERED if days <= follow_up_days else FollowUpOutcome.BETTER
    return IllnessCourse(outcome=outcome, recovers_after_days=days, severity=severity)
