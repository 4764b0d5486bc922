"""Examinations that make no sense for who the patient is are never missed, and had they are not indicated."""

import pytest

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.report import Diagnosis
from polyclinic.events import Examined, Opened, Trace
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.names import Names
from polyclinic.metrics.points import stewardship


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


def chosen(knowledge, disease, *had, sex=None, age=None):
    names = tuple(knowledge.examinations[id].name.en for id in had)
    presentation = Presentation(complaint="pain", age=age, sex=sex)
    events = (
        Opened(seq=0, format=1, case="c", presentation=presentation, minds={}, seed=0, max_turns=10),
        Examined(seq=1, turn=1, findings=(), not_recorded=names, text=""),
    )
    return stewardship([Trace(events)], [Diagnosis(disease)], knowledge, Names(knowledge))


@pytest.mark.parametrize("disease", ["acute appendicitis", "kidney stone", "acute cystitis"])
@pytest.mark.parametrize(("sex", "age"), [("male", 38), ("female", 70), ("female", 6)])
def test_nobody_who_cannot_be_pregnant_lacks_a_pregnancy_test(knowledge, disease, sex, age):
    without = chosen(knowledge, disease, sex=sex, age=age)
    assert "pregnancy-test" not in without.helpful_missed
    having = chosen(knowledge, disease, "pregnancy-test", sex=sex, age=age)
    assert having.not_indicated == ("pregnancy-test",)
    assert not having.helpful


def test_who_can_be_pregnant_is_helped_by_a_pregnancy_test(knowledge):
    assert "pregnancy-test" in chosen(knowledge, "acute appendicitis", sex="female", age=30).helpful_missed
    assert chosen(knowledge, "acute appendicitis", "pregnancy-test", sex="female", age=30).helpful == (
        "pregnancy-test",
    )
    assert "pregnancy-test" in chosen(knowledge, "acute appendicitis").helpful_missed  # of whom nothing is known


@pytest.mark.slow
@pytest.mark.parametrize("sex", ["female", "male"])
@pytest.mark.parametrize("age", [0.5, 2, 4, 9, 13, 30, 60, 90])
def test_of_no_disease_anything_is_missed_that_cannot_be_done(knowledge, sex, age):
    possible = {id for id, one in knowledge.examinations.items() if one.possible(age, sex)}
    assert possible < knowledge.examinations.keys()
    for disease in knowledge.diseases.values():
        missed = chosen(knowledge, disease.name.en, sex=sex, age=age)
        assert {*missed.needed_missed, *missed.helpful_missed} <= possible, disease.id
        right = knowledge.right_examinations(disease, sex=sex, age=age)
        assert {*right} == {*disease.examinations} & possible, disease.id
