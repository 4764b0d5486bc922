"""Who is ill: presentation, record, truth, and the files they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.cases.case import Case as Case, case_schema as case_schema
    from polyclinic.cases.check import check_cases as check_cases
    from polyclinic.cases.loaders import (
        find_case as find_case,
        layouts as layouts,
        read_cases as read_cases,
        write_cases as write_cases,
    )
    from polyclinic.cases.presentation import Presentation as Presentation, Question as Question
    from polyclinic.cases.record import Finding as Finding, History as History, Record as Record
    from polyclinic.cases.report import Diagnosis as Diagnosis, Report as Report
    from polyclinic.cases.shipped import SHIPPED as SHIPPED
    from polyclinic.cases.truth import Truth as Truth

__getattr__ = lazily(__name__, __file__)
