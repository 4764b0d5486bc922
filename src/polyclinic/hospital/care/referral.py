"""Where a patient is sent on to, as a doctor's report and the knowledge have it; what is so plays no part.

1. A likeliest diagnosis that another department sees is a referral to that department.
2. Without a diagnosis the patient goes on to the department that is the likeliest of those that have not seen the
   patient, in the light of the complaint, the symptoms that the report names and the results that the doctor heard.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding
from polyclinic.cases.report import Report
from polyclinic.knowledge.bayes import Reader, normalise
from polyclinic.knowledge.disease_names.known import disease_meant
from polyclinic.players.rules.nurse import at_the_door, by_department, symptoms_told


def refer(
    report: Report,
    presentation: Presentation,
    findings: Iterable[Finding],
    *,
    department: str,
    departments: Iterable[str],
    seen_by: Collection[str],
    reader: Reader,
) -> str:
    """Returns the department that a patient is sent on to; "" where it stays. Nobody is sent back.

    Args:
        report: the doctor's.
        presentation: what was known at the door.
        findings: the results that the doctor heard.
        department: the doctor's.
        departments: the hospital's.
        seen_by: those that have seen the patient.
        reader: the whole knowledge.
    """
    others = [d for d in departments if d not in seen_by]
    if not others:
        return ""
    if report.diagnoses:
        disease = disease_meant(report.diagnoses[0].name, reader.knowledge)
        sees = department if disease is None else disease.department
        return sees if sees in others else ""
    told = dict.fromkeys(symptoms_told(reader, presentation))
    for text in report.symptoms:
        read = reader.lexicons[presentation.language].read(text)
        told.update(dict.fromkeys(symptom for symptom, present in read.items() if present))
    log = at_the_door(reader, presentation, told)
    for finding in findings:
        known = reader.finding(finding)
        if known is not None:
            log = log + known[2]
    shares = by_department(reader, normalise(log))
    return max(others, key=lambda d: shares.get(d, 0.0))
