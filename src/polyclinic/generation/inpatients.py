"""Inpatients with two to five illnesses at once, drawn from the medical knowledge.

The principal disease goes round all there are, so that every department has its inpatients. The others are
complications of what is there already or look-alikes of it, whom age and sex allow. What several diseases change comes
together as `polyclinic.knowledge.several` says. Examined is what is right for each disease, what a look-alike would
have called for, and what every inpatient has; not all of it is done, but of each disease something that can show it.

The options are the patient's diseases and others of their departments (Tree-of-Reasoning §4.1.4), in a drawn order.
"""

from __future__ import annotations

import functools
import math
import random
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Presentation, Question, Sex
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.generation.bodies import body_drawing
from polyclinic.generation.draw import WORDS, complaints_of, draw_sex_and_age, finding_lines
from polyclinic.knowledge.data import SEVERITIES, Data
from polyclinic.knowledge.entries import Disease, Symptom
from polyclinic.knowledge.knowledge import Knowledge, ancestors
from polyclinic.knowledge.lexicon import say_days
from polyclinic.knowledge.pathology import with_pathology
from polyclinic.knowledge.physiology import physiology_of
from polyclinic.knowledge.several import Ailment
from polyclinic.language.language import MARKS, Language, capitalised
from polyclinic.seeds import derive
from polyclinic.yaml_files import read_yaml

_ILLNESSES = {
    2: 3,
    3: 4,
    4: 2,
    5: 1,
}  # how many at once, and how often; nearly five in the paper, where all are counted
_ALIKE = 0.4  # share of further illnesses that are look-alikes, where complications are known too
_LEAST_SHARE = 0.02  # of a disease's patients in the band of age, below which somebody so old does not have it
_NEAREST = 6
_DENIED = 6
_DISTRACTORS = (5, 8)
_DONE = 0.5  # share of the examinations and specimens that would show a disease which are done or taken
_LOOKED_AT = 0.5  # how often it is looked for at the bedside what could show a further disease
_SILENT = 0.6  # share of further illnesses without complaints: found in the laboratory, on an image, in a specimen
_WRITTEN = 0.5  # share of the other symptoms that find their way into the record
_ROUTINE = 0.35  # share of diseases that name an examination of blood, above which every inpatient has it


class _Together(Data):
    of: str
    with_: dict[str, float] = msgspec.field(name="with")


class _Comorbidities(Data):
    together: tuple[_Together, ...]
    never: tuple[tuple[str, ...], ...]


_words = WORDS.section("inpatient", dict[str, str])


@functools.cache
def _comorbidities() -> _Comorbidities:
    return read_yaml(Path(__file__).with_name("comorbidities.yaml"), _Comorbidities)


def generate_inpatients(knowledge: Knowledge, *, n: int, seed: int, language: Language = "en") -> Iterator[Case]:
    """Draws n inpatients with diseases that the knowledge holds (see `Knowledge.select`); the same for the same seed.

    Patient i is the same whatever `n`.
    """
    ward = _Drawing(with_pathology(knowledge), language)
    principals: list[Disease] = []
    for number in range(n):
        if not principals:
            known = list(knowledge.diseases)
            order = derive(seed, "principals", number // len(known)).sample(known, len(known))
            principals = [ward.knowledge.diseases[disease] for disease in order]
        yield ward.draw(principals.pop(), derive(seed, "inpatient", number), f"i{seed}-{number + 1:05d}")


class _Drawing:
    """What is the same for all inpatients of a knowledge."""

    def __init__(self, knowledge: Knowledge, language: Language) -> None:
        self.knowledge, self._language = knowledge, language
        self._diseases = list(knowledge.diseases.values())
        self._alike = _alike(knowledge)
        given = _comorbidities()
        self._together = {one.of: one.with_ for one in given.together}
        self._never = given.never
        named = [e for d in self._diseases for e in d.findings]
        self._routine = {
            e.id
            for e in knowledge.examinations.values()
            if e.id == "physical-examination"
            or (e.kind == "laboratory" and named.count(e.id) > _ROUTINE * len(self._diseases))
        }

    def draw(self, principal: Disease, rng: random.Random, case_id: str) -> Case:
        sex, age = draw_sex_and_age(principal, rng)
        illnesses = self._illnesses(principal, age, sex, rng)
        symptoms = [s for s in self.knowledge.symptoms.values() if s.possible(age, sex)]
        felt = [i for i in illnesses if i is illnesses[0] or not self._is_silent(i.disease, rng)]
        shown, present = body_drawing(self.knowledge).draw_several(illnesses, felt, age, sex, rng)
        days = rng.lognormvariate(math.log(principal.duration[0]), math.log(principal.duration[1]))
        _, lines = finding_lines(self.knowledge, age, sex, self._language)
        examined, places = self._examined(illnesses, felt, rng), physiology_of(self.knowledge).places
        comma = MARKS[self._language].comma
        findings = [line.finding(shown[id], comma) for id, line in lines if places[id][0].id in examined]
        complaint, history = self._told(symptoms, present, illnesses, days, rng)
        options, right = self._options(illnesses, age, sex, rng)
        person = Presentation(complaint=complaint, language=self._language, age=age, sex=sex)
        return Case(
            id=case_id,
            record=Record(presentation=person, history=history, findings=tuple(findings)),
            truth=Truth(
                diagnoses=tuple(
                    Diagnosis(name=i.disease.name.get(self._language), icd10=i.disease.icd10) for i in illnesses
                ),
                severity=illnesses[0].severity,
                answers=right,
            ),
            question=Question(id=case_id, stem="", options=options, language=self._language, several=True),
            source=f"polyclinic cases generate, seed {case_id[1:].partition('-')[0]}",
            department=principal.department,
        )

    def _illnesses(self, principal: Disease, age: float, sex: Sex, rng: random.Random) -> list[Ailment]:
        count = rng.choices(list(_ILLNESSES), list(_ILLNESSES.values()))[0]
        found = [principal]
        while len(found) < count:
            excluded = {id for group in self._never if any(one.id in group for one in found) for id in group}
            others = (d for d in self._diseases if d not in found and d.id not in excluded)
            allowed = [d for d in others if _can_have(d, age, sex)]
            brought: dict[str, float] = {}
            for one in found:
                for other, weight in self._together.get(one.id, {}).items():
                    brought[other] = brought.get(other, 0.0) + weight
            complications = [d for d in allowed if d.id in brought]
            alike = [d for d in allowed if any(d.id in self._alike[one.id] for one in found)]
            if complications and (not alike or rng.random() >= _ALIKE):
                found.append(rng.choices(complications, [brought[d.id] for d in complications])[0])
            elif alike or allowed:
                found.append(rng.choice(alike or allowed))
            else:
                break
        return [Ailment(d, rng.choices(SEVERITIES, (0, 3, 2) if (d is principal) else (3, 4, 1))[0]) for d in found]

    def _is_silent(self, disease: Disease, rng: random.Random) -> bool:
        """Whether a further illness gives no complaints: what an examination can show, and no emergency."""
        if disease.time_critical:
            return False
        shown = any(self.knowledge.examinations[e].kind not in ("physical", "function") for e in disease.examinations)
        return shown and rng.random() < _SILENT

    def _examined(self, illnesses: Sequence[Ailment], felt: Sequence[Ailment], rng: random.Random) -> set[str]:
        """Returns the ids of the examinations that are done, where they are possible."""
        diseases = [i.disease for i in illnesses]
        complained_of = {i.disease.id for i in felt}
        wanted = set(self._routine)
        for disease in diseases:
            kinds = {e: self.knowledge.examinations[e].kind for e in (*disease.examinations, *disease.findings)}
            # One way of showing it is enough: not everything that would be right is done.
            right = [e for e, kind in kinds.items() if e in disease.examinations or kind == "pathology"]
            right = [e for e in right if kinds[e] != "physical"]
            done = [e for e in right if rng.random() < _DONE]
            wanted.update(done or ([rng.choice(right)] if right else []))
            bedside = _LOOKED_AT * (disease.id in complained_of) if disease is not diseases[0] else 1.0
            wanted |= {e for e, kind in kinds.items() if kind == "physical" and rng.random() < bedside}
        # What was thought of beside them was looked for as well.
        thought_of = sorted({other for d in diseases for other in self._alike[d.id]} - {d.id for d in diseases})
        for other in rng.sample(thought_of, min(2, len(thought_of))):
            known = self.knowledge.examinations
            specimens = [e for e in self.knowledge.diseases[other].findings if known[e].kind == "pathology"]
            wanted |= {e for e in (*self.knowledge.diseases[other].examinations, *specimens) if rng.random() < _DONE}
        return wanted

    def _told(
        self,
        possible: Sequence[Symptom],
        present: Sequence[Symptom],
        illnesses: Sequence[Ailment],
        days: float,
        rng: random.Random,
    ) -> tuple[str, History]:
        """Returns the complaint, and the history in whole sentences."""
        language, words, marks = self._language, _words(self._language), MARKS[self._language]
        last = words["last"]
        leaves = [s for s in present if s.section == "symptoms" and not any(c.parent == s.id for c in present)]
        # Where several diseases speak at once, not every symptom finds its way into the record.
        roots = {s.id for s in present if s.parent is None and rng.random() < _WRITTEN}
        written = {s.id for s in present if [s.id, *self._ancestors(s)][-1] in roots}
        principal = illnesses[0].disease
        named = [s for s in leaves if not principal.symptoms.keys().isdisjoint((s.id, *self._ancestors(s)))]
        main = complaints_of(named or leaves, principal, illnesses[0].severity, self.knowledge, rng)
        others = [s for s in leaves if s not in main and s.id in written]
        duration = say_days(days, language)
        complaint = f"{_listed(main, language, '')}{duration}"
        if language == "en":
            complaint = f"{capitalised(_listed(main, language, last))} for {duration}"
        alike = {
            s for i in illnesses for other in self._alike[i.disease.id] for s in self.knowledge.diseases[other].symptoms
        }
        absent = [
            s for s in possible if s.section == "symptoms" and s.parent is None and s not in present and s.id in alike
        ]
        denied = rng.sample(absent, min(_DENIED, len(absent)))
        sentences = [words["onset"].format(duration=capitalised(duration), symptoms=_listed(main, language, last))]
        if others:
            sentences.append(words["further"].format(symptoms=_listed(others, language, last)))
        if denied:
            sentences.append(words["denied"].format(symptoms=_listed(denied, language, words["or_last"])))
        sentences.append(words["course"])
        told = {"present": marks.blank.join(sentences)}
        for section in ("past", "medications", "allergies", "personal", "family"):
            names = [s for s in present if s.section == section and s.id in written]
            if names:
                told[section] = capitalised(_listed(names, language, last)) + marks.stop
        return complaint, msgspec.convert(told, History)

    def _ancestors(self, symptom: Symptom) -> list[str]:
        return ancestors(self.knowledge.symptoms, symptom.id)

    def _options(
        self, illnesses: Sequence[Ailment], age: float, sex: Sex, rng: random.Random
    ) -> tuple[dict[str, str], tuple[str, ...]]:
        """Returns the options by letter and the letters of the right ones."""
        right = [i.disease for i in illnesses]
        departments = {d.department for d in right}
        others = [d for d in self._diseases if d not in right and _can_have(d, age, sex)]
        near = [d for d in others if d.department in departments]
        wanted = min(rng.randint(*_DISTRACTORS), len(string.ascii_uppercase) - len(right))
        wrong = rng.sample(near, min(wanted, len(near)))
        far = [d for d in others if d not in near]
        # A department of two diseases has no five others: they come from elsewhere.
        wrong += rng.sample(far, min(wanted - len(wrong), len(far)))
        drawn = rng.sample([*right, *wrong], len(right) + len(wrong))
        options = {key: d.name.get(self._language) for key, d in zip(string.ascii_uppercase, drawn, strict=False)}
        return options, tuple(key for key, d in zip(options, drawn, strict=True) if d in right)


def _can_have(disease: Disease, age: float, sex: Sex) -> bool:
    """Returns whether people of an age and sex have a disease now and then."""
    of_sex = disease.epidemiology.female if sex == "female" else 1 - disease.epidemiology.female
    return disease.epidemiology.share_at(age) >= _LEAST_SHARE and of_sex > _LEAST_SHARE


def _listed(symptoms: Sequence[Symptom], language: Language, last: str) -> str:
    names = [s.name.get(language) for s in symptoms]
    first = MARKS[language].item.join(names[:-1])
    return f"{first}{last or MARKS[language].item}{names[-1]}" if first else names[0]


@functools.cache
def _alike(knowledge: Knowledge) -> dict[str, tuple[str, ...]]:
    """Returns for each disease those whose symptoms are most like its own, the likest first."""
    symptoms = list(knowledge.symptoms.values())
    profiles = np.array(
        [[float(np.mean(d.symptoms.get(s.id, (0.0,)))) for s in symptoms] for d in knowledge.diseases.values()]
    )
    norms = np.linalg.norm(profiles, axis=1)
    likeness = profiles @ profiles.T / np.outer(norms, norms)
    np.fill_diagonal(likeness, -1.0)
    ids = list(knowledge.diseases)
    return {
        one: tuple(ids[place] for place in np.argsort(-row, kind="stable")[: min(_NEAREST, len(ids) - 1)])
        for one, row in zip(ids, likeness, strict=True)
    }


# By what an examination is called; whatever else is seen with sound.
_KEYS = {
    "X-ray-Imaging-Examination": re.compile(r"x-?ray|radiograph|X线|平片", re.IGNORECASE),
    "CT-Imaging-Examination": re.compile(r"CT|tomograph"),
    "Magnetic-Resonance-Imaging-Examination": re.compile(r"MRI|magnetic resonance|磁共振|核磁"),
    "Ultrasonic-Imaging-Examination": re.compile(""),
}


def as_tor(case: Case, knowledge: Knowledge) -> dict[str, Any]:
    """Returns a case as a record of the layout."""
    person, history, language = case.presentation, case.record.history, case.presentation.language
    marks = MARKS[language]
    kinds = {e.name.get(language): e.kind for e in knowledge.examinations.values()}
    by_examination: dict[str, list[Finding]] = {}
    for finding in case.record.findings:
        by_examination.setdefault(finding.examination, []).append(finding)
    texts: dict[str, list[str]] = {}
    laboratory: dict[str, dict[str, str]] = {}
    for name, findings in by_examination.items():
        kind = kinds.get(name, "physical")
        if kind in ("laboratory", "microbiology", "function"):
            laboratory[name] = {f.item: _value(f, language) for f in findings}
            continue
        key = "Physical-Examination"
        if kind == "imaging":
            key = next(key for key, called in _KEYS.items() if called.search(name))
        elif kind == "pathology":
            key = "Pathological-Examination"
        elif kind == "endoscopy":
            key = "Endoscopic-Examination"
        texts.setdefault(key, []).append(_read_out(name, findings, language))
    told = {
        "Age": None if person.age is None else f"Y{person.age:g}",
        "Sex": person.sex,
        "Department": case.department,
        "Chief-Complaints": person.complaint,
        "Present-Illness": history.present,
        "Past-History": marks.blank.join(filter(None, (history.past, history.medications, history.allergies))),
        "Personal-History": history.personal,
        "Family-History": history.family,
        "Physical-Examination": marks.blank.join(texts.pop("Physical-Examination", ())),
        "Laboratory-Examination": laboratory,
        **{
            key: marks.blank.join(texts[key])
            for key in (*_KEYS, "Endoscopic-Examination", "Pathological-Examination")
            if key in texts
        },
        "Diagnosis": [diagnosis.name for diagnosis in case.truth.diagnoses],
    }
    if case.question is not None:
        told["Options"] = ", ".join(f"{key}. {text}" for key, text in case.question.options.items())
        told["Label"] = ", ".join(case.truth.answers)
    return {key: value for key, value in told.items() if value}


def tor_lines(cases: Iterable[Case], knowledge: Knowledge) -> str:
    """Returns cases as JSON lines of the layout."""
    return "".join(msgspec.json.encode(as_tor(case, knowledge)).decode() + "\n" for case in cases)


def _read_out(name: str, findings: Sequence[Finding], language: Language) -> str:
    marks = MARKS[language]
    if len(findings) == 1:
        return f"{capitalised(name)}{marks.colon}{_value(findings[0], language)}{marks.stop}"
    results = marks.semicolon.join(finding.result(language) for finding in findings)
    return f"{capitalised(name)}{marks.colon}{results}{marks.stop}"


def _value(finding: Finding, language: Language) -> str:
    return msgspec.structs.replace(finding, item="").result(language)
