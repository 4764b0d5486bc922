"""The medical director, who grades reports against the truth (ai-hospital §2.5, §3.2), played by a model.

The director sees complaint, present illness, examinations, diagnosis, rationale and treatment, and the report, but no
doctor's name. It gives an analysis and a grade for each aspect; in one step, symptoms and examinations are not graded.
If the answer as a whole cannot be read, each aspect is read by itself, and one without a grade is unreadable.

Use a model of another family than the doctors that it judges.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from polyclinic.cases.case import Case
from polyclinic.cases.loaders.fields import split_diagnoses, split_points
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record, read_out
from polyclinic.cases.report import Report
from polyclinic.cases.truth import Truth
from polyclinic.errors import ModelError, RunStopped, UnreadableReply
from polyclinic.judging.model_judging import Exhibit, Judging, Memory, Ruling, answer_type
from polyclinic.language.language import Language, is_chinese, length
from polyclinic.metrics.grades import Aspect, Grade, Judgement, aspects_of, grade_named, why_no_grade
from polyclinic.metrics.recorded_reports import RecordedReport
from polyclinic.models.answers import read_value
from polyclinic.models.model import Model
from polyclinic.models.schema import form_of
from polyclinic.tasks import AT_ONCE, run_until_error

VERSION = 2
"""Grows when the prompts come to mean something else; grades of two versions are not to be held against each other."""

_ANYTHING = form_of(dict[str, Any])


class _AspectAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    analysis: str
    grade: Literal["A", "B", "C", "D"]


_ANSWERS = {
    one_step: answer_type(name, [(aspect.value, _AspectAnswer) for aspect in aspects_of(one_step=one_step)])
    for one_step, name in ((False, "Grades"), (True, "GradesInOneStep"))
}


class Handed(NamedTuple):
    """A report beside what is so, as the director is shown it."""

    case: Case
    report: Report
    one_step: bool = False


def _shown(handed: Handed) -> Exhibit:
    record, truth = handed.case.record, handed.case.truth
    language = record.presentation.language
    parts = sections_of(handed.report)
    texts = {
        "complaint": [record.presentation.complaint],
        "present": [*record.history.symptoms, record.history.present],
        "findings": read_out(record.findings, language),
        "diagnoses": [diagnosis.name for diagnosis in truth.diagnoses],
        "rationale": truth.rationale,
        "treatment": truth.treatment,
        "report_diagnoses": parts[Aspect.DIAGNOSIS],
        **{f"report_{aspect}": points for aspect, points in parts.items()},
    }
    in_one_step = "_one_step" if handed.one_step else ""
    answer = _ANSWERS[handed.one_step]
    return Exhibit(language, f"director{in_one_step}", (f"shown{in_one_step}",), texts, answer, "director")


JUDGING = Judging(Path(__file__).with_suffix(".md"), _shown)


class Judge(Protocol):
    """Grades reports. Ask `grade` for as many at once as you like; its marks are those of a `Judgement`."""

    name: str
    version: int
    prompts: str

    async def grade(self, case: Case, report: Report, *, one_step: bool = False) -> Judgement:
        """Grades a report; in one step the doctor read the whole record, and symptoms and examinations are not graded.

        The judgement does not name the doctor. A failure of the judge is in it; what `Judging.judge` raises is raised.
        """


class ModelJudge:
    """A model as the director. The same case and report are asked for once in its life, whoever asks."""

    version = VERSION

    def __init__(self, model: Model, *, temperature: float | None = None) -> None:
        self.name, self.prompts = model.name, JUDGING.prompts
        self._model, self._temperature, self._memory = model, temperature, Memory()

    async def grade(self, case: Case, report: Report, *, one_step: bool = False) -> Judgement:
        """Grades a report; see `Judge.grade`."""
        handed = Handed(case, report, one_step)
        (ruling,) = await JUDGING.judge([handed], self._model, temperature=self._temperature, memory=self._memory)
        came = judgement_of(self, case, one_step=one_step, lengths=lengths_of(report, one_step=one_step))
        return replace(came, failed=ruling.error) if ruling.failed else _read(came, ruling)


def without_report(case: Case, judge: Judge, problem: str, *, one_step: bool) -> Judgement:
    """Returns a judgement of D in every aspect on a doctor whose answer cannot be used, without asking the judge."""
    aspects = aspects_of(one_step=one_step)
    analyses = dict.fromkeys(aspects, f"no report was handed in: {problem}")
    return judgement_of(judge, case, one_step=one_step, grades=dict.fromkeys(aspects, Grade.D), analyses=analyses)


def judgement_of(judge: Judge, case: Case, *, one_step: bool, **said: Any) -> Judgement:
    """Returns a judgement with the marks of the judge it is from."""
    marks: dict[str, Any] = {"judge": judge.name, "version": judge.version, "prompts": judge.prompts}
    return Judgement(case=case.id, **marks, one_step=one_step, **said)


def _read(came: Judgement, ruling: Ruling) -> Judgement:
    """Returns the judgement with the model's answer, aspect by aspect."""
    said: dict[str, Any] = {}
    failure, refused = ruling.failure, ""
    if failure is None:
        said = msgspec.to_builtins(ruling.value)
    elif isinstance(failure, ModelError):
        if isinstance(failure, UnreadableReply):
            with contextlib.suppress(UnreadableReply):
                said = read_value(failure.text, _ANYTHING)
        refused = "" if said else f"{ruling.error}: {failure.problem}"
    grades: dict[Aspect, Grade | None] = {}
    analyses: dict[Aspect, str] = {}
    unreadable: dict[Aspect, str] = {}
    for aspect in aspects_of(one_step=came.one_step):
        part = said.get(aspect.value)
        letter = part.get("grade") if isinstance(part, dict) else part
        grades[aspect] = grade_named(letter)
        if isinstance(part, dict) and isinstance(part.get("analysis"), str):
            analyses[aspect] = part["analysis"]
        if grades[aspect] is None:
            unreadable[aspect] = refused or why_no_grade(letter)
    return replace(came, grades=grades, analyses=analyses, unreadable=unreadable)


def sections_of(report: Report) -> dict[Aspect, tuple[str, ...]]:
    """Returns the points of a report by aspect."""
    return {
        Aspect.SYMPTOMS: report.symptoms,
        Aspect.EXAMINATIONS: report.examinations,
        Aspect.DIAGNOSIS: tuple(diagnosis.name for diagnosis in report.diagnoses),
        Aspect.RATIONALE: report.rationale,
        Aspect.TREATMENT: report.treatment,
    }


def lengths_of(report: Report, *, one_step: bool) -> dict[Aspect, int]:
    """Returns how long a report is in each aspect that is graded."""
    parts = sections_of(report)
    return {aspect: length(" ".join(parts[aspect])) for aspect in aspects_of(one_step=one_step)}


_COLON = re.compile("[:：]")


async def grade_recorded(judge: Judge, reports: Sequence[RecordedReport]) -> tuple[list[Judgement], RunStopped | None]:
    """Returns a judge's grades of recorded reports, with the doctors' names, and what stopped it before the last.

    Symptoms and examinations are graded only if the reference has them.
    """

    async def grade(one: RecordedReport) -> Judgement:
        judged = await judge.grade(*case_and_report(one), one_step=not one.reference.symptoms)
        return replace(judged, doctor=one.doctor)

    graded, ended = await run_until_error((partial(grade, one) for one in reports), at_once=max(AT_ONCE, len(reports)))
    if ended is not None and not isinstance(ended, RunStopped):
        raise ended
    return graded, ended


def case_and_report(recorded: RecordedReport) -> tuple[Case, Report]:
    """Returns a recorded report as a live one, with a case that holds no more than its reference."""
    reference, given = recorded.reference, recorded.given
    language: Language = "zh" if is_chinese(reference.diagnosis) else "en"
    findings = []
    for line in split_points(reference.examinations):
        # A line without a colon is a result.
        name, *rest = _COLON.split(line, maxsplit=1)
        findings.append(Finding(examination=name.strip(), value=(rest[0] if rest else line).strip()))
    record = Record(
        presentation=Presentation(complaint="", language=language),
        history=History(present=reference.symptoms),
        findings=tuple(findings),
    )
    truth = Truth(
        diagnoses=split_diagnoses(reference.diagnosis),
        rationale=split_points(reference.rationale),
        treatment=split_points(reference.treatment),
    )
    sections = msgspec.structs.asdict(given)
    diagnoses = split_diagnoses(sections.pop("diagnosis"))
    points: dict[str, Any] = {name: split_points(text) for name, text in sections.items()}
    report = Report(diagnoses=diagnoses, **points)
    return Case(id=recorded.id, record=record, truth=truth), report
