"""What a disease must make true of the patients drawn with it: each check counts and names what is wrong."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from statistics import fmean

import msgspec
import numpy as np

from polyclinic.cases.presentation import Sex
from polyclinic.generation.draw import DrawnPatient, draw_patients
from polyclinic.knowledge.bayes import Reader, normalise
from polyclinic.knowledge.body import PRESENT, along
from polyclinic.knowledge.check import check_knowledge
from polyclinic.knowledge.data import SEVERITIES, Severity
from polyclinic.knowledge.disease_body import DiseaseBody, meets
from polyclinic.knowledge.entries import Disease, Item
from polyclinic.knowledge.knowledge import Knowledge, ancestors
from polyclinic.knowledge.lexicon import lexicon_of
from polyclinic.knowledge.physiology import physiology_of, within_limits
from polyclinic.language.ages import say_age
from polyclinic.language.language import Language

ADULT = 18


class CheckedPatient(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A drawn patient as its record shows it.

    Attributes:
        shown: every number, or the id of every text, that stands under a result, by item id.
    """

    drawn: DrawnPatient
    disease: Disease
    severity: Severity
    age: float
    sex: Sex
    shown: Mapping[str, tuple[float | str, ...]]
    done: frozenset[str]  # the ids of the examinations that have results
    present: frozenset[str]  # the ids of the symptoms and circumstances that are there
    body: DiseaseBody  # what its disease makes of the body

    def number(self, item: str) -> float | None:
        """Returns the first number that stands under an item, or None."""
        value = self.shown.get(item, ("",))[0]
        return value if isinstance(value, float) else None

    def text(self, item: str) -> str:
        """Returns the id of the first text that stands under an item, or ""."""
        value = self.shown.get(item, ("",))[0]
        return value if isinstance(value, str) else ""

    def line(self, *values: str) -> str:
        """Returns the patient and what is wrong with it, in one line."""
        age = say_age(self.age, "en")
        who = f"{'woman' if self.sex == 'female' else 'man'} of {age}"
        if self.age < ADULT:
            who = f"{'girl' if self.sex == 'female' else 'boy'} of {age}"
        return f"{self.drawn.case.id}, {self.disease.id} ({self.severity}), {who}: {', '.join(values)}"

    def values(self, items: Iterable[str]) -> str:
        """Returns what some items show, for a line."""
        shown = ((item, value) for item in items for value in self.shown.get(item, ()))
        return ", ".join(f"{item} {value if isinstance(value, str) else f'{value:g}'}" for item, value in shown)


def checked(patient: DrawnPatient, knowledge: Knowledge) -> CheckedPatient:
    """Returns a drawn patient as its record shows it."""
    person = patient.case.presentation
    assert person.age is not None and person.sex is not None  # noqa: S101
    places = _places(knowledge, person.language)
    shown: dict[str, tuple[float | str, ...]] = {}
    done: set[str] = set()
    for finding in patient.case.record.findings:
        examination, item, texts = places[finding.examination, finding.item]
        value = texts[finding.value] if isinstance(finding.value, str) else finding.value
        shown[item.id] = (*shown.get(item.id, ()), value)
        done.add(examination)
    return CheckedPatient(
        drawn=patient,
        disease=patient.disease,
        severity=patient.severity,
        age=person.age,
        sex=person.sex,
        shown=shown,
        done=frozenset(done),
        present=frozenset(symptom.id for symptom in patient.body.present),
        body=knowledge.bodies[patient.disease.id],
    )


@functools.lru_cache(maxsize=4)
def _places(knowledge: Knowledge, language: Language) -> dict[tuple[str, str], tuple[str, Item, dict[str, str]]]:
    """Returns the examination, the item and the ids of its texts by the names that stand in a record."""
    return {
        (e.name.get(language), item.name.get(language)): (
            e.id,
            item,
            {text.get(language): id for id, text in item.values.items()},
        )
        for e in knowledge.examinations.values()
        for item in e.items
    }


_EXAMPLES = 5
_ERRORS = 5.0  # standard deviations of an instrument
_ALIKE = 0.1  # shares of symptoms that lead alike
_READ = 500  # patients that the reader reads; it takes longer than to draw them
_CALIBRATED = 3.0  # points


class CheckTally(msgspec.Struct, kw_only=True):
    """How often something was tried and failed, with examples of one line."""

    tried: int = 0
    failed: int = 0
    examples: list[str] = msgspec.field(default_factory=list)

    def count(self, failed: bool, example: Callable[[], str]) -> None:
        """Counts one more; a failure is an example, if there are not enough."""
        self.tried += 1
        self.failed += failed
        if failed and len(self.examples) < _EXAMPLES:
            self.examples.append(example())


Looked = Iterator[list[str]]
"""For each thing that was looked at, what is wrong with it."""


def _one_value(knowledge: Knowledge, patient: CheckedPatient) -> Looked:
    """Yields whether every quantity has one value."""
    physiology = physiology_of(knowledge)
    wrong = [f"{item} {values}" for item, values in patient.shown.items() if len(set(values)) > 1]
    for item, reading in physiology.panels.items():
        shown, of = patient.number(item), patient.number(reading.of)
        if shown is None or of is None:
            continue
        step = 10.0 ** -physiology.places[item][1].decimals
        expected = along(reading.curve, of) if reading.curve else of
        if abs(shown - expected) > _ERRORS * reading.error + step:
            wrong.append(patient.values((item, reading.of)))
    for item, derived in physiology.derived.items():
        shown, parts = patient.number(item), [patient.number(of) for of in derived.of]
        known = [part for part in parts if part is not None]
        if shown is not None and len(known) == len(parts):
            place = physiology.places[item][1]
            if abs(shown - within_limits(place, derived.value(known))) > 10.0**-place.decimals:
                wrong.append(patient.values((item, *derived.of)))
    yield wrong


def _pressures(_: Knowledge, patient: CheckedPatient) -> Looked:
    systolic, diastolic = patient.number("systolic"), patient.number("diastolic")
    if systolic is not None and diastolic is not None:
        yield [patient.values(("systolic", "diastolic"))] if systolic <= diastolic else []


def _definition(knowledge: Knowledge, patient: CheckedPatient) -> Looked:
    """Yields whether the patient meets what its disease is diagnosed by, at its severity."""
    physiology = physiology_of(knowledge)
    values: dict[str, float | str | bool] = {s: s in patient.present for s in knowledge.symptoms}
    unmet: list[str] = []
    for criterion in patient.disease.criteria.at(patient.severity):
        for leaf in criterion.leaves():
            if id := leaf.quantity:
                # As an adult's; from the body where the record does not show it.
                value = patient.shown.get(id, (patient.drawn.body.shown[id],))[0]
                if isinstance(value, float):
                    value = physiology.carrying(physiology.items[id], patient.age, patient.sex).back(value)
                values[id] = value
        if meets(criterion, physiology.items, values) is not True:
            about = dict.fromkeys(leaf.quantity or leaf.symptom for leaf in criterion.leaves())
            there = {True: "there", False: "absent"}
            for name in about:
                found = values.get(name)
                shown = there[found] if isinstance(found, bool) else found
                unmet.append(f"{name} {shown:.4g}" if isinstance(shown, float) else f"{name} {shown}")
    yield unmet


def _impossible(knowledge: Knowledge, patient: CheckedPatient) -> Looked:
    """Yields whether somebody of the patient's age and sex can have all this, and have it together."""
    known, physiology, present = knowledge, physiology_of(knowledge), patient.present
    wrong = [s for s in present if not known.symptoms[s].possible(patient.age, patient.sex)]
    wrong += [e for e in patient.done if not known.examinations[e].possible(patient.age, patient.sex)]
    wrong += [f"{a} and {b}" for a, b in physiology.body.apart if a in present and b in present]
    wrong += [f"{s} without {p}" for s in present for p in ancestors(known.symptoms, s) if p not in present]
    for item, rule in physiology.together.items():
        texts = rule.states.get(PRESENT if rule.of in present else patient.text(rule.of))
        fixed = any(item in way.states for way in patient.body.ways[patient.severity])
        if texts is not None and patient.text(item) not in ("", *texts) and not fixed:
            wrong.append(f"{rule.of} {patient.text(rule.of)} and {item} {patient.text(item)}")
    yield sorted(wrong)


def _complaint(knowledge: Knowledge, patient: CheckedPatient) -> Looked:
    """Yields whether the symptom that the disease leads with stands in the complaint, where the patient has it."""
    symptoms, disease = knowledge.symptoms, patient.disease
    come_for = [s for s in disease.symptoms if symptoms[s].complaint and symptoms[s].section == "symptoms"]
    shares = {s: disease.share(symptoms[s], patient.severity) for s in come_for if symptoms[s].parent is None}
    least = max(shares.values(), default=0.0) - _ALIKE
    leading = [s for s, share in shares.items() if share >= least and s in patient.present]
    if leading:
        person = patient.drawn.case.presentation
        said = lexicon_of(knowledge, person.language).read(person.complaint)
        told = any(said.get(s, False) for s in leading)
        yield [] if told else [f"no {' or '.join(leading)} in {person.complaint!r}"]


CHECKS: Mapping[str, Callable[[Knowledge, CheckedPatient], Looked]] = {
    "one value of a quantity in a visit": _one_value,
    "systolic above diastolic": _pressures,
    "definition of disease and severity met": _definition,
    "no impossible pair": _impossible,
    "leading symptom in the complaint": _complaint,
}
"""The checks of a drawn patient, by name."""


def check_patients(patients: Iterable[CheckedPatient], knowledge: Knowledge) -> dict[str, CheckTally]:
    """Returns what the checks find in patients."""
    tallies = {name: CheckTally() for name in CHECKS}
    for patient in patients:
        for name, look in CHECKS.items():
            for wrong in look(knowledge, patient):
                tallies[name].count(bool(wrong), functools.partial(patient.line, *wrong))
    return tallies


class KnowledgeChecked(msgspec.Struct, frozen=True, kw_only=True):
    """What the checks found."""

    patients: int  # how many were drawn
    checks: dict[str, CheckTally]  # what was tried and failed, by the check's name

    @property
    def failing(self) -> list[str]:
        """The names of the checks in which something failed."""
        return [name for name, tally in self.checks.items() if tally.failed]


def check_all(
    knowledge: Knowledge,
    *,
    n: int,
    seed: int,
    whole: Knowledge | None = None,
    advance: Callable[[], None] = lambda: None,
) -> KnowledgeChecked:
    """Checks the files of a knowledge, and n patients drawn from it; some checks need hundreds.

    Where the patients have only some of the diseases of a `whole`, the files of that are checked. `advance` is called
    after each patient.
    """
    whole = whole or knowledge
    flaws = [f"{flaw.where}: {flaw.problem}" for flaw in check_knowledge(whole)]
    entries = len(whole.diseases) + len(whole.symptoms) + len(whole.examinations) + len(whole.drugs)
    files = CheckTally(tried=entries, failed=len(flaws), examples=flaws[:_EXAMPLES])
    definitions = CheckTally()
    for disease in knowledge.diseases.values():
        for severity in SEVERITIES:
            told = functools.partial("{}, {}: no criteria".format, disease.id, severity)
            definitions.count(not disease.criteria.at(severity), told)
    reader, ids, every = Reader(knowledge), list(knowledge.diseases), max(1, n // _READ)
    stated: list[float] = []
    right: list[bool] = []

    def patients() -> Iterator[CheckedPatient]:
        for number, drawn in enumerate(draw_patients(knowledge, n=n, seed=seed)):
            yield checked(drawn, knowledge)
            if number % every == 0:
                said, reading = reader.read_history(drawn.case.record)
                reader.read_findings(drawn.case.record.findings, reading)
                by_disease = reader.members[:-1] @ normalise(said + reading.log())
                stated.append(float(by_disease.max()))
                right.append(ids[int(np.argmax(by_disease))] == drawn.disease.id)
            advance()

    found = check_patients(patients(), knowledge)
    held, share = 100 * fmean(stated), 100 * fmean(right)
    off, line = abs(held - share), f"held probable {held:.1f} %, right {share:.1f} % of {len(right)}"
    failed = max(1, round(off * len(right) / 100)) if off > _CALIBRATED else 0
    found["calibration of the exact reader"] = CheckTally(tried=len(right), failed=failed, examples=[line])
    return KnowledgeChecked(
        patients=n, checks={"files": files, "diseases state their definition": definitions, **found}
    )
