"""What the answers of a memory are among, in words: what a severity is called, and the name of all choices together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from polyclinic.knowledge.data import Severity
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import Language

PHYSICAL = "physical-examination"
"""Free in the paper's hospital, and none of the sixteen that a doctor chooses from."""

GRADES: dict[Language, dict[Severity, str]] = {
    "en": {"mild": "mild", "moderate": "moderate", "severe": "severe"},
    "zh": {"mild": "轻度", "moderate": "中度", "severe": "重度"},
}
"""What a plan is called by its severity."""


def examinations_named(knowledge: Knowledge, language: Language) -> dict[str, str]:
    """Returns the examinations that can be chosen, name to id."""
    return {one.name.get(language): one.id for one in knowledge.examinations.values() if one.id != PHYSICAL}


def name_of_choices(knowledge: Knowledge, language: Language) -> str:
    """Names what the answers of a memory are among; the same for the same choices."""
    diseases = [disease.name.get(language) for disease in knowledge.diseases.values()]
    return named(language, diseases, examinations_named(knowledge, language), GRADES[language].values())


def named(language: Language, diseases: Iterable[str], examinations: Iterable[str], grades: Iterable[str]) -> str:
    """Returns how so many diseases are called, with a digest of all names."""
    diseases = list(diseases)
    text = "\n".join([language, *diseases, *examinations, *grades])
    return f"{len(diseases)} diseases, {hashlib.sha256(text.encode()).hexdigest()[:12]}"
