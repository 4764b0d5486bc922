"""AgentClinic's image sets: the challenge of a picture, who the patient is, and answers (`agentclinic_nejm*.jsonl`).

The picture is an attachment: a doctor who sees can be shown it, and all others have the text alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from polyclinic.cases.case import Attachment, Case
from polyclinic.cases.loaders.choices import literal, read_keys, read_options
from polyclinic.cases.loaders.fields import as_text, readable
from polyclinic.cases.loaders.vignettes import record_of_text
from polyclinic.cases.presentation import Question
from polyclinic.cases.record import Finding
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput

_EXAMINATION = {"en": "physical examination", "zh": "体格检查"}
_RIGHT = frozenset({"true", "yes", "1"})


def load(record: dict[str, Any], order: int) -> Case:
    """Reads a record with a picture; the id is its number in the file, and the right answer counts as the diagnosis."""
    identifier = as_text(record.get("id")) or str(order)
    info, stem, image = (as_text(record.get(key)) for key in ("patient_info", "question", "image_url"))
    if not (info or stem):
        raise BadInput("a case needs to say who the patient is; $.question does not either", field="$.patient_info")
    options, answers = _answers(record)
    diagnoses = tuple(Diagnosis(options[key]) for key in answers)
    patient = record_of_text(info or stem, diagnoses)
    language = patient.presentation.language
    results = literal(record.get("physical_exams"))
    findings = tuple(_findings(results, _EXAMINATION[language]))
    kind = as_text(record.get("type"))
    return Case(
        id=identifier,
        record=msgspec.structs.replace(patient, findings=findings),
        truth=Truth(diagnoses=diagnoses, answers=answers),
        question=Question(
            id=identifier, stem=stem or info, options=options, language=language, several=len(answers) > 1
        ),
        source=f"AgentClinic (arXiv:2405.07960), images{f', {kind}' if kind else ''}",
        attachments=(Attachment(url=image),) if image else (),
    )


def _findings(value: Any, examination: str) -> Iterator[Finding]:
    """Yields what was found: an object has an examination a key, perhaps with items; a text is one result."""
    if not isinstance(value, dict):
        if text := as_text(value):
            yield Finding(examination=examination, value=text)
        return
    for name, part in value.items():
        if isinstance(part, dict):
            for item, result in part.items():
                if text := as_text(result):
                    yield Finding(examination=readable(str(name)), item=readable(str(item)), value=text)
        elif text := as_text(part):
            yield Finding(examination=examination, item=readable(str(name)), value=text)


def _answers(record: dict[str, Any]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Returns the options and the keys of the right ones; each answer says of itself whether it is right."""
    listed = literal(record.get("answers"))
    if isinstance(listed, list) and listed and all(isinstance(one, dict) and "text" in one for one in listed):
        options = read_options([as_text(one["text"]) for one in listed], "$.answers")
        right = [as_text(one.get("correct")).lower() in _RIGHT for one in listed]
        answers = tuple(key for key, is_right in zip(options, right, strict=True) if is_right)
    else:
        options = read_options(listed, "$.answers")
        answers = read_keys(record.get("answer") or record.get("correct_answer"), options)
    if not answers or any(key not in options for key in answers):
        raise BadInput("none of the answers is marked as the right one ('correct': true)", field="$.answers")
    return options, answers
