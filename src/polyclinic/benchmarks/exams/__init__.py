"""Methods on the questions of exams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.benchmarks.exams.evaluation import MethodResult as MethodResult
    from polyclinic.benchmarks.exams.runs import run_methods as run_methods

__getattr__, __all__ = lazily(__name__, __file__)
