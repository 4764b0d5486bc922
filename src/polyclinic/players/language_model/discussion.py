"""Prompts of doctors who confer, ours and AI Hospital's (colleagues, chair), and of reports."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from polyclinic.cases.record import read_out
from polyclinic.cases.report import Probability, Report
from polyclinic.events import Disputed, Established, Event, Examined, Reported, Revised, Role, Said, Shared
from polyclinic.language.language import Language
from polyclinic.models.model import Message
from polyclinic.players.language_model.speaking import prompts_for
from polyclinic.players.player import Purpose
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.roles.staff import Director
from polyclinic.prompts import Prompts

PROMPTS = Path(__file__).with_suffix(".md")

_WHO: dict[Language, dict[Role, str]] = {
    "en": {Role.PATIENT: "patient", Role.EXAMINER: "examiner"},
    "zh": {Role.PATIENT: "病人", Role.EXAMINER: "检查科"},
}


class WrittenDiagnosis(msgspec.Struct, frozen=True, omit_defaults=True):
    """A diagnosis as a model writes it; the code and the probability where it knows them."""

    name: str
    icd10: str | None = None
    probability: Probability | None = None


class WrittenReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A report as a model writes it: from left to right, and so the reasons before what they are for."""

    symptoms: tuple[str, ...]
    examinations: tuple[str, ...]
    rationale: tuple[str, ...]
    diagnoses: tuple[WrittenDiagnosis, ...]
    differential: tuple[WrittenDiagnosis, ...] = ()
    treatment: tuple[str, ...]


def asked_for_report(language: Language, *, of: str = "") -> str:
    """Returns how a report is asked for: "visit" or "record", what it is written from; "" only says the form."""
    prompts = prompts_for("reports", language)
    return "\n\n".join([*([prompts(of)] if of else []), prompts("form")])


def as_written(report: Report) -> str:
    """Returns a report in the form in which a model is asked for one."""
    return msgspec.json.encode(msgspec.convert(report, WrittenReport, from_attributes=True)).decode()


def discussion_messages(doctor: Doctor, asked_to_report: str) -> list[Message]:
    """Returns what a doctor is told of the discussion, after its consultation and how it was asked for its report."""
    language = doctor.presentation.language
    prompts = prompts_for("discussion", language)
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
    prompts = prompts_for("discussion", language)
    doctors = len(director.shared())
    known = [prompts("known before", presentation=presentation)] if presentation.strip() else []
    told = (_told(event, prompts, language) for event in director.seen)
    asked_again = any(isinstance(event, Said) for event in director.seen)
    final = purpose is Purpose.MERGE and (asked_again or not director.may_ask)
    wanted = prompts(f"director_{purpose}{'_final' if final else ''}")
    if purpose is Purpose.CONCLUDE:
        wanted += f"\n\n{asked_for_report(language)}"
    instructions = "\n\n".join([prompts("director", doctors=doctors), *known])
    return [("system", instructions), *(("user", text) for text in told), ("user", wanted)]


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
        case Revised(report=report):
            diagnoses = (
                d.name
                + (f" ({d.icd10})" if d.icd10 else "")
                + (f", {100 * d.probability:.0f} %" if d.probability is not None else "")
                for d in report.diagnoses
            )
            blanks = _report(report, diagnoses) | {"doctor": str(event.doctor)}
            return (
                prompts("report_before", **blanks)
                if event.round == 0
                else prompts("report", round=event.round, **blanks)
            )
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


def _report(report: Report, diagnoses: Iterable[str]) -> dict[str, str]:
    """Returns the blanks of a report."""
    return {
        "diagnoses": _lines(diagnoses),
        "rationale": _lines(report.rationale),
        "treatment": _lines(report.treatment),
    }


def _lines(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "-"


def colleague_messages(doctor: Doctor) -> list[Message]:
    """Returns what a doctor of a conference is told (Table 15): the facts of all, its report, then the others'.

    Its own consultation is not told again: what counts of it stands among the facts.
    """
    language = doctor.presentation.language
    prompts = prompts_for("ai_hospital", language)
    latest = {event.doctor: event.report for event in doctor.seen if isinstance(event, Revised)}
    own = next(event.report for event in doctor.seen if isinstance(event, Reported))
    facts = next(event for event in reversed(doctor.seen) if isinstance(event, Established))
    told = prompts(
        "colleague",
        doctor=_letter(doctor.number),
        report=_unsigned(latest.get(doctor.number, own), prompts),
        **_facts(facts, language),
    )
    form = asked_for_report(language)
    if not latest:
        return [("system", told), ("user", f"{prompts('colleague_facts')}\n\n{form}")]
    disputed = next((event for event in reversed(doctor.seen) if isinstance(event, Disputed)), None)
    rules = prompts("colleague_revises_without" if disputed is None else "colleague_revises")
    others = [
        _lettered_report(number, report, prompts)
        for number, report in sorted(latest.items())
        if number != doctor.number
    ]
    points = [prompts("points", points=_lines(disputed.points))] if disputed is not None else []
    return [("system", f"{told}\n\n{rules}\n\n{form}"), ("user", "\n\n".join([*others, *points]))]


def chair_messages(purpose: Purpose, director: Director) -> list[Message]:
    """Returns what a director is told who names what is in dispute, or concludes (Table 16): facts and last reports."""
    language, standing, facts = director.presentation.language, director.standing(), director.established()
    assert facts is not None  # noqa: S101
    prompts = prompts_for("ai_hospital", language)
    told = prompts("chair", doctors=len(standing), **_facts(facts, language))
    reports = [_lettered_report(event.doctor, event.report, prompts) for event in standing]
    if purpose is Purpose.CONCLUDE:
        wanted = f"{prompts('chair_concludes')}\n\n{asked_for_report(language)}"
    else:
        wanted = prompts("chair_disputes")
    return [("system", told), ("user", "\n\n".join([*reports, wanted]))]


def _facts(facts: Established, language: Language) -> dict[str, str]:
    results = read_out(facts.findings, language)
    examinations = [*results, *(item for item in facts.examinations if item not in results)]
    return {"symptoms": _lines(facts.symptoms), "examinations": _lines(examinations)}


def _lettered_report(number: int, report: Report, prompts: Prompts) -> str:
    return prompts("reports", doctor=_letter(number), report=_unsigned(report, prompts))


def _unsigned(report: Report, prompts: Prompts) -> str:
    return prompts("report", **_report(report, (diagnosis.name for diagnosis in report.diagnoses)))


def _letter(number: int) -> str:
    """Returns A of doctor 1, B of doctor 2; of the 27th, who has no letter, the number."""
    return chr(ord("A") + number - 1) if 1 <= number <= 26 else str(number)
