"""What a doctor has answered in a visit, as the three tasks from which it may learn (agent-hospital §4.1).

The answers are those of whoever plays, taken from what was said and ordered; nothing here is the truth.
"""

from __future__ import annotations

from collections.abc import Iterable

from polyclinic.cases.report import Report
from polyclinic.cases.truth import Severity
from polyclinic.events import Event, Examined
from polyclinic.hospital.record.episodes import AnsweredTask
from polyclinic.knowledge.disease_names.known import disease_meant
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import MARKS
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
    named = report.diagnoses[0].name if report.diagnoses else ""
    disease = disease_meant(named, knowledge) if named else None
    diagnosis = named if disease is None else disease.name.get(language)
    reasoning = MARKS[language].blank.join(report.rationale)

    def answer(
        task: ClinicalTask, options: Iterable[str], chosen: str, *, until: int | None = None, after: str = ""
    ) -> AnsweredTask:
        picture = doctor.picture(task, diagnosis=after, until=until)
        return AnsweredTask(task=task, picture=picture, options=tuple(options), answer=chosen, reasoning=reasoning)

    ordered = next((n for n, event in enumerate(events) if _ordered(event, doctor)), None)
    answered = []
    if ordered is not None:
        first = _ordered(events[ordered], doctor)[0]
        answered.append(answer(ClinicalTask.EXAMINATION, examinations_named(knowledge, language), first, until=ordered))
    diseases = (one.name.get(language) for one in knowledge.diseases.values())
    answered.append(answer(ClinicalTask.DIAGNOSIS, diseases, diagnosis))
    if disease is not None and plan is not None:
        grades = GRADES[language]
        answered.append(answer(ClinicalTask.TREATMENT, grades.values(), grades[plan], after=diagnosis))
    return tuple(answered)


def _ordered(event: Event, doctor: Doctor) -> list[str]:
    """Returns the examinations that were done, those left out that everybody may have."""
    if not isinstance(event, Examined):
        return []
    return [name for name in dict.fromkeys(f.examination for f in event.findings) if name not in doctor.free]
