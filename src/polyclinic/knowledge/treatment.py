"""What a visit knows of a patient when the treatment is chosen, and the treatment that follows from it.

The doctor names one of three plans; what of it is done follows from the plan and from what this visit found: one drug
of each measure that is due, nothing before the examination that has to come first (`polyclinic.knowledge.plan_choice`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding
from polyclinic.knowledge.bayes import Reader
from polyclinic.knowledge.body import back_along
from polyclinic.knowledge.dispensing import Known, with_results
from polyclinic.knowledge.duration import read_days
from polyclinic.knowledge.entries import Drug, Plan
from polyclinic.knowledge.knowledge import Knowledge, plan_vocabulary
from polyclinic.knowledge.plan_choice import ChosenPlan, DueMeasure, PlanPatient, WhyNot, chosen
from polyclinic.knowledge.plan_words import MeasureWords
from polyclinic.knowledge.results import ItemReading
from polyclinic.knowledge.safety import read_cautions


class VisitFacts(NamedTuple):
    """What a visit knows of a patient.

    Attributes:
        patient: what the choice of measures goes by.
        known: what the pharmacist gets.
    """

    patient: PlanPatient
    known: Known


def visit_facts(
    presentation: Presentation,
    told: Known,
    symptoms: Sequence[str],
    findings: Iterable[Finding],
    reader: Reader,
) -> VisitFacts:
    """Returns what a visit knows.

    Args:
        presentation: who it is, and the complaint.
        told: what it tells at the counter.
        symptoms: what the report names.
        findings: the results of all examinations of the visit.
        reader: what reads them.
    """
    language, age, sex = presentation.language, presentation.age, presentation.sex
    physiology = reader.tables.physiology
    measured: dict[str, float] = {}
    known: dict[str, float | str | bool] = {}
    examined: dict[str, None] = {}
    known.update(reader.lexicons[language].read_all([presentation.complaint, *symptoms]))
    for finding in findings:
        for evidence in reader.says(finding).items:
            examination, item = evidence.place
            examined[examination] = None
            value = _value(evidence.observed)
            if value is None or item in physiology.derived:
                continue
            quantity = item
            if item in physiology.panels:
                panel = physiology.panels[item]
                quantity = panel.of
                if isinstance(value, str) or quantity in known:
                    continue
                value = back_along(panel.curve, value) if panel.curve else value
            if isinstance(value, str):
                known[quantity] = value
            else:
                measured[quantity] = value
                known[quantity] = physiology.carrying(reader.knowledge.quantities[quantity], age, sex).back(value)
    held = with_results(told, presentation, read_cautions(), measured)
    patient = PlanPatient(
        age=age,
        sex=sex,
        pregnant=held.pregnant,
        days=read_days(presentation.complaint, language),
        findings=known,
        examined=examined,
    )
    return VisitFacts(patient, held)


def _value(observed: float | str | ItemReading) -> float | str | None:
    """Returns what was observed where it is one value; None where it is a range or one of several texts."""
    if not isinstance(observed, ItemReading):
        return observed
    if len(observed.values) == 1:
        return next(iter(observed.values))
    return observed.low if not observed.values and observed.low == observed.high else None


class PlannedTreatment:
    """A plan for one patient, from the choice of measures to what is handed out.

    Attributes:
        measures: for each measure that gives a drug, its alternatives, the first choice first.
    """

    def __init__(self, plan: Plan, facts: VisitFacts, knowledge: Knowledge, presentation: Presentation) -> None:
        self._words = MeasureWords(plan_vocabulary(knowledge), presentation.language)
        self._chosen: ChosenPlan = chosen(plan, facts.patient, knowledge.quantities)
        self._giving = [due for due in self._chosen.due if due.options]
        self.measures: list[list[Drug]] = [
            [knowledge.drugs[option.drug] for option in due.options] for due in self._giving
        ]

    def lines(self, given: Sequence[int | None] | None = None) -> tuple[str, ...]:
        """Returns what is done, in words.

        `given` is for each of `measures` the number of the alternative that is given, None where none is; without it
        the first of each is.
        """
        numbers = dict(zip(map(id, self._giving), given or [0] * len(self._giving), strict=True))
        return tuple(line for due in self._chosen.due if (line := self._line(due, numbers.get(id(due)))))

    def _line(self, due: DueMeasure, number: int | None) -> str:
        if not due.options:
            return self._words.done(due.measure, None)
        return "" if number is None else self._words.done(due.measure, due.options[number])

    def not_begun(self) -> tuple[str, ...]:
        """Returns the measures that wait for examinations, in words."""
        return tuple(
            self._words.not_begun(left.measure, left.options[0] if left.options else None, left.missing)
            for left in self._chosen.left
            if left.why is WhyNot.NOT_EXAMINED
        )
