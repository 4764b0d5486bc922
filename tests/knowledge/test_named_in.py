"""What names a disease in a text is found in whatever words; what everybody may say is not taken for it."""

import pytest

from polyclinic.knowledge.named_in import named_in
from polyclinic.language.disguises import undisguised

NAMED = (
    ("Acute Myocardial Infarction", "he had a heart attack, they said", "heart attack"),
    ("Acute Myocardial Infarction", "They asked whether it was AMI.", "AMI"),
    ("Acute Myocardial Infarction", "医生说是心梗。", "心梗"),
    ("Chronic Obstructive Pulmonary Disease", "her C.O.P.D. is bad", "C.O.P.D"),
    ("Chronic Obstructive Pulmonary Disease", "a СОРD flare", "СОРD"),
    ("慢性阻塞性肺疾病", "考虑慢阻肺加重", "慢阻肺"),
    ("肺结核", "診斷為肺結核", "肺結核"),
    ("Influenza A", "INFLUENZA-A was found", "INFLUENZA-A"),
    ("Influenza A", "a rapid test for type A influenza was positive", "influenza"),
    ("Influenza A", "it was in\u00adflu\u00adenza", "in\u00adflu\u00adenza"),
    ("Influenza A", "They wrote influensa.", "influensa"),
    ("甲型流感", "查出甲流", "甲流"),
    ("流行性感冒", "可能是流行性感冒,疑似", "流行性感冒"),
    ("Nephrolithiasis", "they saw stones in the kidney", "stones in the kidney"),
    ("Gastric cancer", "somebody said cancer", "cancer"),
    ("肺炎", "肺\u200b炎", "肺\u200b炎"),
    ("2型糖尿病", "老中医说是消渴", "消渴"),
    ("Pulmonary Embolism", "The note says APE.", "APE"),
    ("Tuberculosis", "it is Koch's disease", "Koch's disease"),
    ("Systemic Lupus Erythematosus", "The note ends S. L. E. I did not ask.", "S. L. E"),
    ("Community-Acquired Pneumonia", "a lobar pneumonia", "lobar pneumonia"),
    ("Croup", "laryngo-tracheo-bronchitis", "laryngo-tracheo-bronchitis"),
    ("Chickenpox", "校医说出水豆", "水豆"),
    ("Ischaemic Stroke", "She said that it was nao geng si.", "nao geng si"),
    ("Bronchial Asthma", "My coach says asma.", "asma"),
    ("J10.1", "J10 stands on the form", "J10"),
    ("Infectious Mononucleosis", "Epstein-Barr virus was found", "Epstein-Barr virus"),
)
NOT_NAMED = (
    ("Migraine", "I have a headache on one side and feel sick."),
    ("Pneumonia", "My stomach hurts, and I have pain in the chest with cough and fever."),
    ("Acute pharyngitis", "sore throat"),
    ("急性咽炎", "咽痛三天，伴发热、咳嗽"),
    ("Gastro-oesophageal reflux disease", "hoarseness and heartburn for 5 days"),
    ("良性阵发性位置性眩晕", "头晕三天"),
    ("Community Acquired Pneumonia", "no appetite, tired, shivering"),
    ("Bipolar disorder", "mental status was normal"),
)


def test_what_names_a_disease_is_found_in_any_words_and_disguise():
    missed = [
        (name, text) for name, text, said in NAMED if said not in [n.text for n in named_in(text, [name]) if n.is_sure]
    ]
    assert not missed


def test_complaints_are_no_names():
    taken = [(name, text) for name, text in NOT_NAMED if any(n.is_sure for n in named_in(text, [name]))]
    assert not taken


def test_what_is_said_of_many_diseases_is_doubtful():
    (found,) = named_in("there was some infection", ["Urinary tract infection"])
    assert (found.text, found.is_sure, found.is_wider) == ("infection", False, True)


@pytest.mark.parametrize(
    ("text", "read"), [("肺\u00ad炎", "肺炎"), ("ＣＯＰＤ", "COPD"), ("肺結核", "肺结核"), ("ß", "ß")]
)
def test_a_disguise_is_read_and_leads_back(text, read):
    found = undisguised(text)
    assert found.text == read
    assert found.original(text, 0, len(read)) == text


def test_names_that_are_parted_or_run_together_are_read():
    for said in (
        "pulmonary em-\nbolism",
        "pulmonary em- bolism",
        "pulmonary\u200bembolism",
        "pulmonaryembolism",
        "PulmonaryEmbolism",
        "p-u-l-m-o-n-a-r-y e-m-b-o-l-i-s-m",
        "pulmönary embolïsm",
    ):
        found = named_in(f"They said {said} today.", ["Pulmonary Embolism"])
        assert said in [one.text for one in found if one.is_sure], said
    for said, name in (("P.E", "Pulmonary Embolism"), ("T.B", "Tuberculosis"), ("M.S", "Multiple Sclerosis")):
        assert [one.text for one in named_in(f"Was it {said}. I am tired.", [name])] == [said]
    assert not named_in("Pain pre- and postoperative, at 3 p.m. A cough - dry, e.g. at night.", ["Pulmonary Embolism"])
