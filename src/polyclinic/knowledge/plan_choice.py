"""What of a treatment plan is done for one patient: which measures are due, and which one drug of each is given.

What is not known is not so: a measure whose condition nobody looked at is not due, and one before which an examination
has to be done is not begun without it. The same patient gets the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import NamedTuple

from polyclinic.cases.presentation import Sex
from polyclinic.knowledge.entries import Item, Plan
from polyclinic.knowledge.plans import DueWhen, Measure, Prescription
from polyclinic.knowledge.variants import meets

_ADULT = 40.0  # whose age is not known


class PlanPatient(NamedTuple):
    """What is known of somebody who is to be treated.

    Attributes:
        age: in years; None is taken for an adult's.
        days: how long the illness has lasted.
        findings: quantities, as `polyclinic.knowledge.treatment.as_planned` has them, and symptoms, by id.
        examined: ids of the examinations that were done; None where all were.
    """

    age: float | None = None
    sex: Sex | None = None
    pregnant: bool = False
    days: float | None = None
    findings: Mapping[str, float | str | bool] = {}
    examined: Collection[str] | None = None


class WhyNot(StrEnum):
    """Why a measure is not carried out: its condition does not hold, it is not known, or an examination lacks."""

    NOT_SO = "not so"
    NOT_KNOWN = "not known"
    NOT_EXAMINED = "not examined"


class DueMeasure(NamedTuple):
    """A measure that is due.

    Attributes:
        options: what may be given, the first first; the others stand in for it. Empty where it gives no drug.
    """

    measure: Measure
    options: tuple[Prescription, ...] = ()

    @property
    def first(self) -> Prescription | None:
        """What is given where nothing speaks against it."""
        return self.options[0] if self.options else None


class LeftMeasure(NamedTuple):
    """A measure that is not carried out, why, and the examinations that it waits for."""

    measure: Measure
    why: WhyNot
    missing: tuple[str, ...] = ()
    options: tuple[Prescription, ...] = ()


class ChosenPlan(NamedTuple):
    """What of a plan is done for one patient, and what is not."""

    due: tuple[DueMeasure, ...]
    left: tuple[LeftMeasure, ...]


def chosen(plan: Plan, patient: PlanPatient, items: Mapping[str, Item]) -> ChosenPlan:
    """Returns what of a plan is done for a patient.

    Args:
        plan: one with measures.
        patient: what is known.
        items: the quantities, by id (`Knowledge.quantities`).
    """
    due: list[DueMeasure] = []
    left: list[LeftMeasure] = []
    for measure in plan.measures:
        holds = _holds(measure.when, patient, items)
        options = [(p, _holds(p.when, patient, items)) for p in measure.give]
        fitting = tuple(p for p, fits in options if fits)
        missing = tuple(e for e in measure.after if patient.examined is not None and e not in patient.examined)
        if holds and measure.give and not fitting:
            holds = None if any(fits is None for _, fits in options) else False
        if not holds:
            left.append(LeftMeasure(measure, WhyNot.NOT_KNOWN if holds is None else WhyNot.NOT_SO))
        elif missing:
            left.append(LeftMeasure(measure, WhyNot.NOT_EXAMINED, missing, fitting))
        else:
            due.append(DueMeasure(measure, fitting))
    return ChosenPlan(tuple(due), tuple(left))


def is_due(when: DueWhen | None, patient: PlanPatient, items: Mapping[str, Item]) -> bool:
    """Returns whether a condition is known to hold of a patient; `items` are the quantities, by id."""
    return _holds(when, patient, items) is True


def _holds(when: DueWhen | None, patient: PlanPatient, items: Mapping[str, Item]) -> bool | None:
    """Returns whether a condition holds; None where that is not known, and would decide it."""
    if when is None:
        return True
    age = _ADULT if patient.age is None else patient.age
    if when.age_at_least is not None and age < when.age_at_least:
        return False
    if when.age_below is not None and age >= when.age_below:
        return False
    if when.pregnant is not None and when.pregnant != patient.pregnant:
        return False
    known: list[bool | None] = []
    if when.sex is not None:
        known.append(None if patient.sex is None else patient.sex == when.sex)
    if when.days_at_most is not None:
        known.append(None if patient.days is None else patient.days <= when.days_at_most)
    if when.finding is not None:
        known.append(meets(when.finding, items, patient.findings))
    return False if False in known else None if None in known else True
