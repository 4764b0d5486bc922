"""Who falls ill: infants to the very old, each with what people of that age have."""

import random
import re
from collections import Counter

import pytest

from polyclinic.errors import BadInput
from polyclinic.generation.background import draw_background, in_region, read_background, read_regions
from polyclinic.generation.draw import draw_patients, draw_sex_and_age, generate
from polyclinic.knowledge.bayes import Reader
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.physiology import physiology_of
from polyclinic.knowledge.reading import PatientReading


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


def ages(disease, n=1500):
    rng = random.Random(3)
    return [draw_sex_and_age(disease, rng)[1] for _ in range(n)]


def test_infants_are_as_many_as_the_file_says_and_none_where_it_names_none(knowledge):
    wrong = []
    for disease in knowledge.diseases.values():
        of = disease.epidemiology
        infants = [age for age in ages(disease, 400) if age < 1]
        expected = of.age["0-5"] * of.infants
        if abs(len(infants) / 400 - expected) > 4 * (expected / 400) ** 0.5 + 1e-9:
            wrong.append((disease.id, len(infants) / 400, expected))
        wrong += [(disease.id, age) for age in infants if not max(of.ages[0], 0.08) <= age + 0.001 < 1]
    assert not wrong


def test_bronchiolitis_is_an_illness_of_infants_and_there_are_very_old_people(knowledge):
    bronchiolitis = ages(knowledge.diseases["acute-bronchiolitis"])
    assert sum(age < 1 for age in bronchiolitis) > 1100 and max(bronchiolitis) <= 2
    failure = ages(knowledge.diseases["heart-failure"])
    assert max(failure) > 92 and sum(65 <= age < 75 for age in failure) > sum(age >= 85 for age in failure)
    assert min(ages(knowledge.diseases["stable-angina"])) >= 30


def test_the_reader_knows_how_old_people_with_a_disease_are(knowledge):
    reader = Reader(knowledge)
    at = {age: dict(zip(knowledge.diseases, reader._of_age(age)[::3], strict=False)) for age in (7 / 12, 4)}
    assert at[7 / 12]["acute-bronchiolitis"] > at[7 / 12]["croup"] > at[7 / 12]["migraine"]
    assert at[4]["croup"] > at[4]["acute-bronchiolitis"]


def test_an_infants_normal_values_are_its_own(knowledge):
    physiology = physiology_of(knowledge)
    pulse, breaths = (physiology.places[id][1] for id in ("heart_rate", "respiratory_rate"))
    two_months, ten_months, adult = 2 / 12, 10 / 12, 40
    assert [physiology.range(pulse, age, "female").low for age in (two_months, ten_months, adult)] == [110, 98, 60]
    assert [physiology.range(breaths, age, "male").high for age in (1 / 12, ten_months)] == [60, 50]
    shown = [physiology.shown(pulse, 76, (0, 400), age, "male")[0] for age in (two_months, ten_months, adult)]
    assert shown == sorted(shown, reverse=True) and shown[0] > 125


def test_what_somebody_does_all_day_fits_the_age(knowledge):
    by_age = Counter()
    for case in generate(knowledge.select("influenza-a,acute-bronchiolitis"), n=240, seed=4):
        person = case.presentation
        by_age[person.about.split(", ")[1].split()[0], person.age < 1, person.age < 18, person.age >= 65] += 1
    assert all(infant == (word in ("brought", "carried")) for word, infant, _, _ in by_age)
    assert all(old == (word == "retired") for word, _, _, old in by_age)
    assert {word for word, infant, child, _ in by_age if child and not infant} <= {"at", "with", "in"}


def test_a_child_has_a_childs_words(knowledge):
    ache = knowledge.symptoms["abdominal_pain"]
    assert "a tummy ache" in ache.said_at(4, "en") and "belly" not in " ".join(ache.said_at(4, "en"))
    assert ache.said_at(8, "en") == ache.of_schoolchild.en and ache.said_at(12, "en") == ache.phrases.en
    assert not [
        p for s in knowledge.symptoms.values() for p in s.said_at(4, "en") if s.possible(4, None) and " my " in p
    ]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_that_only_its_owner_feels_is_told_of_an_infant(knowledge, language):
    subjective = ("chest_tightness", "chest_pain", "headache", "loss_of_taste", "palpitations", "sore_throat",
                  "low_mood", "abdominal_pain", "numbness", "vertigo", "muscle_aches", "heartburn")  # fmt: skip
    told = {p for s in subjective for p in knowledge.symptoms[s].said(language)}
    young = knowledge.select("acute-bronchiolitis,croup,sepsis,influenza-a")
    seen = [case for case in generate(young, n=150, seed=8, language=language) if case.presentation.age < 1]
    assert len(seen) > 30
    assert not [(c.id, s) for c in seen for s in c.record.history.symptoms if s in told]
    assert not [c.id for c in seen if " my " in f" {c.presentation.complaint} "]


@pytest.mark.slow
def test_pregnant_women_are_told_tested_and_treated_as_such(knowledge):
    pregnant = [
        drawn
        for drawn in draw_patients(knowledge.select("influenza-a,acute-cystitis,kidney-stone"), n=900, seed=12)
        if "Pregnant" in drawn.case.record.history.past
    ]
    assert len(pregnant) > 5
    assert all(d.case.presentation.sex == "female" and 16 <= d.case.presentation.age < 46 for d in pregnant)
    assert all(
        d.body.shown["beta_hcg"] > 100
        and d.body.shown.get("pelvic_scan", "sac_inside") in ("sac_inside", "child_inside")
        for d in pregnant
    )
    assert not any("ibuprofen by mouth" in " ".join(d.case.truth.treatment) for d in pregnant)


def test_a_pregnancy_that_is_no_illness_is_no_ectopic_one(knowledge):
    tables = Reader(knowledge).tables
    ids = [h.disease.id for h in tables.physiology.hypotheses]
    ahead = {}
    for age in (30, 60):
        reading = PatientReading(tables, age, "female")
        reading.item("beta_hcg", 30000.0)
        log = reading._log - tables.prior
        ahead[age] = log[ids.index("ectopic-pregnancy")] - log[ids.index("kidney-stone")]
    assert ahead[30] < ahead[60] - 3


def test_elsewhere_other_things_are_usual(knowledge):
    def malaria(region):
        rng = random.Random(4)
        drawn = [draw_background(30, "male", (), rng, "en", region=region) for _ in range(300)]
        return sum("malaria" in brought.conditions for brought in drawn)

    assert malaria("sub-saharan-africa") > 100 and malaria("europe") == 0
    jab = {region: in_region(knowledge, region).symptoms["autumn_vaccination"] for region in read_regions()}
    assert jab["east-asia"].usual_at(70, "male") < 0.1 < jab["europe"].usual_at(70, "male")
    assert in_region(knowledge, "europe").symptoms == knowledge.symptoms
    with pytest.raises(BadInput, match="east-asia"):
        in_region(knowledge, "atlantis")


def test_a_region_has_its_own_patients(knowledge):
    flu = knowledge.select("influenza-a")
    here, there = (list(generate(in_region(flu, region), n=20, seed=5)) for region in ("europe", "east-asia"))
    assert here == list(generate(flu, n=20, seed=5)) != there


def test_every_region_names_what_there_is(knowledge):
    conditions = {condition.id for condition in read_background().conditions}
    for region in read_regions().values():
        assert set(region.circumstances) <= set(knowledge.symptoms)
        assert set(region.background) <= conditions
        rows = [row for table in (*region.circumstances.values(), *region.background.values()) for row in table]
        assert all(first <= last and 0 < share < 1 for first, last, _, share in rows)
        assert region.sources or not rows


@pytest.mark.slow
def test_a_medicine_has_its_reason(knowledge):
    told = {"insulin_user": "iabetes", "reliever_inhaler": "irways", "painkiller_use": "years|old|youth|An old"}
    seen = Counter()
    for drawn in draw_patients(
        knowledge.select("influenza-a,diabetic-ketoacidosis,knee-osteoarthritis"), n=300, seed=9
    ):
        for symptom in {s.id for s in drawn.body.present} & told.keys():
            seen[symptom, bool(re.search(told[symptom], drawn.case.record.history.past))] += 1
    assert sum(seen.values()) > 60 and all(known for _, known in seen)
