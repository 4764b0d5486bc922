"""Reads reports that were recorded elsewhere, beside the reference and a judge's letters: the layout `ai-hospital`.

AI Hospital publishes one JSON object a line, of four kinds:

1. a judged report: `doctor_diagnosis` (`diagnosis`: the whole report) beside `reference_diagnosis` (`diagnosis`,
   `basis`, `treatment`, also `symptom` and `medical_test`), and a judge's `diagnosis_choice` and the like;
2. a dialogue: `dialog_history`, in which the doctor's last turn is the report;
3. a collaboration: `diagnosis` with `symptom_and_examination`, `doctor_engine_names` and `host_engine_name`;
4. a report in one step: `diagnosis` alone.

All have `patient_id`. The last three hold no reference; a file of the first kind has it for them.

A report is one text, whose sections begin with headings. One without headings counts like any other: its whole text is
the diagnosis section. What a doctor wrote is then judged for what it is worth as a diagnosis, and its rationale and
treatment are empty, which is what was handed in; the text under every section would be paid for three times, and
leaving the report out would pay for bad form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import read_records

_HEADINGS = {
    "symptoms": ("症状", "病人症状", "患者症状", "症状总结"),
    "examinations": ("辅助检查", "检查结果", "医学检查", "医学检查项目", "检查"),
    "diagnosis": ("诊断结果", "诊断结论", "初步诊断"),
    "rationale": ("诊断依据", "诊断理由"),
    "treatment": ("治疗方案", "治疗计划", "治疗措施"),
}
_ASPECT_OF = {heading: aspect for aspect, headings in _HEADINGS.items() for heading in headings}
_NAMES = "|".join(_ASPECT_OF)
# "#诊断结果#" wherever it stands; without the marks it has to begin a line and to stand alone or before a colon. What
# only says what the patient has, or was examined for, needs its marks: those words begin many a line of reasons.
_PLAIN = "|".join(name for name, aspect in _ASPECT_OF.items() if aspect not in ("symptoms", "examinations"))
_HEADING = re.compile(
    rf"#+\s*(?P<marked>{_NAMES})\s*[:：]?\s*#+[:：]?"
    rf"|^[ \t]*(?:[#*【\[]|\d+[.、]|[一二三][、.])*[ \t]*(?P<plain>{_PLAIN})[ \t]*[*】\]]*[ \t]*(?:[:：][*]*|$)"
    rf"|^[ \t]*(?:#+|\*\*|【)[ \t]*(?P<first>{_NAMES})[ \t]*[*】]*[ \t]*(?:[:：][*]*|$)",
    re.MULTILINE,
)


class Sections(msgspec.Struct, frozen=True, kw_only=True):
    """The sections of a report or of a reference, "" where there is nothing."""

    diagnosis: str
    rationale: str
    treatment: str
    symptoms: str = ""
    examinations: str = ""


class RecordedReport(msgspec.Struct, frozen=True, kw_only=True):
    """A doctor's report on a case, with the reference and what a judge said.

    Attributes:
        letters: the judge's letter on "diagnosis", "rationale" and "treatment", raw, and where it was asked on
            "symptoms" and "examinations"; None where it gave none.
        line: where it stands in its file, from 1.
    """

    id: str
    doctor: str
    reference: Sections
    given: Sections
    letters: dict[str, str | None]
    line: int


class ReportsOfFile(NamedTuple):
    """The reports of a file, and the cases of it that there is no reference for."""

    reports: list[RecordedReport]
    without_reference: list[str]


class _Parts(msgspec.Struct, frozen=True, kw_only=True):
    diagnosis: str | None
    basis: str | None = None
    treatment: str | None = None
    symptom: str | None = None
    medical_test: str | None = None

    def sections(self) -> Sections:
        parts = {
            "diagnosis": self.diagnosis,
            "rationale": self.basis,
            "treatment": self.treatment,
            "symptoms": self.symptom,
            "examinations": self.medical_test,
        }
        return Sections(**{aspect: (text or "").strip() for aspect, text in parts.items()})


class _Reference(_Parts, frozen=True, kw_only=True):
    diagnosis: str


class _RecordedTurn(msgspec.Struct, frozen=True):
    role: str
    content: str | None


Said = str | dict[str, str | None] | None
"""A text, or its sections by their headings."""


class _PublishedReport(msgspec.Struct):
    patient_id: int | str
    reference_diagnosis: _Reference | None = None
    doctor_diagnosis: _Parts | None = None
    doctor_name: str = ""
    # The published code spells it "sympton".
    symptom_choice: str | msgspec.UnsetType | None = msgspec.UNSET
    sympton_choice: str | msgspec.UnsetType | None = msgspec.UNSET
    test_choice: str | msgspec.UnsetType | None = msgspec.UNSET
    diagnosis_choice: str | None = None
    basis_choice: str | None = None
    treatment_choice: str | None = None
    dialog_history: list[_RecordedTurn] | None = None
    diagnosis: Said = None
    symptom_and_examination: Said = None
    doctor: str = ""
    doctor_engine_name: str = ""
    doctor_engine_names: tuple[str, ...] = ()
    host_engine_name: str = ""

    def named(self) -> str:
        """Returns whose report it is: a doctor, or the members of a team."""
        return self.doctor_name or " + ".join(self.doctor_engine_names) or self.doctor_engine_name or self.doctor

    def given(self) -> Sections | None:
        """Returns the report; None where the line holds none."""
        if self.doctor_diagnosis is not None:
            apart = self.doctor_diagnosis.sections()
            found = split_sections(apart.diagnosis)
            # Some doctors hand their sections in apart, as the reference does.
            return msgspec.structs.replace(
                found, rationale=found.rationale or apart.rationale, treatment=found.treatment or apart.treatment
            )
        if self.dialog_history is not None:
            said = [turn.content or "" for turn in self.dialog_history if turn.role.casefold() == "doctor"]
            return split_sections(said[-1] if said else "")
        if self.diagnosis is None:
            return None
        facts = split_sections(_text(self.symptom_and_examination))
        found = split_sections(_text(self.diagnosis))
        return msgspec.structs.replace(
            found,
            symptoms=found.symptoms or facts.symptoms,
            examinations=found.examinations or facts.examinations,
        )

    def letters(self) -> dict[str, str | None]:
        """Returns the judge's letters; on symptoms and examinations only where it was asked."""
        symptoms = self.sympton_choice if self.symptom_choice is msgspec.UNSET else self.symptom_choice
        first = {"symptoms": symptoms, "examinations": self.test_choice}
        return {aspect: letter for aspect, letter in first.items() if not isinstance(letter, msgspec.UnsetType)} | {
            "diagnosis": self.diagnosis_choice,
            "rationale": self.basis_choice,
            "treatment": self.treatment_choice,
        }


def _text(said: Said) -> str:
    if isinstance(said, dict):
        return "\n".join(f"#{heading}#\n{text or ''}" for heading, text in said.items())
    return said or ""


def read_references(path: str | Path) -> dict[str, Sections]:
    """Reads the references of a file of judged reports, by case.

    Raises:
        BadInput: the file cannot be read, or a line of it has no reference.
    """
    references: dict[str, Sections] = {}
    for number, record in read_records(Path(path), _PublishedReport, "a recorded report in the layout ai-hospital"):
        if record.reference_diagnosis is None:
            problem = "no 'reference_diagnosis'; a file of references has the layout of the published evaluations"
            raise BadInput(problem, path=Path(path), line=number)
        references.setdefault(str(record.patient_id), record.reference_diagnosis.sections())
    return references


def read_recorded_reports(path: str | Path) -> list[RecordedReport]:
    """Reads the reports of a file that holds its own references; see `read_recorded`."""
    return read_recorded(path).reports


def read_recorded(path: str | Path, references: Mapping[str, Sections] | None = None) -> ReportsOfFile:
    """Reads the reports of a file in the layout `ai-hospital`, one doctor's, in file order.

    The `references`, by case, are of reports that stand without; see the module for what a line may be.

    Raises:
        BadInput: the file cannot be read, a line is not JSON or in another layout, a case stands in it twice, or no
            reference is there for any of its cases.
    """
    path = Path(path)
    reports: dict[str, RecordedReport] = {}
    without: list[str] = []
    for number, record in read_records(path, _PublishedReport, "a recorded report in the layout ai-hospital"):
        id, given = str(record.patient_id), record.given()
        if id in reports:
            problem = f"case {id} stands in line {reports[id].line} already; a file holds one report a case"
            raise BadInput(problem, path=path, line=number, field="$.patient_id")
        if given is None:
            problem = "no report: neither 'doctor_diagnosis', 'dialog_history' nor 'diagnosis'"
            raise BadInput(problem, path=path, line=number)
        if record.reference_diagnosis is not None:
            reference = record.reference_diagnosis.sections()
        elif references is None:
            problem = (
                "no 'reference_diagnosis', as dialogues and collaborations have none: name a file with --reference"
            )
            raise BadInput(problem, path=path, line=number)
        elif id in references:
            reference = references[id]
        else:
            without.append(id)
            continue
        letters = record.letters()
        reports[id] = RecordedReport(
            id=id, doctor=record.named(), reference=reference, given=given, letters=letters, line=number
        )
    if not reports:
        known = ", ".join(list(references or {})[:_SHOWN])
        raise BadInput(
            f"no case of it, such as {without[0]}, has a reference; the references are of {known} ...", path=path
        )
    return ReportsOfFile(list(reports.values()), without)


_SHOWN = 5


def split_sections(text: str) -> Sections:
    """Splits a report at its headings, such as "#诊断结果# ... #诊断依据# ... #治疗方案# ...".

    A section with two headings is the text under both. Text before the first heading is the diagnosis where no
    diagnosis has a heading of its own, and else a greeting; so a text without headings is all diagnosis.
    """
    found = list(_HEADING.finditer(text))
    sections: dict[str, list[str]] = {aspect: [] for aspect in _HEADINGS}
    ends = [match.start() for match in found[1:]] + [len(text)]
    for match, end in zip(found, ends, strict=False):
        heading = match["marked"] or match["plain"] or match["first"]
        sections[_ASPECT_OF[heading]].append(text[match.end() : end].strip())
    if not any(sections["diagnosis"]):
        sections["diagnosis"] = [text[: found[0].start() if found else None].strip()]
    return Sections(**{aspect: "\n".join(filter(None, parts)) for aspect, parts in sections.items()})
