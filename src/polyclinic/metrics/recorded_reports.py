"""Reads reports that were recorded elsewhere, beside the reference and a judge's letters: the layout `ai-hospital`.

AI Hospital publishes one JSON object a line. The doctor's report is one text, whose sections begin with headings. A
report without them counts like any other: its whole text is the diagnosis section. What a doctor wrote is then judged
for what it is worth as a diagnosis, and its rationale and treatment are empty, which is what was handed in; the text
under every section would be paid for three times, and leaving the report out would pay for bad form.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import read_records

_HEADINGS = {
    "diagnosis": ("诊断结果", "诊断结论", "初步诊断"),
    "rationale": ("诊断依据", "诊断理由"),
    "treatment": ("治疗方案", "治疗计划", "治疗措施"),
}
_ASPECT_OF = {heading: aspect for aspect, headings in _HEADINGS.items() for heading in headings}
_NAMES = "|".join(_ASPECT_OF)
# "#诊断结果#" wherever it stands; without the marks it has to begin a line and to stand alone or before a colon.
_HEADING = re.compile(
    rf"#+\s*(?P<marked>{_NAMES})\s*[:：]?\s*#+[:：]?"
    rf"|^[ \t]*(?:[#*【\[]|\d+[.、]|[一二三][、.])*[ \t]*(?P<plain>{_NAMES})[ \t]*[*】\]]*[ \t]*(?:[:：][*]*|$)",
    re.MULTILINE,
)


class Sections(msgspec.Struct, frozen=True, kw_only=True):
    """The three sections of a report, "" where there is nothing."""

    diagnosis: str
    rationale: str
    treatment: str


class RecordedReport(msgspec.Struct, frozen=True, kw_only=True):
    """A doctor's report on a case, with the reference and what a judge said.

    Attributes:
        letters: the judge's letter on "diagnosis", "rationale" and "treatment", raw; None where it gave none.
        line: where it stands in its file, from 1.
    """

    id: str
    doctor: str
    reference: Sections
    given: Sections
    letters: dict[str, str | None]
    line: int


class _Parts(msgspec.Struct, frozen=True, kw_only=True):
    diagnosis: str | None
    basis: str | None = None
    treatment: str | None = None

    def sections(self) -> Sections:
        parts = {"diagnosis": self.diagnosis, "rationale": self.basis, "treatment": self.treatment}
        return Sections(**{aspect: (text or "").strip() for aspect, text in parts.items()})


class _Reference(_Parts, frozen=True, kw_only=True):
    diagnosis: str


class _PublishedReport(msgspec.Struct):
    patient_id: int | str
    reference_diagnosis: _Reference
    doctor_diagnosis: _Parts
    doctor_name: str = ""
    diagnosis_choice: str | None = None
    basis_choice: str | None = None
    treatment_choice: str | None = None


def read_recorded_reports(path: str | Path) -> list[RecordedReport]:
    """Reads the reports of a file in the layout `ai-hospital`, one doctor's, in file order.

    Its lines have `patient_id`, `reference_diagnosis` (`diagnosis`, `basis`, `treatment`), `doctor_diagnosis`
    (`diagnosis`: the whole report), `doctor_name`, and where they were judged `diagnosis_choice` and the like.

    Raises:
        BadInput: the file cannot be read, a line is not JSON or in another layout, or a case stands in it twice.
    """
    path = Path(path)
    reports: dict[str, RecordedReport] = {}
    for number, record in read_records(path, _PublishedReport, "a recorded report in the layout ai-hospital"):
        id = str(record.patient_id)
        if id in reports:
            problem = f"case {id} stands in line {reports[id].line} already; a file holds one report a case"
            raise BadInput(problem, path=path, line=number, field="$.patient_id")
        reports[id] = _report(record, id, number)
    return list(reports.values())


def _report(record: _PublishedReport, id: str, line: int) -> RecordedReport:
    apart = record.doctor_diagnosis.sections()
    given = split_sections(apart.diagnosis)
    return RecordedReport(
        id=id,
        doctor=record.doctor_name,
        reference=record.reference_diagnosis.sections(),
        # Some doctors hand their sections in apart, as the reference does.
        given=Sections(
            diagnosis=given.diagnosis,
            rationale=given.rationale or apart.rationale,
            treatment=given.treatment or apart.treatment,
        ),
        letters={
            "diagnosis": record.diagnosis_choice,
            "rationale": record.basis_choice,
            "treatment": record.treatment_choice,
        },
        line=line,
    )


def split_sections(text: str) -> Sections:
    """Splits a report at its headings, such as "#诊断结果# ... #诊断依据# ... #治疗方案# ...".

    A section with two headings is the text under both. Text before the first heading is the diagnosis where no
    diagnosis has a heading of its own, and else a greeting; so a text without headings is all diagnosis.
    """
    found = list(_HEADING.finditer(text))
    sections: dict[str, list[str]] = {aspect: [] for aspect in _HEADINGS}
    ends = [match.start() for match in found[1:]] + [len(text)]
    for match, end in zip(found, ends, strict=False):
        heading = match["marked"] or match["plain"]
        sections[_ASPECT_OF[heading]].append(text[match.end() : end].strip())
    if not any(sections["diagnosis"]):
        sections["diagnosis"] = [text[: found[0].start() if found else None].strip()]
    return Sections(**{aspect: "\n".join(filter(None, parts)) for aspect, parts in sections.items()})
