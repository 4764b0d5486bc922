"""What a disease needs is asked for in one sentence, and each of it is given: no name swallows its neighbour."""

import itertools

import pytest

from polyclinic.cases.record import Finding
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.names import Names

KNOWLEDGE = read_knowledge()
REQUEST = {"en": "I would like these examinations to be done: {}.", "zh": "请您做以下检查：{}。"}
COMMA = {"en": ", ", "zh": "、"}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_examinations_of_one_disease_are_given_when_they_are_asked_for_together(language):
    findings = {
        e.id: [Finding(examination=e.name.get(language), item=i.name.get(language), value="-") for i in e.items]
        for e in KNOWLEDGE.examinations.values()
    }
    named = Names(KNOWLEDGE)
    together = dict.fromkeys(
        group
        for disease in KNOWLEDGE.diseases.values()
        for group in (disease.indicated.needed, *itertools.permutations(disease.indicated.needed, 2))
        if len(group) > 1
    )
    assert len(together) > 100
    wrong = []
    for group in together:
        record = named.of([finding for examination in group for finding in findings[examination]])
        names = [KNOWLEDGE.examinations[examination].name.get(language) for examination in group]
        given, missing = record.look_up(REQUEST[language].format(COMMA[language].join(names)))
        if missing or {finding.examination for finding in given} != set(names):
            wrong.append((names, missing, {finding.examination for finding in given}))
    assert not wrong


def test_an_item_behind_its_examination_is_that_item_and_another_examination_is_another():
    joints = Finding(examination="joint examination", item="joints", value="-")
    film = Finding(examination="joint X-ray", item="joint film", value="-")
    record = Names(KNOWLEDGE).of([joints, film])
    assert record.look_up("joint examination, joints")[0] == [joints]
    assert record.look_up("joint examination, joint X-ray")[0] == [joints, film]
