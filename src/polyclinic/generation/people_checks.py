"""Checks of who the drawn patients are: infants, pregnant women, and what the medicines are for that people take."""

from __future__ import annotations

from polyclinic.generation.background import read_background
from polyclinic.generation.checked_patient import CheckedPatient
from polyclinic.generation.patient_checks import CheckTally
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import Language
from polyclinic.statistics.uncertainty import wilson

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
