"""The checks find what is wrong with drawn patients, and pass those with whom nothing is."""

import msgspec
import pytest

from polyclinic.generation.checks import check_all, check_patients, checked
from polyclinic.generation.draw import draw_patients
from polyclinic.knowledge.knowledge import read_knowledge


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


@pytest.fixture(scope="module")
def patients(knowledge):
    return [checked(drawn, knowledge) for drawn in draw_patients(knowledge, n=240, seed=17)]


def changed(patient, **shown):
    return msgspec.structs.replace(patient, shown={**patient.shown, **{i: (v,) for i, v in shown.items()}})


def failing(knowledge, *patients):
    found = check_patients(patients, knowledge)
    return {name: tally for name, tally in found.items() if tally.failed}


def grown(patients):
    healthy = (p for p in patients if not {"hemoglobin", "systolic"} & set(p.body.quantities))
    return next(p for p in healthy if p.age > 30 and p.sex == "male")


@pytest.mark.slow
def test_every_planted_mistake_is_found_and_named(knowledge, patients):
    man = grown(patients)
    sound = msgspec.structs.replace(man, present=man.present & set(man.disease.symptoms))
    planted = {
        "one value of a quantity in a visit": changed(sound, haemoglobin_now=60.0, hemoglobin=140.0),
        "systolic above diastolic": changed(sound, systolic=80.0, diastolic=80.0),
        "no impossible pair": msgspec.structs.replace(sound, present=sound.present | {"vaginal_discharge"}),
    }
    for name, patient in planted.items():
        found = failing(knowledge, *[patient] * 3)
        assert name in found, name
        assert patient.drawn.case.id in found[name].examples[0] and patient.disease.id in found[name].examples[0]
    assert "vaginal_discharge" in failing(knowledge, planted["no impossible pair"])["no impossible pair"].examples[0]


def test_somebody_outside_the_definition_is_found(knowledge):
    drawn = draw_patients(knowledge.select("acute-appendicitis"), n=3, seed=1)
    ill = [changed(checked(one, knowledge), abdominal_organs="normal") for one in drawn]
    found = failing(knowledge, *ill)["definition of disease and severity met"]
    assert found.failed == 3
    assert "abdominal_organs normal" in found.examples[0]


def test_a_complaint_without_the_leading_symptom_is_found(knowledge):
    drawn = next(draw_patients(knowledge.select("migraine"), n=1, seed=2))
    presentation = msgspec.structs.replace(drawn.case.presentation, complaint="A cough for 2 days")
    record = msgspec.structs.replace(drawn.case.record, presentation=presentation)
    drawn = drawn._replace(case=msgspec.structs.replace(drawn.case, record=record))
    found = failing(knowledge, checked(drawn, knowledge))["leading symptom in the complaint"]
    assert "no headache in 'A cough" in found.examples[0]


@pytest.mark.slow
def test_drawn_patients_meet_what_holds_of_each_of_them(knowledge):
    found = check_all(knowledge.select("respiratory"), n=90, seed=40, whole=knowledge)
    assert found.patients == 90
    for name in (
        "one value of a quantity in a visit",
        "systolic above diastolic",
        "definition of disease and severity met",
    ):
        assert not found.checks[name].failed, found.checks[name].examples
    again = check_all(knowledge.select("respiratory"), n=90, seed=40, whole=knowledge)
    assert msgspec.json.encode(found) == msgspec.json.encode(again)
