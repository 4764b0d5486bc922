"""MedMCQA's layout (Pal et al., arXiv:2203.14371): `opa` to `opd`, and `cop`, which counts them from 1.

`exp` explains the answer and is dropped. `choice_type` "multi" means that the exam's question spoke of several
statements; one option is right in every record, so that one is asked for.
"""

from __future__ import annotations

from typing import Any

from polyclinic.cases.presentation import Question
from polyclinic.errors import BadInput
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.layouts.checking import text_field

_OPTIONS = {"A": "opa", "B": "opb", "C": "opc", "D": "opd"}


def load(record: dict[str, Any], order: int) -> ExamQuestion:
    """Reads a MedMCQA record; the subject is its subject, such as Physiology.

    Raises:
        BadInput: a part is missing or of the wrong type; names it.
    """
    del order  # every record brings its id
    options = {letter: text_field(record, name) for letter, name in _OPTIONS.items()}
    right = record.get("cop")
    if not isinstance(right, int) or isinstance(right, bool) or not 1 <= right <= len(options):
        raise BadInput(
            f"cop is {right!r}; it counts the options from 1 to {len(options)} (a copy that counts from 0 is read with "
            "--fields question=question,options=opa+opb+opc+opd,answer=cop,id=id and an answer base of 0)",
            field="$.cop",
        )
    question = Question(id=text_field(record, "id"), stem=text_field(record, "question"), options=options)
    return ExamQuestion(
        question=question, key=(list(options)[right - 1],), subject=str(record.get("subject_name") or "")
    )
