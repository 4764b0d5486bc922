"""Alternatives and lists are no diagnosis of one of their diseases; what is denied is none; doubt changes nothing."""

import pytest
from tests.tables import each_row

from polyclinic.cases.report import Diagnosis, Report
from polyclinic.cases.truth import Truth
from polyclinic.judging.director_by_rules import RulesJudge
from polyclinic.knowledge.disease_names.relation import TURNED, Relation, names_several, relation
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.accuracy import RIGHT, Verdict, verdict

ALTERNATIVES = [
    ("influenza or pneumonia or asthma", ["influenza", "pneumonia", "asthma"]),
    ("either influenza or pneumonia", ["influenza", "pneumonia"]),
    ("influenza vs pneumonia", ["influenza", "pneumonia"]),
    ("asthma/COPD", ["asthma", "COPD"]),
    ("asthma? gout?", ["asthma", "gout"]),
    ("哮喘或慢阻肺", ["哮喘", "慢阻肺"]),
    ("流感还是肺炎", ["流感", "肺炎"]),
    ("type 1 or type 2 diabetes", ["type 1 diabetes", "type 2 diabetes"]),
    ("bacterial or viral pneumonia", ["bacterial pneumonia", "viral pneumonia"]),
    ("influenza A or B", ["influenza A", "influenza B"]),
    ("influenza A/B", ["influenza A", "influenza B"]),
    ("gastric or duodenal ulcer", ["gastric ulcer", "duodenal ulcer"]),
    ("asthma or xyzosis", ["asthma"]),
]

LISTS = [
    ("asthma, gout, influenza A", ["asthma", "gout", "influenza A"]),
    ("asthma; gout", ["asthma", "gout"]),
    ("asthma\ngout", ["asthma", "gout"]),
    ("asthma | gout", ["asthma", "gout"]),
    ("1. asthma 2. gout", ["asthma", "gout"]),
    ("1.哮喘 2.痛风", ["哮喘", "痛风"]),
    ("流感、肺炎、哮喘", ["流感", "肺炎", "哮喘"]),
    ("哮喘，痛风", ["哮喘", "痛风"]),
    ("哮喘 痛风", ["哮喘", "痛风"]),
    ("asthma and gout and stroke", ["asthma", "gout", "stroke"]),
]

ONE_DISEASE = [
    ("foot and mouth disease", "foot and mouth disease", "same"),
    ("Fracture of femur, left", "fracture of femur", "narrower"),
    ("流行性感冒伴肺炎", "流行性感冒", "narrower"),
    ("influenza with pneumonia or myocarditis", "influenza", "narrower"),
    ("acute or chronic bronchitis", "bronchitis", "narrower"),
    ("HIV/AIDS", "HIV", "narrower"),
    ("Arthritis, rheumatoid", "rheumatoid arthritis", "same"),
    ("diabetes and hypertension", "hypertension", "narrower"),
    ("asthma or COPD", "COPD or asthma", "same"),
    ("asthma or COPD", "哮喘或慢阻肺", "same"),
    ("influenza, no pneumonia", "influenza", "same"),
    ("influenza, no pneumonia", "pneumonia", "different"),
]

DENIED = [
    *("absence of gout", "no evidence of gout", "not gout", "without gout", "gout ruled out", "gout unlikely"),
    *("no gout", "this is not gout", "no asthma or gout", "gout is excluded", "negative for gout"),
    *("不是痛风", "无痛风", "没有痛风", "除外痛风", "排除痛风", "并非痛风", "不考虑痛风", "未见痛风"),
]

DOUBTED = [
    *("rule out gout", "r/o gout", "gout?", "?gout", "possible gout", "gout not excluded", "gout cannot be ruled out"),
    *("痛风待排", "痛风待排除", "痛风待查", "疑似痛风", "不能排除痛风", "痛风？"),
]


@each_row(("name", "of"), ALTERNATIVES)
def test_alternatives_are_broader_than_each_of_them(name, of):
    assert {relation(name, one) for one in of} == {Relation.BROADER}
    assert {relation(one, name) for one in of} == {Relation.NARROWER}


@each_row(("name", "of"), LISTS)
def test_a_list_is_none_of_its_diseases(name, of):
    assert {relation(name, one) for one in of} == {Relation.DIFFERENT}
    assert {relation(one, name) for one in of} == {Relation.DIFFERENT}
    assert names_several(name)


@each_row(("a", "b", "expected"), ONE_DISEASE)
def test_what_is_joined_within_one_disease_makes_no_list(a, b, expected):
    assert relation(a, b) == expected
    assert relation(b, a) is TURNED.get(Relation(expected), Relation(expected))


@each_row("name", DENIED)
def test_what_is_denied_is_another_thing(name):
    assert relation(name, "gout") is relation("gout", name) is Relation.DIFFERENT


@each_row("name", DOUBTED)
def test_doubt_changes_nothing(name):
    assert relation(name, "痛风") is relation("gout", name) is Relation.SAME


@each_row(
    ("a", "b", "expected"),
    [
        ("epilepsy", "seizure", "narrower"),  # A seizure is a symptom, of epilepsy among others.
        ("癫痫", "癫痫发作", "narrower"),
        ("cardiac asthma", "asthma", "different"),
        ("心源性哮喘", "支气管哮喘", "different"),
        ("hypertensive emergency", "hypertension", "narrower"),
        ("brain disease", "viral meningitis", "different"),
        ("brain tumour", "viral meningitis", "different"),
    ],
)
def test_a_part_of_a_name_is_not_the_disease(a, b, expected):
    assert relation(a, b) == expected


@pytest.mark.parametrize(
    "name",
    [
        "asthma or gout or influenza A or pneumonia or stroke",
        "哮喘、痛风、甲型流感、肺炎、脑卒中",
        "asthma, influenza A",
    ],
)
def test_many_diseases_as_one_diagnosis_are_not_right(name):
    knowledge = read_knowledge()
    judge = RulesJudge(knowledge)
    said = {"symptoms": (), "examinations": (), "rationale": (), "treatment": ()}
    for so in ("influenza A", "Influenza A (H1N1)", "甲型流感"):
        truth = Truth(diagnoses=(Diagnosis(name=so),))
        report = Report(diagnoses=(Diagnosis(name=name),), **said)
        assert verdict(report, truth, knowledge) is Verdict.WRONG
        assert judge.likeness(so, name) < 1.0
    assert relation(name, "influenza A") not in RIGHT
