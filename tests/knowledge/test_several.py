"""Several diseases at once: how what they change comes together, and what the reader makes of it."""

import pytest

from polyclinic.cases.presentation import Presentation
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.pathology import _read, with_pathology
from polyclinic.knowledge.several import SeveralReader, Shown, SymptomTold, off_usual

KNOWLEDGE = with_pathology(read_knowledge())
READER = SeveralReader(KNOWLEDGE)
FAILURE, GOUT = (KNOWLEDGE.diseases[d] for d in ("heart-failure", "gout"))


def test_a_number_farther_off_is_farther_off_the_usual():
    urate = next(item for item in KNOWLEDGE.examinations["biochemistry"].items if item.id == "urate")
    far = off_usual(urate, GOUT.distribution("biochemistry", urate, "severe"))
    assert far > off_usual(urate, FAILURE.distribution("biochemistry", urate, "mild"))
    assert off_usual(urate, urate.usual) == 0


def test_a_quantity_speaks_once():
    anaemic = Shown("blood-test", "hemoglobin", 70.0)
    again = [anaemic, Shown("anaemia-tests", "haemoglobin_now", 71.0)]
    assert READER.weigh(again).weights == READER.weigh([anaemic]).weights
    hot = Shown("physical-examination", "temperature", 39.4)
    assert READER.weigh([hot, SymptomTold("fever", True)]).weights == READER.weigh([hot]).weights
    # Without the quantity, what reads it speaks.
    assert READER.weigh([again[1]]).weights["iron-deficiency-anaemia"] > 1


def test_of_grades_the_worst_is_said():
    place = READER.ids.index("acute-cystitis")
    strong = READER._terms(Shown("urinalysis", "urine_leukocytes", frozenset({"strong"})))
    shares = KNOWLEDGE.diseases["acute-cystitis"].findings["urinalysis"]["urine_leukocytes"]
    shares = [shares.get("all") or shares[s] for s in ("mild", "moderate", "severe")]
    mean = sum(one["strong"] for one in shares) / 3
    assert float((strong._signs * strong._q[:, [place]]).sum()) == pytest.approx(mean, abs=1e-6)


def test_a_child_s_number_is_read_as_an_adult_s():
    pulse = Shown("physical-examination", "heart_rate", 130.0)
    baby, adult = (Presentation(complaint="x", age=age, sex="male") for age in (1, 40))
    fast = {who.age: READER.beside([pulse], [], who).parts for who in (baby, adult)}
    place = READER.ids.index("sepsis")
    assert fast[1][0, place] < fast[40][0, place] - 1


def test_every_specimen_is_named_by_a_disease_and_every_disease_is_known():
    read = _read()
    assert set(read.findings) <= set(KNOWLEDGE.diseases)
    assert {e for found in read.findings.values() for e in found} == {e.id for e in read.examinations}
    assert len(read.findings) >= 25
    wordings = [
        name.get(language).casefold()
        for language in ("en", "zh")
        for e in read.examinations
        for item in e.items
        for name in item.values.values()
    ]
    assert len(set(wordings)) == len(wordings)
    assert with_pathology(read_knowledge()) is KNOWLEDGE
    assert "gastric-biopsy" not in read_knowledge().examinations


def test_what_shows_a_disease_speaks_for_it():
    crystals = Shown("synovial-biopsy", "synovium", frozenset({"crystals"}))
    urate = Shown("biochemistry", "urate", 620.0)
    weighed = READER.weigh([crystals, urate, SymptomTold("joint_pain", True)])
    assert weighed.chosen == ("gout",)
    assert weighed.weights["gout"] > 4
    assert READER.weigh([Shown("synovial-biopsy", "synovium", frozenset())]).weights["gout"] < -1


def test_two_diseases_are_both_found_and_what_one_explains_speaks_for_no_other():
    seen = [
        Shown("synovial-biopsy", "synovium", frozenset({"crystals"})),
        Shown("biochemistry", "urate", 620.0),
        Shown("gastric-biopsy", "gastric_mucosa", frozenset({"ulcer"})),
        Shown("bone-marrow-aspirate", "marrow", frozenset({"no_iron"})),
        Shown("anaemia-tests", "ferritin", 5.0),
    ]
    assert set(READER.weigh(seen).chosen) == {"gout", "peptic-ulcer", "iron-deficiency-anaemia"}
    # One value reported beside another: both are there.
    both = Shown("skin-biopsy", "skin_histology", frozenset({"viral", "psoriasiform"}))
    weights = READER.weigh([both]).weights
    assert weights["psoriasis"] > 2
    fever = [SymptomTold("fever", True), SymptomTold("chills", True), SymptomTold("muscle_aches", True)]
    known = [symptom for symptom in fever if symptom.symptom in KNOWLEDGE.symptoms]
    alone, beside = READER.beside(known, []), READER.beside(known, ["influenza-a"])
    assert beside.weights["influenza-b"] < alone.weights["influenza-b"]


def test_the_probabilities_of_one_item_of_one_disease_are_its_shares():
    examination, item = "skin-biopsy", "skin_histology"
    place = READER.ids.index("psoriasis")
    for value, share in KNOWLEDGE.diseases["psoriasis"].findings[examination][item]["all"].items():
        shown = frozenset() if value == "normal" else frozenset({value})
        terms = READER._terms(Shown(examination, item, shown))
        assert float((terms._signs * terms._q[:, [place]]).sum()) == pytest.approx(share)


def test_age_and_sex_are_weighed_where_they_are_told():
    old_man, girl = Presentation(complaint="x", age=80, sex="male"), Presentation(complaint="x", age=7, sex="female")
    vaginosis, pox = (READER.ids.index(d) for d in ("bacterial-vaginosis", "chickenpox"))
    assert READER.person(old_man)[vaginosis] < -1.5
    assert READER.person(girl)[pox] > READER.person(old_man)[pox]
    assert not READER.person(Presentation(complaint="x")).any()


def test_nothing_observed_says_nothing():
    weighed = READER.weigh([])
    assert weighed.chosen == ()
    assert set(weighed.weights.values()) == {0.0}
