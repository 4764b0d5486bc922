"""Drawn patients: the same for the same seed, and in whole sentences of their language."""

import random
import re

import pytest

from polyclinic.cases.record import History
from polyclinic.generation.draw import Person, draw_for, generate
from polyclinic.knowledge.knowledge import read_knowledge


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge().select("influenza-a")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_patient_is_the_same_whatever_the_number(knowledge, language):
    few, many = (list(generate(knowledge, n=n, seed=3, language=language)) for n in (2, 5))
    assert many[:2] == few
    assert list(generate(knowledge, n=1, seed=3, language=language, first=4)) == many[4:]  # in the second block
    assert few != list(generate(knowledge, n=2, seed=4, language=language))


def test_every_severity_once_a_block(knowledge):
    assert {case.truth.severity for case in generate(knowledge, n=3, seed=1)} == {"mild", "moderate", "severe"}


@pytest.mark.parametrize(
    ("language", "complaint", "about", "rationale"),
    [
        ("en", r"[A-Z].* for \d+ days?", r"[A-Z]\w+ [A-Z]\w+, .+", "Typical: |Shown by: |Severity: "),
        ("zh", r".+\d+天", ".+，.+", "典型表现：|确诊检查：|病情程度：(?:轻|中|重)度"),
    ],
)
def test_the_sentences_of_a_record(knowledge, language, complaint, about, rationale):

    for case in generate(knowledge, n=6, seed=2, language=language):
        assert re.fullmatch(complaint, case.presentation.complaint)
        assert re.fullmatch(about, case.presentation.about)
        assert all(re.match(rationale, reason) for reason in case.truth.rationale)


@pytest.mark.parametrize(("language", "begun"), [("en", "Appendectomy in 2010."), ("zh", "2010年阑尾切除术。")])
def test_what_was_so_before_stands_first(knowledge, language, begun):
    person = Person(age=50, sex="male", about="somebody", history=History(past=begun))
    disease = knowledge.diseases["influenza-a"]
    case = draw_for(
        person, knowledge, (disease, "mild"), random.Random(1), language=language, case_id="p1-1", source="here"
    )
    assert case.record.history.past.startswith(begun)
    assert (case.source, case.presentation.about, case.presentation.age) == ("here", "somebody", 50)
