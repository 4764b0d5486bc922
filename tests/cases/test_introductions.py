"""What a vignette's patient comes with: what says only who the patient is, is no complaint."""

import time

import pytest

from polyclinic.cases.loaders.field_map import record_of_text
from polyclinic.cases.report import Diagnosis

ONLY_WHO = [
    ("A 33-year-old woman. The rash itches.", "The rash itches."),
    ("The patient is a 44-year-old bricklayer. Hearing was lost in March.", "Hearing was lost in March."),
    ("A 5-year-old girl was brought to the clinic by her father. She limps.", "She limps."),
    ("Male, aged 61, previously well. Dark urine since May.", "Dark urine since May."),
    ("A 30-year-old pilot with no medical history. He is short of breath.", "He is short of breath."),
    ("A 30-year-old man. He is a teacher. His hands shake.", "His hands shake."),
    ("患者,男,40岁,司机。腰痛两天。", "腰痛两天。"),
    ("一名8岁女孩。腹泻三天。", "腹泻三天。"),
    ("女性,25岁,学生,因腹痛就诊。既往体健。", "因腹痛就诊。"),
]
SAYS_MORE = [
    "A 33-year-old woman has a rash.",
    "A 58-year-old man with a painful toe.",
    "A 19-year-old student noticed a lump.",
    "A 19-year-old student faints.",
    "A 40-year-old developed cancer.",
    "A 40-year-old woman has anger.",
    "A 40-year-old woman feels anger.",
    "A 40-year-old man with lower back pain since May is here.",
    "A 40-year-old woman was seen for a lump.",
    "A 40-year-old man was brought to the hospital unconscious.",
    "A 40-year-old man came to the clinic because of cough.",
    "A 62-year-old man presents with a two-hour history of chest pain.",
    "Fever and chills.",
    "男孩发热三天。",
    "患者腹痛一天。",
]


@pytest.mark.parametrize(("text", "complaint"), ONLY_WHO)
def test_who_the_patient_is_is_no_complaint(text, complaint):
    record = record_of_text(text)
    assert record.presentation.complaint == complaint
    assert record.vignette == record.history.present == text


@pytest.mark.parametrize("text", SAYS_MORE)
def test_a_sentence_that_says_more_is_the_complaint(text):
    more = f"{text}{'昨天加重。' if text.endswith('。') else ' Yesterday it got worse.'}"
    assert record_of_text(more).presentation.complaint.startswith(text)


def test_age_and_sex_are_of_the_patient_and_not_of_those_who_come_later():
    told = record_of_text("A 33-year-old woman. The rash itches. Her 5-year-old son has it, too.").presentation
    assert (told.age, told.sex) == (33, "female")


def test_what_somebody_has_stays_with_what_it_came_for():
    text = "A 70-year-old woman with diabetes came to the clinic. Her foot is numb. She smokes."
    assert record_of_text(text).presentation.complaint == text.removesuffix(" She smokes.")


def test_a_later_sentence_that_names_the_diagnosis_is_not_told_to_the_doctor():
    text = "A 33-year-old woman. The ring of Lyme disease itches."
    assert record_of_text(text).presentation.complaint == "The ring of Lyme disease itches."
    assert record_of_text(text, (Diagnosis("Lyme disease"),)).presentation.complaint == "A 33-year-old woman."


def test_a_text_of_nothing_else_is_kept():
    assert record_of_text("A 33-year-old woman.").presentation.complaint == "A 33-year-old woman."


def test_a_long_text_without_a_stop_is_read_at_once():
    began = time.perf_counter()
    for text in (
        "a 5-year-old " + "boy seen in the " * 5000,
        "患者男" * 9000,
        "a tall " * 9000,
        "boy with a toe " * 5000,
    ):
        record_of_text(text)
    assert time.perf_counter() - began < 5
