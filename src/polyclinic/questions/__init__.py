"""Questions: how they look to a model, how its answer is read, and the files that they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.cases.presentation import Question as Question
    from polyclinic.questions.answers import read_answer as read_answer
    from polyclinic.questions.exam import ExamQuestion as ExamQuestion
    from polyclinic.questions.examples import (
        Example as Example,
        read_examples as read_examples,
        shipped_examples as shipped_examples,
    )
    from polyclinic.questions.layouts import (
        read_exam as read_exam,
        sample as sample,
        shuffled as shuffled,
        write_exam as write_exam,
    )
    from polyclinic.questions.shown import show as show, show_form as show_form, write_answer as write_answer

__getattr__ = lazily(__name__, __file__)
