"""Patients drawn from the medical knowledge: by templates, offline, the same for the same seed.

Balanced over disease and severity (Agent Hospital, Table 5). Given both, age, sex, duration and a body are drawn, see
`polyclinic.generation.bodies`; the knowledge's Bayesian reader is exact on them but for what is named there.
What somebody of the drawn age and sex cannot have is not drawn, and its absence tells the reader nothing.
"""

from __future__ import annotations

import functools
import math
import random
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Presentation, Sex
from polyclinic.cases.record import Code, Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.generation.background import BroughtAlong, draw_background
from polyclinic.generation.bodies import DrawnBody, EvenRandom, Lasting, body_drawing, lasting, with_beside
from polyclinic.knowledge.acuity import acuity_level
from polyclinic.knowledge.ages import MONTHS, OF_ITSELF, SPEAKS_FROM
from polyclinic.knowledge.data import DATA, SEVERITIES, Severity
from polyclinic.knowledge.entries import Disease, Examination, Symptom
from polyclinic.knowledge.knowledge import Knowledge, ancestors
from polyclinic.knowledge.lexicon import say_days
from polyclinic.knowledge.physiology import physiology_of, told_age
from polyclinic.knowledge.safety import (
    read_red_flags,
    told_at_the_counter,
    with_results,
)
from polyclinic.knowledge.treatment import MOVES_WITH_AGE, PlannedTreatment, PlanPatient, VisitFacts, as_planned
from polyclinic.language.language import LANGUAGES, MARKS, Language, capitalised
from polyclinic.language.word_lists import Pattern, WordLists
from polyclinic.seeds import derive
from polyclinic.yaml_files import read_yaml


class FindingLine(NamedTuple):
    """A finding of somebody without its result."""

    examination: str
    item: str
    texts: dict[str, str]
    unit: str
    code: Code | None
    reference: str = ""

    def finding(self, shown: float | str | tuple[str, ...], comma: str = "") -> Finding:
        """Returns the finding with what is shown: a number, the id of a text, or those of several."""
        examination, item, texts, unit, code, reference = self
        value = texts[shown] if isinstance(shown, str) else shown
        if isinstance(value, tuple):
            value = comma.join(texts[id] for id in value)
        return Finding(examination=examination, item=item, value=value, unit=unit, reference=reference, code=code)


@functools.lru_cache(maxsize=256)
def finding_lines(
    knowledge: Knowledge, age: float, sex: Sex, language: Language
) -> tuple[tuple[Examination, ...], tuple[tuple[str, FindingLine], ...]]:
    """Returns what is done on somebody of an age and sex, and the findings of it with the ids of their items."""
    done = tuple(e for e in knowledge.examinations.values() if e.possible(age, sex))
    lines, references = _lines_of_all(knowledge, language), _references(knowledge, told_age(age), sex)
    of_it = (lines[item.id]._replace(reference=references[item.id]) for e in done for item in e.items)
    return done, tuple(zip((item.id for e in done for item in e.items), of_it, strict=True))


@functools.lru_cache(maxsize=16)
def _lines_of_all(knowledge: Knowledge, language: Language) -> dict[str, FindingLine]:
    return {
        item.id: FindingLine(
            examination=examination.name.get(language),
            item=item.name.get(language),
            texts={id: name.get(language) for id, name in item.values.items()},
            unit=item.unit,
            code=Code("loinc", item.loinc) if item.loinc else None,
        )
        for examination, item in physiology_of(knowledge).places.values()
    }


@functools.lru_cache(maxsize=512)
def _references(knowledge: Knowledge, age: float, sex: Sex) -> dict[str, str]:
    """Returns the reference range of each item at an age and sex, as it is written beside a result; "" for none."""
    physiology = physiology_of(knowledge)
    written: dict[str, str] = {}
    for id, (_, item) in physiology.places.items():
        low, high = physiology.range(item, age, sex) if item.numeric else (None, None)
        if low is not None and high is not None:
            written[id] = f"{low:g}-{high:g}"
        else:
            written[id] = f"< {high:g}" if high is not None else f"> {low:g}" if low is not None else ""
    return written


_MENARCHE, _MENOPAUSE = 13, 52  # years: by then most girls have, and most women have no more, periods
_LAST_PERIODS = (47, 51)  # years of age
_CYCLE = 28
_WEEK = 7
_ECTOPIC: dict[Severity, tuple[int, int]] = {"mild": (5, 7), "moderate": (6, 8), "severe": (6, 9)}  # weeks
_LATE = (5, 8)  # weeks, of who has missed a period for another reason
_FREE_OF = (2, 26)  # days: nobody is asked for a period that she has now

ECTOPIC = "ectopic-pregnancy"


WORDS = WordLists(Path(__file__).with_name("words"))
_words = WORDS.section("periods", dict[str, str])
_period_patterns = WORDS.section("period_patterns", dict[str, Pattern])


def last_period(
    age: float,
    sex: Sex,
    rng: random.Random,
    language: Language,
    *,
    present: Collection[str],
    severity: Severity,
    past: str,
    days: float = 0,
) -> str:
    """Returns what somebody says of her last period, `days` after the first visit; "" of men and children.

    `present` are the ids of her symptoms, circumstances and disease, `past` what was so before, in the language.
    """
    if sex != "female" or age < _MENARCHE:
        return ""
    words, patterns, stop = _words(language), _period_patterns(language), MARKS[language].stop
    passed = int(days)
    if (weeks := patterns["pregnant"].search(past)) is not None and (number := re.search(r"\d+", weeks[0])):
        said = words["pregnancy"].format(n=number[0])
    elif patterns["without_womb"].search(past):
        said = words["removed"]
    elif ECTOPIC in present:
        name = "light" if "vaginal_bleeding" in present else "unsure"
        name = "weeks" if "missed_period" in present else name
        said = words[name].format(n=rng.randint(*_ECTOPIC[severity]) + passed // _WEEK)
    elif "missed_period" in present:
        said = words["weeks"].format(n=rng.randint(*_LATE) + passed // _WEEK)
    elif age >= _MENOPAUSE and "heavy_periods" not in present:
        said = words["stopped"].format(age=rng.randint(*_LAST_PERIODS))
    else:
        first, last = _FREE_OF
        said = words["regular"].format(n=first + (rng.randint(0, last - first) + passed) % (_CYCLE - first))
    return said + stop


def treatment_of(
    stratum: tuple[Disease, Severity], record: Record, body: DrawnBody, days: float, knowledge: Knowledge
) -> tuple[str, ...]:
    """Returns what is done for a patient of whom everything is known, in words: one drug of each measure that is due.

    A measure of whose drugs this patient may have none is left out.
    """
    presentation = record.presentation
    physiology = physiology_of(knowledge)
    wanted = ("creatinine", "beta_hcg") if presentation.sex == "female" else ("creatinine",)
    results = {item: float(body.shown[item]) for item in wanted if item in body.shown}
    known = with_results(told_at_the_counter(presentation, record.history), presentation, results)
    measured = {id: body.shown.get(id, value) for id, value in body.values.items()}
    patient = PlanPatient(
        age=presentation.age,
        sex=presentation.sex,
        pregnant=known.pregnant,
        days=days,
        findings={
            **dict.fromkeys(knowledge.symptoms, False),
            **measured,
            **{id: as_planned(id, measured[id], presentation, physiology) for id in MOVES_WITH_AGE & measured.keys()},
            **{s.id: True for s in body.present},
        },
    )
    facts = VisitFacts(patient, known, body.measured())
    planned = PlannedTreatment(stratum[0].plan(stratum[1]), facts, knowledge, presentation, stratum=stratum)
    return planned.lines(planned.suitable())


_OLDEST = 100
_ELDER = 55  # years of age from which on names are those of an older generation
_TELLS_FROM = 13.0  # points of the coma scale from which on somebody tells its own history
_COMPLAINTS = 3  # A chief complaint names the main troubles; more is a history.


class _People(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    female: tuple[str, ...]
    male: tuple[str, ...]
    female_elder: tuple[str, ...]
    male_elder: tuple[str, ...]
    family: tuple[str, ...]
    occupations: dict[str, tuple[str, ...]]  # by the last year of age

    def occupied(self, age: float) -> tuple[str, ...]:
        """Returns what people of an age do all day."""
        return next(done for last, done in self.occupations.items() if age < int(last) + 1)


_sentences = WORDS.section("record", dict[str, str])
_severities = WORDS.section("severities", dict[Severity, str])


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody in particular who falls ill.

    Attributes:
        history: what was so before the illness, in the language of the case; its symptoms are ignored.
    """

    age: float
    sex: Sex
    about: str  # as `Presentation.about`
    history: History = History()


def read_people(path: Path = DATA / "people.yaml") -> dict[Language, _People]:
    """Reads the names and occupations that patients are given."""
    return read_yaml(path, dict[Language, _People])


class DrawnPatient(NamedTuple):
    """A case, and what it was drawn from."""

    case: Case
    disease: Disease
    severity: Severity
    body: DrawnBody


def generate(knowledge: Knowledge, *, n: int, seed: int, language: Language = "en", first: int = 0) -> Iterator[Case]:
    """Draws n patients with the diseases that the knowledge holds (see `Knowledge.select`), from number `first` on.

    Every block of (diseases x 3) holds each disease at each severity once, in a drawn order. The same seed gives the
    same patients; patient i is the same whatever `n` and `first`.
    """
    return (drawn.case for drawn in draw_patients(knowledge, n=n, seed=seed, language=language, first=first))


def draw_patients(
    knowledge: Knowledge, *, n: int, seed: int, language: Language = "en", first: int = 0
) -> Iterator[DrawnPatient]:
    """Draws the patients of `generate`, each with what it was drawn from."""
    # JSON leaves out a default only if it is the very same object, which a language that was read or sent is not.
    language = next(one for one in LANGUAGES if one == language)
    people = read_people()[language]
    strata = [(d, s) for d in knowledge.diseases.values() for s in SEVERITIES]
    block: list[tuple[Disease, Severity]] = []
    for number in range(first, first + n):
        if not block:
            block = derive(seed, "strata", number // len(strata)).sample(strata, len(strata))
            del block[len(strata) - number % len(strata) :]
        rng, case_id = derive(seed, "patient", number), f"p{seed}-{number + 1:05d}"
        yield _draw(knowledge, block.pop(), people, rng, language=language, case_id=case_id)


def draw_for(
    person: Person,
    knowledge: Knowledge,
    stratum: tuple[Disease, Severity],
    illness: random.Random,
    *,
    life: random.Random | None = None,
    began: Severity | None = None,
    days: float = 0,
    language: Language,
    case_id: str,
    source: str,
) -> Case:
    """Draws the case of somebody in particular: everything but who it is, behind what was so before the illness.

    The same generators give the same person with the same illness; at another severity, the same body further on.
    """
    even = EvenRandom(illness.getrandbits(128))
    lifelong = even if life is None else EvenRandom(life.getrandbits(128))
    lasts = lasting(knowledge, lifelong, even, began or stratum[1])
    drawn = _draw(knowledge, stratum, person, even, lasts, days=days, language=language, case_id=case_id)
    return msgspec.structs.replace(drawn.case, source=source)


def _behind(before: History, drawn: History, language: Language) -> History:
    """Returns a history with what was so before in front of each section."""
    merged = {
        section: MARKS[language].blank.join(filter(None, (text, getattr(drawn, section))))
        for section, text in before.sections()
        if section != "symptoms"
    }
    return msgspec.structs.replace(drawn, **merged)


def draw_sex_and_age(disease: Disease, rng: random.Random) -> tuple[Sex, float]:
    """Returns the sex and the age in years of somebody who falls ill with a disease; an infant's in whole months."""
    of = disease.epidemiology
    sex: Sex = "female" if rng.random() < of.female else "male"
    bands = list(of.age)
    band = rng.choices(bands, [of.age[b] for b in bands])[0]
    place = rng.random()
    first, last = of.years(band)
    if band == bands[0] and place < of.infants:
        months = of.first_month + int(place / of.infants * (MONTHS - of.first_month))
        return sex, round(months / MONTHS, 3)
    if band == bands[0]:
        place = (place - of.infants) / (1 - of.infants)
    elif band == bands[-1] and of.ages[1] > _OLDEST:
        last, place = _OLDEST, 1 - math.sqrt(1 - place)
    return sex, first + int(place * (last - first + 1))


def _draw(
    knowledge: Knowledge,
    stratum: tuple[Disease, Severity],
    who: _People | Person,
    rng: random.Random,
    lasts: Lasting | None = None,
    *,
    days: float = 0,
    language: Language,
    case_id: str,
) -> DrawnPatient:
    disease, severity = stratum
    sex, age = (who.sex, who.age) if isinstance(who, Person) else draw_sex_and_age(disease, rng)
    since, days = days, days + rng.lognormvariate(math.log(disease.duration[0]), math.log(disease.duration[1]))
    # A generator of its own: how often a body is drawn anew changes nothing of what follows.
    bodily = rng if lasts is None else EvenRandom(rng.getrandbits(128))
    body = body_drawing(knowledge).draw(disease, severity, age, sex, bodily, lasting=lasts)
    present = body.present
    brought = (
        BroughtAlong(who.history, frozenset())
        if isinstance(who, Person)
        else draw_background(age, sex, {disease.id, *(s.id for s in present)}, rng, language, region=knowledge.region)
    )
    body = with_beside(body, disease, brought.conditions, knowledge, rng)
    done, lines = finding_lines(knowledge, age, sex, language)
    # Nobody does these beside some conditions, unless the illness shows in them.
    physiology = physiology_of(knowledge)
    without = (e for id, beside in physiology.body.beside.items() if id in brought.conditions for e in beside.without)
    undone = {*without} - disease.findings.keys()
    done = tuple(e for e in done if e.id not in undone)
    findings = [line.finding(body.shown[id]) for id, line in lines if physiology.places[id][0].id not in undone]
    companion = age >= SPEAKS_FROM and float(body.values.get("gcs", _TELLS_FROM)) < _TELLS_FROM
    told = {s.id: _phrase(s, age, rng, lasts, language, of_another=companion) for s in present}
    leaves = [s for s in present if s.section == "symptoms" and not any(c.parent == s.id for c in present)]
    named = [s for s in leaves if not disease.symptoms.keys().isdisjoint((s.id, *ancestors(knowledge.symptoms, s.id)))]
    main = complaints_of(leaves if disease.background == 1 else named, disease, severity, knowledge, rng)
    if isinstance(who, Person):
        about = who.about
    else:
        names: tuple[str, ...] = getattr(who, f"{sex}_elder" if age >= _ELDER else sex)
        given, family, occupation = rng.choice(names), rng.choice(who.family), rng.choice(who.occupied(age))
        about = _sentences(language)["about"].format(given=given, family=family, occupation=occupation)
    # Drawn last, so that it changes nothing of who this is and what she has; at a later visit it is the same day.
    lunar = rng if lasts is None else random.Random(sum(lasts.told.values()))
    ids, past = {disease.id, *(s.id for s in present)}, brought.history.past
    said = last_period(age, sex, lunar, language, present=ids, severity=severity, past=past, days=since)
    history = _behind(brought.history, _history(leaves, present, told, language), language)
    record = Record(
        presentation=Presentation(
            complaint=_complaint([told[s.id] for s in main], days, language),
            language=language,
            age=age,
            sex=sex,
            about=_sentences(language)["companion"].format(about=about) if companion else about,
            companion=companion,
        ),
        history=_behind(History(personal=said), history, language),
        findings=tuple(findings),
    )
    flags = read_red_flags().of(age, pregnant="pregnancy" in brought.conditions)
    flagged = flags.by_sign(body.measured())
    look_alikes = (knowledge.diseases[d].name.get(language) for d in disease.differential if d in knowledge.diseases)
    truth = Truth(
        diagnoses=(Diagnosis(name=disease.name.get(language), icd10=disease.code(severity)),),
        rationale=_rationale(disease, present, severity, done, language),
        treatment=treatment_of(stratum, record, body, days, knowledge),
        severity=severity,
        complications=disease.complications.get(language),
        differential=(*look_alikes, *disease.also_consider.get(language)),
        prevention=disease.prevention.get(language),
        acuity=acuity_level(disease, severity, body.numbers(), knowledge.examinations, flagged),
    )
    case = Case(
        id=case_id,
        record=record,
        truth=truth,
        source=f"polyclinic cases generate, seed {case_id[1:].partition('-')[0]}",
        department=disease.department,
    )
    return DrawnPatient(case, disease, severity, body)


def _phrase(
    symptom: Symptom, age: float, rng: random.Random, lasts: Lasting | None, language: Language, *, of_another: bool
) -> str:
    """Returns how a symptom is told at an age (years); by the same person always in the same words.

    Who tells it `of_another` says nothing of itself.
    """
    phrases = symptom.said_at(age, language)
    if of_another:
        phrases = tuple(phrase for phrase in phrases if not OF_ITSELF.search(phrase)) or phrases
    return rng.choice(phrases) if lasts is None else phrases[int(lasts.told[symptom.id] * len(phrases))]


def _complaint(phrases: Sequence[str], days: float, language: Language) -> str:
    words = _sentences(language)
    first = MARKS[language].item.join(phrases[:-1])
    listed = f"{first}{words['last']}{phrases[-1]}" if first else phrases[0]
    return words["complaint"].format(complaints=capitalised(listed), duration=say_days(days, language))


def complaints_of(
    leaves: Sequence[Symptom], disease: Disease, severity: Severity, knowledge: Knowledge, rng: random.Random
) -> list[Symptom]:
    """Returns what somebody comes for: what speaks most for the disease, what is most usual in it, then some others."""

    def usual(symptom: Symptom) -> float:
        line = (symptom.id, *ancestors(knowledge.symptoms, symptom.id))
        return max(disease.share(knowledge.symptoms[id], severity) for id in line)

    def leads(symptom: Symptom) -> float:
        line = (symptom.id, *ancestors(knowledge.symptoms, symptom.id))
        return max(disease.share(knowledge.symptoms[id], severity) - knowledge.symptoms[id].base for id in line)

    come_for: dict[str, Symptom] = {}
    for leaf in leaves:
        line = [knowledge.symptoms[id] for id in (leaf.id, *ancestors(knowledge.symptoms, leaf.id))]
        named = next((symptom for symptom in line if symptom.complaint), None)
        if named is not None:
            come_for[named.id] = named
    for id in [parent for symptom in come_for for parent in ancestors(knowledge.symptoms, symptom)]:
        come_for.pop(id, None)
    main = [max(come_for.values() or leaves, key=leads)]
    most = max(come_for.values() or leaves, key=usual)
    main += [most] if most is not main[0] else []
    others = [symptom for symptom in come_for.values() if symptom not in main]
    return [*main, *rng.sample(others, min(_COMPLAINTS - len(main), len(others)))]


def _history(
    leaves: Sequence[Symptom], present: Sequence[Symptom], told: dict[str, str], language: Language
) -> History:
    marks, texts = MARKS[language], {}
    for section in ("past", "medications", "allergies", "personal", "family"):
        sentences = [capitalised(told[s.id]) + marks.stop for s in present if s.section == section]
        if sentences:
            texts[section] = marks.blank.join(sentences)
    return History(symptoms=tuple(told[s.id] for s in leaves), **texts)


def _rationale(
    disease: Disease,
    present: Sequence[Symptom],
    severity: Severity,
    done: Sequence[Examination],
    language: Language,
) -> tuple[str, ...]:
    """The symptoms of this patient that speak most for the disease, and the examinations done that show it."""
    gain = sorted(present, key=lambda s: s.base - disease.share(s, severity))
    symptoms = [s.name.get(language) for s in gain if disease.share(s, severity) > s.base][:4]
    shown = [e.name.get(language) for e in done if e.id in disease.examinations]
    words, item = _sentences(language), MARKS[language].item
    return (
        words["typical"].format(symptoms=item.join(symptoms)) if symptoms else words["not_typical"],
        words["shown"].format(examinations=item.join(shown)),
        words["severity"].format(severity=_severities(language)[severity]),
    )
