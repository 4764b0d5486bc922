"""What people bring along is plausible for their age and sex, and speaks of no symptom."""

import random

import pytest

from polyclinic.generation.background import draw_background, read_background
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.language.language import LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_of_the_background_is_read_as_a_symptom(language):
    lexicon, known = Lexicon(read_knowledge().symptoms.values(), language), read_background()
    texts = [text for condition in known.conditions for text in condition.past.get(language)]
    texts += [getattr(medicine, language) for condition in known.conditions for medicine in condition.medicines]
    texts += [text for told in (*known.allergies, *known.habits) for text in told.text.get(language)]
    assert not {text: read for text in texts if (read := lexicon.read(text))}


def test_every_condition_that_a_symptom_stands_for_is_one():
    symptoms = read_knowledge().symptoms
    assert not [c.id for c in read_background().conditions if c.symptom and c.symptom not in symptoms]


def test_prostates_are_mens_and_bones_thin_late():
    rng, said = random.Random(1), {}
    for sex in ("female", "male"):
        for age in (8, 30, 80):
            drawn = [draw_background(age, sex, (), rng, "en") for _ in range(400)]
            said[sex, age] = " ".join(brought.history.past for brought in drawn)
    assert "prostate" in said["male", 80] and "prostate" not in said["female", 80] + said["male", 30]
    assert "Thin bones" in said["female", 80] and "Thin bones" not in said["female", 30] + said["male", 8]


def test_a_known_high_pressure_is_treated_by_name_and_nobody_takes_two_of_a_kind():
    rng = random.Random(2)
    taken = [
        draw_background(60, "male", {"high_blood_pressure", "raised_blood_fats"}, rng, "en").history.medications
        for _ in range(200)
    ]
    assert sum("mg" in text for text in taken) > 180
    assert not any("Atorvastatin" in text and "Simvastatin" in text for text in taken)


@pytest.mark.slow
def test_most_of_the_old_take_a_medicine_by_name():
    old = [c for c in generate(read_knowledge(), n=600, seed=6) if c.presentation.age > 75]
    assert sum(" mg " in c.record.history.medications for c in old) > 0.6 * len(old)
