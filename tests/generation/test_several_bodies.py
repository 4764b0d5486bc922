"""Bodies with several illnesses: every quantity has one value, and panels, reports and symptoms follow from it."""

import random
from statistics import mean

import pytest

from polyclinic.generation.bodies import BodyDrawing
from polyclinic.knowledge.body import along
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.pathology import with_pathology
from polyclinic.knowledge.physiology import physiology_of, rounded
from polyclinic.knowledge.several import Ailment

KNOWLEDGE = with_pathology(read_knowledge())
PHYSIOLOGY = physiology_of(KNOWLEDGE)
DRAWING = BodyDrawing(KNOWLEDGE)


def bodies(*ids, n=60, severity="severe", age=66, sex="male", felt=None):
    ill = [Ailment(KNOWLEDGE.diseases[id], severity) for id in ids]
    rng = random.Random(3)
    return [DRAWING.draw_several(ill, ill if felt is None else ill[:felt], age, sex, rng) for _ in range(n)]


@pytest.mark.slow
@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize(
    "ids",
    [
        ("peptic-ulcer", "iron-deficiency-anaemia", "heart-failure"),
        ("type-2-diabetes", "atrial-fibrillation", "ischaemic-stroke", "acute-cystitis"),
        ("community-acquired-pneumonia", "chronic-bronchitis", "sepsis"),
    ],
)
def test_no_quantity_has_two_values(ids, severity):
    for body in bodies(*ids, n=25, severity=severity):
        shown = body.shown
        assert shown.keys() >= PHYSIOLOGY.places.keys()
        assert abs(shown["haemoglobin_now"] - shown["hemoglobin"]) <= 5 * 1.5 + 0.6
        curve = PHYSIOLOGY.panels["arterial_oxygen"].curve
        assert abs(shown["arterial_oxygen"] - along(curve, shown["oxygen_saturation"])) <= 5 * 2 + 1
        for id, derived in PHYSIOLOGY.derived.items():
            assert shown[id] == rounded(PHYSIOLOGY.places[id][1], derived.value([shown[of] for of in derived.of]))
        assert all(len(shown[id]) == 1 for id in PHYSIOLOGY.body.graded if id in shown)
        assert all(len(texts) == 1 or "normal" not in texts for texts in shown.values() if isinstance(texts, tuple))


@pytest.mark.slow
def test_what_reads_a_quantity_follows_from_it():
    sick = bodies("atrial-fibrillation", "type-2-diabetes", "peptic-ulcer", n=150)
    fibrillating = [one.shown["rhythm"] == ("irregular",) for one in sick if "absent_p" in one.shown["ecg"]]
    regular = [one.shown["rhythm"] == ("irregular",) for one in sick if "absent_p" not in one.shown["ecg"]]
    assert mean(fibrillating) > 0.9
    assert not regular or mean(regular) < 0.1
    sweet = [one.shown["urine_glucose"] != ("negative",) for one in sick if one.shown["fasting_glucose"] >= 11]
    assert mean(sweet) > 0.85
    bleeding = [one.shown["occult_blood"] == ("positive",) for one in sick if one.shown["gut_bleeding"] != ("none",)]
    assert mean(bleeding) > 0.8
    hot = [
        "fever" in {s.id for s in one.present}
        for one in bodies("acute-pyelonephritis", "kidney-stone", sex="female", n=80)
        if one.shown["temperature"] >= 39
    ]
    assert mean(hot) > 0.9


def test_criteria_of_each_hold_where_they_can():
    for body in bodies("type-2-diabetes", "iron-deficiency-anaemia", "gout", n=80, severity="moderate"):
        assert body.shown["hemoglobin"] < 130
        assert body.shown["hba1c"] >= 6.5 or body.shown["fasting_glucose"] >= 7


def test_who_feels_nothing_of_an_illness_has_no_complaint_of_it_alone():
    ids = "gout", "depressive-episode"
    silent, felt = (mean("low_mood" in {s.id for s in one.present} for one in bodies(*ids, felt=n)) for n in (1, 2))
    assert silent < 0.3 < 0.6 < felt


def test_children_have_a_child_s_numbers():
    pulse = mean(one.shown["heart_rate"] for one in bodies("acute-otitis-media", "atopic-dermatitis", age=1))
    older = mean(one.shown["heart_rate"] for one in bodies("acute-otitis-media", "atopic-dermatitis", age=40))
    assert pulse > older + 20
