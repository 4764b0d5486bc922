"""What a doctor has answered in a visit, as the three tasks from which it may learn (agent-hospital §4.1).

The answers are those of whoever plays, taken from what was said and ordered; nothing here is the truth.
"""

from __future__ import annotations

from polyclinic.cases.record import read_out
from polyclinic.cases.report import Report
from polyclinic.cases.truth import Severity
from polyclinic.events import Event, Examined, Role, Said
from polyclinic.hospital.record.episodes import AnsweredTask
from polyclinic.knowledge.disease_names.known import disease_meant
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.memory.choices import GRADES, examinations_named
from polyclinic.memory.entries import ClinicalTask
from polyclinic.players.roles.doctor import Doctor


def answered_tasks(
    doctor: Doctor, report: Report, plan: Severity | None, knowledge: Knowledge
) -> tuple[AnsweredTask, ...]:
    """Returns the examination that a doctor ordered first, its diagnosis and its plan, with what it knew for each.

    Args:
        doctor: of the last consultation of the visit.
        report: its report.
        plan: the severity whose plan it chose; None for none.
        knowledge: the hospital's.
    """
    language, events = doctor.presentation.language, doctor.seen
    reasoning = "\n".join(report.rationale)
    named = report.diagnoses[0].name if report.diagnoses else ""
    disease = disease_meant(named, knowledge) if named else None
    diagnosis = named if disease is None else disease.name.get(language)
    orders = tuple(examinations_named(knowledge, language))
    ordered = next((n for n, event in enumerate(events) if _ordered(event, doctor)), None)
    answered = []
    if ordered is not None:
        first = _ordered(events[ordered], doctor)[0]
        answered.append(_task(ClinicalTask.EXAMINATION, doctor, orders, first, reasoning, until=ordered))
    diseases = tuple(one.name.get(language) for one in knowledge.diseases.values())
    answered.append(_task(ClinicalTask.DIAGNOSIS, doctor, diseases, diagnosis, reasoning))
    if disease is not None and plan is not None:
        grades = GRADES[language]
        options = tuple(grades.values())
        answered.append(_task(ClinicalTask.TREATMENT, doctor, options, grades[plan], reasoning, diagnosis=diagnosis))
    return tuple(answered)


def _task(
    task: ClinicalTask,
    doctor: Doctor,
    options: tuple[str, ...],
    answer: str,
    reasoning: str,
    *,
    diagnosis: str = "",
    until: int | None = None,
) -> AnsweredTask:
    told = (event.text for event in doctor.seen[:until] if isinstance(event, Said) and event.who is Role.PATIENT)
    found = [f for event in doctor.seen[:until] if isinstance(event, Examined) for f in event.findings]
    return AnsweredTask(
        task=task,
        picture=doctor.picture(task, diagnosis=diagnosis, until=until),
        known="\n".join((*told, *read_out(found, doctor.presentation.language))),
        options=options,
        answer=answer,
        reasoning=reasoning,
    )


def _ordered(event: Event, doctor: Doctor) -> list[str]:
    """Returns the examinations that were done, those left out that everybody may have."""
    if not isinstance(event, Examined):
        return []
    return [name for name in dict.fromkeys(f.examination for f in event.findings) if name not in doctor.free]
