"""Measures in words, in both languages."""

import pytest
from tests.knowledge.plans import KNOWLEDGE, plan_of
from tests.tables import each_row

from polyclinic.knowledge.knowledge import plan_vocabulary
from polyclinic.knowledge.plan_words import MeasureWords


@each_row(
    ("measure", "en", "zh"),
    [
        (
            "- give: [{drug: paracetamol, route: oral, D}, {drug: ibuprofen, route: oral, D}]\n"
            "  why: {en: for pain, zh: 止痛}",
            "paracetamol by mouth, 1 g, or ibuprofen by mouth, 1 g (for pain)",
            "对乙酰氨基酚口服，1 g，或布洛芬口服，1 g（止痛）",
        ),
        (
            "- give: [{drug: oseltamivir, route: oral, D}]\n  when: {age_below: 5, days_at_most: 2}",
            "under the age of 5, within 2 days of the beginning: oseltamivir by mouth, 1 g",
            "5岁以下，起病2天内：奥司他韦口服，1 g",
        ),
        (
            "- give: [{drug: alteplase, route: intravenous, D}]\n  when: {days_at_most: 0.1875}\n  after: [head-ct]\n"
            "  within: 60",
            "within 4.5 hours of the beginning: alteplase by vein, 1 g (after head CT; within 60 minutes of arrival)",
            "起病4.5小时内：阿替普酶静脉给药，1 g（先完成头颅CT；到院60分钟内）",
        ),
        (
            "- give: [{drug: peramivir, route: intravenous, D, when: {age_at_least: 2, age_below: 12}}]",
            "intravenous peramivir, 1 g (from the age of 2 to under 12)",
            "静脉帕拉米韦，1 g（2岁至不满12岁）",
        ),
        (
            "- advice: {en: rest, zh: 休息}\n  when: {sex: female, pregnant: false}",
            "in women, outside pregnancy: rest",
            "女性，非妊娠期：休息",
        ),
        (
            "- procedure: {en: shock, zh: 电复律}\n"
            "  when: {finding: {all: [{quantity: systolic, below: 90}, {any: [{symptom: fever}, {symptom: chills}]}]}}",
            "if systolic blood pressure is below 90 mmHg and (fever is there or chills is there): shock",
            "收缩压<90mmHg且（有发热或有寒战）时：电复律",
        ),
    ],
)
def test_a_line(measure, en, zh):
    plan = plan_of(measure)
    assert plan.get("en") == (en,)
    assert plan.get("zh") == (zh,)


def test_what_is_done_has_one_drug_and_no_conditions():
    measure = plan_of(
        "- give: [{drug: paracetamol, route: oral, D}, {drug: ibuprofen, route: oral, D}]\n"
        "  why: {en: for pain, zh: 止痛}\n  when: {age_at_least: 2}\n  after: [head-ct]"
    ).measures[0]
    say = MeasureWords(plan_vocabulary(KNOWLEDGE), "en")
    assert say.done(measure, measure.give[1]) == "ibuprofen by mouth, 1 g (for pain)"
    assert "head CT" in say.not_begun(measure, measure.give[0], measure.after)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_plan_of_every_disease_stands_in_words(language):
    for disease in KNOWLEDGE.diseases.values():
        lines = [disease.plan(severity).get(language) for severity in ("mild", "moderate", "severe")]
        assert len(set(lines)) == 3, disease.id
        assert all(line.strip() and "{" not in line and "None" not in line for plan in lines for line in plan)


def test_all_drugs_of_a_plan_are_named_once():
    plan = plan_of("- give: [{drug: ibuprofen, route: oral, D}, {drug: paracetamol, route: oral, D}]\n" * 2)
    assert plan.drug_ids() == ("ibuprofen", "paracetamol")


def test_to_the_grown_up_no_dose_of_a_child_is_said():
    vocabulary, plan = plan_vocabulary(KNOWLEDGE), KNOWLEDGE.diseases["peptic-ulcer"].plan("severe")
    drug = next(p for m in plan.measures for p in m.give if "children" in p.dose.en)
    for language, child in (("en", "children"), ("zh", "儿童")):
        for age in (2, 15, None):
            assert child in MeasureWords(vocabulary, language, age).prescription(drug), (language, age)
        for age in (16, 58):
            said = MeasureWords(vocabulary, language, age).prescription(drug)
            assert child not in said, (language, age)
            assert drug.dose.get(language)[:5] in said
