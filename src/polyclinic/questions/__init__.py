"""Questions: how they look to a model, how its answer is read, and the files that they come from."""

from polyclinic.cases.presentation import Question
from polyclinic.questions.answers import read_answer
from polyclinic.questions.shown import show

__all__ = ["Question", "read_answer", "show"]
