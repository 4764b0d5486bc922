"""How much of the care that a disease needs a visit gave, and what else it gave.

The care needed is the plan of the disease at its severity, with every measure that is due for this patient. A measure
is covered by any act of the visit that serves it: a drug of the same kind (chemical subgroup, ATC level 4), the same
procedure, advice for the same disease. Measures have weights: most for the operation of a plan that operates, then for
measures that have to begin within hours, then for other drugs and procedures, and little for drugs that only soothe,
advice and monitoring. A measure that depends on something the visit did not look at weighs half, and all such measures
together a quarter of the others at most. The weights are ours.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from polyclinic.cases.case import Case
from polyclinic.hospital.record.episodes import CareGiven
from polyclinic.knowledge.entries import Disease, Drug, Measure, Plan
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.safety import objection, told_at_the_counter, within
from polyclinic.knowledge.treatment import VisitFacts, WhyNot, chosen

_SOOTHES = ("N02BE", "M01A", "A03", "A04", "R01A", "R05", "R02", "R06", "M02", "D04", "A02A", "A06", "S01XA20")
"""Drugs, by ATC code, that mostly relieve: of pain and fever, vomiting, cough, a blocked nose, itching."""

_HOURS = 240  # minutes within which a measure has to begin that does not wait
_OPERATION, _URGENT, _USUAL, _SMALL, _WORDS = 4.0, 2.0, 1.0, 0.3, 0.2
_UNSEEN, _UNSEEN_AT_MOST = 0.5, 0.25  # of measures of which nobody knows whether they are due
_KIND = 5  # letters of an ATC code that name a chemical subgroup


class VisitDone(NamedTuple):
    """What a visit did."""

    disease: Disease | None  # whose plan was followed
    plan: Plan | None
    drugs: tuple[str, ...]  # handed out, by id
    facts: VisitFacts  # what the visit knew
    continued: tuple[str, ...] = ()  # taken already, and due, by id


def care_given(truth: Disease, plan: Plan, done: VisitDone, case: Case, knowledge: Knowledge) -> CareGiven:
    """Holds what was done against what is needed."""
    kinds = {knowledge.drugs[drug].atc[:_KIND] for drug in (*done.drugs, *done.continued)}
    carried_out = _carried_out(done, knowledge)
    ours = done.disease is not None and done.disease.id == truth.id
    wanted = chosen(plan, done.facts.patient, knowledge.quantities)
    operation = plan.disposition == "operation"
    needed, covered = {True: 0.0, False: 0.0}, {True: 0.0, False: 0.0}  # by whether anybody knows that it is due
    missed: list[str] = []
    measures: list[tuple[Measure, WhyNot | None]] = [(due.measure, None) for due in wanted.due]
    measures += [(left.measure, left.why_not) for left in wanted.left if left.why_not is not WhyNot.NOT_SO]
    for measure, why in measures:
        operates = operation and measure.procedure is not None
        operation = operation and not operates
        seen, weight = why is not WhyNot.NOT_KNOWN, _weight(measure, knowledge, operates=operates)
        is_done = _is_done(measure, kinds, carried_out, knowledge, ours=ours, alike=why is None)
        needed[seen] += weight
        covered[seen] += weight * is_done
        if is_done < 1 and not measure.advice and not measure.monitoring:
            missed.append(measure.give[0].drug if measure.give else measure.procedure.en if measure.procedure else "")
    unseen = min(_UNSEEN, _UNSEEN_AT_MOST * needed[True] / needed[False]) if needed[True] and needed[False] else _UNSEEN
    all_needed = needed[True] + unseen * needed[False]
    allowed = {knowledge.drugs[drug].atc[:_KIND] for drug in plan.drug_ids()}
    return CareGiven(
        covered=round((covered[True] + unseen * covered[False]) / all_needed, 4) if all_needed else 1.0,
        missed=tuple(missed),
        needless=tuple(drug for drug in done.drugs if knowledge.drugs[drug].atc[:_KIND] not in allowed),
        against=_against([knowledge.drugs[drug] for drug in done.drugs], done.facts, case),
    )


def _carried_out(done: VisitDone, knowledge: Knowledge) -> list[Measure]:
    """Returns the procedures and the advice of the plan that was followed."""
    if done.plan is None:
        return []
    due = chosen(done.plan, done.facts.patient, knowledge.quantities).due
    return [one.measure for one in due if not one.measure.give]


def _weight(measure: Measure, knowledge: Knowledge, *, operates: bool) -> float:
    if operates:
        return _OPERATION
    if measure.advice is not None or measure.monitoring is not None:
        return _WORDS
    if measure.within is not None and measure.within <= _HOURS:
        return _URGENT
    if measure.give and all(within(knowledge.drugs[p.drug].atc, _SOOTHES) for p in measure.give):
        return _SMALL
    return _USUAL


def _is_done(
    measure: Measure,
    kinds: Collection[str],
    carried_out: Iterable[Measure],
    knowledge: Knowledge,
    *,
    ours: bool,
    alike: bool,
) -> float:
    """Returns how far a measure was carried out, from 0 to 1.

    `ours`: the plan that was followed is one of the same disease. `alike`: another of its procedures counts half, as
    those of two severities differ in little more than haste.
    """
    if measure.give:
        return float(any(knowledge.drugs[p.drug].atc[:_KIND] in kinds for p in measure.give))
    if any(
        (one.procedure, one.advice, one.monitoring) == (measure.procedure, measure.advice, measure.monitoring)
        for one in carried_out
    ):
        return 1.0
    if not ours or not alike:
        return 0.0
    if measure.procedure is not None:
        return 0.5 * any(one.procedure is not None for one in carried_out)
    return float(any(one.procedure is None for one in carried_out))


def _against(drugs: Iterable[Drug], facts: VisitFacts, case: Case) -> tuple[str, ...]:
    """Returns the drugs against which something in the record speaks, even if nobody was told of it."""
    told = told_at_the_counter(case.record.presentation, case.record.history)
    known = facts.known
    known = type(known)(
        allergies=told.allergies or known.allergies,
        medications=told.medications or known.medications,
        past=told.past or known.past,
        pregnant=known.pregnant or told.pregnant,
        egfr=known.egfr,
    )
    found: list[str] = []
    before: list[Drug] = []
    for drug in drugs:
        if objection(drug, known, case.presentation, before) is not None:
            found.append(drug.id)
        before.append(drug)
    return tuple(found)
