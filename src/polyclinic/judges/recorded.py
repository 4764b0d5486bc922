"""Recorded reports before a judge of ours: what was handed in elsewhere, graded against its reference."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from polyclinic.cases.case import Case
from polyclinic.cases.loaders.diagnoses import split_diagnoses, split_points
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.report import Report
from polyclinic.cases.truth import Truth
from polyclinic.errors import RunStopped
from polyclinic.judges.director import Judge
from polyclinic.language.language import Language, is_chinese
from polyclinic.metrics.grades import Judgement
from polyclinic.metrics.recorded_reports import RecordedReport
from polyclinic.tasks import run_until_error

_COLON = re.compile("[:：]")


async def grade_recorded(judge: Judge, reports: Sequence[RecordedReport]) -> tuple[list[Judgement], RunStopped | None]:
    """Returns a judge's grades of recorded reports, with the doctors' names, and what stopped it before the last.

    Symptoms and examinations are graded of the reports whose reference tells of them, and of the others not.
    """

    async def grade(one: RecordedReport) -> Judgement:
        judged = await judge.grade(*case_and_report(one), one_step=not one.reference.symptoms)
        return replace(judged, doctor=one.doctor)

    graded, ended = await run_until_error(partial(grade, one) for one in reports)
    if ended is not None and not isinstance(ended, RunStopped):
        raise ended
    return graded, ended


def case_and_report(recorded: RecordedReport) -> tuple[Case, Report]:
    """Returns a recorded report as a live one, beside a case that holds no more than its reference."""
    reference, given = recorded.reference, recorded.given
    language: Language = "zh" if is_chinese(reference.diagnosis) else "en"
    case = Case(
        id=recorded.id,
        record=Record(
            presentation=Presentation(complaint="", language=language),
            history=History(present=reference.symptoms),
            findings=tuple(
                Finding(examination=name.strip(), value=value.strip())
                for name, value in map(_named, split_points(reference.examinations))
            ),
        ),
        truth=Truth(
            diagnoses=split_diagnoses(reference.diagnosis),
            rationale=split_points(reference.rationale),
            treatment=split_points(reference.treatment),
        ),
    )
    report = Report(
        symptoms=split_points(given.symptoms),
        examinations=split_points(given.examinations),
        diagnoses=split_diagnoses(given.diagnosis),
        rationale=split_points(given.rationale),
        treatment=split_points(given.treatment),
    )
    return case, report


def _named(line: str) -> tuple[str, str]:
    """Returns the name of an examination and its result; a line without a colon is a result."""
    name, *rest = _COLON.split(line, maxsplit=1)
    return (name, rest[0]) if rest else (line, line)
