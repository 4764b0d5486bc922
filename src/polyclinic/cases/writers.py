"""Cases in layouts of others, for programs of others; and what a layout has no place for.

In AgentClinic's layout a case is nested OSCE examinations. In FHIR R4 it is a bundle: what the patient tells is a
QuestionnaireResponse with an item for each part of the record, findings are Observations, those of one examination
gathered in a DiagnosticReport, diagnoses are Conditions of the visit, and the treatment is a CarePlan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.loaders import LAYOUTS
from polyclinic.cases.loaders.agentclinic import history_keys
from polyclinic.cases.loaders.fhir import CASE_ID, ICD10, SEVERITIES, SNOMED, SYSTEMS, TOLD
from polyclinic.cases.loaders.fields import age_in_years
from polyclinic.cases.record import Finding
from polyclinic.errors import BadInput, MissingExtra, in_short

_PHYSICAL = frozenset({"physical examination", "体格检查"})
_BEDSIDE = _PHYSICAL | {"vital signs", "生命体征"}


def agentclinic_record(case: Case) -> dict[str, Any]:
    """Returns a record of a case; of several diagnoses the principal one, which is all that there is room for."""
    presentation, history = case.presentation, case.record.history
    told = age_in_years(presentation.about) is not None
    who = [] if told else [_who(case)]
    patient: dict[str, Any] = {"Demographics": ", ".join(filter(None, [*who, presentation.about]))}
    # Theirs is a text in every case; what a source has as a vignette alone is the history.
    patient["History"] = history.present or (case.record.vignette if not history.sections() else "")
    patient["Symptoms"] = {"Primary_Symptom": presentation.complaint, "Secondary_Symptoms": list(history.symptoms)}
    sections = {section: key for key, section in reversed(history_keys().items()) if section != "present"}
    patient |= {key: text for section, key in reversed(sections.items()) if (text := getattr(history, section))}
    if history.other:
        patient["Other"] = history.other
    findings = case.record.findings
    return {
        "OSCE_Examination": {
            "Objective_for_Doctor": f"Assess and diagnose the patient presenting with: {presentation.complaint}",
            "Patient_Actor": patient,
            "Physical_Examination_Findings": _tree(one for one in findings if one.examination in _BEDSIDE),
            "Test_Results": _tree(one for one in findings if one.examination not in _BEDSIDE),
            "Correct_Diagnosis": case.truth.diagnoses[0].name if case.truth.diagnoses else "",
        }
    }


def _who(case: Case) -> str:
    age, sex = case.presentation.age, case.presentation.sex
    if case.presentation.language == "zh":
        return " ".join(part for part in ("" if age is None else f"{age:g}岁", _CHINESE.get(sex or "", "")) if part)
    return " ".join(part for part in ("" if age is None else f"{age:g}-year-old", sex or "") if part)


_CHINESE = {"female": "女", "male": "男"}


def _tree(findings: Iterable[Finding]) -> dict[str, Any]:
    """Returns findings as examination to item to result; a second one of the same name gets a number."""
    tree: dict[str, Any] = {}
    for one in findings:
        physical = one.examination in _PHYSICAL and one.item
        items = tree if physical else tree.setdefault(one.examination, {})
        name = one.item or "Findings"
        if name in items:
            name = next(f"{name} ({n})" for n in range(2, len(items) + 3) if f"{name} ({n})" not in items)
        reference, day = one.reference and f"(reference {one.reference})", one.date and f"({one.date})"
        items[name] = " ".join(part for part in (one.value_text, one.unit, reference, day) if part)
    return tree


_UCUM = "http://unitsofmeasure.org"
_ACT, _CONDITION = "http://terminology.hl7.org/CodeSystem/v3-ActCode", "http://terminology.hl7.org/CodeSystem/condition"
_UNMEASURED = "http://terminology.hl7.org/CodeSystem/data-absent-reason"

Resource = dict[str, Any]


def fhir_bundle(case: Case) -> Resource:
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
    """Refuses what is no valid bundle of FHIR R4 (R4B, which changes nothing in these resources)."""
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


WRITERS: dict[str, Callable[[Case], dict[str, Any]]] = {
    "polyclinic": msgspec.to_builtins,
    "agentclinic": agentclinic_record,
    "fhir": fhir_bundle,
}
"""Layouts that cases can be written in, each with what makes a record of a case."""


def losses(cases: Iterable[Case], layout: str) -> dict[str, int]:
    """Returns which parts of the cases are not the same after being written in a layout and read again.

    The values are how many of the cases that holds for, the keys places in a case such as `truth.severity`.
    """
    lost: Counter[str] = Counter()
    for order, case in enumerate(cases, start=1):
        after = _parts(LAYOUTS[layout](WRITERS[layout](case), order))
        lost.update(place for place, part in _parts(case).items() if after.get(place) != part)
    return dict(lost)


def _parts(case: Case) -> dict[str, Any]:
    """Returns what stands in a case, by its place; nothing of what stands there empty."""
    whole: dict[str, Any] = msgspec.to_builtins(case)
    parts: dict[str, Any] = {}
    for name, value in whole.items():
        parts |= (
            {f"{name}.{key}": part for key, part in value.items()} if name in {"record", "truth"} else {name: value}
        )
    for name in ("record.presentation", "record.history"):
        parts |= {f"{name}.{key}": part for key, part in (parts.pop(name, None) or {}).items()}
    return {place: part for place, part in parts.items() if part not in (None, "", [], {}, ())}
