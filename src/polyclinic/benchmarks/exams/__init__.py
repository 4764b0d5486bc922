"""Methods on the questions of exams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.benchmarks.exams.evaluation import MethodResult
    from polyclinic.benchmarks.exams.runs import run_methods

__all__ = [
    "MethodResult",
    "run_methods",
]

__getattr__ = lazily(
    __name__,
    {
        "evaluation": "MethodResult",
        "runs": "run_methods",
    },
)
