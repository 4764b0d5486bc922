"""What every exam question must have, whichever file it comes from."""

from __future__ import annotations

from polyclinic.errors import BadInput
from polyclinic.questions.exam import ExamQuestion


def check(exam_question: ExamQuestion) -> ExamQuestion:
    """Returns the question if it can be asked and scored.

    Raises:
        BadInput: it lacks an id, a stem, options or a right answer among them; names the field.
    """
    question, key = exam_question.question, exam_question.key
    if not question.id.strip():
        raise BadInput("a question needs an id", field="$.id")
    if not question.stem.strip():
        raise BadInput("a question needs a text that asks it", field="$.question")
    if len(question.options) < 2:
        raise BadInput(f"two or more options are needed; there are {len(question.options)}", field="$.options")
    for name, text in question.options.items():
        if not name.strip() or not text.strip():
            raise BadInput(f"option {name!r} is empty; every option needs a key and a text", field="$.options")
    if not key:
        raise BadInput("a question needs its right answer", field="$.answer")
    for name in key:
        if name not in question.options:
            allowed = ", ".join(question.options)
            raise BadInput(f"the right answer is {name!r}; the options are {allowed}", field="$.answer")
    if len(set(key)) > 1 and not question.several:
        raise BadInput(f"{len(key)} right answers, and the question asks for one", field="$.answer")
    return exam_question


def text_field(record: dict[str, object], name: str) -> str:
    """Returns a field that must hold text, without white space around it.

    Raises:
        BadInput: it is missing, empty, or no text; names it.
    """
    value = record.get(name)
    if not isinstance(value, str) or not value.strip():
        came = "nothing" if value is None else f"{value!r}"[:80]
        raise BadInput(f"a text is needed here; there is {came}", field=f"$.{name}")
    return value.strip()
