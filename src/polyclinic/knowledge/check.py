"""Checking the medical knowledge: ranges, sums, plans, and texts that can be told apart.

`read_knowledge()` refuses what cannot be used at all; this finds what can be used and is wrong.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from polyclinic.cases.presentation import Sex
from polyclinic.knowledge.ages import AGE_BANDS, OF_ITSELF, SPEAKS_FROM
from polyclinic.knowledge.data import SEVERITIES, Name
from polyclinic.knowledge.disease_body import interval_of
from polyclinic.knowledge.entries import (
    Criterion,
    Disease,
    Disposition,
    Distribution,
    Drug,
    DueWhen,
    Entry,
    Item,
    Measure,
    Plan,
    Prescription,
    Symptom,
)
from polyclinic.knowledge.examination_words import EXAMINATION, LABORATORY_VALUE
from polyclinic.knowledge.knowledge import Knowledge, ancestors
from polyclinic.knowledge.lexicon import Lexicon, read_days
from polyclinic.knowledge.prescribed import read_prescribed
from polyclinic.knowledge.safety import read_cautions, within
from polyclinic.knowledge.stays import FIRST, read_stays
from polyclinic.language.language import LANGUAGES, Language, is_chinese

_LEAST = 2
_CARE: tuple[Disposition, ...] = ("home", "observation", "ward", "intensive care")

_Kinds = Literal["diseases", "symptoms"]

_MARKS = re.compile(r"[,.;:!?，。；：、！？]")
_EPSILON = 1e-6


class Flaw(msgspec.Struct, frozen=True):
    """What is wrong at a place in the knowledge, such as `symptoms.fever` or `diseases.influenza-a.icd10`."""

    where: str
    problem: str


Rule = tuple[bool, str, str]
"""Whether something is wrong, the field (with its dot), and the problem."""


def _flaws(where: str, *rules: Rule) -> Iterator[Flaw]:
    return (Flaw(f"{where}{field}", problem) for is_wrong, field, problem in rules if is_wrong)


def check_knowledge(knowledge: Knowledge) -> list[Flaw]:
    """Returns everything that is wrong with the knowledge, in the order of its files; empty where nothing is."""
    return [
        *_departments(knowledge),
        *_symptoms(knowledge),
        *_examinations(knowledge),
        *_drugs(knowledge),
        *(flaw for disease in knowledge.diseases.values() for flaw in _disease(disease, knowledge)),
        *_shared_words("diseases", knowledge.diseases.values()),
    ]


@functools.lru_cache(maxsize=8)
def _names_of(kind: _Kinds, knowledge: Knowledge, language: Language) -> list[tuple[str, ...]]:
    """Returns every name and synonym as it is compared, as it stands, and whose it is."""
    owners: Iterable[Disease | Symptom] = getattr(knowledge, kind).values()
    return [(word.casefold(), word, o.id) for o in owners for word in o.called(language) if word]


def _names_in(text: str, kind: _Kinds, knowledge: Knowledge, language: Language) -> Iterator[tuple[str, str]]:
    """Yields the names that stand in a text, and whose they are: as whole words in English, anywhere in Chinese."""
    text = text.casefold()
    for compared, word, owner in _names_of(kind, knowledge, language):
        # Most names are not there at all, and a pattern takes long to compile.
        if compared in text and (language == "zh" or re.search(rf"(?<!\w){re.escape(compared)}(?!\w)", text)):
            yield word, owner


def _named(where: str, text: str, knowledge: Knowledge, language: Language) -> Iterator[Flaw]:
    for word, disease in _names_in(text, "diseases", knowledge, language):
        yield Flaw(where, f"{text!r} gives the diagnosis away: it names {word!r} ({disease})")


def _both(where: str, name: Name) -> Iterator[Flaw]:
    empty = ((not name.get(language).strip(), "", f"has no text in {language!r}") for language in LANGUAGES)
    return _flaws(where, *empty, (is_chinese(name.en), "", f"the English text {name.en!r} is Chinese"))


def _shared_words(place: str, entries: Collection[Entry]) -> Iterator[Flaw]:
    for language in LANGUAGES:
        seen: dict[str, str] = {}
        for entry in entries:
            for word in entry.words(language):
                first = seen.setdefault(word.casefold(), entry.id)
                if first != entry.id:
                    problem = f"{word!r} also belongs to the {type(entry).__name__.lower()} {first!r}"
                    yield Flaw(f"{place}.{entry.id}", problem)


def _departments(knowledge: Knowledge) -> Iterator[Flaw]:
    seen = {disease.department for disease in knowledge.diseases.values()}
    for department in knowledge.departments.values():
        where = f"departments.{department.id}"
        yield from _both(f"{where}.name", department.name)
        yield from _flaws(where, (department.id not in seen, "", "sees no disease"))


def _symptoms(knowledge: Knowledge) -> Iterator[Flaw]:
    symptoms = knowledge.symptoms
    places = {symptom: place for place, symptom in enumerate(symptoms)}
    early = {s.id for s in symptoms.values() if s.parent is not None and places[s.parent] >= places[s.id]}
    for symptom in symptoms.values():
        where = f"symptoms.{symptom.id}"
        first, last = symptom.ages or (0, 0)
        yield from _both(f"{where}.name", symptom.name)
        yield from _both(f"{where}.question", symptom.question)
        yield from _flaws(
            where,
            (
                not 0 < symptom.base < 1,
                ".base",
                f"is {symptom.base:g}; nothing is always or never there in other illness",
            ),
            (not 0 <= first <= last, ".ages", f"{first} to {last}; needs 0 <= first <= last"),
            (symptom.id in early, ".parent", f"{symptom.parent!r} stands after it; a parent is drawn first"),
        )
    yield from _shared_words("symptoms", symptoms.values())
    if early:
        return
    named = {symptom for disease in knowledge.diseases.values() for symptom in disease.symptoms}
    named |= {parent for symptom in named for parent in ancestors(symptoms, symptom)}
    for unnamed in [symptom for symptom in symptoms if symptom not in named]:
        yield Flaw(f"symptoms.{unnamed}", "no disease names it, so that it tells nothing apart")
    for language in LANGUAGES:
        lexicon = Lexicon(symptoms.values(), language)
        for symptom in symptoms.values():
            yield from _symptom_texts(symptom, lexicon, knowledge, language)


def _symptom_texts(symptom: Symptom, lexicon: Lexicon, knowledge: Knowledge, language: Language) -> Iterator[Flaw]:
    where = f"symptoms.{symptom.id}"
    phrases = symptom.phrases.get(language)
    if len(phrases) < _LEAST:
        yield Flaw(f"{where}.phrases", f"{len(phrases)} in {language!r}; needs {_LEAST} or more")
    family = {symptom.id, *lexicon.ancestors(symptom.id)}
    for text in (symptom.question.get(language), *symptom.words(language)):
        yield from _named(where, text, knowledge, language)
    for text in symptom.words(language):
        read = lexicon.read(text)
        if text.strip() and read != dict.fromkeys(family, True):
            said = ", ".join(f"{key}: {'yes' if present else 'no'}" for key, present in sorted(read.items()))
            yield Flaw(where, f"{text!r} is read as {{{said}}}")
    small = symptom.said_at(1, language)
    if symptom.possible(SPEAKS_FROM - 1, None) and any(OF_ITSELF.search(phrase) for phrase in small):
        yield Flaw(f"{where}.of_small_child", f"needs phrases in {language!r}: those there speak of 'me'")
    for phrase in symptom.said(language):
        for word, other in _names_in(phrase, "symptoms", knowledge, language):
            if other not in family:
                yield Flaw(f"{where}.phrases", f"{phrase!r} also says {word!r} ({other})")
        examined = EXAMINATION.search(phrase) is not None or LABORATORY_VALUE.search(phrase) is not None
        # A complaint is searched for how long the illness has lasted.
        lasting = symptom.section == "symptoms" and read_days(phrase, language) is not None
        divided = _MARKS.search(phrase) is not None
        yield from _flaws(
            f"{where}.phrases",
            (examined, "", f"{phrase!r} speaks of an examination; patients are not let tell those"),
            (divided, "", f"{phrase!r} holds a mark that divides; answers are cut there"),
            (lasting, "", f"{phrase!r} names a duration, which would be read as the illness's"),
        )


def _examinations(knowledge: Knowledge) -> Iterator[Flaw]:
    for examination in knowledge.examinations.values():
        where, items = f"examinations.{examination.id}", examination.items
        shown = any(examination.id in disease.findings for disease in knowledge.diseases.values())
        yield from _both(f"{where}.name", examination.name)
        yield from _flaws(
            where,
            (not items, "", "has no items"),
            (not shown, "", "no disease has findings in it, so that it tells nothing apart"),
            (len({item.id for item in items}) < len(items), "", "two items have the same id"),
        )
        for item in items:
            yield from _item(f"{where}.{item.id}", item, knowledge)
        yield from _shared_words(where, items)
    yield from _shared_words("examinations", knowledge.examinations.values())


def _item(where: str, item: Item, knowledge: Knowledge) -> Iterator[Flaw]:
    yield from _both(f"{where}.name", item.name)
    if problem := item.problem(item.usual):
        yield Flaw(f"{where}.usual", problem)
    elif item.numeric:
        low = float("-inf") if item.low is None else item.low
        high = float("inf") if item.high is None else item.high
        least, most = item.limits or (0.0, 1.0)
        centre = _centre(item.usual)
        yield from _flaws(
            where,
            (not item.unit, ".unit", "a number needs a unit in UCUM"),
            (item.low is None and item.high is None, "", "a number needs a reference range: low, high or both"),
            (low >= high, "", f"low {low:g} is not below high {high:g}"),
            (least >= most, ".limits", f"{least:g} is not below {most:g}"),
            (item.decimals < 0, ".decimals", f"is {item.decimals}"),
            (not low <= centre <= high, ".usual", f"its centre {centre:g} is outside the reference range"),
        )
        yield from _within_limits(f"{where}.usual", item, item.usual)
    else:
        yield from _wordings(where, item, knowledge)


def _wordings(where: str, item: Item, knowledge: Knowledge) -> Iterator[Flaw]:
    first, limits = next(iter(item.values)), (item.low, item.high, item.limits)
    if item.unit or item.lognormal or any(limit is not None for limit in limits):
        yield Flaw(where, "a text has neither unit, reference range, limits nor lognormal")
    for unknown in sorted((item.from_age.keys() - item.values.keys()) | (item.from_age.keys() & {first})):
        yield Flaw(f"{where}.from_age", f"{unknown!r} is not one of its values beside the normal one")
    for key, wording in item.values.items():
        yield from _both(f"{where}.values.{key}", wording)
        for language in LANGUAGES:
            yield from _named(f"{where}.values.{key}", wording.get(language), knowledge, language)
    for language in LANGUAGES:
        texts = [wording.get(language).casefold() for wording in item.values.values()]
        for text in sorted({t for t in texts if texts.count(t) > 1}):
            yield Flaw(f"{where}.values", f"{text!r} stands for two values")
    assert isinstance(item.usual, dict)  # noqa: S101
    if item.usual.get(first, 0.0) < max(item.usual.values()):
        yield Flaw(f"{where}.usual", f"the first value, {first!r}, is the normal one and must be the most usual")


def _centre(distribution: Distribution) -> float:
    assert isinstance(distribution, tuple)  # noqa: S101
    return distribution[0]


def _within_limits(where: str, item: Item, distribution: Distribution) -> Iterator[Flaw]:
    if item.numeric and item.limits is not None and not item.limits[0] <= _centre(distribution) <= item.limits[1]:
        limits = f"{item.limits[0]:g} to {item.limits[1]:g}"
        yield Flaw(where, f"its centre {_centre(distribution):g} is outside the limits {limits}")


def _drugs(knowledge: Knowledge) -> Iterator[Flaw]:
    codes: dict[str, str] = {}
    for id in read_prescribed().keys() - knowledge.drugs.keys():
        yield Flaw(f"prescribed.{id}", "no such drug")
    for drug in knowledge.drugs.values():
        where, code = f"drugs.{drug.id}", drug.atc
        first = codes.setdefault(code, drug.id)
        yield from _both(f"{where}.name", drug.name)
        yield from _flaws(where, (first != drug.id, ".atc", f"{code!r} also belongs to the drug {first!r}"))


def _disease(disease: Disease, knowledge: Knowledge) -> Iterator[Flaw]:
    where, sources = f"diseases.{disease.id}", disease.sources
    median, spread = disease.duration
    yield from _both(f"{where}.name", disease.name)
    yield from _flaws(
        where,
        (len(sources) < _LEAST, ".sources", f"{len(sources)}; needs {_LEAST} or more"),
        (median <= 0 or spread <= 1, ".duration", "needs a median above 0 and a geometric spread above 1"),
        (not disease.examinations, ".examinations", "names none; at least one must be right"),
    )
    for source in sources:
        if not (source.title.strip() and source.publisher.strip() and source.supports.strip()):
            yield Flaw(f"{where}.sources", f"{source.title!r} lacks a title, a publisher or what it supports")
    for what, shares, known in (
        ("age", disease.epidemiology.age, list(AGE_BANDS)),
        ("season", disease.epidemiology.season, ["winter", "spring", "summer", "autumn"]),
    ):
        total = sum(shares.values())
        unknown = [
            (True, "", f"{key!r} is not known; known: {', '.join(known)}") for key in sorted({*shares} - {*known})
        ]
        of_sum = (abs(total - 1) > _EPSILON, "", f"the shares sum to {total:g}; they must sum to 1")
        yield from _flaws(f"{where}.epidemiology.{what}", *unknown, of_sum)
    preset = knowledge.departments[disease.department].preset
    for id in disease.examinations:
        other = preset and not knowledge.examinations[id].preset
        yield from _flaws(
            f"{where}.examinations",
            (other, "", f"{id!r} is not one of the preset examinations"),
            (id not in disease.findings, "", f"{id!r} is right, and has no findings of this disease"),
        )
    sexes: dict[str, Sex | None] = {id: examination.sex for id, examination in knowledge.examinations.items()}
    impossible = {0.0: "female", 1.0: "male"}.get(disease.epidemiology.female)
    for what, ids, of in (
        ("symptoms", disease.symptoms, {id: symptom.sex for id, symptom in knowledge.symptoms.items()}),
        ("findings", disease.findings, sexes),
        ("indicated", disease.examinations, sexes),
    ):
        for id in ids:
            if impossible is not None and of[id] == impossible:
                yield Flaw(f"{where}.{what}.{id}", f"is possible in the {of[id]} alone; none of the patients are")
    for id, items in disease.findings.items():
        for item in knowledge.examinations[id].items:
            for severity, distribution in items.get(item.id, {}).items():
                yield from _within_limits(f"{where}.findings.{id}.{item.id}.{severity}", item, distribution)
    yield from _plans(f"{where}.treatment", disease, knowledge)
    yield from _courses(f"{where}.course", disease)
    yield from _stays(f"stays.{disease.id}", disease)


def _courses(where: str, disease: Disease) -> Iterator[Flaw]:
    treated = disease.course.treated
    others = {"wrongly": disease.course.wrongly, "untreated": disease.course.untreated}
    for name, course in {"treated": treated, **others}.items():
        least, most = course.days
        falls = list(course.worsening) != sorted(course.worsening)
        longer = treated.days[0] > least or treated.days[1] > most
        likelier = any(right > other for right, other in zip(treated.worsening, course.worsening, strict=True))
        yield from _flaws(
            where,
            (not 1 <= least <= most, f".{name}.days", f"{least} to {most}; needs 1 <= least <= most"),
            (falls, f".{name}.worsening", "falls with severity"),
            (longer, ".treated.days", f"takes longer than {name}"),
            (likelier, ".treated.worsening", f"is likelier than {name}"),
        )


def _stays(where: str, disease: Disease) -> Iterator[Flaw]:
    table = read_stays()
    known = table.diseases.get(disease.id)
    if known is None:
        return
    for severity in SEVERITIES:
        disposition = disease.plan(severity).disposition
        first = next(iter(known.stay.get(severity, {})), None)
        if first != FIRST.get(disposition):
            yield Flaw(f"{where}.stay.{severity}", f"begins with {first}, and its plan is {disposition!r}")
    for severity, places in known.stay.items():
        for name, (least, most) in places.items():
            if not 0 < least <= most:
                problem = f"{least:g} to {most:g}; needs 0 < least <= most"
                yield Flaw(f"{where}.stay.{severity}.{name}", problem)
    treated, untreated = known.dies.treated, known.dies.untreated
    likelier = any(right > other for right, other in zip(treated, untreated, strict=True))
    yield from _flaws(
        where,
        (list(treated) != sorted(treated), ".dies.treated", "falls with severity"),
        (list(untreated) != sorted(untreated), ".dies.untreated", "falls with severity"),
        (likelier, ".dies.treated", "is likelier than untreated"),
        *((source not in table.sources, ".sources", f"no source {source!r}") for source in known.sources),
        (not known.sources, ".sources", "names none"),
    )


def _plans(where: str, disease: Disease, knowledge: Knowledge) -> Iterator[Flaw]:
    plans = [(severity, disease.plan(severity)) for severity in SEVERITIES]
    for severity, plan in plans:
        operates = any(measure.procedure for measure in plan.measures)
        yield from _flaws(
            f"{where}.{severity}",
            (len(plan.measures) < _LEAST, "", f"{len(plan.measures)} measures; needs {_LEAST} or more"),
            (plan.disposition == "operation" and not operates, "", "is an operation, and no measure is a procedure"),
        )
        for number, measure in enumerate(plan.measures):
            texts: list[Name | None] = [measure.why, measure.procedure, measure.advice, measure.monitoring]
            for text in (*texts, *(p.dose for p in measure.give)):
                if text is not None and not (text.en.strip() and text.zh.strip()):
                    problem = f"a text is empty in one language: {text.en or text.zh!r}"
                    yield Flaw(f"{where}.{severity}.measures[{number}]", problem)
        yield from _duplicates(f"{where}.{severity}", plan, knowledge)
    for (first, one), (second, other) in itertools.combinations(plans, 2):
        less = f"{other.disposition}, where {first} has {one.disposition}; it must not need less care"
        # An operation is as much as a ward, or as intensive care.
        care = "ward" if one.disposition == "operation" else one.disposition
        is_less = other.disposition != "operation" and _CARE.index(other.disposition) < _CARE.index(care)
        yield from _flaws(
            f"{where}.{second}",
            (one.measures == other.measures, "", f"is the same plan as {first}"),
            (is_less, "", less),
        )


def _duplicates(where: str, plan: Plan, knowledge: Knowledge) -> Iterator[Flaw]:
    """Yields drugs of one kind that two measures may give together."""
    drugs = knowledge.drugs
    for (n, one), (m, other) in itertools.combinations(enumerate(plan.measures), 2):
        for first, second in itertools.product(_reached(one), _reached(other)):
            kind = _kind(drugs[first.drug], drugs[second.drug])
            conditions = (one.when, first.when, other.when, second.when)
            if kind and not _exclude([when for when in conditions if when is not None], knowledge.quantities):
                problem = f"{second.drug} may be given beside {first.drug} of measures[{n}], one {kind} is enough"
                yield Flaw(f"{where}.measures[{m}]", problem)
                break


def _reached(measure: Measure) -> Iterator[Prescription]:
    """Yields the alternatives of a measure that are given where nothing is withheld: up to one without a condition.

    What comes after that is a substitute, which the pharmacist holds against what was handed out.
    """
    for prescription in measure.give:
        yield prescription
        if prescription.when is None:
            return


def _kind(one: Drug, other: Drug) -> str:
    """Returns of which kind two drugs are, of which one at a time is enough; "" where they are of none."""
    if one.atc == other.atc:
        return one.name.en
    groups = (group for group in read_cautions().duplicates if not group.both)
    return next((g.name.en for g in groups if within(one.atc, g.drugs) and within(other.atc, g.drugs)), "")


def _exclude(conditions: list[DueWhen], items: Mapping[str, Item]) -> bool:
    """Whether some conditions cannot hold together, as far as plain ones say."""
    first = max((when.age_at_least or 0.0 for when in conditions), default=0.0)
    below = min((when.age_below for when in conditions if when.age_below is not None), default=float("inf"))
    if first >= below:
        return True
    if len({when.sex for when in conditions if when.sex is not None}) > 1:
        return True
    if len({when.pregnant for when in conditions if when.pregnant is not None}) > 1:
        return True
    leaves = [leaf for when in conditions if when.finding is not None for leaf in _needed(when.finding)]
    return any(_apart(one, other, items) for one, other in itertools.combinations(leaves, 2))


def _needed(criterion: Criterion) -> Iterator[Criterion]:
    """Yields the plain conditions without which a condition does not hold."""
    if not criterion.parts():
        yield criterion
    elif criterion.all or len(criterion.parts()) == 1:
        for part in criterion.parts():
            yield from _needed(part)


def _apart(one: Criterion, other: Criterion, items: Mapping[str, Item]) -> bool:
    """Whether two plain conditions on one quantity cannot both hold."""
    if not one.quantity or one.quantity != other.quantity:
        return False
    if one.one_of or other.one_of:
        return set(one.one_of).isdisjoint(other.one_of)
    (low, high), (least, most) = (interval_of(leaf, items[leaf.quantity]) for leaf in (one, other))
    return max(low, least) >= min(high, most)
