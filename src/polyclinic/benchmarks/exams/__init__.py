"""Methods on the questions of exams."""

from polyclinic.benchmarks.exams.evaluation import MethodResult
from polyclinic.benchmarks.exams.runs import run_methods

__all__ = ["MethodResult", "run_methods"]
