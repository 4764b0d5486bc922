"""How those who speak are asked: forms without empty fields, own words in the form, others' with their name."""

import pytest

from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.record import History, Record
from polyclinic.events import Examined, Role, Said
from polyclinic.players.language_model.mind import PROMPTS, doctor_messages
from polyclinic.players.language_model.speaking import dialogue, said_in_form, turn_form
from polyclinic.players.player import SPEAK, choose_from
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.roles.patient import Patient
from polyclinic.players.staging import Staging
from polyclinic.prompts import read_prompts

RECORD = Record(
    presentation=Presentation(complaint="I cough.", age=40), history=History(present="She coughs at night.")
)
QUESTION = Question(id="q", stem="What is it?", options={"A": "asthma", "B": "a cold"})
SEEN = (
    Said(seq=0, turn=0, who=Role.PATIENT, to=Role.DOCTOR, text="I cough."),
    Said(seq=1, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text="An X-ray, please."),
    Said(seq=2, turn=1, who=Role.PATIENT, to=Role.EXAMINER, text="X-ray."),
    Examined(seq=3, turn=1, findings=(), not_recorded=("X-ray",), text="X-ray: not recorded"),
)


def doctor(setting="ward", record=None, **staging):
    staging = Staging(**staging)
    return Doctor(None, RECORD.presentation, max_turns=5, setting=setting, record=record, staging=staging)


def test_a_form_has_what_is_asked_and_nothing_that_stays_empty():
    ward, online = (Patient(None, RECORD, setting=setting) for setting in ("ward", "online"))
    assert [turn_form(role).__struct_fields__ for role in (ward, online)] == [("say", "to", "leave"), ("say", "leave")]
    fields = [
        turn_form(doctor(**options)).__struct_fields__ for options in ({}, {"concludes": False}, {"thinks": True})
    ]
    assert fields == [("say", "conclude"), ("say",), ("thought", "say", "conclude")]
    assert said_in_form(turn_form(doctor(thinks=True))(thought="Asthma?", say="Since when?")) == {
        "say": "Since when?",
        "conclude": False,
    }


def test_own_words_stand_in_the_form_and_others_with_their_name():
    assert dialogue(SEEN, doctor(concludes=False)) == [
        ("user", "Patient: I cough."),
        ("assistant", '{"say":"An X-ray, please."}'),
        ("user", "Patient: X-ray."),
        ("user", "Examiner: X-ray: not recorded"),
    ]
    patient = Patient(None, RECORD)
    assert [text for who, text in dialogue(SEEN, patient) if who == "assistant"] == [
        '{"say":"I cough.","to":"doctor","leave":false}',
        '{"say":"X-ray.","to":"examiner","leave":false}',
    ]


@pytest.mark.parametrize("options", [{"dialogue_alone": True, "setting": "online"}, {"record": RECORD}])
def test_where_the_choice_is_made_from(options):
    role = doctor(**options)
    prompts = read_prompts(PROMPTS)["en"]
    last = doctor_messages(choose_from(QUESTION), role, prompts)[-1][1]
    assert ("From the record" in last, "From the conversation" in last) == (
        "record" in options,
        "record" not in options,
    )
    assert "visit is over" not in last


def test_with_the_dialogue_alone_nothing_follows_the_patients_words():
    role = doctor(dialogue_alone=True, setting="online", concludes=False)
    for event in SEEN[:1]:
        role.observe(event)
    messages = doctor_messages(SPEAK, role, read_prompts(PROMPTS)["en"])
    assert messages[-1] == ("user", "Patient: I cough.")
    assert "40" not in messages[0][1]
