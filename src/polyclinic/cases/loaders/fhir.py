"""FHIR R4 bundles of one patient each, such as Synthea's, and those that `cases.writers` writes.

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

import msgspec

from polyclinic.cases.case import Attachment, Case
from polyclinic.cases.loaders.fields import as_text
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


def _is_absent(concept: Any) -> bool:
    """Whether a CodeableConcept says that nothing is known of its kind, or that there is nothing of it."""
    return _is_unknown(concept) or not _codes(concept).isdisjoint(_known_codes().none)


def _is_unknown(concept: Any) -> bool:
    """Whether a CodeableConcept, or what stands in its place, says that nothing is known."""
    # Whatever the reason for which data are absent, they are.
    absent = [one.get("url") for one in _objects(concept, "extension")]
    absent += [one.get("system") for one in _objects(concept, "coding")]
    return not _codes(concept).isdisjoint(_known_codes().unknown) or any(str(one).endswith(_ABSENT) for one in absent)


def _stated(concept: Any) -> str:
    """Returns what a concept is in a history: "Not known" of what is not, "" of a none without words."""
    if _is_unknown(concept):
        return NOT_KNOWN
    name = _name(concept)
    return "" if _is_absent(concept) and name in _codes(concept) else name


def _codes(concept: Any) -> set[str]:
    return {str(one.get("code", "")) for one in _objects(concept, "coding")}


def _objects(value: Any, name: str) -> list[dict[str, Any]]:
    """Returns the objects of a list in a field of an object."""
    held = value.get(name) if isinstance(value, dict) else None
    return [one for one in held if isinstance(one, dict)] if isinstance(held, list) else []


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
_VOID = ("entered-in-error", "refuted", "cancelled", "not-done")
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
        entries = record.get("entry")
        for entry in entries if isinstance(entries, list) else ():
            resource = entry.get("resource") if isinstance(entry, dict) else None
            if not isinstance(resource, dict) or _is_void(resource):
                continue
            kind, identifier = as_text(resource.get("resourceType")), as_text(resource.get("id"))
            self._by_type.setdefault(kind, []).append(resource)
            for name in (as_text(entry.get("fullUrl")), f"{kind}/{identifier}", f"urn:uuid:{identifier}"):
                self._by_reference.setdefault(name, resource)

    def all(self, kind: str) -> list[Resource]:
        return self._by_type.get(kind, [])

    def referred(self, value: Any) -> Resource:
        return self._by_reference.get(as_text(_in(value, "reference")), {})


def _is_void(resource: Resource) -> bool:
    """Whether a resource says of itself that what it tells is not so, or was not done."""
    verified = _list(_in(resource.get("verificationStatus"), "coding"))
    said = {as_text(resource.get("status")), *(as_text(_in(one, "code")) for one in verified)}
    return not said.isdisjoint(_VOID)


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
    spoken = as_text(_coding(_in(patient.get("communication"), "language")).get("code"))[:2]
    language: Language = "zh" if spoken == "zh" else language_of([complaint, history.present])
    presentation = Presentation(
        complaint=complaint,
        language=language,
        age=_age(patient, diagnosed[0], day),
        sex=_SEXES.get(as_text(patient.get("gender"))),
        about=_first(told, "about"),
        companion=bool(told.get("companion")),
    )
    setting: Setting = "online" if _first(told, "setting") == "online" else "ward"
    said = _first(told, "statement")
    return Case(
        id=_id(patient) or str(order),
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
        attachments=tuple(_pictures(bundle)),
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
        addressed = [id(bundle.referred(one)) for one in _list(plan.get("addresses"))]
        if conditions.intersection(addressed):
            details = [_in(activity, "detail") for activity in _list(plan.get("activity"))]
            plans += [as_text(_in(detail, "description")) or _name(_in(detail, "code")) for detail in details]
    for one in bundle.all("MedicationRequest"):
        if visit and bundle.referred(one.get("encounter")) is visit:
            plans.append(_name(one.get("medicationCodeableConcept")))
    of_severity = {code: severity for severity, code in SEVERITIES.items()}
    notes = [as_text(_in(note, "text")) for one in diagnosed for note in _list(one.get("note"))]
    return Truth(
        diagnoses=tuple(
            Diagnosis(_bare(_name(one["code"])), icd10=_code_in(one["code"], "icd-10") or None) for one in diagnosed
        ),
        rationale=tuple(note for note in notes if note),
        treatment=tuple(dict.fromkeys(plan for plan in plans if plan)),
        severity=of_severity.get(_code_in(diagnosed[0].get("severity"), "snomed")),
    )


def _complaint(visit: Resource, truth: Truth) -> str:
    """Returns what the visit was for, unless that names the diagnosis, as reasons in records of practices do."""
    terms = diagnosis_terms(truth.diagnoses)
    reasons = [_name(one) for name in ("reasonCode", "type") for one in _list(visit.get(name))]
    told = (one for one in reasons if one and not one.endswith(_DISEASES) and not stands_in(one, terms))
    return next(map(_bare, told), _NO_COMPLAINT)


def _bare(name: str) -> str:
    """Returns a name of SNOMED without what kind of thing it names, "(disorder)"."""
    return _TAG.sub("", name)


def _told(bundle: _Bundle) -> dict[str, list[str]]:
    """Returns what the patient tells, where the bundle is one of ours."""
    for response in bundle.all("QuestionnaireResponse"):
        if response.get("questionnaire") == TOLD:
            items = [item for item in _list(response.get("item")) if isinstance(item, dict)]
            return {
                as_text(item.get("linkId")): [_string(_in(one, "valueString")) for one in _list(item.get("answer"))]
                for item in items
            }
    return {}


def _string(value: Any) -> str:
    """Returns a text as it stands there, blanks at its ends included."""
    return value if isinstance(value, str) else as_text(value)


def _first(told: dict[str, list[str]], part: str) -> str:
    return next(iter(told.get(part, ())), "")


def _history(bundle: _Bundle, diagnosed: list[Resource], visit: Resource) -> History:
    now = {id(one) for one in diagnosed}
    past = [(one, _stated(one.get("code"))) for one in bundle.all("Condition") if id(one) not in now]
    past += [(one, _stated(one.get("code"))) for one in bundle.all("Procedure")]
    past += [(one, f"imaging: {_study(one)}") for one in bundle.all("ImagingStudy")]
    # What the visit ended with is its treatment, and told to nobody before.
    drugs = [
        (one, _stated(one.get("medicationCodeableConcept")))
        for one in (*bundle.all("MedicationStatement"), *bundle.all("MedicationRequest"))
        if not visit or (bundle.referred(one.get("encounter")) is not visit and not _is_after(one, visit))
    ]
    shots = [(one, f"vaccination: {_name(one.get('vaccineCode'))}") for one in bundle.all("Immunization")]
    allergies = [(one, _stated(one.get("code"))) for one in bundle.all("AllergyIntolerance")]
    family = "; ".join(map(_of_relative, bundle.all("FamilyMemberHistory")))
    told = {"past": _dated(past), "medications": _dated(drugs), "allergies": _dated(allergies), "family": family}
    # Empty lists, and empty sections of documents, say what is not known.
    listed = [*bundle.all("List"), *bundle.all("Composition")]
    for one in (*listed, *(section for document in listed for section in _objects(document, "section"))):
        if _is_unknown(one.get("emptyReason")):
            for part in {_known_codes().parts[code] for code in _codes(one.get("code")) & _known_codes().parts.keys()}:
                told[part] = told[part] or NOT_KNOWN
    return msgspec.convert({**told, "other": _dated(shots)}, History)


def _of_relative(one: Resource) -> str:
    conditions = [_stated(_in(condition, "code")) for condition in _list(one.get("condition"))]
    told = ", ".join(filter(None, conditions)) or (NOT_KNOWN if _is_unknown(one.get("dataAbsentReason")) else "")
    return f"{_name(one.get('relationship'))}: {told}"


def _is_after(resource: Resource, visit: Resource) -> bool:
    """Whether something was written on a later day than that of a visit."""
    day, of_visit = _day(resource), _day(visit)
    return bool(day and of_visit and day > of_visit)


def _study(study: Resource) -> str:
    series = [one for one in _list(study.get("series")) if isinstance(one, dict)]
    parts = [as_text(_in(one.get(name), "display")) for one in series for name in ("modality", "bodySite")]
    return ", ".join(dict.fromkeys(part for part in parts if part)) or "study"


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
        for result in _list(report.get("result"))
    }
    for one in bundle.all("Observation"):
        name = _name(one.get("code"))
        examination = of_report.get(id(one)) or _category(one)
        parts = [part for part in _list(one.get("component")) if isinstance(part, dict)]
        if any(key.startswith("value") for key in one) or not parts:
            yield _finding(one, examination or name, name if examination else "", _day(one))
        for part in parts:
            yield _finding(part, examination or name, _name(part.get("code")), _day(one))
    for report in bundle.all("DiagnosticReport"):
        if text := as_text(report.get("conclusion")):
            yield Finding(examination=_name(report.get("code")) or "report", value=text, date=_day(report))


def _pictures(bundle: _Bundle) -> Iterator[Attachment]:
    for one in bundle.all("Media"):
        if url := as_text(_in(one.get("content"), "url")):
            yield Attachment(url=url, title=as_text(_in(one.get("content"), "title")))


def _finding(measured: Resource, examination: str, item: str, day: str) -> Finding:
    value, unit = _value(measured)
    code = _code_in(measured.get("code"), "loinc")
    ranges = _list(measured.get("referenceRange"))
    return Finding(
        examination=examination,
        item=item,
        value=value,
        unit=unit,
        reference=_range(ranges[0]) if ranges and isinstance(ranges[0], dict) else "",
        code=Code("loinc", code) if code else None,
        date=day,
    )


def _range(said: Resource) -> str:
    low, high = (as_text(_in(said.get(end), "value")) for end in ("low", "high"))
    between = f"{low}-{high}" if low and high else f">= {low}" if low else f"<= {high}" if high else ""
    return as_text(said.get("text")) or between


def _value(measured: Resource) -> tuple[str | float, str]:
    if isinstance(quantity := measured.get("valueQuantity"), dict):
        unit = as_text(quantity.get("code")) or as_text(quantity.get("unit"))
        number, sign = quantity.get("value"), as_text(quantity.get("comparator"))
        if isinstance(number, int | float) and not isinstance(number, bool) and abs(number) < _LARGEST:
            return (f"{sign} {number}", unit) if sign else (float(number), unit)
    if concept := _name(measured.get("valueCodeableConcept")):
        return concept, ""
    for key, value in measured.items():
        if key.startswith("value") and as_text(value):
            return (value if isinstance(value, str) else as_text(value)), ""
    return _name(measured.get("dataAbsentReason")) or "not stated", ""


def _category(one: Resource) -> str:
    for category in _list(one.get("category")):
        if text := as_text(_in(category, "text")):
            return text
        code = as_text(_coding(category).get("code"))
        if code:
            return _CATEGORIES.get(code, code.replace("-", " "))
    return ""


def _age(patient: Resource, condition: Resource, day: str) -> float | None:
    if (years := _in(condition.get("onsetAge"), "value")) is not None:
        return float(years) if isinstance(years, int | float) else None
    try:
        born, then = date.fromisoformat(as_text(patient.get("birthDate"))), date.fromisoformat(day)
    except ValueError:
        return None
    years = then.year - born.year - ((then.month, then.day) < (born.month, born.day))
    return float(years) if years >= _INFANT else round((then - born).days / 365.25, 3)


def _id(patient: Resource) -> str:
    for one in _list(patient.get("identifier")):
        if _in(one, "system") == CASE_ID:
            return as_text(_in(one, "value"))
    return as_text(patient.get("id"))


def _moment(resource: Resource) -> str:
    for key in ("onsetDateTime", "effectiveDateTime", "performedDateTime", "occurrenceDateTime", "authoredOn"):
        if text := as_text(resource.get(key)):
            return text
    for key in ("performedPeriod", "onsetPeriod", "effectivePeriod", "period"):
        if text := as_text(_in(resource.get(key), "start")):
            return text
    return as_text(resource.get("started")) or as_text(resource.get("recordedDate"))


def _day(resource: Resource) -> str:
    return _moment(resource)[:10]


def _name(concept: Any) -> str:
    """Returns the text of a CodeableConcept, or what its first coding is called."""
    coding = _coding(concept)
    return as_text(_in(concept, "text")) or as_text(coding.get("display")) or as_text(coding.get("code"))


def _code_in(concept: Any, system: str) -> str:
    codings = _list(concept.get("coding")) if isinstance(concept, dict) else []
    return next((as_text(one.get("code")) for one in codings if system in as_text(_in(one, "system")).lower()), "")


def _coding(concept: Any) -> Resource:
    codings = _list(_in(concept, "coding"))
    return codings[0] if codings and isinstance(codings[0], dict) else {}


def _in(value: Any, name: str) -> Any:
    """Returns a field of an object, or of the first of several; None where there is none."""
    value = value[0] if isinstance(value, list) and value else value
    return value.get(name) if isinstance(value, dict) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
