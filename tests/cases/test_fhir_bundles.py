"""What a bundle of FHIR says is not so is no finding, and what the visit ended with is told to nobody before."""

import copy

import pytest

from polyclinic.cases.loaders.fhir import load

VISIT = {"reference": "Encounter/e1"}


def bundle(*more):
    resources = [
        {"resourceType": "Patient", "id": "p1", "gender": "female", "birthDate": "1990-05-01"},
        {"resourceType": "Encounter", "id": "e1", "status": "finished", "period": {"start": "2024-03-01T09:00:00Z"},
         "reasonCode": [{"text": "Fever and flank pain"}]},
        {"resourceType": "Condition", "id": "c1", "encounter": VISIT, "onsetDateTime": "2024-03-01",
         "code": {"text": "Acute pyelonephritis"}},
        *more,
    ]  # fmt: skip
    return {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": one} for one in resources]}


def observation(**more):
    value = {"value": 9.9, "unit": "mmol/L"}
    return {"resourceType": "Observation", "id": "o1", "code": {"text": "Potassium"}, "valueQuantity": value, **more}


def drug(name, day, **more):
    concept = {"text": name}
    return {"resourceType": "MedicationRequest", "medicationCodeableConcept": concept, "authoredOn": day, **more}


@pytest.mark.parametrize("status", ["entered-in-error", "cancelled"])
def test_what_was_entered_in_error_is_no_finding(status):
    assert [one.item or one.examination for one in load(bundle(observation(status="final")), 1).record.findings]
    assert load(bundle(observation(status=status)), 1).record.findings == ()


def test_what_was_refuted_is_neither_allergy_nor_diagnosis():
    refuted = {"verificationStatus": {"coding": [{"code": "refuted"}]}}
    allergy = {"resourceType": "AllergyIntolerance", "id": "a1", "code": {"text": "Penicillin"}}
    cancer = {
        **{"resourceType": "Condition", "id": "c2", "encounter": VISIT, "onsetDateTime": "2024-03-01"},
        "code": {"text": "Renal carcinoma"},
    }
    held = load(bundle(allergy, cancer), 1)
    assert held.record.history.allergies == "Penicillin" and len(held.truth.diagnoses) == 2
    left = load(bundle({**allergy, **refuted}, {**copy.deepcopy(cancer), **refuted}), 1)
    assert left.record.history.allergies == ""
    assert [one.name for one in left.truth.diagnoses] == ["Acute pyelonephritis"]


def test_what_the_visit_ended_with_is_its_treatment_and_taken_by_nobody_before():
    case = load(
        bundle(
            drug("levofloxacin 500 mg", "2024-03-01", encounter=VISIT),
            drug("cefalexin 500 mg", "2024-03-08"),
            drug("metformin 500 mg", "2020-01-01"),
        ),
        1,
    )
    assert case.truth.treatment == ("levofloxacin 500 mg",)
    assert case.record.history.medications == "metformin 500 mg (2020-01-01)"
