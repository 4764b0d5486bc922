"""Checking treatment plans: three that differ, each complete, none that gives two drugs of one kind.

What cannot be used at all is refused when the files are read (`plan_links`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from polyclinic.knowledge.criteria import Criterion
from polyclinic.knowledge.data import SEVERITIES, Name
from polyclinic.knowledge.dispensing import within
from polyclinic.knowledge.entries import Disease, Drug, Item, Plan
from polyclinic.knowledge.plans import Disposition, DueWhen, Measure, Prescription
from polyclinic.knowledge.safety import Cautions
from polyclinic.knowledge.variants import interval_of

_LEAST = 2
_CARE: tuple[Disposition, ...] = ("home", "observation", "ward", "intensive care")

Flawed = tuple[str, str]
"""Where in the treatment of a disease something is wrong, and what."""


def check_plans(
    disease: Disease, drugs: Mapping[str, Drug], items: Mapping[str, Item], cautions: Cautions
) -> Iterator[Flawed]:
    """Yields what is wrong with the plans of a disease.

    Args:
        disease: whose plans.
        drugs: the drugs that they name, by id.
        items: the quantities that they name, by id.
        cautions: what says which drugs are of one kind.
    """
    plans = [disease.plan(severity) for severity in SEVERITIES]
    for severity, plan in zip(SEVERITIES, plans, strict=True):
        yield from ((f"{severity}{place}", problem) for place, problem in _plan(plan, drugs, items, cautions))
    for (first, one), (second, other) in itertools.combinations(zip(SEVERITIES, plans, strict=True), 2):
        if one.measures == other.measures:
            yield second, f"is the same plan as {first}"
        if _is_less(other.disposition, one.disposition):
            yield second, f"{other.disposition}, where {first} has {one.disposition}; it must not need less care"


def _plan(plan: Plan, drugs: Mapping[str, Drug], items: Mapping[str, Item], cautions: Cautions) -> Iterator[Flawed]:
    if len(plan.measures) < _LEAST:
        yield "", f"{len(plan.measures)} measures; needs {_LEAST} or more"
    if plan.disposition == "operation" and not any(measure.procedure for measure in plan.measures):
        yield "", "is an operation, and no measure is a procedure"
    for number, measure in enumerate(plan.measures):
        yield from ((f".measures[{number}]", problem) for problem in _texts(measure))
    for (n, one), (m, other) in itertools.combinations(enumerate(plan.measures), 2):
        for first, second in itertools.product(_reached(one), _reached(other)):
            kind = _kind(drugs[first.drug], drugs[second.drug], cautions)
            conditions = (one.when, first.when, other.when, second.when)
            if kind and not _exclude([when for when in conditions if when is not None], items):
                problem = f"{second.drug} may be given beside {first.drug} of measures[{n}], one {kind} is enough"
                yield f".measures[{m}]", problem
                break


def _is_less(one: Disposition, other: Disposition) -> bool:
    """Whether one is less care than the other; an operation is as much as a ward, or as intensive care."""
    if one == "operation":
        return False
    return _CARE.index(one) < _CARE.index("ward" if other == "operation" else other)


def _texts(measure: Measure) -> Iterator[str]:
    """Yields which texts of a measure are empty."""
    texts: list[Name | None] = [measure.why, measure.procedure, measure.advice, measure.monitoring]
    for text in (*texts, *(p.dose for p in measure.give)):
        if text is not None and not (text.en.strip() and text.zh.strip()):
            yield f"a text is empty in one language: {text.en or text.zh!r}"


def _reached(measure: Measure) -> Iterator[Prescription]:
    """Yields the alternatives of a measure that are given where nothing is withheld: up to one without a condition.

    What comes after that is a substitute, which the pharmacist holds against what was handed out.
    """
    for prescription in measure.give:
        yield prescription
        if prescription.when is None:
            return


def _kind(one: Drug, other: Drug, cautions: Cautions) -> str:
    """Returns of which kind two drugs are, of which one at a time is enough; "" where they are of none."""
    if one.atc == other.atc:
        return one.name.en
    for group in cautions.duplicates:
        if not group.both and within(one.atc, group.drugs) and within(other.atc, group.drugs):
            return group.name.en
    return ""


def _exclude(conditions: list[DueWhen], items: Mapping[str, Item]) -> bool:
    """Whether some conditions cannot hold together, as far as plain ones say."""
    first = max((when.age_at_least or 0.0 for when in conditions), default=0.0)
    below = min((when.age_below for when in conditions if when.age_below is not None), default=float("inf"))
    if first >= below:
        return True
    if len({when.sex for when in conditions if when.sex is not None}) > 1:
        return True
    if len({when.pregnant for when in conditions if when.pregnant is not None}) > 1:
        return True
    leaves = [leaf for when in conditions if when.finding is not None for leaf in _needed(when.finding)]
    return any(_apart(one, other, items) for one, other in itertools.combinations(leaves, 2))


def _needed(criterion: Criterion) -> Iterator[Criterion]:
    """Yields the plain conditions without which a condition does not hold."""
    if not criterion.parts():
        yield criterion
    elif criterion.all or len(criterion.parts()) == 1:
        for part in criterion.parts():
            yield from _needed(part)


def _apart(one: Criterion, other: Criterion, items: Mapping[str, Item]) -> bool:
    """Whether two plain conditions on one quantity cannot both hold."""
    if not one.quantity or one.quantity != other.quantity:
        return False
    if one.one_of or other.one_of:
        return set(one.one_of).isdisjoint(other.one_of)
    (low, high), (least, most) = (interval_of(leaf, items[leaf.quantity]) for leaf in (one, other))
    return max(low, least) >= min(high, most)
