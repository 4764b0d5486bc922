"""What must hold of one drawn patient: each check looks at patients one by one, and counts and names what is wrong.

Where patients may err, or an instrument may, a share of contradictions is allowed; it is exceeded where a Wilson
interval of 95 % lies above it, so that chance alone fails no check.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from statistics import fmean
from typing import NamedTuple, Protocol

import msgspec
import numpy as np

from polyclinic.cases.presentation import Sex
from polyclinic.generation.background import read_background
from polyclinic.generation.draw import DrawnPatient, draw_patients
from polyclinic.knowledge.bayes import Reader, normalise
from polyclinic.knowledge.body import PRESENT, along
from polyclinic.knowledge.check import check_knowledge
from polyclinic.knowledge.data import SEVERITIES, Severity
from polyclinic.knowledge.disease_body import DiseaseBody, meets
from polyclinic.knowledge.entries import Disease, Item
from polyclinic.knowledge.knowledge import Knowledge, ancestors
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.physiology import Physiology, physiology_of, within_limits
from polyclinic.knowledge.safety import read_cautions
from polyclinic.language.ages import say_age
from polyclinic.language.language import LANGUAGES, Language
from polyclinic.statistics.uncertainty import wilson

ADULT = 18


class CheckedPatient(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A drawn patient as its record shows it.

    Attributes:
        shown: every number, or the id of every text, that stands under a result, by item id.
        done: the ids of the examinations that have results.
        present: the ids of the symptoms and circumstances that are there.
        body: what its disease makes of the body.
    """

    drawn: DrawnPatient
    age: float
    sex: Sex
    shown: Mapping[str, tuple[float | str, ...]]
    done: frozenset[str]
    present: frozenset[str]
    body: DiseaseBody

    @property
    def disease(self) -> Disease:
        """What it has."""
        return self.drawn.disease

    @property
    def severity(self) -> Severity:
        """How ill it is."""
        return self.drawn.severity

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
        shown = ((item, self.shown.get(item, ())) for item in items)
        return ", ".join(f"{item} {_text(value)}" for item, values in shown for value in values)

    def is_touched(self, quantities: Iterable[str]) -> bool:
        """Returns whether its disease changes one of some quantities, or has a criterion on it."""
        ways = self.body.ways[self.severity]
        return any(
            q in self.body.quantities or any(q in way.numbers or q in way.states for way in ways) for q in quantities
        )


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


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
_SEVERAL = 3  # contradictions; fewer can be chance, whatever the share
_ALIKE = 0.1  # shares of symptoms that lead alike
_LEAST_AGES = {"phq9": 12, "gad7": 12, "pdss": 12}
"""From which age a questionnaire is made for: PHQ-9 and GAD-7 were tried from 12 years on."""

Example = str | Callable[[], str]
"""A line that says what is wrong, or what makes it."""

Looked = Iterator[tuple[bool, Example]]
"""For each thing that was looked at, whether it fails, and how to say so."""


class CheckTally(msgspec.Struct, kw_only=True):
    """How often something was tried and failed, with examples of one line."""

    tried: int = 0
    failed: int = 0
    examples: list[str] = msgspec.field(default_factory=list)

    def count(self, failed: bool, example: Example) -> None:
        """Counts one more."""
        self.tried += 1
        if failed:
            self.failed += 1
            self.say(example)

    def say(self, example: Example) -> None:
        """Keeps an example, if there are not enough."""
        if len(self.examples) < _EXAMPLES:
            self.examples.append(example if isinstance(example, str) else example())


class _MustAgree(NamedTuple):
    """Two things that must agree: of how many percent of whom they may contradict one another, and why."""

    what: str
    allowed: float
    of: Callable[[CheckedPatient], bool]
    contradict: Callable[[CheckedPatient], bool]
    items: tuple[str, ...]


_PAIRS: Mapping[str, tuple[_MustAgree, ...]] = {
    # Fever comes and goes, and is not always felt.
    "fever told and measured": (
        _MustAgree(
            "a high fever is told, and less than 37.5 measured",
            2,
            lambda p: "high_fever" in p.present,
            lambda p: (p.number("temperature") or 0) < 37.5,
            ("temperature",),
        ),
        _MustAgree(
            "39 or more is measured, and no fever told",
            3,
            lambda p: (p.number("temperature") or 0) >= 39,
            lambda p: "fever" not in p.present,
            ("temperature",),
        ),
    ),
    # A slow fibrillation can feel regular, and extra beats irregular.
    "pulse and ECG": (
        _MustAgree(
            "atrial fibrillation in the ECG, and a pulse that is not irregular",
            5,
            lambda p: p.text("ecg") == "absent_p",
            lambda p: p.text("rhythm") != "irregular",
            ("ecg", "rhythm"),
        ),
        _MustAgree(
            "an irregular pulse without atrial fibrillation in the ECG",
            1,
            lambda p: p.text("ecg") not in ("", "absent_p"),
            lambda p: p.text("rhythm") == "irregular",
            ("ecg", "rhythm"),
        ),
    ),
    # Iron and liquorice blacken stools too, and a test can miss.
    "stools and occult blood": (
        _MustAgree(
            "bleeding that blackens the stools, and a negative test for blood",
            5,
            lambda p: p.drawn.body.shown.get("gut_bleeding", "") == "black" or _told_black(p),
            lambda p: p.text("occult_blood") == "negative",
            ("occult_blood",),
        ),
    ),
}


def _told_black(patient: CheckedPatient) -> bool:
    return "black_stools" in patient.present and patient.is_touched(("gut_bleeding",))


class PatientChecks:
    """The checks that look at one patient at a time.

    Attributes:
        tallies: by the check's name.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._physiology: Physiology = physiology_of(knowledge)
        self._lexicons = {language: Lexicon(knowledge.symptoms.values(), language) for language in LANGUAGES}
        self._pairs = {pair.what: (pair, CheckTally()) for pairs in _PAIRS.values() for pair in pairs}
        self._tallies: dict[str, CheckTally] = {name: CheckTally() for name in _ONE_BY_ONE}

    def look_at(self, patient: CheckedPatient) -> None:
        """Looks at one more."""
        for name, check in _ONE_BY_ONE.items():
            tally = self._tallies[name]
            for failed, example in check(self, patient):
                tally.count(failed, example)
        for pair, tally in self._pairs.values():
            if pair.of(patient):
                failed = pair.contradict(patient)
                tally.count(failed, patient.line(pair.what, patient.values(pair.items)) if failed else "")

    def tallies(self) -> dict[str, CheckTally]:
        """Returns what was found, by the check's name."""
        found = dict(self._tallies)
        for name, pairs in _PAIRS.items():
            found[name] = CheckTally()
            for pair in pairs:
                _, tally = self._pairs[pair.what]
                found[name].tried += tally.tried
                if tally.failed >= _SEVERAL and wilson(tally.failed, tally.tried)[0] > pair.allowed:
                    found[name].failed += tally.failed
                    found[name].examples += tally.examples
        return found

    def one_value(self, patient: CheckedPatient) -> Looked:
        """Yields whether every quantity has one value."""
        wrong = [f"{item} {values}" for item, values in patient.shown.items() if len(set(values)) > 1]
        for item, reading in self._physiology.panels.items():
            shown, of = patient.number(item), patient.number(reading.of)
            if shown is None or of is None:
                continue
            step = 10.0 ** -self._physiology.places[item][1].decimals
            expected = along(reading.curve, of) if reading.curve else of
            if abs(shown - expected) > _ERRORS * reading.error + step:
                wrong.append(patient.values((item, reading.of)))
        for item, derived in self._physiology.derived.items():
            shown, parts = patient.number(item), [patient.number(of) for of in derived.of]
            known = [part for part in parts if part is not None]
            if shown is not None and len(known) == len(parts):
                place = self._physiology.places[item][1]
                if abs(shown - within_limits(place, derived.value(known))) > 10.0**-place.decimals:
                    wrong.append(patient.values((item, *derived.of)))
        yield bool(wrong), lambda: patient.line(*wrong)

    def pressures(self, patient: CheckedPatient) -> Looked:
        """Yields whether the systolic pressure is above the diastolic."""
        systolic, diastolic = patient.number("systolic"), patient.number("diastolic")
        if systolic is not None and diastolic is not None:
            yield systolic <= diastolic, lambda: patient.line(patient.values(("systolic", "diastolic")))

    def definition(self, patient: CheckedPatient) -> Looked:
        """Yields whether the patient meets what its disease is diagnosed by, at its severity."""
        criteria = patient.disease.criteria
        values: dict[str, float | str | bool] = {s: s in patient.present for s in self._knowledge.symptoms}
        unmet: list[str] = []
        for criterion in criteria.at(patient.severity):
            for leaf in criterion.leaves():
                if leaf.quantity:
                    value = patient.shown.get(leaf.quantity, (patient.drawn.body.shown[leaf.quantity],))[0]
                    item = self._physiology.items[leaf.quantity]
                    if isinstance(value, float):
                        value = self._physiology.carrying(item, patient.age, patient.sex).back(value)
                    values |= {leaf.quantity: value}
            if meets(criterion, self._physiology.items, values) is not True:
                about = dict.fromkeys(leaf.quantity or leaf.symptom for leaf in criterion.leaves())
                unmet += [f"{name} {_shown(values.get(name))}" for name in about]
        yield bool(unmet), lambda: patient.line(*unmet)

    def questionnaires(self, patient: CheckedPatient) -> Looked:
        """Yields whether the patient is old enough for its questionnaires."""
        early = [item for item, age in _LEAST_AGES.items() if item in patient.shown and patient.age < age]
        asked = not _LEAST_AGES.keys().isdisjoint(patient.shown)
        if asked:
            yield bool(early), lambda: patient.line(patient.values(early))

    def impossible(self, patient: CheckedPatient) -> Looked:
        """Yields whether somebody of the patient's age and sex can have all this, and have it together."""
        known = self._knowledge
        wrong = [s for s in patient.present if not known.symptoms[s].possible(patient.age, patient.sex)]
        wrong += [e for e in patient.done if not known.examinations[e].possible(patient.sex, patient.age)]
        wrong += [
            f"{a} and {b}" for a, b in self._physiology.body.apart if a in patient.present and b in patient.present
        ]
        parents = ((s, p) for s in patient.present for p in ancestors(known.symptoms, s))
        wrong += [f"{s} without {p}" for s, p in parents if p not in patient.present]
        for item, rule in self._physiology.together.items():
            texts = rule.states.get(PRESENT if rule.of in patient.present else patient.text(rule.of))
            fixed = any(item in way.states for way in patient.body.ways[patient.severity])
            if texts is not None and patient.text(item) not in ("", *texts) and not fixed:
                wrong.append(f"{rule.of} {patient.text(rule.of)} and {item} {patient.text(item)}")
        yield bool(wrong), lambda: patient.line(*sorted(wrong))

    def complaint(self, patient: CheckedPatient) -> Looked:
        """Yields whether the symptom that the disease leads with stands in the complaint, where the patient has it."""
        symptoms, disease = self._knowledge.symptoms, patient.disease
        come_for = [s for s in disease.symptoms if symptoms[s].complaint and symptoms[s].section == "symptoms"]
        shares = {s: disease.share(symptoms[s], patient.severity) for s in come_for if symptoms[s].parent is None}
        if not shares:
            return
        least = max(shares.values()) - _ALIKE
        leading = [s for s, share in shares.items() if share >= least and s in patient.present]
        if leading:
            person = patient.drawn.case.presentation
            said = self._lexicons[person.language].read(person.complaint)
            missing = not any(said.get(s, False) for s in leading)
            yield missing, lambda: patient.line(f"no {' or '.join(leading)} in {person.complaint!r}")


_ONE_BY_ONE: Mapping[str, Callable[[PatientChecks, CheckedPatient], Looked]] = {
    "one value of a quantity in a visit": PatientChecks.one_value,
    "systolic above diastolic": PatientChecks.pressures,
    "definition of disease and severity met": PatientChecks.definition,
    "questionnaires from their age on": PatientChecks.questionnaires,
    "no impossible pair": PatientChecks.impossible,
    "leading symptom in the complaint": PatientChecks.complaint,
}


def _shown(value: float | str | bool | None) -> str:
    if isinstance(value, bool):
        return "there" if value else "absent"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


_FERTILE = (18, 45)
_PREGNANT = (1.0, 12.0)  # per cent of fertile women who know that they are; a region of many births has the most
_POSITIVE = 25.0  # IU/L
_ENOUGH = 100


class Indications:
    """Whether the history holds what each medicine that is taken is for."""

    name = "what every medicine is for"

    def __init__(self, language: Language) -> None:
        self._tally, self._language = CheckTally(), language
        conditions = read_background().conditions
        self._told_by_symptom = {c.symptom: c.told(language) for c in conditions if c.symptom and c.past.en}
        self._of_medicine = {getattr(m, language): c for c in conditions for m in c.medicines}

    def look_at(self, patient: CheckedPatient) -> None:
        """Takes in one more."""
        history = patient.drawn.case.record.history
        for symptom, told in self._told_by_symptom.items():
            if symptom in patient.present:
                missing = not any(text in history.past for text in told)
                self._tally.count(missing, patient.line(f"{symptom} without its illness") if missing else "")
        for medicine, condition in self._of_medicine.items():
            if medicine in history.medications:
                known = any(text in history.past for text in condition.told(self._language))
                without = condition.symptom not in patient.present and not known
                self._tally.count(without, patient.line(f"takes {medicine}") if without else "")

    def tally(self) -> CheckTally:
        """Returns how many medicines there were, and how many of them stand alone."""
        return self._tally


class Pregnancies:
    """Whether plausibly many women are pregnant, and tests show it."""

    name = "pregnant women"

    def __init__(self, language: Language) -> None:
        conditions = read_background().conditions
        self._told = next((c.told(language) for c in conditions if c.beside == "pregnancy"), ())
        self._women, self._pregnant, self._tests = 0, 0, CheckTally()

    def look_at(self, patient: CheckedPatient) -> None:
        """Takes in one more."""
        past = patient.drawn.case.record.history.past
        pregnant = any(text in past for text in self._told)
        if patient.sex == "female" and _FERTILE[0] <= patient.age < _FERTILE[1] + 1:
            self._women += 1
            self._pregnant += pregnant
        if pregnant:
            hcg = patient.number("beta_hcg")
            wrong = patient.sex == "male" or (hcg is not None and hcg < _POSITIVE)
            self._tests.count(wrong, lambda: patient.line(f"pregnant, {patient.values(('beta_hcg',))}"))

    def tally(self) -> CheckTally:
        """Returns those whose test is negative, or who are no women; one more where they are too few or too many."""
        tally = self._tests
        if self._women >= _ENOUGH:
            low, high = wilson(self._pregnant, self._women)
            share = 100 * self._pregnant / self._women
            told = f"{share:.1f} % of {self._women} women of {_FERTILE[0]} to {_FERTILE[1]} years are pregnant"
            tally.count(high < _PREGNANT[0] or low > _PREGNANT[1], told)
        return tally


class Infants:
    """Whether infants are among the youngest children of the diseases that infants have."""

    name = "infants in months"

    def __init__(self, knowledge: Knowledge) -> None:
        epidemiology = {id: disease.epidemiology for id, disease in knowledge.diseases.items()}
        self._shares = {id: of.age.get("0-5", 0.0) * of.infants for id, of in epidemiology.items()}
        self._expected, self._seen, self._tally = 0.0, 0, CheckTally()

    def look_at(self, patient: CheckedPatient) -> None:
        """Takes in one more."""
        self._expected += self._shares[patient.disease.id]
        if patient.age < 1:
            self._seen += 1
            months = patient.age * 12
            wrong = abs(months - round(months)) > 0.02 or round(months) < 1 or not self._shares[patient.disease.id]
            self._tally.count(wrong, lambda: patient.line(f"{months:g} months"))

    def tally(self) -> CheckTally:
        """Returns infants of no whole month or with no infants' disease; one more where there are none at all."""
        if self._expected >= 10:
            self._tally.count(not self._seen, f"no infant where {self._expected:.0f} were expected")
        return self._tally


_BANDS = ((0, 0), (1, 1), (2, 5), (6, 11), (12, 17), (18, 44), (45, 64), (65, 120))
_NORMAL = (
    "temperature", "heart_rate", "respiratory_rate", "oxygen_saturation", "systolic", "diastolic",
    "wbc", "neutrophils", "lymphocytes", "hemoglobin", "platelets",
)  # fmt: skip
"""Vital signs and blood counts, by item."""

_ENOUGH_KNOWLEDGE_CHECK = 30  # people of an age and sex that a share is taken of
_ONE_OF_MANY = 3.29  # standard deviations: of more than a hundred groups one in twenty would fail by chance
_WITHIN = 95.0  # per cent within the reference range
_HAEMOGLOBIN_APART = 8.0  # g/L between men and women; published means are 12 to 15 apart
_OLD, _WITH_MEDICINE = 75, 60.0
_READ = 500  # patients that the reader reads; it takes longer than to draw them
_CALIBRATED = 3.0  # points

_CHILD = 13
_IN_CHILDREN: Mapping[str, tuple[frozenset[str], float]] = {
    "high_blood_pressure": (frozenset(), 3.5),
    "painkiller_use": (frozenset(), 1),
    "raised_blood_fats": (frozenset(), 1),
    "earlier_heart_trouble": (frozenset(), 0.1),
    "earlier_clot": (frozenset(), 0.1),
    "cancer_history": (frozenset(), 0.3),
    "stomach_operation": (frozenset(), 0.3),
    "earlier_stone": (frozenset(), 0.3),
    "insulin_user": (frozenset(), 0.5),
    "alcohol_rich_meals": (frozenset(), 0.1),
    "joint_film": (frozenset({"osteophytes", "punched_out"}), 0.3),
    "joints": (frozenset({"knee_crepitus"}), 2),
    "lumbar_film": (frozenset({"worn"}), 2),
    "lumbar_canal": (frozenset({"worn", "narrow"}), 5),
    "lungs": (frozenset({"emphysema"}), 0.2),
    "brain_ct": (frozenset({"age_changes"}), 0.5),
    "brain_mri": (frozenset({"white_matter"}), 3),
    "coronary_arteries": (frozenset({"irregular", "stable_narrowing"}), 0.5),
    "coronary_ct": (frozenset({"plaques", "narrowing", "several"}), 0.5),
    "crystals": (frozenset({"urate", "pyrophosphate"}), 0.2),
    "gallbladder": (frozenset({"stones"}), 2),
    "leg_look": (frozenset({"varicose"}), 1),
    "aorta": (frozenset({"wide"}), 0.5),
    "brain_arteries": (frozenset({"narrow"}), 0.5),
}
"""Chronic illness of adults, by symptom or by item and its texts, and in how many percent of children at most.

High blood pressure: the American Academy of Pediatrics' guideline (2017); stones, clots, cancer and insulin: Nelson
Textbook of Pediatrics, 21st edition (2020); wear of joints and spine, vessels and brain: Caffey's Pediatric Diagnostic
Imaging, 13th edition (2019).
"""


class KnowledgeChecked(msgspec.Struct, frozen=True, kw_only=True):
    """What the checks found.

    Attributes:
        patients: how many were drawn.
        checks: what was tried and failed, by the check's name.
    """

    patients: int
    checks: dict[str, CheckTally]

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
    language: Language = "en",
    advance: Callable[[], None] = lambda: None,
) -> KnowledgeChecked:
    """Checks the files of a knowledge, and n patients drawn from it.

    Args:
        knowledge: whose diseases the patients have.
        n: how many patients; some checks need hundreds before they say anything.
        seed: of the patients.
        whole: the knowledge whose files are checked, where the patients have only some of its diseases.
        language: of the records.
        advance: called after each patient.
    """
    checks = {"files": _files(whole or knowledge), "diseases state their definition": _definitions(knowledge)}
    one_by_one = PatientChecks(knowledge)
    together: list[OfAll] = [
        NormalValues(knowledge),
        HaemoglobinBySex(),
        AdultIllnessInChildren(knowledge),
        MedicinesOfTheOld(knowledge, language),
        Infants(knowledge),
        Pregnancies(language),
        Indications(language),
        Calibration(knowledge, n),
    ]
    for patient in draw_patients(knowledge, n=n, seed=seed, language=language):
        seen = checked(patient, knowledge)
        one_by_one.look_at(seen)
        for of_all in together:
            of_all.look_at(seen)
        advance()
    checks |= one_by_one.tallies()
    checks |= {of_all.name: of_all.tally() for of_all in together}
    return KnowledgeChecked(patients=n, checks=checks)


def _files(knowledge: Knowledge) -> CheckTally:
    things = (knowledge.diseases, knowledge.symptoms, knowledge.examinations, knowledge.drugs)
    tally = CheckTally(tried=sum(len(table) for table in things))
    for flaw in check_knowledge(knowledge):
        tally.failed += 1
        tally.say(f"{flaw.where}: {flaw.problem}")
    return tally


def _definitions(knowledge: Knowledge) -> CheckTally:
    tally = CheckTally()
    for disease in knowledge.diseases.values():
        for severity in SEVERITIES:
            tally.count(not disease.criteria.at(severity), f"{disease.id}, {severity}: no criteria")
    return tally


class OfAll(Protocol):
    """A check of all patients together: it looks at one after the other, and then says what it found."""

    @property
    def name(self) -> str:
        """What it is called."""

    def look_at(self, patient: CheckedPatient) -> None:
        """Takes in one more."""

    def tally(self) -> CheckTally:
        """Returns what was tried and failed."""


class NormalValues:
    """Vital signs and blood counts in those whose illness does not touch them, by age and sex."""

    name = "normal vital signs and blood counts"

    def __init__(self, knowledge: Knowledge) -> None:
        physiology = self._physiology = physiology_of(knowledge)
        self._of = {
            id: physiology.derived[id].of if id in physiology.derived else (id,)
            for id in _NORMAL
            if id in physiology.places
        }
        self._inside: dict[tuple[str, tuple[int, int], Sex], list[bool]] = {}
        self._outside: dict[str, str] = {}

    def look_at(self, patient: CheckedPatient) -> None:
        """Takes in one more."""
        band = next(band for band in _BANDS if patient.age < band[1] + 1)
        for id, of in self._of.items():
            value = patient.number(id)
            if value is None or patient.is_touched(of):
                continue
            low, high = self._physiology.range(self._physiology.places[id][1], patient.age, patient.sex)
            inside = (low is None or value >= low) and (high is None or value <= high)
            self._inside.setdefault((id, band, patient.sex), []).append(inside)
            if not inside:
                self._outside[_group(id, band, patient.sex)] = patient.line(f"{id} {value:g}")

    def tally(self) -> CheckTally:
        """Returns how many groups (item, band of age, sex, and each item over all) have too few within the range."""
        tally = CheckTally()
        groups = sorted(self._inside.items(), key=lambda g: sum(g[1]) / len(g[1]))
        for (id, band, sex), inside in groups:
            if len(inside) >= _ENOUGH_KNOWLEDGE_CHECK:
                percent = 100 * sum(inside) / len(inside)
                few = wilson(sum(inside), len(inside), z=_ONE_OF_MANY)[1] < _WITHIN
                last = self._outside.get(_group(id, band, sex), "")
                told = f"{_group(id, band, sex)}: {percent:.1f} % of {len(inside)} within the range; {last}"
                tally.count(few, told)
        for id in self._of:
            every = list(itertools.chain.from_iterable(inside for key, inside in groups if key[0] == id))
            if len(every) >= _ENOUGH_KNOWLEDGE_CHECK:
                percent = 100 * sum(every) / len(every)
                few = wilson(sum(every), len(every))[1] < _WITHIN
                tally.count(few, f"{id}, everybody: {percent:.1f} % of {len(every)} within the range")
        return tally


def _group(id: str, band: tuple[int, int], sex: Sex) -> str:
    return f"{id}, {sex}, {band[0]} to {band[1]} years"


class HaemoglobinBySex:
    """Women's and men's haemoglobin in those whose illness does not touch it."""

    name = "women's and men's haemoglobin apart"

    def __init__(self) -> None:
        self._values: dict[tuple[tuple[int, int], Sex], list[float]] = {}

    def look_at(self, patient: CheckedPatient) -> None:
        """Takes in one more."""
        value = patient.number("hemoglobin")
        if patient.age >= ADULT and value is not None and not patient.is_touched(("hemoglobin",)):
            band = next(band for band in _BANDS if patient.age < band[1] + 1)
            self._values.setdefault((band, patient.sex), []).append(value)

    def tally(self) -> CheckTally:
        """Returns in how many bands of age the means are too near."""
        tally = CheckTally()
        for band in _BANDS:
            women, men = self._values.get((band, "female"), []), self._values.get((band, "male"), [])
            if min(len(women), len(men)) >= _ENOUGH_KNOWLEDGE_CHECK:
                means = fmean(women), fmean(men)
                told = f"{band[0]} to {band[1]} years: women {means[0]:.1f} g/L, men {means[1]:.1f} g/L"
                tally.count(means[1] - means[0] < _HAEMOGLOBIN_APART, told)
        return tally


class AdultIllnessInChildren:
    """Chronic illness of adults, and its traces, in children whose disease does not touch them."""

    name = "no chronic adult illness in children beyond published rates"

    def __init__(self, knowledge: Knowledge) -> None:
        there = knowledge.symptoms.keys() | physiology_of(knowledge).places.keys()
        self._counts = {id: CheckTally() for id in _IN_CHILDREN if id in there}

    def look_at(self, patient: CheckedPatient) -> None:
        """Takes in one more."""
        if patient.age >= _CHILD:
            return
        for id, tally in self._counts.items():
            texts, _ = _IN_CHILDREN[id]
            if id in patient.disease.symptoms or (texts and (patient.is_touched((id,)) or id not in patient.shown)):
                continue
            has = patient.text(id) in texts if texts else id in patient.present
            tally.count(has, patient.line(patient.values((id,)) or id) if has else "")

    def tally(self) -> CheckTally:
        """Returns how many of these are more usual than published."""
        found = CheckTally()
        for id, tally in self._counts.items():
            if tally.tried >= _ENOUGH_KNOWLEDGE_CHECK:
                most = _IN_CHILDREN[id][1]
                percent = 100 * tally.failed / tally.tried
                some = f"; {tally.examples[0]}" if tally.examples else ""
                told = f"{id}: {percent:.1f} % of {tally.tried} children under {_CHILD}, published at most {most:g} %"
                found.count(wilson(tally.failed, tally.tried)[0] > most, told + some)
        return found


class MedicinesOfTheOld:
    """Whether those over 75 take a medicine that is named."""

    name = "medicines by name in those over 75"

    def __init__(self, knowledge: Knowledge, language: Language) -> None:
        cautions = read_cautions()
        words = [drug.name.get(language) for drug in knowledge.drugs.values()]
        words += [word for one in cautions.allergies for word in one.words.get(language)]
        words += [word for one in cautions.interactions for word in one.words.get(language)]
        words += [getattr(one, language) for condition in read_background().conditions for one in condition.medicines]
        self._words = tuple({word.casefold() for word in words})
        self._taken = CheckTally()

    def look_at(self, patient: CheckedPatient) -> None:
        """Takes in one more."""
        if patient.age > _OLD:
            told = patient.drawn.case.record.history.medications
            named = any(word in told.casefold() for word in self._words)
            self._taken.count(not named, lambda: patient.line(f"takes {told!r}"))

    def tally(self) -> CheckTally:
        """Returns those who take none, where they are too many."""
        taken = self._taken
        enough = not taken.tried or 100 * (taken.tried - taken.failed) / taken.tried > _WITH_MEDICINE
        return CheckTally(tried=taken.tried) if enough else taken


class Calibration:
    """Whether the reader of everything is as often right as it holds probable."""

    name = "calibration of the exact reader"

    def __init__(self, knowledge: Knowledge, n: int) -> None:
        self._knowledge = knowledge
        self._every = max(1, n // _READ)
        self._reader = Reader(knowledge)
        self._ids = list(knowledge.diseases)
        self._seen = 0
        self._stated: list[float] = []
        self._right: list[bool] = []

    def look_at(self, patient: CheckedPatient) -> None:
        """Takes in one more; reads some of them."""
        self._seen += 1
        if (self._seen - 1) % self._every:
            return
        record = patient.drawn.case.record
        said, reading = self._reader.read_history(record)
        self._reader.read_findings(record.findings, reading)
        by_disease = self._reader.members[:-1] @ normalise(said + reading.log())
        self._stated.append(float(by_disease.max()))
        self._right.append(self._ids[int(np.argmax(by_disease))] == patient.disease.id)

    def tally(self) -> CheckTally:
        """Returns how many it read, and by how many of them it is too sure or too unsure, where that is too many."""
        tally = CheckTally(tried=len(self._right))
        if self._right:
            stated, right = 100 * fmean(self._stated), 100 * fmean(self._right)
            if abs(stated - right) > _CALIBRATED:
                tally.failed = max(1, round(abs(stated - right) * len(self._right) / 100))
            tally.say(f"held probable {stated:.1f} %, right {right:.1f} % of {len(self._right)}")
        return tally
