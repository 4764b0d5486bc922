"""What people bring along, in the words of the knowledge, is told to who asks for it."""

import random

import pytest

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.events import Role, Said, State
from polyclinic.generation.background import read_background
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.lexicon import lexicon_of
from polyclinic.knowledge.names import Names
from polyclinic.players.player import REPLY
from polyclinic.players.roles.patient import Patient
from polyclinic.players.rules.patient import RulesPatient

DRUGS = 10  # of the allergies, those to drugs stand first
ASKED = {
    "en": {
        "drugs": "Is there any medicine you can't have?",
        "allergies": "Do you have any allergies?",
        "medications": "What medicines do you take?",
        "pregnancy": "Are you pregnant?",
    },
    "zh": {
        "drugs": "您对什么药物过敏吗？",
        "allergies": "您对什么东西过敏吗？",
        "medications": "您在吃什么药吗？",
        "pregnancy": "您怀孕了吗？",
    },
}


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_what_is_asked_for_is_told(language):
    known = read_knowledge()
    mind = RulesPatient({one: lexicon_of(known, one) for one in ("en", "zh")}, Names(known), random.Random(1))

    async def state(question, **history):
        person = Presentation(
            complaint="a cough" if language == "en" else "咳嗽", language=language, age=30, sex="female"
        )
        stop = "." if language == "en" else "。"
        told = {section: text + stop for section, text in history.items()}
        patient = Patient(mind, Record(presentation=person, history=History(**told)), setting="ward")
        patient.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text=question))
        return (await patient.act(REPLY)).state

    background, asked = read_background(), ASKED[language]
    of_drugs = [text for one in background.allergies[:DRUGS] for text in one.text.get(language)]
    told = [(asked["drugs"], {"allergies": text}) for text in of_drugs]
    told += [
        (asked["allergies"], {"allergies": text}) for one in background.allergies for text in one.text.get(language)
    ]
    told += [
        (asked["medications"], {"medications": getattr(medicine, language)})
        for condition in background.conditions
        for medicine in condition.medicines
    ]
    pregnant = next(c for c in background.conditions if c.id == "pregnancy")
    told += [(asked["pregnancy"], {"past": text}) for text in pregnant.past.get(language)]
    silent = [(q, h) for q, h in told if await state(q, **h) is not State.EFFECTIVE_INQUIRY]
    assert not silent
