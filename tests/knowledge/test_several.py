"""Several diseases at once: how what they change comes together, and what the reader makes of it."""

import pytest

from polyclinic.cases.presentation import Presentation
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.pathology import _read, with_pathology
from polyclinic.knowledge.several import Ailment, SeveralReader, Shown, SymptomTold, distributions_of, share_of

KNOWLEDGE = with_pathology(read_knowledge())
READER = SeveralReader(KNOWLEDGE)
FAILURE, GOUT, ULCER = (KNOWLEDGE.diseases[d] for d in ("heart-failure", "gout", "peptic-ulcer"))


def test_any_of_several_diseases_brings_a_symptom():
    one, other = Ailment(FAILURE, "severe"), Ailment(KNOWLEDGE.diseases["bronchial-asthma"], "severe")
    symptom = KNOWLEDGE.symptoms["breathlessness"]
    first, second = share_of(symptom, [one]), share_of(symptom, [other])
    assert share_of(symptom, [one, other]) == pytest.approx(1 - (1 - first) * (1 - second))
    assert first == FAILURE.symptoms["breathlessness"][2]
    # What neither names is no more frequent than with one of them.
    unnamed = next(s for s in KNOWLEDGE.symptoms.values() if not {s.id} & {*FAILURE.symptoms, *GOUT.symptoms})
    both = share_of(unnamed, [one, Ailment(GOUT, "mild")])
    assert both == min(FAILURE.share(unnamed, "severe"), GOUT.share(unnamed, "mild"))


def test_of_a_number_the_farthest_decides_and_of_a_text_each_speaks():
    biochemistry = KNOWLEDGE.examinations["biochemistry"]
    urate = next(item for item in biochemistry.items if item.id == "urate")
    ill = [Ailment(FAILURE, "mild"), Ailment(GOUT, "severe")]
    (decides,) = distributions_of(biochemistry, urate, ill)
    assert decides == GOUT.distribution("biochemistry", urate, "severe")
    film = KNOWLEDGE.examinations["chest-x-ray"]
    bronchitis = Ailment(KNOWLEDGE.diseases["chronic-bronchitis"], "mild")
    assert len(distributions_of(film, film.items[0], [ill[0], bronchitis])) == 2
    assert distributions_of(film, film.items[0], [ill[1]]) == [film.items[0].usual]


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
