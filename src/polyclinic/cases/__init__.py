"""Who is ill: presentation, record, truth, and the files they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.cases.case import Case, case_schema
    from polyclinic.cases.check import check_cases
    from polyclinic.cases.loaders import LAYOUTS, find_case, read_cases, write_cases
    from polyclinic.cases.presentation import Presentation, Question
    from polyclinic.cases.record import Finding, History, Record
    from polyclinic.cases.report import Diagnosis, Report
    from polyclinic.cases.shipped import SHIPPED
    from polyclinic.cases.truth import Truth

__all__ = [
    "LAYOUTS",
    "SHIPPED",
    "Case",
    "Diagnosis",
    "Finding",
    "History",
    "Presentation",
    "Question",
    "Record",
    "Report",
    "Truth",
    "case_schema",
    "check_cases",
    "find_case",
    "read_cases",
    "write_cases",
]

__getattr__ = lazily(
    __name__,
    {
        "case": "Case case_schema",
        "check": "check_cases",
        "loaders": "LAYOUTS find_case read_cases write_cases",
        "presentation": "Presentation Question",
        "record": "Finding History Record",
        "report": "Diagnosis Report",
        "shipped": "SHIPPED",
        "truth": "Truth",
    },
)
