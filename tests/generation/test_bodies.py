"""A body has one value of each quantity, and everything that is shown or felt follows from it."""

import random
from collections import Counter
from statistics import mean

import pytest

from polyclinic.generation.bodies import TextChances, body_drawing, with_beside
from polyclinic.generation.ceiling import measure
from polyclinic.generation.draw import generate
from polyclinic.knowledge.bayes import Reader
from polyclinic.knowledge.body import PRESENT
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.disease_body import meets
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.physiology import physiology_of
from polyclinic.knowledge.reading import PatientReading

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


@pytest.fixture(scope="module")
def drawn(knowledge):
    """Some ten bodies of every disease and severity, of all ages."""
    rng = random.Random(20)
    bodies = []
    for disease in knowledge.diseases.values():
        for severity in SEVERITIES:
            for _ in range(10):
                age, sex = rng.randint(1, 90), rng.choice(["female", "male"])
                body = body_drawing(knowledge).draw(disease, severity, age, sex, rng)
                bodies.append((disease, severity, age, sex, body))
    return bodies


def test_a_text_is_drawn_as_the_standard_library_draws_it():
    shares = {"clear": 0.55, "never": 0.0, "crackles": 0.3, "wheeze": 0.1}
    chances, ours, theirs = TextChances.of(shares), random.Random(4), random.Random(4)
    drawn = [chances.draw(ours) for _ in range(500)]
    assert drawn == [theirs.choices(list(shares), list(shares.values()))[0] for _ in range(500)]
    assert set(drawn) == {"clear", "crackles", "wheeze"}


def test_panels_show_what_was_measured_elsewhere(drawn):
    pulses = Counter()
    for _, _, _, _, body in drawn:
        assert abs(body.shown["haemoglobin_now"] - body.shown["hemoglobin"]) <= 8
        assert body.shown["diastolic"] < body.shown["systolic"]
        pulses[body.shown["ecg"] == "absent_p", body.shown["rhythm"] == "irregular"] += 1
    assert pulses[True, True] > 10 * pulses[True, False]
    assert pulses[False, False] > 50 * pulses[False, True]


def test_everybody_meets_the_definition(drawn, knowledge):
    physiology, tried = physiology_of(knowledge), 0
    for disease, severity, age, sex, body in drawn:
        values = dict(body.values)
        present = {s.id for s in body.present}
        values |= {id: id in present for id in knowledge.symptoms}
        for criterion in disease.criteria.at(severity):
            tried += 1
            possible = all(knowledge.symptoms[x.symptom].possible(age, sex) for x in criterion.leaves() if x.symptom)
            assert not possible or meets(criterion, physiology.items, values), (disease.id, severity, age, sex)
    assert tried > 100


def test_symptoms_follow_from_their_quantity(drawn):
    feverish = Counter()
    for _, _, _, _, body in drawn:
        hot = body.shown["temperature"] >= 38
        feverish[hot, any(s.id == "fever" for s in body.present)] += 1
    assert feverish[True, True] > 10 * feverish[True, False]
    assert feverish[False, False] > 5 * feverish[False, True]


def test_men_and_women_children_and_adults_have_their_own_normal(knowledge):
    rng, disease = random.Random(3), knowledge.diseases["psoriasis"]
    drawing = body_drawing(knowledge)

    def average(item, age, sex):
        return mean(drawing.draw(disease, "mild", age, sex, rng).shown[item] for _ in range(150))

    assert average("hemoglobin", 40, "male") > average("hemoglobin", 40, "female") + 10
    assert average("heart_rate", 1, "male") > average("heart_rate", 40, "male") + 25
    assert average("respiratory_rate", 1, "male") > average("respiratory_rate", 40, "male") + 8


def test_reference_ranges_are_those_of_age_and_sex(knowledge):
    ranges = {}
    for case in generate(knowledge, n=120, seed=4):
        for finding in case.record.findings:
            if finding.item == "heart rate":
                ranges.setdefault(finding.reference, []).append(case.presentation.age)
    assert max(ranges["60-100"]) > 60 > 13 < min(ranges["60-100"])
    assert any(max(ages) <= 5 for ages in ranges.values())


def test_a_quantity_counts_once_however_often_it_is_reported(knowledge):
    from polyclinic.knowledge.bayes import Reader

    tables = Reader(knowledge).tables
    reading = PatientReading(tables, 40, "female")
    reading.item("hemoglobin", 82.0)
    once = reading.log()
    reading.item("haemoglobin_now", 83.0)
    assert reading.log() == pytest.approx(once)
    other = PatientReading(tables, 40, "female")
    other.symptom("fever", True)
    told = other.log()
    assert not other.settled()
    other.item("temperature", 39.2)
    assert "fever" in other.settled() and other.log() != pytest.approx(told)
    measured = PatientReading(tables, 40, "female")
    measured.item("temperature", 39.2)
    assert other.log() == pytest.approx(measured.log())
    other.forget("temperature")
    assert other.log() == pytest.approx(told)


def test_the_reader_of_everything_knows_how_sure_it_may_be(knowledge):
    ceiling = measure(list(generate(knowledge.select("respiratory"), n=240, seed=8)), knowledge.select("respiratory"))
    assert abs(ceiling.stated - ceiling.percent) < 5


def test_what_comes_with_age_is_not_found_in_the_young(knowledge):
    rng, drawing, young, old = random.Random(5), body_drawing(knowledge), Counter(), Counter()
    for _ in range(120):
        for age, found in ((8, young), (70, old)):
            shown = drawing.draw(knowledge.diseases["migraine"], "mild", age, "female", rng).shown
            found[shown["joint_film"]] += 1
            found[shown["coronary_ct"]] += 1
    assert not {"osteophytes", "plaques", "narrowing"} & young.keys()
    assert {"osteophytes", "plaques"} <= old.keys()


def test_symptoms_that_exclude_one_another_are_never_both_there(knowledge):
    rng, disease, told = random.Random(6), knowledge.diseases["hyperthyroidism"], Counter()
    for _ in range(300):
        present = {s.id for s in body_drawing(knowledge).draw(disease, "severe", 40, "female", rng).present}
        told[frozenset(present & {"weight_loss", "weight_gain"})] += 1
    assert frozenset({"weight_loss", "weight_gain"}) not in told
    assert told[frozenset({"weight_loss"})] > 50


def test_two_pictures_of_one_thing_agree_and_so_does_what_is_told(drawn, knowledge):
    rules, wrong, conflicts = physiology_of(knowledge).together, [], 0
    for disease, severity, _, _, body in drawn:
        there = {symptom.id for symptom in body.present}
        for item, rule in rules.items():
            texts = rule.states.get(PRESENT if rule.of in there else str(body.shown.get(rule.of)))
            if texts is None or any(item in way.states for way in knowledge.bodies[disease.id].ways[severity]):
                continue
            conflicts += 1
            if body.shown[item] not in texts:
                wrong.append((disease.id, item, body.shown[item]))
    assert conflicts > 50 and not wrong


def test_the_second_of_two_pictures_says_what_it_does_not_say_with_the_first(knowledge):
    tables = Reader(knowledge).tables
    orders = [("chest_film", "patchy"), ("lungs", "consolidation")]
    both, reverse, apart = (PatientReading(tables, 40, "male") for _ in range(3))
    for item, text in orders:
        both.item(item, text)
    for item, text in reversed(orders):
        reverse.item(item, text)
    assert both.log() == pytest.approx(reverse.log())
    apart.item(*orders[0])
    alone = apart.log().copy()
    apart.item(*orders[1])
    # Where the film shows it, nearly every lung has it in the CT: with a thyroid as with a pneumonia.
    thyroid, pneumonia = (
        3 * [d.id for d in Reader(knowledge).diseases].index(id)
        for id in ("hypothyroidism", "community-acquired-pneumonia")
    )
    gained = apart.log() - alone
    assert abs(gained[thyroid] - gained[pneumonia]) < 2


def test_blood_gases_keep_henderson_and_hasselbalch(drawn):
    for _, _, _, _, body in drawn:
        ph, pressure, bicarbonate = (float(body.shown[id]) for id in ("blood_ph", "pco2", "bicarbonate"))
        assert bicarbonate == pytest.approx(0.0307 * pressure * 10 ** (ph - 6.1), abs=0.06)


def test_who_is_drowsy_is_confused(drawn):
    drowsy = [body for _, _, _, _, body in drawn if body.shown["gcs"] < 13]
    told = [any(s.id == "confusion" for s in body.present) for body in drowsy]
    assert len(told) > 30 and mean(told) > 0.85


def test_nobody_comes_without_a_complaint_that_speaks_for_the_illness(drawn, knowledge):
    severe = [body for d, s, _, _, body in drawn if d.id == "deep-vein-thrombosis" and s == "severe"]
    telling = {"leg_swelling", "calf_pain", "fever", "breathlessness", "chest_pain"}
    assert all(telling & {s.id for s in body.present} for body in severe)


def test_what_was_removed_is_not_pictured(knowledge):
    body = body_drawing(knowledge).draw(knowledge.diseases["migraine"], "mild", 70, "female", random.Random(1))
    shown = with_beside(body, knowledge.diseases["migraine"], {"womb"}, knowledge, random.Random(1)).shown
    assert [shown[item] for item in ("pelvic_scan", "bimanual", "cervix_look")] == ["no_womb", "no_womb", "removed"]
