"""What a visit did is held against what the disease needs: covered, missed, needless, against a caution."""

import msgspec
import pytest

from polyclinic.hospital.care.effect import VisitDone, care_given
from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.town.illness import Onset
from polyclinic.hospital.town.residents import Residents
from polyclinic.hospital.town.town import Town
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.safety import Known
from polyclinic.knowledge.treatment import PlannedTreatment, PlanPatient, VisitFacts

KNOWLEDGE = read_knowledge()
TOWN = Town(read_hospital(None, KNOWLEDGE), KNOWLEDGE, Residents(30, 1), seed=1)
ADULT = VisitFacts(PlanPatient(age=50.0, sex="female", examined=None), Known())
PNEUMONIA, COLD = KNOWLEDGE.diseases["community-acquired-pneumonia"], KNOWLEDGE.diseases["acute-nasopharyngitis"]


def adult(disease, severity):
    for number in range(30):
        case = TOWN.case_for(Onset(resident=number, day=1, disease=disease.id, severity=severity))
        if case.presentation.age and case.presentation.age >= 18:
            return case
    raise AssertionError


def given(truth, severity, followed, plan, *, facts=ADULT, drugs=None, case=None):
    case = case or adult(truth, severity)
    done = followed.plan(plan)
    planned = PlannedTreatment(done, facts, KNOWLEDGE, case.presentation)
    first = tuple(options[0].id for options in planned.measures)
    visit = VisitDone(followed, done, first if drugs is None else drugs, facts)
    return care_given(truth, truth.plan(severity), visit, case, KNOWLEDGE)


def test_the_right_plan_covers_everything_that_is_known_to_be_due_for_every_disease():
    wrong, case = [], adult(COLD, "mild")
    for disease in KNOWLEDGE.diseases.values():
        for severity in SEVERITIES:
            facts = VisitFacts(PlanPatient(age=30.0, sex="female", days=0.1, examined=None), Known())
            care = given(disease, severity, disease, severity, facts=facts, case=case)
            # What nobody looked at weighs a quarter of the rest at most.
            if care.covered < 0.75 or care.needless:
                wrong.append((disease.id, severity, care))
    assert not wrong


def test_a_wrong_diagnosis_leaves_undone_what_the_disease_needs_and_adds_what_it_does_not():
    care = given(PNEUMONIA, "severe", COLD, "mild")
    assert care.covered < 0.1
    assert "ceftriaxone" in care.missed and "hydrocortisone" in care.missed
    other = given(COLD, "mild", PNEUMONIA, "severe")
    assert {"ceftriaxone", "azithromycin", "hydrocortisone"} <= set(other.needless)


def test_a_milder_plan_of_the_right_disease_covers_more_than_another_diseases_and_less_than_all():
    right, milder, other = (
        given(PNEUMONIA, "severe", disease, plan).covered
        for disease, plan in ((PNEUMONIA, "severe"), (PNEUMONIA, "moderate"), (COLD, "mild"))
    )
    assert right > milder > other


def test_what_is_withheld_is_missed():
    everything = given(PNEUMONIA, "moderate", PNEUMONIA, "moderate")
    without = given(PNEUMONIA, "moderate", PNEUMONIA, "moderate", drugs=("azithromycin",))
    assert without.covered < everything.covered
    assert any(drug not in everything.missed for drug in without.missed)


def test_another_drug_of_the_same_measure_covers_it():
    first = given(PNEUMONIA, "mild", PNEUMONIA, "mild", drugs=("amoxicillin", "paracetamol"))
    second = given(PNEUMONIA, "mild", PNEUMONIA, "mild", drugs=("doxycycline", "paracetamol"))
    assert first.covered == second.covered and not second.missed


@pytest.mark.parametrize(("allergies", "against"), [("Allergy to penicillin.", ("amoxicillin",)), ("None known.", ())])
def test_what_stands_in_the_record_speaks_against_a_drug_whoever_was_told(allergies, against):
    case = adult(PNEUMONIA, "mild")
    history = msgspec.structs.replace(case.record.history, allergies=allergies)
    case = msgspec.structs.replace(case, record=msgspec.structs.replace(case.record, history=history))
    care = given(PNEUMONIA, "mild", PNEUMONIA, "mild", drugs=("amoxicillin",), case=case)
    assert care.against == against


def test_an_operation_weighs_most_of_a_plan_that_operates():
    appendicitis = KNOWLEDGE.diseases["acute-appendicitis"]
    plan = appendicitis.plan("moderate")
    nothing = VisitDone(None, None, plan.drug_ids(), ADULT)
    case = adult(appendicitis, "moderate")
    assert care_given(appendicitis, plan, nothing, case, KNOWLEDGE).covered < 0.6
