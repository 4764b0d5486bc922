"""What a clinician would laugh at: a deadly illness found by chance, low oxygen unfelt, a plan against its findings."""

import pytest
from tests.knowledge.plans import KNOWLEDGE

from polyclinic.knowledge.body import FEWEST_LYMPHOCYTES, read_body
from polyclinic.knowledge.disease_body import meets
from polyclinic.knowledge.physiology import physiology_of
from polyclinic.knowledge.treatment import PlanPatient, chosen

UNMISTAKABLE = {
    "tenderness": ["right_upper", "right_lower", "rigid", "lower_both"],
    "kidney_percussion": ["marked"],
    "upper_mucosa": ["bleeding_crater"],
    "csf_gram": ["positive_pairs", "negative_pairs", "negative_rods", "positive_rods"],
    "csf_appearance": ["cloudy", "purulent", "even_bloody", "xanthochromic"],
    "meningeal_signs": ["kernig"],
    "epiglottis": ["swollen", "ball", "slit", "below_cords"],
    "neck_film": ["thumb", "steeple"],
    "bimanual": ["motion_tender", "adnexal_lump", "fornix"],
    "pelvic_scan": ["sac_inside", "adnexal_small", "adnexal_large", "free_blood", "adnexal_abscess"],
    "positioning": ["torsional"],
    "focal_signs": ["hemiparesis", "third_nerve", "slight"],
    "perianal": ["reduced", "absent"],
    "testis_flow": ["less_flow", "stopped_flow", "patchy"],
    "aorta": ["distal_flap", "distal_flap_branches", "ascending_flap"],
    "pulmonary_arteries": ["segmental_defects", "central_defects"],
    "leg_look": ["red_sheet", "tense_blue"],
    "skin": ["wheals", "dermatome", "crops", "acral", "petechiae", "red_warm"],
    "retina": ["macula_off", "peripheral_detached", "tear"],
    "abdominal_film": ["many_levels", "air_below_diaphragm"],
}
"""What is found in nobody but those who have it."""


def test_pictures_of_an_illness_are_no_chance_findings():
    wrong = [
        (item, state, share)
        for item, states in UNMISTAKABLE.items()
        for state in states
        if (share := KNOWLEDGE.quantities[item].usual[state]) > 0.0005
    ]
    assert not wrong


def test_a_virus_that_is_not_there_is_seldom_found():
    for item in ("influenza_a_rna", "influenza_b_rna", "sars_cov_2_rna", "mycoplasma_dna", "rsv_antigen"):
        assert KNOWLEDGE.quantities[item].usual["positive"] <= 0.01, item


@pytest.mark.parametrize(
    ("disease", "values", "felt"),
    [
        ("mycoplasma-infection", {"mycoplasma_dna": "positive", "oxygen_saturation": 87}, "breathlessness"),
        ("influenza-a", {"influenza_a_rna": "positive", "oxygen_saturation": 87}, "breathlessness"),
        ("acute-anterior-uveitis", {"anterior_segment": "fibrin", "visual_acuity": "low"}, "blurred_vision"),
    ],
)
def test_what_is_measured_so_badly_is_felt(disease, values, felt):
    items = physiology_of(KNOWLEDGE).items
    criteria = KNOWLEDGE.diseases[disease].criteria.at("severe")
    for there in (True, False):
        assert all(meets(criterion, items, values | {felt: there}) for criterion in criteria) is there


def drugs_of(disease, severity, **findings):
    plan = KNOWLEDGE.diseases[disease].plan(severity)
    known = {"systolic": 120, "heart_rate": 90, "potassium": 4.2, "creatinine": 100, "ecg": "normal"} | findings
    due = chosen(plan, PlanPatient(age=70, sex="female", days=20, findings=known), KNOWLEDGE.quantities).due
    return {option.drug for one in due for option in one.options}


def test_heart_failure_is_treated_by_its_ejection_fraction_and_its_rhythm():
    weak, stiff = {"sacubitril-valsartan", "bisoprolol"}, {"dapagliflozin"}
    for severity in ("mild", "moderate"):
        assert weak | stiff <= drugs_of("heart-failure", severity, ejection_fraction=30)
        kept = drugs_of("heart-failure", severity, ejection_fraction=60)
        assert stiff <= kept
        assert not weak & kept
        assert "apixaban" not in kept
    for severity in ("mild", "moderate", "severe"):
        assert "apixaban" in drugs_of("heart-failure", severity, ejection_fraction=60, ecg="absent_p")
    assert "fondaparinux" not in drugs_of("heart-failure", "severe", ejection_fraction=30, ecg="absent_p")


def test_some_lymphocytes_are_left_however_many_neutrophils():
    lymphocytes = read_body().derived["lymphocytes"]
    assert lymphocytes.value([16.8, 92.0, 0.9]) == pytest.approx(16.8 * FEWEST_LYMPHOCYTES)
    assert lymphocytes.value([6.0, 60.0, 0.2]) == pytest.approx(1.78)


def test_ketones_of_the_urine_are_those_of_the_blood_and_insulin_is_taken_for_a_sugar():
    body = read_body()
    assert body.items["urine_ketones"].of == "blood_ketones"
    sugar = body.beside["diabetes_on_insulin"].numbers["hba1c"]
    assert sugar[0] > KNOWLEDGE.quantities["hba1c"].high
    assert body.beside["diabetes_on_insulin"].share(70, "female") > body.beside["diabetes_on_insulin"].share(20, "male")


def test_the_tracing_is_fast_where_the_pulse_is():
    shown = read_body().shown_as["ecg"]
    assert shown.as_ not in KNOWLEDGE.quantities["ecg"].usual


def test_no_tricyclic_is_given_to_a_narrowed_heart_or_in_old_age():
    plan = KNOWLEDGE.diseases["tension-type-headache"].plan("severe")
    for age, heart, first in ((40, False, "amitriptyline"), (60, True, "mirtazapine"), (75, False, "mirtazapine")):
        patient = PlanPatient(age=age, findings={"earlier_heart_trouble": heart, "ecg": "normal"})
        assert chosen(plan, patient, KNOWLEDGE.quantities).due[0].first.drug == first, (age, heart)
