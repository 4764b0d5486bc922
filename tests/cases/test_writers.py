"""FHIR bundles read and written, and what a layout has no place for."""

import json
from collections import Counter

import pytest

from polyclinic.cases.case import Attachment, Case
from polyclinic.cases.loaders import layouts, read_cases
from polyclinic.cases.loaders.fhir import fhir_bundle, load
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Code, Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.cases.writers import check_valid, losses, writers
from polyclinic.errors import BadInput

COUNTED = Code("loinc", "777-3")
FINDINGS = (
    Finding(examination="complete blood count", item="hemoglobin", value=9.1, unit="g/dL", reference="12-16"),
    Finding(
        examination="complete blood count", item="platelets", value=260.0, unit="10*9/L", code=Code("loinc", "777-3")
    ),
    Finding(examination="complete blood count", item="hemoglobin", value=11.25, unit="g/dL", date="2020-02-03"),
    Finding(examination="chest X-ray", value="clear"),
    Finding(examination="physical examination", item="lungs", value="wheeze on the left"),
)
CASE = Case(
    id="a b/1",
    record=Record(
        presentation=Presentation(complaint="Tired", age=0.25, sex="female", about="a nurse", companion=True),
        history=History(symptoms=("pale", "short of breath"), present="Since May.", family="none\n"),
        findings=FINDINGS,
        vignette=" whole ",
    ),
    truth=Truth(
        diagnoses=(Diagnosis("Anemia", icd10="D64.9"), Diagnosis("Asthma")),
        rationale=("The hemoglobin is low.",),
        treatment=("Iron",),
        severity="moderate",
    ),
    setting="online",
    source="invented",
    department="hematology",
    attachments=(Attachment(url="https://example.org/a.jpg", title="a hand"),),
)


def coded(text: str, **more) -> dict:
    return {"coding": [{"system": "http://snomed.info/sct", "code": "1", "display": text}], **more}


def entry(kind: str, id: str, **fields) -> dict:
    return {"fullUrl": f"urn:uuid:{id}", "resource": {"resourceType": kind, "id": id, **fields}}


def to(id: str) -> dict:
    return {"reference": f"urn:uuid:{id}"}


SODIUM = {"coding": [{"system": "http://loinc.org", "code": "2951-2"}], "text": "Sodium"}
PRESSURE = {"code": {"text": "Systolic"}, "valueQuantity": {"value": 121.5, "unit": "mmHg", "code": "mm[Hg]"}}
VITAL = [{"coding": [{"code": "vital-signs"}]}]
BUNDLE = {
    "resourceType": "Bundle",
    "type": "collection",
    "entry": [
        entry("Patient", "p", gender="male", birthDate="1980-06-01"),
        entry("Encounter", "v1", reasonCode=[coded("Gout (disorder)")], type=[{"text": "Visit for foot pain"}]),
        entry("Condition", "c0", code=coded("Sprain (disorder)"), onsetDateTime="2001-01-01"),
        entry(
            "Condition", "c1", code=coded("Gout (disorder)"), encounter=to("v1"), onsetDateTime="2010-05-31T08:00:00Z"
        ),
        entry("Condition", "c2", code=coded("Obese (finding)"), encounter=to("v2"), onsetDateTime="2019-01-01"),
        entry("CarePlan", "k", addresses=[to("c1")], activity=[{"detail": {"code": {"text": "Rest"}}}, 3]),
        entry("MedicationRequest", "m", encounter=to("v1"), medicationCodeableConcept={"text": "Colchicine"}),
        entry("AllergyIntolerance", "a", code={"text": "Nuts"}),
        entry("Observation", "o1", code=SODIUM, valueQuantity={"value": 139}, effectiveDateTime="2010-05-31T08:00:00Z"),
        entry(
            "Observation",
            "o2",
            code={"text": "Pressure"},
            category=[{"coding": [{"code": "vital-signs"}]}],
            component=[PRESSURE],
        ),
        entry("Observation", "o3", code={"text": "Smoking"}, valueCodeableConcept={"text": "Never"}),
        entry("DiagnosticReport", "r", code={"text": "Metabolic panel"}, result=[to("o1")]),
        {"request": {"method": "POST"}},
    ],
}


def test_a_bundle_is_a_case():
    case = load(BUNDLE, 1)
    assert (case.id, case.presentation.complaint) == ("p", "Visit for foot pain")
    assert (case.presentation.age, case.presentation.sex) == (29, "male")
    assert [diagnosis.name for diagnosis in case.truth.diagnoses] == ["Gout"]
    assert case.truth.treatment == ("Rest", "Colchicine")
    assert case.record.history.past == "Sprain (2001-01-01); Obese (2019-01-01)"
    assert case.record.history.allergies == "Nuts"
    assert [finding.text() for finding in case.record.findings] == [
        "Metabolic panel, Sodium: 139 (2010-05-31)",
        "vital signs, Systolic: 121.5 mmHg",
        "Smoking: Never",
    ]
    assert case.record.findings[0].code == Code("loinc", "2951-2")
    assert load(fhir_bundle(case), 1) == case


def test_what_fhir_has_room_for_is_read_back():
    assert load(json.loads(json.dumps(fhir_bundle(CASE))), 1) == CASE
    assert losses([CASE], "fhir") == losses([CASE], "polyclinic") == {}


def test_what_a_layout_has_no_place_for_is_named():
    lost = losses([CASE, CASE], "agentclinic")
    assert lost["truth.severity"] == 2
    assert {"record.presentation.complaint", "record.history.symptoms", "record.presentation.age"}.isdisjoint(lost)
    again = layouts()["agentclinic"].load(writers()["agentclinic"](CASE), 1)
    assert [finding.text() for finding in again.record.findings] == [
        "physical examination, lungs: wheeze on the left",
        "complete blood count, hemoglobin: 9.1 g/dL (reference 12-16)",
        "complete blood count, platelets: 260 10*9/L",
        "complete blood count, hemoglobin (2): 11.25 g/dL (2020-02-03)",
        "chest X-ray: clear",
    ]


def measured(part, whole):
    """What an observation says, with its unit and its day, as the bundle has it."""
    (said,) = [value for key, value in part.items() if key.startswith("value")]
    if isinstance(said, dict) and "value" in said:
        value, unit = float(said["value"]), said.get("code", said.get("unit", ""))
    else:
        value, unit = (said if isinstance(said, str) else said["text"]), ""
    return part["code"]["text"], value, unit, whole["effectiveDateTime"][:10]


@pytest.mark.slow
def test_published_bundles_lose_no_finding_and_stay_valid(shared_data):
    pytest.importorskip("fhir.resources")
    for file in sorted((shared_data / "cases" / "synthea").glob("*.json")):
        case = next(read_cases(file))
        resources = [entry["resource"] for entry in json.loads(file.read_text("utf-8"))["entry"]]
        seen = [
            (one, part)
            for one in resources
            if one["resourceType"] == "Observation"
            for part in one.get("component", [one])
        ]
        told = Counter(measured(part, one) for one, part in seen)
        found = Counter((one.item or one.examination, one.value, one.unit, one.date) for one in case.record.findings)
        assert (found, len(seen) > 0) == (told, True), file.name
        bundle = fhir_bundle(case)
        check_valid(bundle)
        assert load(bundle, 1) == case, file.name
    check_valid(fhir_bundle(CASE))
    bundle["entry"][0]["resource"]["gender"] = 3
    with pytest.raises(BadInput, match="no valid bundle"):
        check_valid(bundle)
