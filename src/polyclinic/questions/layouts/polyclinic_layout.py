"""Our own layout: one `polyclinic.questions.exam.ExamQuestion` a line, field by field."""

from __future__ import annotations

from typing import Any

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import split_place
from polyclinic.questions.exam import ExamQuestion


def load(record: dict[str, Any], order: int) -> ExamQuestion:
    """Reads a question in our own layout.

    Raises:
        BadInput: a field is missing, unknown or of the wrong type; names it.
    """
    del order  # every record of ours brings its id
    try:
        return msgspec.convert(record, ExamQuestion)
    except msgspec.ValidationError as error:
        problem, field = split_place(str(error))
        raise BadInput(problem, field=field) from None
