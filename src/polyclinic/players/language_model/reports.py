"""How a report is asked for: its form, in which reasons come before diagnoses, and what stands in it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from polyclinic.cases.report import Diagnosis, Probability, Report
from polyclinic.language.language import Language
from polyclinic.prompts import read_prompts

PROMPTS = Path(__file__).with_suffix(".md")


class WrittenDiagnosis(msgspec.Struct, frozen=True, omit_defaults=True):
    """A diagnosis as a model writes it; the code and the probability where it knows them."""

    name: str
    icd10: str | None = None
    probability: Probability | None = None


class WrittenReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A report as a model writes it: from left to right, and so the reasons before what they are for."""

    symptoms: tuple[str, ...]
    examinations: tuple[str, ...]
    rationale: tuple[str, ...]
    diagnoses: tuple[WrittenDiagnosis, ...]
    differential: tuple[WrittenDiagnosis, ...] = ()
    treatment: tuple[str, ...]


def asked_for_report(language: Language, *, of: str = "") -> str:
    """Returns how a report is asked for: "visit" or "record", what it is written from; "" only says the form."""
    prompts = read_prompts(PROMPTS)[language]
    return "\n\n".join([*([prompts(of)] if of else []), prompts("form")])


def as_written(report: Report) -> str:
    """Returns a report in the form in which a model is asked for one."""

    def written(diagnoses: tuple[Diagnosis, ...]) -> tuple[WrittenDiagnosis, ...]:
        return tuple(WrittenDiagnosis(d.name, d.icd10, d.probability) for d in diagnoses)

    form = WrittenReport(
        symptoms=report.symptoms,
        examinations=report.examinations,
        rationale=report.rationale,
        diagnoses=written(report.diagnoses),
        differential=written(report.differential),
        treatment=report.treatment,
    )
    return msgspec.json.encode(form).decode()
