"""Which measures of a plan are due for a patient, and which drug of each comes first."""

import pytest
from tests.knowledge.plans import KNOWLEDGE, plan_of
from tests.tables import each_row

from polyclinic.knowledge.data import Name
from polyclinic.knowledge.entries import Measure
from polyclinic.knowledge.treatment import PlanPatient, WhyNot, chosen

CLOT = """
- give: [{drug: alteplase, route: intravenous, D}]
  when: {days_at_most: 0.1875, finding: {quantity: brain_ct, one_of: [normal]}}
  after: [head-ct]
- give:
    - {drug: enoxaparin, route: subcutaneous, D, when: {pregnant: true}}
    - {drug: apixaban, route: oral, D, when: {age_at_least: 18}}
    - {drug: rivaroxaban, route: oral, D}
- advice: {en: rest, zh: 休息}
  when: {sex: female}
"""


def choose(text, **patient):
    return chosen(plan_of(text), PlanPatient(**patient), KNOWLEDGE.quantities)


def drugs(plan):
    return [[option.drug for option in due.options] for due in plan.due]


@each_row(
    ("patient", "due", "left"),
    [
        ({"days": 0.1, "findings": {"brain_ct": "normal"}}, [["alteplase"], ["apixaban", "rivaroxaban"]], [2]),
        ({"days": 0.3, "findings": {"brain_ct": "normal"}}, [["apixaban", "rivaroxaban"]], [0, 2]),
        ({"days": 0.1, "findings": {"brain_ct": "bleeding"}}, [["apixaban", "rivaroxaban"]], [0, 2]),
        ({"days": 0.1}, [["apixaban", "rivaroxaban"]], [0, 2]),
        ({"age": 10}, [["rivaroxaban"]], [0, 2]),
        ({"age": 30, "sex": "female", "pregnant": True}, [["enoxaparin", "apixaban", "rivaroxaban"], []], [0]),
    ],
)
def test_what_is_due(patient, due, left):
    plan = choose(CLOT, **patient)
    measures = plan_of(CLOT).measures
    assert drugs(plan) == due
    assert [measures.index(one.measure) for one in plan.left] == left


@each_row(
    ("patient", "why"),
    [
        ({"days": 3, "findings": {}}, WhyNot.NOT_SO),
        ({"days": 0.1, "findings": {}}, WhyNot.NOT_KNOWN),
        ({"findings": {"brain_ct": "normal"}}, WhyNot.NOT_KNOWN),
        ({"days": 0.1, "findings": {"brain_ct": "normal"}, "examined": ()}, WhyNot.NOT_EXAMINED),
    ],
)
def test_why_a_measure_is_left(patient, why):
    first = choose(CLOT, **patient).left[0]
    assert first.why_not is why
    assert first.missing == (("head-ct",) if why is WhyNot.NOT_EXAMINED else ())
    assert first.options == (first.measure.give if why is WhyNot.NOT_EXAMINED else ())


def test_an_examination_that_was_done_is_no_obstacle():
    plan = choose(CLOT, days=0.1, findings={"brain_ct": "normal"}, examined=("head-ct",))
    assert drugs(plan)[0] == ["alteplase"]


def test_a_measure_none_of_whose_drugs_fits_is_left():
    text = "- give: [{drug: doxycycline, route: oral, D, when: {age_at_least: 8}}]"
    assert choose(text, age=5).left[0].why_not is WhyNot.NOT_SO
    assert drugs(choose(text, age=8)) == [["doxycycline"]]
    assert drugs(choose(text)) == [["doxycycline"]], "who has no age is taken for an adult"


@pytest.mark.parametrize(("value", "due"), [(89.4, True), (89.6, False)])
def test_numbers_are_compared_as_they_are_shown(value, due):
    text = "- advice: {en: lie flat, zh: 平卧}\n  when: {finding: {quantity: systolic, below: 90}}"
    assert bool(choose(text, findings={"systolic": value}).due) is due


def test_a_symptom_is_a_condition():
    text = "- advice: {en: rest, zh: 休息}\n  when: {finding: {symptom: fever}}"
    assert choose(text, findings={"fever": True}).due
    assert choose(text, findings={"fever": False}).left[0].why_not is WhyNot.NOT_SO


def test_a_measure_is_one_thing():
    assert "one of" in Measure().problem()
    assert "one of" in Measure(advice=Name(en="a", zh="b"), procedure=Name(en="a", zh="b")).problem()
    again = "- give: [{drug: ibuprofen, route: oral, D}, {drug: ibuprofen, route: oral, D, when: {age_below: 12}}]"
    assert "stands again" in plan_of(again).measures[0].problem()
    child_first = (
        "- give: [{drug: ibuprofen, route: oral, D, when: {age_below: 12}}, {drug: ibuprofen, route: oral, D}]"
    )
    assert plan_of(child_first).measures[0].problem() == ""
