"""CRAFT-MD's layout: a vignette, and the diagnosis among choices (Johri et al., Nature Medicine 2025)."""

from __future__ import annotations

from typing import Any

from polyclinic.cases.case import Case
from polyclinic.cases.loaders.choices import literal, read_keys, read_options
from polyclinic.cases.loaders.fields import as_text, split_outside
from polyclinic.cases.loaders.vignettes import record_of_text
from polyclinic.cases.presentation import Question
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput
from polyclinic.language.language import language_of

_STEM = {"en": "What is the most likely diagnosis?", "zh": "最可能的诊断是什么？"}


def load(record: dict[str, Any], order: int) -> Case:
    """Reads a CRAFT-MD record; `category`, the field of medicine, is the department."""
    identifier = as_text(record.get("case_id")) or str(order)
    text, answer = as_text(record.get("case_vignette")), as_text(record.get("answer"))
    if not text:
        raise BadInput("a case needs its vignette", field="$.case_vignette")
    if not answer:
        raise BadInput("a case needs its diagnosis", field="$.answer")
    question, name = None, answer
    answers: tuple[str, ...] = ()
    if record.get("choices"):
        options = read_options(_choices(record["choices"]), "$.choices")
        answers = read_keys(answer, options)
        if wrong := [key for key in answers if key not in options]:
            raise BadInput(
                f"the answer {wrong[0]!r} is none of the choices {'; '.join(options.values())}", field="$.answer"
            )
        language = language_of([text])
        question = Question(id=identifier, stem=_STEM[language], options=options, language=language)
        name = options[answers[0]]
    return Case(
        id=identifier,
        record=record_of_text(text, (Diagnosis(name),)),
        truth=Truth(diagnoses=(Diagnosis(name),), answers=answers[:1]),
        setting="online",
        question=question,
        source="CRAFT-MD (doi:10.1038/s41591-024-03328-5)",
        department=as_text(record.get("category")),
    )


def _choices(value: Any) -> Any:
    """Returns the choices; a cell of a table has them as a literal, with letters, or between commas or semicolons."""
    value = literal(value) if isinstance(value, str) else value
    if not isinstance(value, str) or "\n" in value:
        return value
    try:
        return read_options(value, "$.choices")
    except BadInput:
        parts = split_outside(value, ";；|") if any(mark in value for mark in ";；|") else split_outside(value, ",，")
        return [part.strip() for part in parts if part.strip()]
