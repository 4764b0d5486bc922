"""What is noted of a visit while it goes on, for everybody who sees the patient after."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from polyclinic.cases.patient_record import NotedConsultation, NotedLine, NotedTriage, NotedVisit, PatientRecord
from polyclinic.cases.record import Finding
from polyclinic.cases.report import Report
from polyclinic.events import Examined, Role, Said, Trace
from polyclinic.hospital.record.episodes import AtDoor
from polyclinic.knowledge.entries import Drug
from polyclinic.language.language import MARKS, Language
from polyclinic.players.onward import NextStep


def noted_triage(record: PatientRecord, acuity: str, at_door: AtDoor) -> PatientRecord:
    """Returns the record with what the nurse noted."""
    said = [line for asked, told in at_door.told for line in (NotedLine("nurse", asked), NotedLine("patient", told))]
    triage = NotedTriage(
        acuity=acuity,
        reason=at_door.reason,
        said=tuple(said),
        findings=tuple(one.finding for one in at_door.vital_signs),
    )
    return msgspec.structs.replace(record, today=msgspec.structs.replace(record.today, triage=triage))


def noted_consultation(
    trace: Trace, report: Report, step: NextStep, *, department: str, doctor: str, departments: Mapping[str, str]
) -> NotedConsultation:
    """Returns what is noted of a consultation.

    Args:
        trace: what was said and found in it.
        report: the doctor's.
        step: what came next.
        department: its name, as the patient's language has it.
        doctor: the doctor's name; "" where it has none.
        departments: the hospital's, id to name.
    """
    findings: dict[Finding, None] = {}
    said: list[NotedLine] = []
    for event in trace:
        if isinstance(event, Examined):
            findings.update(dict.fromkeys(event.findings))
        elif isinstance(event, Said) and event.to is not Role.EXAMINER:
            said.append(NotedLine("doctor" if event.who is Role.DOCTOR else "patient", event.text))
    return NotedConsultation(
        department=department,
        doctor=doctor,
        said=tuple(said),
        findings=tuple(findings),
        symptoms=report.symptoms,
        diagnoses=report.diagnoses,
        rationale=report.rationale,
        step=step.step,
        refer_to=departments.get(step.department, step.department),
        reason=step.reason,
    )


def noted_treatment(
    record: PatientRecord,
    treatment: tuple[str, ...],
    given: tuple[str, ...],
    withheld: Mapping[str, str],
    *,
    drugs: Mapping[str, Drug],
    language: Language,
) -> PatientRecord:
    """Returns the record with what was done for the patient, and what the pharmacist handed out and withheld.

    `given` are drugs by id, and `withheld` the reasons by a drug's id.
    """

    def name(drug: str) -> str:
        return drugs[drug].name.get(language) if drug in drugs else drug

    today: NotedVisit = msgspec.structs.replace(
        record.today,
        treatment=treatment,
        handed_out=tuple(map(name, given)),
        withheld=tuple(f"{name(drug)}{MARKS[language].colon}{reason}" for drug, reason in withheld.items()),
    )
    return msgspec.structs.replace(record, today=today)
