"""No grade says other than what is shown: of guesses the likeliest counts, and a heading is no reason."""

import msgspec
import pytest
from tests.tables import each_row

from polyclinic.cases.report import Diagnosis, Report
from polyclinic.evaluations.visit_score import Scorer
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.names import Names
from polyclinic.metrics.grades import Aspect
from polyclinic.metrics.reasoning import likeliest_first, verdict_by_code

KNOWLEDGE = read_knowledge()
EN, ZH = (
    next(generate(KNOWLEDGE.select("acute appendicitis"), n=1, seed=5, language=language)) for language in ("en", "zh")
)
WRONG = ("gout", "migraine", "influenza", "asthma")


async def grades(case, *, diagnoses=(), rationale=()):
    report = Report(symptoms=(), examinations=(), diagnoses=diagnoses, rationale=rationale, treatment=())
    judged = await Scorer(KNOWLEDGE, Names(KNOWLEDGE)).by_rules(case, report)
    return {aspect: None if grade is None else grade.name for aspect, grade in judged.grades.items()}, judged.analyses


@pytest.mark.parametrize(("before", "wanted"), [(0, "A"), (1, "B"), (2, "C"), (3, "D"), (4, "D")])
async def test_a_diagnosis_is_worth_what_its_place_says(before, wanted):
    names = (*WRONG[:before], "acute appendicitis")
    found, _ = await grades(EN, diagnoses=tuple(Diagnosis(name) for name in names))
    assert found[Aspect.DIAGNOSIS] == wanted


async def test_the_likeliest_is_the_diagnosis_wherever_it_stands():
    said = (Diagnosis("gout", probability=0.05), Diagnosis("acute appendicitis", probability=0.95))
    report = Report(symptoms=(), examinations=(), diagnoses=said, rationale=(), treatment=())
    assert verdict_by_code(likeliest_first(report), EN.truth, KNOWLEDGE) == "right"
    assert (await grades(EN, diagnoses=said))[0][Aspect.DIAGNOSIS] == "A"
    turned = tuple(msgspec.structs.replace(one, probability=1 - one.probability) for one in said)
    assert (await grades(EN, diagnoses=turned))[0][Aspect.DIAGNOSIS] == "B"
    half = (Diagnosis("gout"), said[1])  # not all have a number: as they stand
    assert (await grades(EN, diagnoses=half))[0][Aspect.DIAGNOSIS] == "B"


def shown_by(case):
    """Three of the examinations that the record names as reasons."""
    line = case.truth.rationale[1].replace("、", ", ").replace("：", ": ")
    every = line.split(": ")[1].split(", ")
    return every[1], every[3], every[-1]


@pytest.mark.slow
@each_row(
    ["case", "word"],
    [(EN, word) for word in ("typical", "severity", "shown by", "Typical: ", "because")]
    + [(ZH, word) for word in ("典型", "典型表现", "病情程度：", "确诊检查", "因为")],
)
async def test_a_heading_is_no_reason(case, word):
    diagnoses = (Diagnosis(case.truth.diagnoses[0].name),)
    found, _ = await grades(case, diagnoses=diagnoses, rationale=(word,))
    assert found[Aspect.RATIONALE] == "D"


@pytest.mark.slow
@pytest.mark.parametrize("case", [EN, ZH], ids=["en", "zh"])
async def test_three_reasons_are_enough_and_what_is_missing_is_told(case):
    reasons = shown_by(case)
    for n, wanted in ((0, "D"), (1, "C"), (2, "B"), (3, "A")):
        found, why = await grades(case, rationale=reasons[:n])
        assert found[Aspect.RATIONALE] == wanted, reasons[:n]
        assert n == 0 or reasons[0] in why[Aspect.RATIONALE]
    # A record that says its reasons in prose is graded as the director does it.
    prose = msgspec.structs.replace(
        case, truth=msgspec.structs.replace(case.truth, rationale=("She is ill all over.",))
    )
    assert (await grades(prose, rationale=("ill all over",)))[0][Aspect.RATIONALE] != "D"
