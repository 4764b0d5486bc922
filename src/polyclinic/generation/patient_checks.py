"""What must hold of one drawn patient: each check looks at patients one by one, and counts and names what is wrong.

Where patients may err, or an instrument may, a share of contradictions is allowed; it is exceeded where a Wilson
interval of 95 % lies above it, so that chance alone fails no check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from polyclinic.generation.checked_patient import CheckedPatient
from polyclinic.knowledge.body import PRESENT, along
from polyclinic.knowledge.knowledge import Knowledge, ancestors
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.physiology import Physiology, physiology_of, within_limits
from polyclinic.knowledge.variants import meets
from polyclinic.language.language import LANGUAGES
from polyclinic.statistics.uncertainty import wilson

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
                    values |= self._adult(patient, leaf.quantity)
            if meets(criterion, self._physiology.items, values) is not True:
                about = dict.fromkeys(leaf.quantity or leaf.symptom for leaf in criterion.leaves())
                unmet += [f"{name} {_shown(values.get(name))}" for name in about]
        yield bool(unmet), lambda: patient.line(*unmet)

    def _adult(self, patient: CheckedPatient, quantity: str) -> dict[str, float | str | bool]:
        """Returns a quantity as an adult's: from the record, or from the body where nothing shows it."""
        value = patient.shown.get(quantity, (patient.drawn.body.shown[quantity],))[0]
        item = self._physiology.items[quantity]
        if isinstance(value, float):
            value = self._physiology.carrying(item, patient.age, patient.sex).back(value)
        return {quantity: value}

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
