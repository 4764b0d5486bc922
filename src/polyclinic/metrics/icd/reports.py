"""Reads the diseases that doctors and references name from a file of reports: traces of ours, or recorded ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

from polyclinic.errors import BadInput
from polyclinic.events import Convened, End, Ended, Opened, Reported, Revealed, Trace
from polyclinic.files import read_records
from polyclinic.language.language import Language, is_chinese
from polyclinic.metrics.dialogue import LeftOut, unusable_answer
from polyclinic.metrics.disease_names import split_names
from polyclinic.metrics.icd.scores import NamedPair, named
from polyclinic.metrics.recorded_reports import Sections, read_recorded

_SHOWN = 8


class ReportLayout(StrEnum):
    """How a file of reports is laid out."""

    POLYCLINIC = "polyclinic"
    AI_HOSPITAL = "ai-hospital"


class NamedReports(msgspec.Struct, frozen=True, kw_only=True):
    """The reports of a file, as names of diseases; the unreadable ones among them count as naming nothing."""

    layout: ReportLayout
    language: Language
    pairs: tuple[NamedPair, ...]
    unreadable: int = 0
    left_out: tuple[LeftOut, ...] = ()


def _layout_of(path: Path) -> ReportLayout:
    """Returns the layout of a file, by its first record."""
    number, record = next(read_records(path, object, "a record"))
    keys = list(record) if isinstance(record, dict) else []
    if "event" in keys:
        return ReportLayout.POLYCLINIC
    if {"doctor_diagnosis", "reference_diagnosis", "dialog_history"} & set(keys) or {"patient_id", "diagnosis"} <= set(
        keys
    ):
        return ReportLayout.AI_HOSPITAL
    came = ", ".join(map(repr, keys[:_SHOWN])) or "none"
    raise BadInput(
        f"in no known layout by the keys that came: {came}; a trace has 'event', "
        "a recorded report of ai-hospital 'patient_id' and 'doctor_diagnosis', 'dialog_history' or 'diagnosis'",
        path=path,
        line=number,
    )


def read_named_reports(
    path: Path,
    *,
    layout: ReportLayout | None = None,
    references: Mapping[str, Sections] | None = None,
    split: Callable[[str], tuple[str, ...]] = split_names,
) -> NamedReports:
    """Reads the reports of a file; by default its first record tells the layout.

    `split` reads names out of free text; typed ones are taken as they are. The `references` are of recorded reports
    that stand without, by case.

    Raises:
        BadInput: the file cannot be read, is in another layout, holds nothing to score, or cases in two languages.
    """
    if (layout or _layout_of(path)) is ReportLayout.POLYCLINIC:
        return _from_traces(path)
    reports, without = read_recorded(path, references)
    chinese = sum(is_chinese(report.reference.diagnosis) for report in reports)
    return NamedReports(
        layout=ReportLayout.AI_HOSPITAL,
        language="zh" if 2 * chinese >= len(reports) else "en",
        pairs=tuple(
            NamedPair(
                id=report.id,
                given=named(split(report.given.diagnosis)),
                reference=named(split(report.reference.diagnosis)),
            )
            for report in reports
        ),
        left_out=tuple(LeftOut(id, "there is no reference of this case", failed=False) for id in without),
    )


def whole_text(text: str) -> tuple[str, ...]:
    """Returns a text as it is, in the place of the names in it, for who reads them out later; nothing of no text."""
    return (text,) if text.strip() else ()


def _from_traces(path: Path) -> NamedReports:
    pairs: list[NamedPair] = []
    left_out: list[LeftOut] = []
    languages: dict[Language, str] = {}
    unreadable = 0
    for trace in Trace.read(path):
        begin, ended, revealed = trace[0], trace.last(Ended), trace.last(Revealed)
        if not isinstance(begin, Opened | Convened) or (isinstance(begin, Opened) and begin.doctor):
            continue  # a doctor of a team has no report of its own: what the team hands in is scored
        reported = trace.last(Reported)
        if ended is None or revealed is None:
            left_out.append(LeftOut(begin.case, "the trace breaks off before the end of the visit", failed=True))
            continue
        if ended.reason is End.FAILED and reported is None:
            if unusable_answer(trace) is None:
                left_out.append(LeftOut(begin.case, "the visit failed, and not by the doctor's answer", failed=True))
                continue
            unreadable += 1
        given = reported.report.diagnoses if reported is not None else ()
        languages.setdefault(begin.presentation.language, begin.case)
        pairs.append(NamedPair(id=begin.case, given=given, reference=revealed.diagnoses))
    if not pairs:
        raise BadInput(f"none of the {len(left_out)} visits can be scored", path=path)
    if len(languages) > 1:
        told = " and ".join(f"{language} ({case})" for language, case in languages.items())
        raise BadInput(f"cases in two languages, {told}, need two tables; score them in files of their own", path=path)
    return NamedReports(
        layout=ReportLayout.POLYCLINIC,
        language=next(iter(languages)),
        pairs=tuple(pairs),
        unreadable=unreadable,
        left_out=tuple(left_out),
    )
