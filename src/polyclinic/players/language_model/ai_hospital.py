"""What AI Hospital's roles are told under its protocol: intern, patient, doctors of a conference and their chair."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from polyclinic.cases.record import read_out
from polyclinic.cases.report import Report
from polyclinic.events import Disputed, Established, Examined, Reported, Revised
from polyclinic.models.model import Message
from polyclinic.players.language_model.reports import asked_for_report
from polyclinic.players.player import Purpose
from polyclinic.players.roles.director import Director
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.roles.patient import Patient
from polyclinic.prompts import Prompts, read_prompts

PROMPTS = Path(__file__).with_suffix(".md")


def intern_text(doctor: Doctor, record: str) -> str:
    """Returns what an intern is told before all else (Table 12); with a record, that it reads it in one step (§5.2)."""
    prompts = _prompts(doctor)
    return prompts("intern_record", record=record) if doctor.record is not None else prompts("intern")


def patient_text(patient: Patient, *, presentation: str, history: str, persona: str) -> str:
    """Returns what a patient is told before all else (Table 9)."""
    return _prompts(patient)("patient", presentation=presentation, history=history, persona=persona)


def told_to_retell(patient: Patient) -> list[Message]:
    """Returns that the patient is to tell the doctor what the examiner said, where that is what happened last."""
    last = patient.seen[-1] if patient.seen else None
    return [("user", _prompts(patient)("patient_retells"))] if isinstance(last, Examined) else []


def colleague_messages(doctor: Doctor) -> list[Message]:
    """Returns what a doctor of a conference is told (Table 15): the facts of all, its report, then the others'.

    Its own consultation is not told again: what counts of it stands among the facts.
    """
    prompts, language = _prompts(doctor), doctor.presentation.language
    latest = {event.doctor: event.report for event in doctor.seen if isinstance(event, Revised)}
    own = next(event.report for event in doctor.seen if isinstance(event, Reported))
    facts = next(event for event in reversed(doctor.seen) if isinstance(event, Established))
    told = prompts(
        "colleague",
        doctor=_letter(doctor.number),
        report=_report(latest.get(doctor.number, own), prompts),
        **_facts(facts, doctor),
    )
    form = asked_for_report(language)
    if not latest:
        return [("system", told), ("user", f"{prompts('colleague_facts')}\n\n{form}")]
    disputed = next((event for event in reversed(doctor.seen) if isinstance(event, Disputed)), None)
    rules = prompts("colleague_revises_without" if disputed is None else "colleague_revises")
    others = [_told(number, report, prompts) for number, report in sorted(latest.items()) if number != doctor.number]
    points = [prompts("points", points=_lines(disputed.points))] if disputed is not None else []
    return [("system", f"{told}\n\n{rules}\n\n{form}"), ("user", "\n\n".join([*others, *points]))]


def chair_messages(purpose: Purpose, director: Director) -> list[Message]:
    """Returns what a director is told who names what is in dispute, or concludes (Table 16): facts and last reports."""
    prompts, standing, facts = _prompts(director), director.standing(), director.established()
    assert facts is not None  # noqa: S101
    told = prompts("chair", doctors=len(standing), **_facts(facts, director))
    reports = [_told(event.doctor, event.report, prompts) for event in standing]
    if purpose is Purpose.CONCLUDE:
        wanted = f"{prompts('chair_concludes')}\n\n{asked_for_report(director.presentation.language)}"
    else:
        wanted = prompts("chair_disputes")
    return [("system", told), ("user", "\n\n".join([*reports, wanted]))]


def _prompts(role: Doctor | Patient | Director) -> Prompts:
    return read_prompts(PROMPTS)[role.presentation.language]


def _facts(facts: Established, role: Doctor | Director) -> dict[str, str]:
    results = read_out(facts.findings, role.presentation.language)
    examinations = [*results, *(item for item in facts.examinations if item not in results)]
    return {"symptoms": _lines(facts.symptoms), "examinations": _lines(examinations)}


def _told(number: int, report: Report, prompts: Prompts) -> str:
    return prompts("reports", doctor=_letter(number), report=_report(report, prompts))


def _report(report: Report, prompts: Prompts) -> str:
    return prompts(
        "report",
        diagnoses=_lines(diagnosis.name for diagnosis in report.diagnoses),
        rationale=_lines(report.rationale),
        treatment=_lines(report.treatment),
    )


def _letter(number: int) -> str:
    """Returns A of doctor 1, B of doctor 2; of the 27th, who has no letter, the number."""
    return chr(ord("A") + number - 1) if 1 <= number <= 26 else str(number)


def _lines(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "-"
