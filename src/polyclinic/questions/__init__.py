"""Questions: how they look to a model, how its answer is read, and the files that they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.cases.presentation import Question
    from polyclinic.questions.answers import read_answer
    from polyclinic.questions.exam import ExamQuestion
    from polyclinic.questions.examples import Example, read_examples, shipped_examples
    from polyclinic.questions.formats import show_form, write_answer
    from polyclinic.questions.layouts import read_exam, sample, shuffled, write_exam
    from polyclinic.questions.shown import show

__all__ = [
    "ExamQuestion",
    "Example",
    "Question",
    "read_answer",
    "read_exam",
    "read_examples",
    "sample",
    "shipped_examples",
    "show",
    "show_form",
    "shuffled",
    "write_answer",
    "write_exam",
]

__getattr__ = lazily(
    __name__,
    {
        "polyclinic.cases.presentation": "Question",
        "answers": "read_answer",
        "exam": "ExamQuestion",
        "examples": "Example read_examples shipped_examples",
        "formats": "show_form write_answer",
        "layouts": "read_exam sample shuffled write_exam",
        "shown": "show",
    },
)
