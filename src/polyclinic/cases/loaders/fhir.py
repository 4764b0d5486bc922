"""FHIR R4 bundles of one patient each, such as Synthea's, and our own.

A bundle tells of a life; the case is its last visit at which a disease was diagnosed. Its conditions are the truth, and
what was planned for them is the treatment. Older illnesses, procedures and vaccinations are the past. Every observation
of the bundle becomes a finding with its day, those of other days too. What was entered in error, refuted or called off
is none of it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec

from polyclinic.cases.case import Attachment, Case
from polyclinic.cases.loaders.fields import as_text
from polyclinic.cases.loaders.layout import Layout
from polyclinic.cases.persona import Persona
from polyclinic.cases.presentation import Presentation, Setting, Sex
from polyclinic.cases.record import Code, Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.terms import diagnosis_terms
from polyclinic.cases.truth import Severity, Truth
from polyclinic.errors import BadInput
from polyclinic.language.folding import stands_in
from polyclinic.language.language import Language, language_of
from polyclinic.yaml_files import read_yaml

NOT_KNOWN = "Not known"

_ABSENT = "data-absent-reason"


class _Codes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    unknown: frozenset[str]
    none: frozenset[str]
    parts: dict[str, str]


@functools.cache
def _known_codes() -> _Codes:
    return read_yaml(Path(__file__).with_suffix(".yaml"), _Codes)


def _all(value: Any, path: str) -> list[Any]:
    """Returns all that a resource, or each of several, has at a path such as `code.coding.code`."""
    found = value if isinstance(value, list) else [value]
    for name in path.split("."):
        fields = [one.get(name) for one in found if isinstance(one, dict)]
        found = [part for held in fields for part in (held if isinstance(held, list) else [held]) if part is not None]
    return found


def _text(value: Any, path: str) -> str:
    """Returns the first that is at a path as text."""
    return next(map(as_text, _all(value, path)), "")


def _codes(concept: Any) -> set[str]:
    return {str(code) for code in _all(concept, "coding.code")}


def _is_absent(concept: Any) -> bool:
    """Whether a CodeableConcept says that nothing is known of its kind, or that there is nothing of it."""
    return _is_unknown(concept) or not _codes(concept).isdisjoint(_known_codes().none)


def _is_unknown(concept: Any) -> bool:
    """Whether a CodeableConcept, or what replaces it, says that nothing is known, for whatever reason."""
    said = _all(concept, "extension.url") + _all(concept, "coding.system")
    return not _codes(concept).isdisjoint(_known_codes().unknown) or any(str(one).endswith(_ABSENT) for one in said)


def _stated(concept: Any) -> str:
    """Returns what a concept is in a history: "Not known" of what is not, "" of a none without words."""
    if _is_unknown(concept):
        return NOT_KNOWN
    name = _name(concept)
    return "" if _is_absent(concept) and name in _codes(concept) else name


def _name(concept: Any) -> str:
    """Returns the text of a CodeableConcept, or the name of its first coding."""
    coding = _all(concept, "coding")[:1]
    return _text(concept, "text") or _text(coding, "display") or _text(coding, "code")


def _code_in(concept: Any, system: str) -> str:
    codings = _all(concept, "coding")
    return next((_text(one, "code") for one in codings if system in _text(one, "system").lower()), "")


CASE_ID = "urn:polyclinic:case"
"""The system of a case's id among the patient's identifiers."""
TOLD = "urn:polyclinic:history"
"""The questionnaire whose response holds what the patient tells, an item a part of the record."""

LOINC, SNOMED, ICD10 = "http://loinc.org", "http://snomed.info/sct", "http://hl7.org/fhir/sid/icd-10"
SYSTEMS = {"loinc": LOINC, "icd10": ICD10, "snomed": SNOMED, "atc": "http://www.whocc.no/atc"}
"""The systems of our codes, as FHIR names them."""
SEVERITIES: dict[Severity, str] = {"mild": "255604002", "moderate": "6736007", "severe": "24484000"}
"""SNOMED codes of how severe a disease is."""

_CATEGORIES = {"vital-signs": "vital signs", "exam": "physical examination"}
_SEXES: dict[str, Sex] = {"female": "female", "male": "male"}
_NO_COMPLAINT = "Came to be seen; the record does not say why"
_DISEASES = ("(disorder)", "(disease)")
_TAG = re.compile(r"\s*\((?:disorder|disease|finding|situation|morphologic abnormality|procedure|situation)\)$")
_VOID = frozenset(("entered-in-error", "refuted", "cancelled", "not-done"))
_TIMES = (
    *("onsetDateTime", "effectiveDateTime", "performedDateTime", "occurrenceDateTime", "authoredOn"),
    *("performedPeriod.start", "onsetPeriod.start", "effectivePeriod.start", "period.start", "started", "recordedDate"),
)
_LARGEST = 1e300  # no result is; what is larger is no float
_INFANT = 3  # years below which the age is told with its months

Resource = dict[str, Any]


class _Bundle:
    """The resources of a bundle by type, and by the references to them."""

    def __init__(self, record: Resource) -> None:
        if record.get("resourceType") != "Bundle":
            came = as_text(record.get("resourceType")) or "none"
            raise BadInput(f"a case is a Bundle of one patient's resources; this is {came}", field="$.resourceType")
        self._by_type: dict[str, list[Resource]] = {}
        self._by_reference: dict[str, Resource] = {}
        for entry in _all(record, "entry"):
            resource = next(iter(_all(entry, "resource")), None)
            # Some say of themselves that they are not so, or were not done.
            verified = map(as_text, _all(resource, "verificationStatus.coding.code"))
            if not isinstance(resource, dict) or not _VOID.isdisjoint({_text(resource, "status"), *verified}):
                continue
            kind, identifier = _text(resource, "resourceType"), _text(resource, "id")
            self._by_type.setdefault(kind, []).append(resource)
            for name in (_text(entry, "fullUrl"), f"{kind}/{identifier}", f"urn:uuid:{identifier}"):
                self._by_reference.setdefault(name, resource)

    def all(self, kind: str) -> list[Resource]:
        return self._by_type.get(kind, [])

    def referred(self, value: Any) -> Resource:
        return self._by_reference.get(_text(value, "reference"), {})


def load(record: Resource, order: int) -> Case:
    """Reads a bundle; the id is the patient's."""
    bundle = _Bundle(record)
    patients = bundle.all("Patient")
    if len(patients) != 1:
        raise BadInput(f"a case is a Bundle of one Patient; there are {len(patients)}", field="$.entry")
    patient = patients[0]
    diagnosed = _diagnosed(bundle)
    if not diagnosed:
        raise BadInput("a case needs its diagnoses; there is no Condition", field="$.entry")
    told = _told(bundle)
    visit = bundle.referred(diagnosed[0].get("encounter"))
    day = _day(diagnosed[0]) or _day(visit)
    truth = _truth(bundle, diagnosed, visit)
    history = _history(bundle, diagnosed, visit)
    if told:
        parts = {part: _first(told, part) for part in History.__struct_fields__}
        history = msgspec.convert({**parts, "symptoms": told.get("symptoms", [])}, History)
    complaint = _first(told, "complaint") or _complaint(visit, truth)
    spoken = _text(patient, "communication.language.coding.code")[:2]
    language: Language = "zh" if spoken == "zh" else language_of([complaint, history.present])
    presentation = Presentation(
        complaint=complaint,
        language=language,
        age=_age(patient, diagnosed[0], day),
        sex=_SEXES.get(_text(patient, "gender")),
        about=_first(told, "about"),
        companion=bool(told.get("companion")),
    )
    setting: Setting = "online" if _first(told, "setting") == "online" else "ward"
    said = _first(told, "statement")
    ours = (_text(one, "value") for one in _all(patient, "identifier") if _text(one, "system") == CASE_ID)
    return Case(
        id=next(ours, _text(patient, "id")) or str(order),
        record=Record(
            presentation=presentation,
            history=history,
            findings=tuple(_findings(bundle)),
            vignette=_first(told, "vignette"),
        ),
        truth=truth,
        setting=setting,
        source=_first(told, "source") or "FHIR R4",
        department=_first(told, "department"),
        persona=Persona(statement=said) if said else None,
        attachments=tuple(
            Attachment(url=url, title=_text(one, "content.title"))
            for one in bundle.all("Media")
            if (url := _text(one, "content.url"))
        ),
    )


def _diagnosed(bundle: _Bundle) -> list[Resource]:
    """Returns the conditions of the last visit that has one: of diseases, where any of the patient's is called one."""
    held = [one for one in bundle.all("Condition") if _name(one.get("code")) and not _is_absent(one["code"])]
    diseases = [one for one in held if _name(one.get("code")).endswith(_DISEASES)] or held
    if not diseases:
        return []
    last = max(diseases, key=_moment)
    if not last.get("encounter"):
        return [one for one in diseases if not one.get("encounter") and _moment(one) == _moment(last)]
    return [one for one in diseases if one.get("encounter") == last["encounter"]]


def _truth(bundle: _Bundle, diagnosed: list[Resource], visit: Resource) -> Truth:
    conditions = {id(one) for one in diagnosed}
    plans = []
    for plan in bundle.all("CarePlan"):
        if conditions.intersection(id(bundle.referred(one)) for one in _all(plan, "addresses")):
            details = _all(plan, "activity.detail")
            plans += [_text(detail, "description") or _name(_all(detail, "code")) for detail in details]
    for one in bundle.all("MedicationRequest"):
        if visit and bundle.referred(one.get("encounter")) is visit:
            plans.append(_name(one.get("medicationCodeableConcept")))
    of_severity = {code: severity for severity, code in SEVERITIES.items()}
    return Truth(
        diagnoses=tuple(
            Diagnosis(_bare(_name(one["code"])), icd10=_code_in(one["code"], "icd-10") or None) for one in diagnosed
        ),
        rationale=tuple(filter(None, map(as_text, _all(diagnosed, "note.text")))),
        treatment=tuple(dict.fromkeys(plan for plan in plans if plan)),
        severity=of_severity.get(_code_in(diagnosed[0].get("severity"), "snomed")),
    )


def _complaint(visit: Resource, truth: Truth) -> str:
    """Returns what the visit was for, unless that names the diagnosis, as reasons in records of practices do."""
    terms = diagnosis_terms(truth.diagnoses)
    reasons = map(_name, _all(visit, "reasonCode") + _all(visit, "type"))
    told = (one for one in reasons if one and not one.endswith(_DISEASES) and not stands_in(one, terms))
    return next(map(_bare, told), _NO_COMPLAINT)


def _bare(name: str) -> str:
    """Returns a name of SNOMED without what kind of thing it names, "(disorder)"."""
    return _TAG.sub("", name)


def _told(bundle: _Bundle) -> dict[str, list[str]]:
    """Returns what the patient tells, where the bundle is one of ours."""
    for response in bundle.all("QuestionnaireResponse"):
        if response.get("questionnaire") == TOLD:
            # A text is taken as it is, blanks at its ends included.
            return {
                _text(item, "linkId"): [
                    text if isinstance(text, str) else as_text(text) for text in _all(item, "answer.valueString")
                ]
                for item in _all(response, "item")
            }
    return {}


def _first(told: dict[str, list[str]], part: str) -> str:
    return next(iter(told.get(part, ())), "")


def _history(bundle: _Bundle, diagnosed: list[Resource], visit: Resource) -> History:
    now = {id(one) for one in diagnosed}
    past = [(one, _stated(one.get("code"))) for one in bundle.all("Condition") if id(one) not in now]
    past += [(one, _stated(one.get("code"))) for one in bundle.all("Procedure")]
    for study in bundle.all("ImagingStudy"):
        parts = [_text(one, f"{name}.display") for one in _all(study, "series") for name in ("modality", "bodySite")]
        past.append((study, f"imaging: {', '.join(dict.fromkeys(filter(None, parts))) or 'study'}"))
    # What the visit ended with is its treatment, and told to nobody before.
    drugs = [
        (one, _stated(one.get("medicationCodeableConcept")))
        for one in (*bundle.all("MedicationStatement"), *bundle.all("MedicationRequest"))
        if not visit or (bundle.referred(one.get("encounter")) is not visit and not _day(one) > (_day(visit) or "~"))
    ]
    shots = [(one, f"vaccination: {_name(one.get('vaccineCode'))}") for one in bundle.all("Immunization")]
    allergies = [(one, _stated(one.get("code"))) for one in bundle.all("AllergyIntolerance")]
    family = "; ".join(map(_of_relative, bundle.all("FamilyMemberHistory")))
    told = {"past": _dated(past), "medications": _dated(drugs), "allergies": _dated(allergies), "family": family}
    # Empty lists, and empty sections of documents, say what is not known.
    listed, sections = [*bundle.all("List"), *bundle.all("Composition")], _known_codes().parts
    for one in (*listed, *_all(listed, "section")):
        if _is_unknown(_all(one, "emptyReason")):
            for part in {sections[code] for code in _codes(_all(one, "code")) & sections.keys()}:
                told[part] = told[part] or NOT_KNOWN
    return msgspec.convert({**told, "other": _dated(shots)}, History)


def _of_relative(one: Resource) -> str:
    told = ", ".join(filter(None, map(_stated, _all(one, "condition.code"))))
    if not told and _is_unknown(one.get("dataAbsentReason")):
        told = NOT_KNOWN
    return f"{_name(one.get('relationship'))}: {told}"


def _dated(named: Iterable[tuple[Resource, str]]) -> str:
    """Returns each thing once with its days, in the order of the first."""
    days: dict[str, list[str]] = {}
    for resource, name in sorted(named, key=lambda one: _moment(one[0])):
        if name:
            days.setdefault(_bare(name), []).append(_day(resource))
    told = ((name, ", ".join(dict.fromkeys(filter(None, on)))) for name, on in days.items())
    return "; ".join(f"{name} ({on})" if on else name for name, on in told)


def _findings(bundle: _Bundle) -> Iterator[Finding]:
    of_report = {
        id(bundle.referred(result)): _name(report.get("code"))
        for report in bundle.all("DiagnosticReport")
        for result in _all(report, "result")
    }
    for one in bundle.all("Observation"):
        name = _name(one.get("code"))
        examination = of_report.get(id(one)) or _category(one)
        parts = [part for part in _all(one, "component") if isinstance(part, dict)]
        if any(key.startswith("value") for key in one) or not parts:
            yield _finding(one, examination or name, name if examination else "", _day(one))
        for part in parts:
            yield _finding(part, examination or name, _name(part.get("code")), _day(one))
    for report in bundle.all("DiagnosticReport"):
        if text := _text(report, "conclusion"):
            yield Finding(examination=_name(report.get("code")) or "report", value=text, date=_day(report))


def _finding(measured: Resource, examination: str, item: str, day: str) -> Finding:
    value, unit = _value(measured)
    code, stated = _code_in(measured.get("code"), "loinc"), _all(measured, "referenceRange")[:1]
    low, high = _text(stated, "low.value"), _text(stated, "high.value")
    between = f"{low}-{high}" if low and high else f">= {low}" if low else f"<= {high}" if high else ""
    return Finding(
        examination=examination,
        item=item,
        value=value,
        unit=unit,
        reference=_text(stated, "text") or between,
        code=Code("loinc", code) if code else None,
        date=day,
    )


def _value(measured: Resource) -> tuple[str | float, str]:
    if isinstance(quantity := measured.get("valueQuantity"), dict):
        unit = _text(quantity, "code") or _text(quantity, "unit")
        number, sign = quantity.get("value"), _text(quantity, "comparator")
        if isinstance(number, int | float) and not isinstance(number, bool) and abs(number) < _LARGEST:
            return (f"{sign} {number}", unit) if sign else (float(number), unit)
    if concept := _name(measured.get("valueCodeableConcept")):
        return concept, ""
    for key, value in measured.items():
        if key.startswith("value") and as_text(value):
            return (value if isinstance(value, str) else as_text(value)), ""
    return _name(measured.get("dataAbsentReason")) or "not stated", ""


def _category(one: Resource) -> str:
    for category in _all(one, "category"):
        code = _text(category, "coding.code")
        if text := _text(category, "text") or _CATEGORIES.get(code, code.replace("-", " ")):
            return text
    return ""


def _age(patient: Resource, condition: Resource, day: str) -> float | None:
    if (years := next(iter(_all(condition, "onsetAge.value")), None)) is not None:
        return float(years) if isinstance(years, int | float) else None
    try:
        born, then = date.fromisoformat(_text(patient, "birthDate")), date.fromisoformat(day)
    except ValueError:
        return None
    years = then.year - born.year - ((then.month, then.day) < (born.month, born.day))
    return float(years) if years >= _INFANT else round((then - born).days / 365.25, 3)


def _moment(resource: Resource) -> str:
    return next(filter(None, (_text(resource, path) for path in _TIMES)), "")


def _day(resource: Resource) -> str:
    return _moment(resource)[:10]


_UCUM = "http://unitsofmeasure.org"
_ACT, _CONDITION = "http://terminology.hl7.org/CodeSystem/v3-ActCode", "http://terminology.hl7.org/CodeSystem/condition"
_UNMEASURED = "http://terminology.hl7.org/CodeSystem/data-absent-reason"


def fhir_bundle(case: Case) -> Resource:
    """Returns a case as a bundle; the same case gives the same bundle.

    What the patient tells is a QuestionnaireResponse with an item for each part of the record. Findings are
    Observations, those of one examination gathered in a DiagnosticReport; diagnoses are Conditions of the visit, and
    the treatment is a CarePlan.
    """
    entries: list[Resource] = []

    def add(resource: Resource) -> Resource:
        identifier = str(uuid5(NAMESPACE_URL, f"{CASE_ID}/{case.id}/{len(entries)}"))
        entries.append({"fullUrl": f"urn:uuid:{identifier}", "resource": {**resource, "id": identifier}})
        return {"reference": f"urn:uuid:{identifier}"}

    patient = add(_patient(case))
    about = {"subject": patient}
    visit = add({"resourceType": "Encounter", "status": "finished", "class": {"system": _ACT, "code": "AMB"}} | about)
    about["encounter"] = visit
    add(_response(case) | about)
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


def _patient(case: Case) -> Resource:
    presentation = case.presentation
    spoken = {"language": {"coding": [{"system": "urn:ietf:bcp:47", "code": presentation.language}]}}
    return {
        "resourceType": "Patient",
        "identifier": [{"system": CASE_ID, "value": case.id}],
        "gender": presentation.sex or "unknown",
        "communication": [spoken],
    }


def _response(case: Case) -> Resource:
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


LAYOUTS = (Layout("fhir", frozenset({"resourceType"}), load, fhir_bundle),)
