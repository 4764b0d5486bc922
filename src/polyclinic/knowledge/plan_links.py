"""What the treatment plans of a disease refer to, and whether they are of a form that can be used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polyclinic.knowledge.body import read_body
from polyclinic.knowledge.criteria import Criterion
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.entries import Disease, Plan
from polyclinic.knowledge.plan_words import PlanVocabulary
from polyclinic.knowledge.plans import DueWhen, Measure

_OLDEST = 130  # years

Problem = tuple[str, str]
"""What is wrong, and the field that it stands in."""


def unlinked_plans(disease: Disease, vocabulary: PlanVocabulary) -> Iterator[Problem]:
    """Yields what is wrong with the plans of a disease so that they cannot be used, each with its field."""
    looked_at = {*disease.findings, *disease.examinations}
    for severity in SEVERITIES:
        plan, field = disease.plan(severity), f"$.treatment.{severity}"
        yield from _plan(plan, field, vocabulary)
        for number, measure in enumerate(plan.measures):
            for examination in measure.after:
                if examination in vocabulary.examinations and examination not in looked_at:
                    yield f"waits for {examination!r}, which is not indicated", f"{field}.measures[{number}].after"


def _plan(plan: Plan, field: str, vocabulary: PlanVocabulary) -> Iterator[Problem]:
    if plan.en or plan.zh:
        yield "has lines; they are made of its measures", field
    for number, measure in enumerate(plan.measures):
        yield from _measure(measure, f"{field}.measures[{number}]", vocabulary)


def _measure(measure: Measure, field: str, vocabulary: PlanVocabulary) -> Iterator[Problem]:
    if problem := measure.problem():
        yield problem, field
    for number, prescription in enumerate(measure.give):
        if prescription.drug not in vocabulary.drugs:
            yield _unknown("drug", prescription.drug, vocabulary.drugs), f"{field}.give[{number}].drug"
        if prescription.when is not None:
            yield from _when(prescription.when, f"{field}.give[{number}].when", vocabulary)
    if measure.when is not None:
        yield from _when(measure.when, f"{field}.when", vocabulary)
    for examination in measure.after:
        if examination not in vocabulary.examinations:
            yield _unknown("examination", examination, vocabulary.examinations), f"{field}.after"
    if measure.within is not None and measure.within <= 0:
        yield f"{measure.within} minutes; must be above 0", f"{field}.within"


def _when(when: DueWhen, field: str, vocabulary: PlanVocabulary) -> Iterator[Problem]:
    first, below = when.age_at_least or 0.0, _OLDEST if when.age_below is None else when.age_below
    if not 0 <= first < below <= _OLDEST:
        yield f"impossible ages: from {first:g} to below {below:g}; needs 0 <= first < last <= {_OLDEST}", field
    if when.days_at_most is not None and when.days_at_most <= 0:
        yield f"{when.days_at_most:g} days; must be above 0", f"{field}.days_at_most"
    if when == DueWhen():
        yield "says no condition; leave it out", field
    for node in () if when.finding is None else when.finding.nodes():
        for problem in _finding(node, vocabulary):
            yield problem, f"{field}.finding"


def _finding(node: Criterion, vocabulary: PlanVocabulary) -> Iterator[str]:
    if problem := node.problem():
        yield problem
    elif node.symptom and node.symptom not in vocabulary.symptoms:
        yield _unknown("symptom", node.symptom, vocabulary.symptoms)
    elif node.quantity:
        item, body = vocabulary.items.get(node.quantity), read_body()
        if item is None:
            yield _unknown("quantity", node.quantity, vocabulary.items)
        elif node.quantity in body.items:
            yield f"{node.quantity!r} reads another quantity; name that: {body.items[node.quantity].of!r}"
        elif node.quantity in body.derived:
            yield f"{node.quantity!r} is made of others; name one of: {', '.join(body.derived[node.quantity].of)}"
        elif unknown := sorted(set(node.one_of) - set(item.values)):
            yield f"no state {unknown[0]!r} of {node.quantity}; known: {', '.join(item.values)}"
        elif item.numeric == bool(node.one_of):
            yield f"{node.quantity!r} is {'a number' if item.numeric else 'a text: needs one_of'}"


def _unknown(what: str, id: str, known: Iterable[str]) -> str:
    return f"no {what} {id!r}; known: {', '.join(sorted(known))}"
