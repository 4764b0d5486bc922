"""Who speaks for a child: a parent for a small one, both for a schoolchild, nobody for an adolescent."""

import random

import pytest

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.events import Role, Said
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.lexicon import lexicon_of
from polyclinic.knowledge.names import Names
from polyclinic.players.player import REPLY
from polyclinic.players.roles.patient import Patient
from polyclinic.players.rules.patient import RulesPatient
from polyclinic.players.rules.wording import who


async def said(question: str, age: float) -> str:
    known = read_knowledge()
    record = Record(
        presentation=Presentation(complaint="A fever for 2 days", age=age, sex="male"),
        history=History(symptoms=("a fever", "a cough"), past="Had a broken wrist years ago."),
    )
    lexicons = {"en": lexicon_of(known, "en"), "zh": lexicon_of(known, "zh")}
    patient = Patient(RulesPatient(lexicons, Names(known), random.Random(1)), record, setting="ward")
    patient.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text=question))
    return (await patient.act(REPLY)).say


@pytest.mark.parametrize(
    ("age", "symptom", "past"),
    [
        (0.5, "My child has a cough", "My child had a broken wrist"),
        (8, "I have a cough", "My child had a broken wrist"),
        (14, "I have a cough", "I had a broken wrist"),
    ],
)
async def test_who_tells_what(age, symptom, past):
    assert (await said("Do you have a cough?", age)).startswith(symptom)
    assert (await said("Any illnesses before?", age)).startswith(past)


def test_infants_are_so_many_months_old():
    ages = [(1 / 12, "1 month old."), (0.417, "5 months old."), (1.0, "1 year old."), (7.0, "7 years old.")]
    assert [who("age", Presentation(complaint="x", age=age)) for age, _ in ages] == [told for _, told in ages]
    assert who("age", Presentation(complaint="x", age=0.417, language="zh")) == "5个月。"
