"""What must hold of drawn patients, whatever their diseases: each check counts and names what is wrong.

Where patients may err, or an instrument may, a share of contradictions is allowed; it is exceeded where a Wilson
interval of 95 % lies above it, so that chance alone fails no check.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import msgspec
import numpy as np

from polyclinic.cases.presentation import Sex
from polyclinic.generation.draw import DrawnPatient, draw_patients
from polyclinic.knowledge.bayes import Reader, normalise
from polyclinic.knowledge.body import PRESENT, along
from polyclinic.knowledge.check import check_knowledge
from polyclinic.knowledge.data import SEVERITIES, Data, Severity
from polyclinic.knowledge.disease_body import DiseaseBody, meets
from polyclinic.knowledge.entries import Disease, Item
from polyclinic.knowledge.knowledge import Knowledge, ancestors
from polyclinic.knowledge.lexicon import lexicon_of
from polyclinic.knowledge.physiology import Physiology, physiology_of, within_limits
from polyclinic.language.ages import say_age
from polyclinic.language.language import Language
from polyclinic.statistics.uncertainty import wilson
from polyclinic.yaml_files import read_yaml

ADULT = 18


class CheckedPatient(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A drawn patient as its record shows it.

    Attributes:
        shown: every number, or the id of every text, that stands under a result, by item id.
    """

    drawn: DrawnPatient
    age: float
    sex: Sex
    shown: Mapping[str, tuple[float | str, ...]]
    done: frozenset[str]  # the ids of the examinations that have results
    present: frozenset[str]  # the ids of the symptoms and circumstances that are there
    body: DiseaseBody  # what its disease makes of the body

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
        shown = ((item, value) for item in items for value in self.shown.get(item, ()))
        return ", ".join(f"{item} {value if isinstance(value, str) else f'{value:g}'}" for item, value in shown)

    def is_touched(self, quantities: Iterable[str]) -> bool:
        """Returns whether its disease changes one of some quantities, or has a criterion on it."""
        ways = self.body.ways[self.severity]
        return any(
            q in self.body.quantities or any(q in way.numbers or q in way.states for way in ways) for q in quantities
        )


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


class _AtMost(Data, frozen=True, kw_only=True):
    at_most: float  # per cent of children
    texts: frozenset[str] = frozenset()


class _Expected(Data, frozen=True, kw_only=True):
    in_children: dict[str, _AtMost]
    normal: tuple[str, ...]


@functools.cache
def _expected() -> _Expected:
    return read_yaml(Path(__file__).with_suffix(".yaml"), _Expected)


class CheckTally(msgspec.Struct, kw_only=True):
    """How often something was tried and failed, with examples of one line."""

    tried: int = 0
    failed: int = 0
    examples: list[str] = msgspec.field(default_factory=list)

    def count(self, failed: bool, *said: str, of: CheckedPatient | None = None) -> None:
        """Counts one more; a failure is an example if there are not enough, in the patient's line if it is one's."""
        self.tried += 1
        self.failed += failed
        if failed:
            self.say(", ".join(said) if of is None else of.line(*said))

    def say(self, example: str) -> None:
        """Keeps an example, if there are not enough."""
        if len(self.examples) < _EXAMPLES:
            self.examples.append(example)


Looking = Generator[None, CheckedPatient | None, CheckTally]
"""A check that is sent one patient after the other and then None, at which it returns what it found."""


class CheckContext(NamedTuple):
    """What checks look things up in: a knowledge, the language of the records, and how many patients there will be."""

    knowledge: Knowledge
    language: Language = "en"
    n: int = 1

    @property
    def physiology(self) -> Physiology:
        """The quantities of the knowledge."""
        return physiology_of(self.knowledge)


Looked = Iterator[list[str]]
"""For each thing that was looked at, what is wrong with it."""


def _each(look: Callable[[CheckContext, CheckedPatient], Looked]) -> Callable[[CheckContext], Looking]:
    """Returns the check that looks at one patient at a time."""

    def looking(context: CheckContext) -> Looking:
        tally = CheckTally()
        while (patient := (yield)) is not None:
            for wrong in look(context, patient):
                tally.count(bool(wrong), *wrong, of=patient)
        return tally

    return looking


def _one_value(context: CheckContext, patient: CheckedPatient) -> Looked:
    """Yields whether every quantity has one value."""
    physiology = context.physiology
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


def _pressures(_: CheckContext, patient: CheckedPatient) -> Looked:
    systolic, diastolic = patient.number("systolic"), patient.number("diastolic")
    if systolic is not None and diastolic is not None:
        yield [patient.values(("systolic", "diastolic"))] if systolic <= diastolic else []


def _definition(context: CheckContext, patient: CheckedPatient) -> Looked:
    """Yields whether the patient meets what its disease is diagnosed by, at its severity."""
    physiology = context.physiology
    values: dict[str, float | str | bool] = {s: s in patient.present for s in context.knowledge.symptoms}
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


def _impossible(context: CheckContext, patient: CheckedPatient) -> Looked:
    """Yields whether somebody of the patient's age and sex can have all this, and have it together."""
    known, physiology, present = context.knowledge, context.physiology, patient.present
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


def _complaint(context: CheckContext, patient: CheckedPatient) -> Looked:
    """Yields whether the symptom that the disease leads with stands in the complaint, where the patient has it."""
    symptoms, disease = context.knowledge.symptoms, patient.disease
    come_for = [s for s in disease.symptoms if symptoms[s].complaint and symptoms[s].section == "symptoms"]
    shares = {s: disease.share(symptoms[s], patient.severity) for s in come_for if symptoms[s].parent is None}
    least = max(shares.values(), default=0.0) - _ALIKE
    leading = [s for s, share in shares.items() if share >= least and s in patient.present]
    if leading:
        person = patient.drawn.case.presentation
        said = lexicon_of(context.knowledge, person.language).read(person.complaint)
        told = any(said.get(s, False) for s in leading)
        yield [] if told else [f"no {' or '.join(leading)} in {person.complaint!r}"]


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
            lambda p: (
                p.drawn.body.shown.get("gut_bleeding", "") == "black"
                or ("black_stools" in p.present and p.is_touched(("gut_bleeding",)))
            ),
            lambda p: p.text("occult_blood") == "negative",
            ("occult_blood",),
        ),
    ),
}


def _agreement(pairs: tuple[_MustAgree, ...]) -> Callable[[CheckContext], Looking]:
    """Returns the check that some things agree in all but a few patients."""

    def looking(_: CheckContext) -> Looking:
        tallies = [CheckTally() for _ in pairs]
        while (patient := (yield)) is not None:
            for pair, tally in zip(pairs, tallies, strict=True):
                if pair.of(patient):
                    tally.count(pair.contradict(patient), pair.what, patient.values(pair.items), of=patient)
        found = CheckTally()
        for pair, tally in zip(pairs, tallies, strict=True):
            found.tried += tally.tried
            if tally.failed >= _SEVERAL and wilson(tally.failed, tally.tried)[0] > pair.allowed:
                found.failed += tally.failed
                found.examples += tally.examples
        return found

    return looking


_BANDS = ((0, 0), (1, 1), (2, 5), (6, 11), (12, 17), (18, 44), (45, 64), (65, 120))
_ENOUGH_KNOWLEDGE_CHECK = 30  # people of an age and sex that a share is taken of
_ONE_OF_ONE = 1.959964
_ONE_OF_MANY = 3.29  # standard deviations: of more than a hundred groups one in twenty would fail by chance
_WITHIN = 95.0  # per cent within the reference range
_READ = 500  # patients that the reader reads; it takes longer than to draw them
_CALIBRATED = 3.0  # points

_CHILD = 13


def _band(age: float) -> tuple[int, int]:
    return next(band for band in _BANDS if age < band[1] + 1)


def _normal_values(context: CheckContext) -> Looking:
    """Counts groups (item, band of age, sex, and each item over all) that lie too seldom within the reference range."""
    physiology = context.physiology
    items = {
        id: physiology.derived[id].of if id in physiology.derived else (id,)
        for id in _expected().normal
        if id in physiology.places
    }
    groups: dict[tuple[str, str], list[bool]] = {}
    outside: dict[str, str] = {}
    while (patient := (yield)) is not None:
        first, last = _band(patient.age)
        for id, of in items.items():
            value = patient.number(id)
            if value is None or patient.is_touched(of):
                continue
            low, high = physiology.range(physiology.places[id][1], patient.age, patient.sex)
            is_inside = (low is None or value >= low) and (high is None or value <= high)
            group = f"{id}, {patient.sex}, {first} to {last} years"
            groups.setdefault((id, group), []).append(is_inside)
            if not is_inside:
                outside[group] = patient.line(f"{id} {value:g}")
    tally = CheckTally()
    ordered = sorted(groups.items(), key=lambda g: sum(g[1]) / len(g[1]))
    told = [(group, inside, _ONE_OF_MANY, f"; {outside.get(group, '')}") for (_, group), inside in ordered]
    for id in items:
        every = list(itertools.chain.from_iterable(inside for key, inside in ordered if key[0] == id))
        told.append((f"{id}, everybody", every, _ONE_OF_ONE, ""))
    for group, inside, z, example in told:
        n, within = len(inside), sum(inside)
        if n >= _ENOUGH_KNOWLEDGE_CHECK:
            few = wilson(within, n, z=z)[1] < _WITHIN
            tally.count(few, f"{group}: {100 * within / n:.1f} % of {n} within the range{example}")
    return tally


def _adult_illness_in_children(context: CheckContext) -> Looking:
    """Counts chronic illnesses of adults that more children have than published, whose disease does not touch them."""
    there = context.knowledge.symptoms.keys() | context.physiology.places.keys()
    expected = _expected().in_children
    tallies = {id: CheckTally() for id in expected if id in there}
    while (patient := (yield)) is not None:
        for id, tally in tallies.items() if patient.age < _CHILD else ():
            texts = expected[id].texts
            if id in patient.disease.symptoms or (texts and (patient.is_touched((id,)) or id not in patient.shown)):
                continue
            has = patient.text(id) in texts if texts else id in patient.present
            tally.count(has, patient.values((id,)) or id, of=patient)
    found = CheckTally()
    for id, tally in tallies.items():
        if tally.tried >= _ENOUGH_KNOWLEDGE_CHECK:
            most = expected[id].at_most
            percent = 100 * tally.failed / tally.tried
            some = f"; {tally.examples[0]}" if tally.examples else ""
            told = f"{id}: {percent:.1f} % of {tally.tried} children under {_CHILD}, published at most {most:g} %"
            found.count(wilson(tally.failed, tally.tried)[0] > most, told + some)
    return found


def _calibration(context: CheckContext) -> Looking:
    """Counts the patients that the reader of everything reads, and by how many it is too sure or too unsure."""
    reader, ids, every = Reader(context.knowledge), list(context.knowledge.diseases), max(1, context.n // _READ)
    seen, stated, right = 0, list[float](), list[bool]()
    while (patient := (yield)) is not None:
        seen += 1
        if (seen - 1) % every:
            continue
        record = patient.drawn.case.record
        said, reading = reader.read_history(record)
        reader.read_findings(record.findings, reading)
        by_disease = reader.members[:-1] @ normalise(said + reading.log())
        stated.append(float(by_disease.max()))
        right.append(ids[int(np.argmax(by_disease))] == patient.disease.id)
    tally = CheckTally(tried=len(right))
    if right:
        held, share = 100 * fmean(stated), 100 * fmean(right)
        if abs(held - share) > _CALIBRATED:
            tally.failed = max(1, round(abs(held - share) * len(right) / 100))
        tally.say(f"held probable {held:.1f} %, right {share:.1f} % of {len(right)}")
    return tally


CHECKS: Mapping[str, Callable[[CheckContext], Looking]] = {
    "one value of a quantity in a visit": _each(_one_value),
    "systolic above diastolic": _each(_pressures),
    "definition of disease and severity met": _each(_definition),
    "no impossible pair": _each(_impossible),
    "leading symptom in the complaint": _each(_complaint),
    **{name: _agreement(pairs) for name, pairs in _PAIRS.items()},
    "normal vital signs and blood counts": _normal_values,
    "no chronic adult illness in children beyond published rates": _adult_illness_in_children,
    "calibration of the exact reader": _calibration,
}
"""The checks of drawn patients, by name."""


def check_patients(
    patients: Iterable[CheckedPatient], context: CheckContext, names: Container[str] = CHECKS
) -> dict[str, CheckTally]:
    """Returns what the checks of some names find in patients."""
    looking = {name: check(context) for name, check in CHECKS.items() if name in names}
    for one in looking.values():
        next(one)
    for patient in patients:
        for one in looking.values():
            one.send(patient)
    found: dict[str, CheckTally] = {}
    for name, one in looking.items():
        try:
            one.send(None)
        except StopIteration as end:
            found[name] = end.value
    return found


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
    language: Language = "en",
    advance: Callable[[], None] = lambda: None,
) -> KnowledgeChecked:
    """Checks the files of a knowledge, and n patients drawn from it; some checks need hundreds.

    Where the patients have only some of the diseases of a `whole`, the files of that are checked. `advance` is called
    after each patient.
    """
    whole = whole or knowledge
    files = CheckTally(tried=len(whole.diseases) + len(whole.symptoms) + len(whole.examinations) + len(whole.drugs))
    for flaw in check_knowledge(whole):
        files.failed += 1
        files.say(f"{flaw.where}: {flaw.problem}")
    definitions = CheckTally()
    for disease in knowledge.diseases.values():
        for severity in SEVERITIES:
            definitions.count(not disease.criteria.at(severity), f"{disease.id}, {severity}: no criteria")

    def patients() -> Iterator[CheckedPatient]:
        for patient in draw_patients(knowledge, n=n, seed=seed, language=language):
            yield checked(patient, knowledge)
            advance()

    found = check_patients(patients(), CheckContext(knowledge, language, n))
    return KnowledgeChecked(
        patients=n, checks={"files": files, "diseases state their definition": definitions, **found}
    )
