"""Cases as FHIR R4 bundles, a patient each.

What the patient tells is a QuestionnaireResponse with an item a part of the record; findings are Observations, those of
one examination gathered in a DiagnosticReport; diagnoses are Conditions of the visit, and the treatment a CarePlan.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from polyclinic.cases.case import Case
from polyclinic.cases.loaders.fhir import CASE_ID, ICD10, SEVERITIES, SNOMED, SYSTEMS, TOLD
from polyclinic.cases.record import Finding
from polyclinic.errors import BadInput, MissingExtra, in_short

_UCUM = "http://unitsofmeasure.org"
_ACT, _CONDITION = "http://terminology.hl7.org/CodeSystem/v3-ActCode", "http://terminology.hl7.org/CodeSystem/condition"
_UNMEASURED = "http://terminology.hl7.org/CodeSystem/data-absent-reason"

Resource = dict[str, Any]


def written(case: Case) -> Resource:
    """Returns a case as a bundle; the same case gives the same bundle."""
    entries: list[Resource] = []

    def add(resource: Resource) -> Resource:
        identifier = str(uuid5(NAMESPACE_URL, f"{CASE_ID}/{case.id}/{len(entries)}"))
        entries.append({"fullUrl": f"urn:uuid:{identifier}", "resource": {**resource, "id": identifier}})
        return {"reference": f"urn:uuid:{identifier}"}

    patient = add(_patient(case))
    about = {"subject": patient}
    visit = add({"resourceType": "Encounter", "status": "finished", "class": {"system": _ACT, "code": "AMB"}} | about)
    about["encounter"] = visit
    add(_told(case) | about)
    conditions = [add(one | about) for one in _conditions(case)]
    if case.truth.treatment:
        activity = [
            {"detail": {"status": "not-started", "description": text}} for text in case.truth.treatment if text.strip()
        ]
        plan = {"resourceType": "CarePlan", "status": "active", "intent": "plan", "activity": activity}
        add(plan | about | ({"addresses": conditions} if conditions else {}))
    for picture in case.attachments:
        content = {"url": picture.url} | ({"title": picture.title} if picture.title else {})
        add({"resourceType": "Media", "status": "completed", "content": content} | about)
    reports: dict[tuple[str, str], list[Resource]] = {}
    for finding in case.record.findings:
        reference = add(_observation(finding) | about)
        if finding.item:
            reports.setdefault((finding.examination, finding.date), []).append(reference)
    for (examination, day), results in reports.items():
        report: Resource = {"resourceType": "DiagnosticReport", "status": "final", "code": {"text": examination}}
        add(report | about | _on(day) | {"result": results})
    return {"resourceType": "Bundle", "type": "collection", "entry": entries}


def check_valid(bundle: Resource) -> None:
    """Refuses what is no valid bundle of FHIR R4 (R4B, which changes nothing in these resources).

    Raises:
        BadInput: says which resource is not, and why.
        MissingExtra: what checks it is not installed.
    """
    try:
        from fhir.resources.R4B import get_fhir_model_class  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("what checks FHIR is not installed: pip install 'polyclinic[fhir]'") from None
    try:
        get_fhir_model_class("Bundle").model_validate(bundle)
    except ValueError as error:
        raise BadInput(f"no valid bundle of FHIR R4: {in_short(error)}") from None


def _patient(case: Case) -> Resource:
    presentation = case.presentation
    spoken = {"language": {"coding": [{"system": "urn:ietf:bcp:47", "code": presentation.language}]}}
    return {
        "resourceType": "Patient",
        "identifier": [{"system": CASE_ID, "value": case.id}],
        "gender": presentation.sex or "unknown",
        "communication": [spoken],
    }


def _told(case: Case) -> Resource:
    presentation, history = case.presentation, case.record.history
    parts: dict[str, tuple[str, ...]] = {"complaint": (presentation.complaint,), "about": (presentation.about,)}
    parts |= {
        name: history.symptoms if name == "symptoms" else (getattr(history, name),)
        for name in history.__struct_fields__
    }
    parts["vignette"] = (case.record.vignette,)
    parts["companion"] = ("yes",) if presentation.companion else ()
    parts["setting"] = (case.setting,) if case.setting != "ward" else ()
    parts["source"], parts["department"] = (case.source,), (case.department,)
    parts["statement"] = (case.persona.statement,) if case.persona is not None else ()
    items = [
        {"linkId": name, "text": name, "answer": answers}
        for name, texts in parts.items()
        if (answers := [{"valueString": text} for text in texts if text.strip()])
    ]
    return {"resourceType": "QuestionnaireResponse", "questionnaire": TOLD, "status": "completed", "item": items}


def _conditions(case: Case) -> Iterator[Resource]:
    """Yields the diagnoses, the principal one first, which has the age, the severity and the reasons too."""
    truth = case.truth
    for order, diagnosis in enumerate(truth.diagnoses):
        code: Resource = {"text": diagnosis.name}
        if diagnosis.icd10:
            code["coding"] = [{"system": ICD10, "code": diagnosis.icd10}]
        status = {"coding": [{"system": f"{_CONDITION}-clinical", "code": "active"}]}
        condition: Resource = {"resourceType": "Condition", "clinicalStatus": status, "code": code}
        if order == 0:
            if (age := case.presentation.age) is not None:
                condition["onsetAge"] = {"value": age, "unit": "years", "system": _UCUM, "code": "a"}
            if truth.severity:
                condition["severity"] = {"coding": [{"system": SNOMED, "code": SEVERITIES[truth.severity]}]}
            if notes := [{"text": text} for text in truth.rationale if text.strip()]:
                condition["note"] = notes
        yield condition


def _observation(finding: Finding) -> Resource:
    name = finding.item or finding.examination
    code: Resource = {"text": name}
    if finding.code is not None:
        code["coding"] = [{"system": SYSTEMS[finding.code.system], "code": finding.code.code, "display": name}]
    observation: Resource = {"resourceType": "Observation", "status": "final", "code": code} | _on(finding.date)
    if isinstance(finding.value, str):
        text = f"{finding.value} {finding.printed_unit}".strip()
        absent = {"dataAbsentReason": {"coding": [{"system": _UNMEASURED, "code": "unknown"}], "text": "not stated"}}
        observation |= {"valueString": text} if text else absent
    else:
        unit = {"unit": finding.printed_unit or finding.unit, "system": _UCUM, "code": finding.unit}
        observation["valueQuantity"] = {"value": finding.value} | (unit if finding.unit else {})
    if finding.reference:
        observation["referenceRange"] = [{"text": finding.reference}]
    return observation


def _on(day: str) -> Resource:
    return {"effectiveDateTime": day} if day else {}
