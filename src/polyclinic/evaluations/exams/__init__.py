"""Methods on the questions of exams."""

from polyclinic.evaluations.exams.evaluation import MethodResult, run_methods

__all__ = ["MethodResult", "run_methods"]
