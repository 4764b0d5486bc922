"""What a language model is told in a discussion: as one of the doctors, and as the director."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from polyclinic.cases.record import read_out
from polyclinic.cases.report import Report
from polyclinic.events import Disputed, Established, Event, Examined, Reported, Revised, Role, Said, Shared
from polyclinic.language.language import Language
from polyclinic.models.model import Message
from polyclinic.players.language_model.reports import as_written, asked_for_report
from polyclinic.players.player import Purpose
from polyclinic.players.roles.director import Director
from polyclinic.players.roles.doctor import Doctor
from polyclinic.prompts import Prompts, read_prompts

PROMPTS = Path(__file__).with_suffix(".md")

_WHO: dict[Language, dict[Role, str]] = {
    "en": {Role.PATIENT: "patient", Role.EXAMINER: "examiner"},
    "zh": {Role.PATIENT: "病人", Role.EXAMINER: "检查科"},
}


def discussion_messages(doctor: Doctor, asked_to_report: str) -> list[Message]:
    """Returns what a doctor is told of the discussion, after its consultation and how it was asked for its report."""
    language = doctor.presentation.language
    prompts = read_prompts(PROMPTS)[language]
    messages: list[Message] = []
    for event in doctor.seen:
        if isinstance(event, Reported):
            messages += [("user", asked_to_report), ("assistant", as_written(event.report))]
            messages.append(("user", prompts("doctor_team", doctor=doctor.number)))
        elif isinstance(event, Revised) and event.doctor == doctor.number:
            messages.append(("assistant", as_written(event.report)))
        elif isinstance(event, Established | Revised | Disputed):
            messages.append(("user", _told(event, prompts, language)))
    wanted = "doctor_revise_facts"
    if any(isinstance(event, Revised) for event in doctor.seen):
        # Who was never told of a dispute (the ablation) is not asked to take a stand on one.
        disputes = any(isinstance(event, Disputed) for event in doctor.seen)
        wanted = "doctor_revise" if disputes else "doctor_revise_without"
    return [*messages, ("user", prompts(wanted))]


def director_messages(purpose: Purpose, director: Director, presentation: str) -> list[Message]:
    """Returns what a director is told: the case, the discussion so far, then what is wanted."""
    language = director.presentation.language
    prompts = read_prompts(PROMPTS)[language]
    doctors = len(director.shared())
    known = [prompts("known before", presentation=presentation)] if presentation.strip() else []
    messages: list[Message] = [("system", "\n\n".join([prompts("director", doctors=doctors), *known]))]
    for event in director.seen:
        messages.append(("user", _told(event, prompts, language)))
    asked_again = any(isinstance(event, Said) for event in director.seen)
    merge = "director_merge" if director.may_ask and not asked_again else "director_merge_final"
    wanted = {Purpose.MERGE: merge, Purpose.DISPUTE: "director_dispute", Purpose.CONCLUDE: "director_conclude"}
    asked = prompts(wanted[purpose])
    return [
        *messages,
        ("user", asked if purpose is not Purpose.CONCLUDE else f"{asked}\n\n{asked_for_report(language)}"),
    ]


def _told(event: Event, prompts: Prompts, language: Language) -> str:
    """Returns an event of the discussion as somebody is told of it who did not bring it about."""
    who = _WHO[language]
    match event:
        case Shared() | Established():
            results = read_out(event.findings, language)
            blanks = {
                "symptoms": _lines(event.symptoms),
                # What stands below word for word need not stand twice.
                "examinations": _lines(item for item in event.examinations if item not in results),
                "findings": _lines(results),
            }
            if isinstance(event, Shared):
                return prompts("shared", doctor=event.doctor, **blanks)
            return prompts("facts", **blanks)
        case Revised():
            report = event.report
            blanks = {
                "diagnoses": _diagnoses(report),
                "rationale": _lines(report.rationale),
                "treatment": _lines(report.treatment),
            }
            if event.round == 0:
                return prompts("report_before", doctor=event.doctor, **blanks)
            return prompts("report", doctor=event.doctor, round=event.round, **blanks)
        case Disputed():
            return prompts("disputed", points=_lines(event.points)) if event.points else prompts("undisputed")
        case Said() if event.who is Role.DIRECTOR:
            return prompts("asked", whom=who[event.to], text=event.text)
        case Said():
            return prompts("answered", who=who[event.who], text=event.text)
        case Examined():
            return prompts("answered", who=who[Role.EXAMINER], text=event.text)
        case _:
            raise TypeError(f"no part of a discussion that is told: {type(event).__name__}")


def _diagnoses(report: Report) -> str:
    return _lines(
        d.name
        + (f" ({d.icd10})" if d.icd10 else "")
        + (f", {100 * d.probability:.0f} %" if d.probability is not None else "")
        for d in report.diagnoses
    )


def _lines(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "-"
