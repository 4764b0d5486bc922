"""The knowledge's questions, asked of the parent who speaks for a small child."""

import pytest

from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.lexicon import Lexicon, asked_of_parent
from polyclinic.language.language import LANGUAGES


@pytest.mark.parametrize(
    ("asked", "of_parent"),
    [
        ("Do you have a fever?", "Does your child have a fever?"),
        ("Is your nose running?", "Is the child's nose running?"),
        ("Have you lost weight?", "Has your child lost weight?"),
        ("Do you bring up phlegm when you cough?", "Does your child bring up phlegm when your child coughs?"),
        ("Does it burn or hurt when you pass urine?", "Does it burn or hurt when your child passes urine?"),
    ],
)
def test_english(asked, of_parent):
    assert asked_of_parent(asked, "en") == of_parent


def test_chinese():
    assert asked_of_parent("您有没有发烧？", "zh") == "孩子有没有发烧？"


@pytest.mark.parametrize("language", LANGUAGES)
def test_either_form_means_its_symptom(language):
    symptoms = read_knowledge().symptoms.values()
    lexicon = Lexicon(symptoms, language)
    wrong = []
    for symptom in symptoms:
        text = symptom.question.get(language)
        if {lexicon.question(text), lexicon.question(asked_of_parent(text, language))} != {symptom.id}:
            wrong.append(symptom.id)
    assert not wrong
