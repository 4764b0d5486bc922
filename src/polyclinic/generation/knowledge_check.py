"""Checks of the medical knowledge: of its files, and of patients drawn from it, one by one and together."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from statistics import fmean
from typing import Protocol

import msgspec
import numpy as np

from polyclinic.cases.presentation import Sex
from polyclinic.generation.background import read_background
from polyclinic.generation.checked_patient import ADULT, CheckedPatient, checked
from polyclinic.generation.draw import draw_patients
from polyclinic.generation.patient_checks import CheckTally, PatientChecks
from polyclinic.generation.people_checks import Indications, Infants, Pregnancies
from polyclinic.knowledge.bayes import Reader, normalise
from polyclinic.knowledge.check import check_knowledge
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.physiology import physiology_of
from polyclinic.knowledge.safety import read_cautions
from polyclinic.language.language import Language
from polyclinic.statistics.uncertainty import wilson

_BANDS = ((0, 0), (1, 1), (2, 5), (6, 11), (12, 17), (18, 44), (45, 64), (65, 120))
_NORMAL = (
    "temperature", "heart_rate", "respiratory_rate", "oxygen_saturation", "systolic", "diastolic",
    "wbc", "neutrophils", "lymphocytes", "hemoglobin", "platelets",
)  # fmt: skip
"""Vital signs and blood counts, by item."""

_ENOUGH = 30  # people of an age and sex that a share is taken of
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
            if len(inside) >= _ENOUGH:
                percent = 100 * sum(inside) / len(inside)
                few = wilson(sum(inside), len(inside), z=_ONE_OF_MANY)[1] < _WITHIN
                last = self._outside.get(_group(id, band, sex), "")
                told = f"{_group(id, band, sex)}: {percent:.1f} % of {len(inside)} within the range; {last}"
                tally.count(few, told)
        for id in self._of:
            every = list(itertools.chain.from_iterable(inside for key, inside in groups if key[0] == id))
            if len(every) >= _ENOUGH:
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
            if min(len(women), len(men)) >= _ENOUGH:
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
            if tally.tried >= _ENOUGH:
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
