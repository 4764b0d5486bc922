"""What a record says is not known is neither told nor denied; that there is none known stays a denial."""

import random

import pytest
from tests.tables import each_row

from polyclinic.cases.loaders import agentclinic, fhir
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.events import Role, Said, State
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.names import Names
from polyclinic.players.player import REPLY
from polyclinic.players.roles.patient import Patient
from polyclinic.players.rules.patient import RulesPatient
from polyclinic.players.rules.story import is_not_known, without_unknown

COMPLAINT = {"en": "Fever for two days", "zh": "发热两天"}
QUESTION = {
    "en": {
        "allergies": "Do you have any allergies?",
        "past": "What illnesses have you had before?",
        "medications": "What medicines do you take?",
        "family": "Are there any illnesses in your family?",
    },
    "zh": {
        "allergies": "您有什么过敏吗？",
        "past": "您以前得过什么病？",
        "medications": "您平时吃什么药？",
        "family": "家里人有什么病吗？",
    },
}
NOT_KNOWN = {
    "en": {
        "allergies": "I do not know whether I am allergic to anything, doctor.",
        "past": "I do not know my earlier illnesses, doctor.",
        "medications": "I do not know which medicines, if any, doctor.",
        "family": "I do not know what illnesses there are in my family, doctor.",
    },
    "zh": {
        "allergies": "我不知道自己对什么过敏不过敏，医生。",
        "past": "以前有过什么病，我不清楚，医生。",
        "medications": "平时用什么药、用没用药，我不清楚，医生。",
        "family": "家里人有过什么病，我不知道，医生。",
    },
}
UNKNOWN = [
    ("en", "allergies", "Allergies: unknown"),
    ("en", "allergies", "Drug allergies are not known."),
    ("en", "allergies", "The allergy history could not be obtained because of confusion."),
    ("en", "allergies", "Not asked"),
    ("en", "allergies", "n/a"),
    ("en", "allergies", "No information about allergies"),
    ("en", "past", "Past medical history: not documented"),
    ("en", "past", "He cannot recall his earlier illnesses"),
    ("en", "medications", "Home medications unavailable."),
    ("en", "family", "Family history unknown (adopted)."),
    ("zh", "allergies", "过敏史不详"),
    ("zh", "allergies", "药物过敏史未询及。"),
    ("zh", "past", "既往史不详"),
    ("zh", "past", "既往病史患者无法提供"),
    ("zh", "medications", "用药史不清楚"),
    ("zh", "family", "家族史无记录"),
]
DENIED = [
    ("en", "allergies", "No known drug allergies."),
    ("en", "allergies", "NKDA"),
    ("en", "allergies", "None known"),
    ("en", "allergies", "Not known to have any allergies."),
    ("en", "allergies", "She is not aware of any allergies."),
    ("en", "allergies", "He has not reported any drug allergies."),
    ("en", "past", "No known illnesses."),
    ("zh", "allergies", "无"),
    ("zh", "allergies", "否认药物、食物过敏史"),
    ("zh", "allergies", "未诉药物过敏"),
    ("zh", "allergies", "无明确药物过敏史"),
    ("zh", "allergies", "没有明确的过敏史"),
    ("zh", "family", "否认家族遗传病史"),
]
SOMETHING = [
    "The cause of his father's death is unknown.",
    "Onset of the rash unknown.",
    "Penicillin (reaction unknown)",
    "皮疹原因不明",
    "青霉素过敏",
]


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


async def reply(knowledge, record, question):
    lexicons = {language: Lexicon(knowledge.symptoms.values(), language) for language in ("en", "zh")}
    patient = Patient(RulesPatient(lexicons, Names(knowledge), random.Random(1)), record)
    patient.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text=question))
    return await patient.act(REPLY)


def record_of(language, part, text):
    presentation = Presentation(complaint=COMPLAINT[language], language=language, age=40, sex="male")
    return Record(presentation=presentation, history=History(**{part: text}))


@each_row(["language", "part", "text"], UNKNOWN)
async def test_what_is_not_known_is_said_not_to_be_known(language, part, text, knowledge):
    turn = await reply(knowledge, record_of(language, part, text), QUESTION[language][part])
    assert (turn.say, turn.state) == (NOT_KNOWN[language][part], State.INEFFECTIVE_INQUIRY)


@each_row(["language", "part", "text"], DENIED)
async def test_that_none_is_known_stays_a_denial(language, part, text, knowledge):
    turn = await reply(knowledge, record_of(language, part, text), QUESTION[language][part])
    assert turn.say != NOT_KNOWN[language][part] and not is_not_known(text)


@each_row("text", SOMETHING)
def test_a_sentence_with_more_in_it_tells_that(text):
    assert without_unknown(text) == ([], text)


async def test_what_is_known_is_told_and_the_rest_is_not_known(knowledge):
    record = record_of("en", "allergies", "Penicillin (rash), food allergies unknown")
    assert "penicillin" in (await reply(knowledge, record, "Are you allergic to any medicine?")).say.lower()
    said = (await reply(knowledge, record, "Are you allergic to latex?")).say
    assert said == NOT_KNOWN["en"]["allergies"]


async def test_an_unknown_part_named_under_another_heading_is_not_known(knowledge):
    record = record_of("en", "past", "Appendectomy in 2010. Allergies: unknown. Family history: not documented.")
    for part in ("allergies", "family"):
        assert (await reply(knowledge, record, QUESTION["en"][part])).say == NOT_KNOWN["en"][part]
    assert "appendectomy" in (await reply(knowledge, record, "Have you had any operations?")).say


async def test_an_illness_of_an_unknown_past_is_not_known(knowledge):
    said = (await reply(knowledge, record_of("en", "past", "Past history unknown."), "Do you have diabetes?")).say
    assert said == NOT_KNOWN["en"]["past"]


async def test_a_parent_does_not_know_of_its_child(knowledge):
    presentation = Presentation(complaint="Fever for two days", age=2, sex="male")
    record = Record(presentation=presentation, history=History(allergies="Unknown"))
    said = (await reply(knowledge, record, "Is he allergic to anything?")).say
    assert said == "I do not know whether my child is allergic to anything, doctor."


async def test_an_agentclinic_patient_does_not_know(knowledge):
    actor = {"Demographics": "40-year-old man", "Symptoms": {"Primary_Symptom": "Fever"}, "Allergies": "Not documented"}
    case = agentclinic.load({"OSCE_Examination": {"Patient_Actor": actor, "Correct_Diagnosis": "Influenza"}}, 1)
    assert (await reply(knowledge, case.record, QUESTION["en"]["allergies"])).say == NOT_KNOWN["en"]["allergies"]


def bundle(*resources):
    visit = {"resourceType": "Encounter", "id": "e", "reasonCode": [{"text": "Fever"}]}
    disease = {"text": "Influenza (disorder)"}
    condition = {"resourceType": "Condition", "id": "c", "code": disease, "encounter": {"reference": "urn:uuid:e"}}
    patient = {"resourceType": "Patient", "id": "p"}
    return {
        "resourceType": "Bundle",
        "entry": [{"resource": one} for one in (patient, visit, condition, *resources)],
    }


def coded(code, **more):
    return {"coding": [{"code": code, **more}]}


ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
FHIR_UNKNOWN = [
    ("allergies", {"resourceType": "AllergyIntolerance", "code": coded("1631000175102")}),
    ("allergies", {"resourceType": "AllergyIntolerance", "code": coded("no-allergy-info", display="No info")}),
    (
        "allergies",
        {"resourceType": "AllergyIntolerance", "code": {"extension": [{"url": ABSENT, "valueCode": "asked-unknown"}]}},
    ),
    ("allergies", {"resourceType": "List", "code": coded("48765-2"), "emptyReason": coded("notasked")}),
    ("medications", {"resourceType": "MedicationStatement", "medicationCodeableConcept": coded("no-medication-info")}),
    ("past", {"resourceType": "Condition", "code": coded("no-problem-info")}),
    (
        "family",
        {
            "resourceType": "FamilyMemberHistory",
            "relationship": {"text": "natural father"},
            "dataAbsentReason": coded("unable-to-obtain"),
        },
    ),
    (
        "medications",
        {
            "resourceType": "Composition",
            "section": [{"code": coded("10160-0"), "emptyReason": coded("unavailable")}],
        },
    ),
]


@each_row(["part", "resource"], FHIR_UNKNOWN)
async def test_a_bundle_says_what_is_not_known(part, resource, knowledge):
    case = fhir.load(bundle(resource), 1)
    assert case.truth.diagnoses[0].name == "Influenza"
    assert (await reply(knowledge, case.record, QUESTION["en"][part])).say == NOT_KNOWN["en"][part]


@each_row(
    "code",
    [coded("716186003", display="No known allergy (situation)"), coded("716186003"), coded("no-known-allergies")],
)
async def test_a_bundle_that_knows_of_none_denies(code, knowledge):
    case = fhir.load(bundle({"resourceType": "AllergyIntolerance", "code": code}), 1)
    said = (await reply(knowledge, case.record, QUESTION["en"]["allergies"])).say
    assert said in ("I have no known allergy.", "I have no allergies that I know of.")
