"""The medical knowledge that comes with polyclinic, as passages: each disease in both languages, in four parts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from polyclinic.knowledge.data import SEVERITIES, Severity
from polyclinic.knowledge.entries import Disease, Item
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.language.language import LANGUAGES, Language
from polyclinic.retrieval.store import NewPassage

_OFTEN = 0.5
_SELDOM = 0.15

_TITLES: dict[Language, dict[str, str]] = {
    "en": {
        "names": "{name}: names and whom it strikes",
        "symptoms": "{name}: symptoms",
        "examinations": "{name}: examinations and findings",
        "treatment": "{name}: treatment",
    },
    "zh": {
        "names": "{name}：名称与好发人群",
        "symptoms": "{name}：症状",
        "examinations": "{name}：检查与结果",
        "treatment": "{name}：治疗",
    },
}
_SAID: dict[Language, dict[str, str]] = {
    "en": {
        "called": "{name} (ICD-10 {icd10}) is also called {others}.",
        "alone": "{name} (ICD-10 {icd10}).",
        "seen_in": "It is seen in {department}. {female} % of those who have it are women. Most are {ages} years old.",
        "often": "Often: {list}.",
        "sometimes": "Sometimes: {list}.",
        "ordered": "Examinations: {list}.",
        "found": "{item}: {value}.",
        "plan": "{severity}: {list}.",
        "join": ", ",
        "mild": "Mild",
        "moderate": "Moderate",
        "severe": "Severe",
        "low": "low, about {value} {unit}",
        "high": "raised, about {value} {unit}",
    },
    "zh": {
        "called": "{name}（ICD-10 {icd10}），又称{others}。",
        "alone": "{name}（ICD-10 {icd10}）。",
        "seen_in": "就诊科室：{department}。患者中女性占{female}%，多见于{ages}岁。",
        "often": "常见：{list}。",
        "sometimes": "有时：{list}。",
        "ordered": "检查：{list}。",
        "found": "{item}：{value}。",
        "plan": "{severity}：{list}。",
        "join": "、",
        "mild": "轻度",
        "moderate": "中度",
        "severe": "重度",
        "low": "降低，约{value} {unit}",
        "high": "升高，约{value} {unit}",
    },
}


def knowledge_passages() -> Iterator[NewPassage]:
    """Yields the passages; an id is a disease's, what is said of it, and the language."""
    knowledge = read_knowledge()
    for disease in knowledge.diseases.values():
        for language in LANGUAGES:
            said = _SAID[language]
            parts = {
                "names": _names(disease, knowledge, language),
                "symptoms": _symptoms(disease, knowledge, language),
                "examinations": _examinations(disease, knowledge, language),
                "treatment": " ".join(
                    said["plan"].format(
                        severity=said[severity], list=said["join"].join(disease.plan(severity).get(language))
                    )
                    for severity in SEVERITIES
                ),
            }
            for part, text in parts.items():
                title = _TITLES[language][part].format(name=disease.name.get(language))
                yield NewPassage(f"{disease.id}/{part}/{language}", title, text)


def _names(disease: Disease, knowledge: Knowledge, language: Language) -> str:
    said = _SAID[language]
    name, *others = disease.called(language)
    first = said["called" if others else "alone"]
    department = knowledge.departments[disease.department].name.get(language)
    ages = [band for band, share in disease.epidemiology.age.items() if share == max(disease.epidemiology.age.values())]
    called = first.format(name=name, icd10=disease.icd10, others=said["join"].join(others))
    female = f"{100 * disease.epidemiology.female:.0f}"
    return f"{called} {said['seen_in'].format(department=department, female=female, ages=said['join'].join(ages))}"


def _symptoms(disease: Disease, knowledge: Knowledge, language: Language) -> str:
    said = _SAID[language]
    shares = {id: sum(each) / len(each) for id, each in disease.symptoms.items()}
    often = [id for id, share in shares.items() if share >= _OFTEN]
    sometimes = [id for id, share in shares.items() if _SELDOM <= share < _OFTEN]
    parts = []
    for how, ids in (("often", often), ("sometimes", sometimes)):
        if ids:
            names = [knowledge.symptoms[id].name.get(language) for id in sorted(ids, key=lambda id: -shares[id])]
            parts.append(said[how].format(list=said["join"].join(names)))
    return " ".join(parts)


def _examinations(disease: Disease, knowledge: Knowledge, language: Language) -> str:
    said = _SAID[language]
    ordered = [knowledge.examinations[id].name.get(language) for id in disease.examinations]
    parts = [said["ordered"].format(list=said["join"].join(ordered))] if ordered else []
    for id, items in disease.findings.items():
        known = {item.id: item for item in knowledge.examinations[id].items}
        for item_id in items:
            value = _value(disease, id, known[item_id], language)
            if value is not None:
                parts.append(said["found"].format(item=known[item_id].name.get(language), value=value))
    return " ".join(parts)


def _value(disease: Disease, examination: str, item: Item, language: Language) -> str | None:
    """Returns what is found of an item; None where it is most often as in anybody."""
    distribution = disease.distribution(examination, item, _middle(disease, examination, item.id))
    if isinstance(distribution, dict):
        likeliest = max(distribution, key=lambda value: distribution[value])
        return None if likeliest == next(iter(item.values)) else item.values[likeliest].get(language)
    centre = distribution[0]
    if item.low is not None and centre < item.low:
        how = "low"
    elif item.high is not None and centre > item.high:
        how = "high"
    else:
        return None
    # Units are UCUM's, which puts marks around what is no unit by the book.
    unit = re.sub(r"\{.*?\}|[\[\]]", "", item.unit).replace("Cel", "°C")
    return _SAID[language][how].format(value=f"{centre:g}", unit=unit).strip()


def _middle(disease: Disease, examination: str, item: str) -> Severity:
    """Returns the severity that is told of: the middle one, where the finding differs."""
    return "mild" if "all" in disease.findings[examination][item] else "moderate"
