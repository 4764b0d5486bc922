"""What a visit knows of a patient when the treatment is chosen, and the treatment that follows from it.

The doctor names one of three plans; what of it is done follows from the plan and from what this visit found: one drug
of each measure that is due, nothing before the examination that has to come first.

What is not known counts as not so: a measure whose condition nobody looked at is not due, and one that needs an
examination first is not begun without it. The same patient gets the same plan.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from polyclinic.cases.presentation import Presentation, Sex
from polyclinic.cases.record import Finding
from polyclinic.knowledge.bayes import Reader
from polyclinic.knowledge.body import back_along
from polyclinic.knowledge.data import DATA, SEVERITIES, Data, Name, Severity, Texts
from polyclinic.knowledge.disease_body import meets
from polyclinic.knowledge.entries import Disease, Drug, DueWhen, Item, Measure, Plan, Prescription, Source
from polyclinic.knowledge.knowledge import Knowledge, plan_vocabulary
from polyclinic.knowledge.lexicon import read_days
from polyclinic.knowledge.physiology import Physiology
from polyclinic.knowledge.plan_words import MeasureWords
from polyclinic.knowledge.results import ItemReading
from polyclinic.knowledge.safety import (
    Known,
    goes_on,
    is_new,
    now_taken,
    objection,
    one_told,
    read_red_flags,
    with_results,
)
from polyclinic.yaml_files import read_yaml

_ADULT = 40.0  # whose age is not known


class PlanPatient(NamedTuple):
    """What is known of somebody who is to be treated.

    Attributes:
        findings: quantities, as `polyclinic.knowledge.treatment.as_planned` has them, and symptoms, by id.
    """

    age: float | None = None  # in years; None is taken for an adult's
    sex: Sex | None = None
    pregnant: bool = False
    days: float | None = None  # how long the illness has lasted
    findings: Mapping[str, float | str | bool] = {}
    examined: Collection[str] | None = None  # ids of the examinations that were done; None where all were


class WhyNot(StrEnum):
    """Why a measure is not carried out: its condition does not hold, it is not known, or an examination lacks."""

    NOT_SO = "not so"
    NOT_KNOWN = "not known"
    NOT_EXAMINED = "not examined"


class MeasureChoice(NamedTuple):
    """Whether a measure is carried out, and what may be given for it."""

    measure: Measure
    options: tuple[Prescription, ...] = ()  # the first is given, the others stand in for it; none without drugs
    why_not: WhyNot | None = None  # None where it is due
    missing: tuple[str, ...] = ()  # the examinations that it waits for

    @property
    def first(self) -> Prescription | None:
        """What is given where nothing speaks against it."""
        return self.options[0] if self.options else None


class ChosenPlan(NamedTuple):
    """What of a plan is done for one patient, and what is not."""

    due: tuple[MeasureChoice, ...]
    left: tuple[MeasureChoice, ...]


def chosen(plan: Plan, patient: PlanPatient, items: Mapping[str, Item]) -> ChosenPlan:
    """Returns what of a plan is done for a patient."""
    due: list[MeasureChoice] = []
    left: list[MeasureChoice] = []
    for measure in plan.measures:
        holds = _holds(measure.when, patient, items)
        options = [(p, _holds(p.when, patient, items)) for p in measure.give]
        fitting = tuple(p for p, fits in options if fits)
        missing = tuple(e for e in measure.after if patient.examined is not None and e not in patient.examined)
        if holds and measure.give and not fitting:
            holds = None if any(fits is None for _, fits in options) else False
        if not holds:
            left.append(MeasureChoice(measure, (), WhyNot.NOT_KNOWN if holds is None else WhyNot.NOT_SO))
        elif missing:
            left.append(MeasureChoice(measure, fitting, WhyNot.NOT_EXAMINED, missing))
        else:
            due.append(MeasureChoice(measure, fitting))
    return ChosenPlan(tuple(due), tuple(left))


def _holds(when: DueWhen | None, patient: PlanPatient, items: Mapping[str, Item]) -> bool | None:
    """Returns whether a condition holds; None where that is not known, and would decide it."""
    if when is None:
        return True
    age = _ADULT if patient.age is None else patient.age
    so: list[bool | None] = [
        when.age_at_least is None or age >= when.age_at_least,
        when.age_below is None or age < when.age_below,
        when.pregnant in (None, patient.pregnant),
        when.sex is None or (None if patient.sex is None else patient.sex == when.sex),
        when.days_at_most is None or (None if patient.days is None else patient.days <= when.days_at_most),
        when.finding is None or meets(when.finding, items, patient.findings),
    ]
    return False if False in so else None if None in so else True


class StoppedMedicine(Data):
    """A medicine taken at home that is stopped, paused or changed."""

    diseases: tuple[str, ...] = ()  # ids of those in which that is so; empty: in all
    severities: tuple[Severity, ...] = SEVERITIES  # of these diseases
    when: DueWhen | None = None  # of whom; None: of all
    words: Texts  # in which somebody tells that it takes the medicine
    line: Name  # what the plan says, with {drug} for the word that was told


class Precautions(Data):
    """What `precautions.yaml` holds."""

    sources: tuple[Source, ...]
    stops: tuple[StoppedMedicine, ...]


@functools.cache
def read_precautions(path: Path = DATA / "precautions.yaml") -> Precautions:
    """Reads what is stopped of the medicines that patients take."""
    return read_yaml(path, Precautions)


MOVES_WITH_AGE = frozenset({"systolic", "heart_rate", "respiratory_rate"})
_GROWN = 18


class VisitFacts(NamedTuple):
    """What a visit knows of a patient."""

    patient: PlanPatient  # what the choice of measures goes by
    known: Known  # what the pharmacist gets
    measured: Mapping[str, float] = {}  # numbers as they were measured, by item id


def visit_facts(
    presentation: Presentation,
    told: Known,
    symptoms: Sequence[str],
    findings: Iterable[Finding],
    reader: Reader,
) -> VisitFacts:
    """Returns what a visit knows."""
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
            observed = evidence.observed
            value = observed if not isinstance(observed, ItemReading) else None
            if isinstance(observed, ItemReading) and len(observed.values) == 1:
                value = next(iter(observed.values))
            elif isinstance(observed, ItemReading) and not observed.values and observed.low == observed.high:
                value = observed.low
            # A range, or one of several texts, is no value.
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
                known[quantity] = as_planned(quantity, value, presentation, physiology)
    held = with_results(told, presentation, measured)
    patient = PlanPatient(
        age=age,
        sex=sex,
        pregnant=held.pregnant,
        days=read_days(presentation.complaint, language),
        findings=known,
        examined=examined,
    )
    return VisitFacts(patient, held, measured)


def as_planned(id: str, value: float | str, presentation: Presentation, physiology: Physiology) -> float | str:
    """Returns a result as the conditions of plans go by it: as it was measured.

    The vital signs of a child are carried over to an adult's, as their limits move with age; a haemoglobin of 70 g/L is
    one, whoever has it.
    """
    age = presentation.age
    if isinstance(value, str) or id not in MOVES_WITH_AGE or age is None or age >= _GROWN:
        return value
    return physiology.carrying(physiology.items[id], age, presentation.sex).back(value)


class PlannedTreatment:
    """A plan for one patient, from the choice of measures to what is handed out.

    With the disease and severity that it is the plan of (`stratum`), it stops of what the patient takes what these
    forbid (`polyclinic.knowledge.treatment`).

    Attributes:
        measures: for each measure that gives a drug, its alternatives, the first choice first; without those that are
            met by what the patient takes already.
        continued: drugs, by id, of which the patient takes one of the kind already, each with the word that it says.
    """

    def __init__(
        self,
        plan: Plan,
        facts: VisitFacts,
        knowledge: Knowledge,
        presentation: Presentation,
        *,
        stratum: tuple[Disease, Severity] | None = None,
    ) -> None:
        self._known, self._presentation = facts.known, presentation
        self._added = () if stratum is None else tuple(self._beside_plan(stratum, facts, knowledge.quantities))
        self._words = MeasureWords(plan_vocabulary(knowledge), presentation.language, presentation.age)
        self._chosen: ChosenPlan = chosen(plan, facts.patient, knowledge.quantities)
        self._taken: dict[int, tuple[int, str]] = {}
        self._giving: list[MeasureChoice] = []
        self.measures: list[list[Drug]] = []
        self.continued: dict[str, str] = {}
        for due in self._chosen.due:
            drugs = [knowledge.drugs[option.drug] for option in due.options]
            on = goes_on(drugs, facts.known, presentation)
            if on is not None:
                self._taken[id(due)] = on
                self.continued[drugs[on[0]].id] = on[1]
            if drugs and (on is None or is_new(due.options[on[0]], drugs[on[0]])):
                self._giving.append(due)
                self.measures.append(drugs)

    def _beside_plan(
        self, stratum: tuple[Disease, Severity], facts: VisitFacts, items: Mapping[str, Item]
    ) -> Iterator[str]:
        """Yields what is done beside the measures of the plan, in words."""
        (disease, severity), (patient, known, measured) = stratum, facts
        language = self._presentation.language
        if disease.plan(severity).disposition == "home":
            flags = read_red_flags().of(patient.age, pregnant=patient.pregnant)
            yield from [limit.then.get(language) for limit in flags.crossed(measured) if limit.then is not None][:1]
        taken = now_taken(known.medications)
        for stop in read_precautions().stops if taken else ():
            if stop.diseases and (disease.id not in stop.diseases or severity not in stop.severities):
                continue
            word = one_told(stop.words.get(language), taken)
            if word and _holds(stop.when, patient, items):
                yield stop.line.get(language).format(drug=word)

    def suitable(self) -> tuple[int | None, ...]:
        """Returns for each of `measures` the number of the first alternative that nothing speaks against, or None."""
        out: list[Drug] = []
        numbers: list[int | None] = []
        for drugs in self.measures:
            against = (objection(drug, self._known, self._presentation, out) for drug in drugs)
            numbers.append(next((number for number, one in enumerate(against) if one is None), None))
            out += [] if numbers[-1] is None else [drugs[numbers[-1]]]
        return tuple(numbers)

    def lines(self, given: Sequence[int | None] | None = None) -> tuple[str, ...]:
        """Returns what is done, in words.

        `given` is for each of `measures` the number of the alternative that is given, None where none is; without it
        the first of each is.
        """
        numbers = dict(zip(map(id, self._giving), given or [0] * len(self._giving), strict=True))
        return (*(line for due in self._chosen.due if (line := self._line(due, numbers))), *self._added)

    def _line(self, due: MeasureChoice, numbers: Mapping[int, int | None]) -> str:
        if not due.options:
            return self._words.done(due.measure, None)
        on = self._taken.get(id(due))
        if on is not None and id(due) not in numbers:
            return self._words.beside_taken(due.measure, due.options[on[0]], on[1], new=False)
        number = numbers[id(due)]
        if number is None:
            return ""
        if on is not None:
            return self._words.beside_taken(due.measure, due.options[number], on[1], new=True)
        return self._words.done(due.measure, due.options[number])

    def not_begun(self) -> tuple[str, ...]:
        """Returns the measures that wait for examinations, in words."""
        return tuple(
            self._words.not_begun(left.measure, left.first, left.missing)
            for left in self._chosen.left
            if left.why_not is WhyNot.NOT_EXAMINED
        )
