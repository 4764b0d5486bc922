"""What drawn patients are told to do fits who they are: age, pregnancy, and the medicines that they take."""

import functools
import re

import msgspec
import pytest

from polyclinic.generation.draw import draw_patients
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.treatment import read_precautions

pytestmark = pytest.mark.slow

SEED = 77

GROWN = re.compile(r"alcohol|coffee|driving|no food for others|intercourse|酒|咖啡|驾|备餐|性生活")
YEARS = re.compile(r"\byears\b|\bsince youth\b|\bat school\b|多年|年轻时|上学时")


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


@pytest.fixture(scope="module", params=["en", "zh"])
def patients(request, knowledge):
    return list(draw_patients(knowledge, n=1000, seed=SEED, language=request.param))


@functools.cache
def drawn(knowledge, disease, n=200, language="en"):
    # Two diseases more, so that the vocabulary holds what these ask for; nobody is drawn who has them.
    asked = knowledge.select(f"{disease}, pulmonary-embolism, influenza-a")
    alone = msgspec.structs.replace(asked, diseases={disease: asked.diseases[disease]})
    return tuple(draw_patients(alone, n=n, seed=SEED, language=language))


def of_illness(patient):
    case = patient.case
    return "\n".join(case.truth.treatment), case.record.history


def test_children_are_not_told_what_is_for_the_grown(patients):
    children = [p for p in patients if p.case.presentation.age < 12]
    assert len(children) > 70
    told = [(p.case.id, line) for p in children for line in p.case.truth.treatment if GROWN.search(line)]
    assert not told


def test_nobody_under_six_had_anything_for_years(patients):
    small = [p for p in patients if p.case.presentation.age < 6]
    assert len(small) > 50
    told = [
        (p.case.id, text)
        for p in small
        for section, text in p.case.record.history.sections()
        if section in ("past", "medications", "personal") and YEARS.search(str(text))
    ]
    assert not told


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("disease", ["pulmonary-embolism", "deep-vein-thrombosis"])
def test_who_has_a_clot_stops_the_pill(knowledge, disease, language):
    taking = [p for p in drawn(knowledge, disease, language=language) if "oestrogen_tablets" in ids(p)]
    assert len(taking) > 3
    stop = {"en": "stop the ", "zh": "永久停用"}[language]
    assert all(any(stop in line for line in p.case.truth.treatment) for p in taking)
    others = [p for p in drawn(knowledge, disease, language=language) if "oestrogen_tablets" not in ids(p)]
    assert not any("oestrogen makes clots" in of_illness(p)[0] for p in others)


def test_the_pill_is_stopped_in_migraine_with_aura_alone(knowledge):
    taking = [p for p in drawn(knowledge, "migraine", n=600) if "oestrogen_tablets" in ids(p)]
    by_aura = {aura: [p for p in taking if ("visual_aura" in ids(p)) is aura] for aura in (True, False)}
    assert all(by_aura.values())
    assert all("with an aura oestrogen" in of_illness(p)[0] for p in by_aura[True])
    assert not any("with an aura oestrogen" in of_illness(p)[0] for p in by_aura[False])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_findings_of_the_pregnant_are_those_of_their_weeks(knowledge, language):
    diseases = "acute-cystitis, migraine, influenza-a, pelvic-inflammatory-disease, bacterial-vaginosis"
    weeks = re.compile(r"Pregnant, (\d+) weeks|怀孕(\d+)周")
    seen = set()
    for patient in draw_patients(knowledge.select(diseases), n=1200, seed=SEED, language=language):
        told = weeks.search(patient.case.record.history.past)
        if told is None:
            continue
        assert patient.disease.id != "pelvic-inflammatory-disease"
        shown, later = patient.body.shown, int(told[1] or told[2]) > 12
        seen.add(later)
        if "pelvic_scan" in shown:
            assert shown["pelvic_scan"] == ("child_inside" if later else "sac_inside")
        assert shown.get("bimanual") != "normal"
        if later:
            assert shown.get("bowel_sounds") not in ("normal", "lively", "quiet")
    assert seen == {True, False}


def test_every_rule_about_medicines_names_what_there_is(knowledge):
    rules = read_precautions().stops
    assert {d for rule in rules for d in rule.diseases} <= knowledge.diseases.keys()
    named = [leaf.symptom for r in rules if r.when and r.when.finding for leaf in r.when.finding.leaves()]
    assert set(named) <= knowledge.symptoms.keys()


@pytest.mark.parametrize(
    "disease", ["acute-gastroenteritis", "acute-bronchiolitis", "influenza-a", "acute-otitis-media"]
)
def test_small_infants_with_fever_or_fast_breathing_are_not_sent_home(knowledge, disease):
    at_risk = 0
    for patient in drawn(knowledge, disease, n=500):
        shown, age, truth = patient.body.shown, patient.case.presentation.age, patient.case.truth
        if (age < 0.25 and shown["temperature"] >= 38) or (age < 5 and shown["respiratory_rate"] > 60):
            at_risk += 1
            assert truth.acuity <= 2
            home = patient.disease.plan(patient.severity).disposition == "home"
            assert not home or "into a children's ward" in "\n".join(truth.treatment)
        elif 0.16 <= age < 1 and shown["respiratory_rate"] > 50:
            assert truth.acuity <= 3
    assert at_risk or disease == "acute-otitis-media"


def test_nobody_with_tension_headache_has_what_rules_it_out(knowledge):
    patients = drawn(knowledge, "tension-type-headache", n=200)
    for patient in patients:
        has = ids(patient)
        assert not has & {"nausea_vomiting", "worse_on_movement", "visual_aura", "thunderclap_headache"}
        assert len(has & {"throbbing_headache", "one_sided_headache", "light_sensitivity"}) <= 1


def test_a_drawn_drug_of_the_record_is_that_of_the_reasons(patients):
    for patient in patients:
        told, reasons = of_illness(patient)[1].medications, "\n".join(patient.case.truth.rationale)
        if "阿莫西林" in reasons:
            assert "阿莫西林" in told


def ids(patient):
    return {symptom.id for symptom in patient.body.present}


def test_questionnaires_are_for_those_from_twelve_on(knowledge):
    # PHQ-9 and GAD-7 were tried from 12 years on.
    asked = {e.id: e for e in knowledge.examinations.values() for i in e.items if i.id in ("phq9", "gad7", "pdss")}
    assert len(asked) >= 2
    assert all(examination.ages is not None and examination.ages[0] >= 12 for examination in asked.values())
