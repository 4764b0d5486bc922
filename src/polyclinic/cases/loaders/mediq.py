"""MediQ's layout: a vignette as sentences or facts, and a question (Li et al., arXiv:2406.00922).

As there, the doctor begins with the first sentence, and the patient answers out of the facts; without facts, out of the
text.
"""

from __future__ import annotations

from typing import Any

from polyclinic.cases.case import Case
from polyclinic.cases.loaders.choices import read_keys, read_options
from polyclinic.cases.loaders.fields import as_text
from polyclinic.cases.loaders.vignettes import record_of_text
from polyclinic.cases.presentation import Question
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput


def load(record: dict[str, Any], order: int) -> Case:
    """Reads a MediQ record; the right option counts as the diagnosis."""
    identifier = as_text(record.get("id")) or str(order)
    sentences = _texts(record.get("context"))
    facts = _texts(record.get("facts")) or _texts(record.get("atomic_facts"))
    text = " ".join(sentences or facts)
    if not text:
        raise BadInput("a case needs its sentences; $.facts has none either", field="$.context")
    if not as_text(record.get("question")):
        raise BadInput("a case needs its question", field="$.question")
    options = read_options(record.get("options"), "$.options")
    answers = read_keys(record.get("answer_idx"), options) or read_keys(record.get("answer"), options)
    wrong = [key for key in answers if key not in options]
    if wrong or not answers:
        came = f"{wrong[0]!r} came" if wrong else "there is none"
        raise BadInput(f"the right option is needed, one of {', '.join(options)}; {came}", field="$.answer_idx")
    patient = record_of_text(text, tuple(Diagnosis(options[key]) for key in answers), told=facts)
    language = patient.presentation.language
    stem = as_text(record["question"])
    return Case(
        id=identifier,
        record=patient,
        truth=Truth(diagnoses=tuple(Diagnosis(options[key]) for key in answers), answers=answers),
        setting="online",
        question=Question(id=identifier, stem=stem, options=options, language=language, several=len(answers) > 1),
        source="MediQ (arXiv:2406.00922)",
    )


def _texts(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(text for text in map(as_text, values) if text)
