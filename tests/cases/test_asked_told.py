"""What was asked of a patient, as the patient tells it; and what becomes of that when a doctor asks."""

import io
import json
import random
import re

import msgspec
from rich.console import Console
from tests.tables import each_row

from polyclinic.cases.loaders import read_cases
from polyclinic.cases.loaders.ddxplus import told
from polyclinic.cases.truth import Truth
from polyclinic.cli.chart import show_chart
from polyclinic.events import Role, Said
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.names import Names
from polyclinic.players.player import REPLY
from polyclinic.players.roles.patient import Patient
from polyclinic.players.rules.patient import RulesPatient

STATED = [
    ("Do you have a headache (in the whole head or a part of it)?", "I have a headache"),
    ("Do you have Raynaud's phenomenon (RP)?", "I have Raynaud's phenomenon (RP)"),
    ("Does your knee lock when you climb stairs?", "My knee locks when I climb stairs"),
    ("Did your ankles suddenly swell?", "My ankles suddenly swelled"),
    ("Did you faint after standing up?", "I fainted after standing up"),
    ("Did you lose your voice?", "I lost my voice"),
    ("Have you ever had gout?", "I have had gout"),
    ("Has your urine become darker?", "My urine has become darker"),
    ("Is your tongue or the inside of your cheek sore?", "My tongue or the inside of my cheek is sore"),
    (
        "Are your knees worse in the morning and better after moving?",
        "My knees are worse in the morning and better after moving",
    ),
    ("Can you hear a ringing in your ears?", "I can hear a ringing in my ears"),
    ("Are you of Turkish descent?", "I am of Turkish descent"),
    (
        "Were you born by caesarean or did you need oxygen at birth?",
        "I was born by caesarean or I needed oxygen at birth",
    ),
    (
        "Are you more forgetful or has your sleep been poor lately?",
        "I am more forgetful or my sleep has been poor lately",
    ),
    (
        "Do you have trouble breathing, or have a feeling of tightness?",
        "I have trouble breathing, or have a feeling of tightness",
    ),
    (
        "Do you currently, or did you ever, have any weakness in your hands?",
        "I currently do, or did, have some weakness in my hands",
    ),
    ("Does the itch keep you from sleeping?", "The itch keeps me from sleeping"),
    ("Does anyone in your family have epilepsy?", "Someone in my family has epilepsy"),
    (
        "Have any of your family members been diagnosed with gout?",
        "Some of my family members have been diagnosed with gout",
    ),
    ("Are there any members of your family who have asthma?", "There are some members of my family who have asthma"),
    ("Do you have any rash that you believe is related to the condition you are consulting for?", "I have some rash"),
    (
        "In the last year, have you been in contact with anyone who coughs?",
        "In the last year, I have been in contact with someone who coughs",
    ),
    ("Does the person snore?", "I snore"),
]
ANSWERED = [
    ("Do your nails break?", ["N"], None, "My nails do not break"),
    ("Is the lump larger than a pea?", ["Y"], None, "The lump is larger than a pea"),
    ("Have you been abroad in the last year?", ["N"], None, "I have not been abroad in the last year"),
    ("Have you been abroad in the last year?", ["Peru"], None, "I have been abroad in the last year: Peru"),
    ("Do you feel numb somewhere?", ["thumb(R)", "thumb(L)"], None, "I feel numb in the right thumb and left thumb"),
    ("Do you feel numb somewhere?", ["nowhere"], None, "I do not feel numb anywhere"),
    ("Does the itch spread to another location?", ["knee(L)"], None, "The itch spreads to the left knee"),
    ("Where is the affected joint found?", ["under the jaw"], None, "The affected joint is found under the jaw"),
    ("What shape is the mole?", ["round"], None, "The shape of the mole is round"),
    ("What shape is the mole?", ["NA"], None, "I cannot say what shape the mole is"),
    ("How bad is the cramp?", ["7"], 10, "I would put how bad the cramp is at 7 of 10"),
    ("How quickly did the rash come?", ["2"], 5, "I would put how quickly the rash came at 2 of 5"),
    ("Is the ankle swollen?", ["3"], 10, "The ankle is swollen: 3 of 10"),
    ("Is the ankle swollen?", ["0"], 10, "The ankle is not swollen"),
    ("Characterize your cough:", ["dry", "a bark"], None, "My cough is dry and like a bark"),
]


@each_row(["question", "statement"], STATED)
def test_a_question_answered_yes_is_a_statement_of_the_patient(question, statement):
    assert told(question) == statement


@each_row(["question", "values", "scale", "statement"], ANSWERED)
def test_an_answer_stands_in_the_statement(question, values, scale, statement):
    assert told(question, values, scale) == statement


def test_every_evidence_of_the_data_set_is_a_statement(shared_data):
    listed = json.loads((shared_data / "knowledge/ddxplus/release_evidences.json").read_text())
    for code, one in listed.items():
        meant = [value["en"] for value in one["value_meaning"].values()]
        numbers = [value for value in one["possible-values"] if isinstance(value, int)]
        for value in meant or map(str, numbers) or [None]:
            said = told(one["question_en"], [] if value is None else [value], max(numbers, default=None))
            first_words = re.match(r"(?:I|My|The|Some\w*|There|In the)\b", said)
            assert first_words and not re.search(r"\?|\byou\b|\byour\b|: yes$", said), f"{code}: {said}"


FEVER = "Do you have a fever (either felt or measured with a thermometer)?"
EVIDENCES = {
    "F": {"question_en": FEVER},
    "P": {"question_en": "Do you have pain somewhere, related to your reason for consulting?"},
    "C": {
        "question_en": "Characterize your pain:",
        "value_meaning": {"V_1": {"en": "haunting"}, "V_2": {"en": "sensitive"}},
    },
    "W": {"question_en": "Do you feel pain somewhere?", "value_meaning": {"V_3": {"en": "forehead"}}},
    "I": {"question_en": "How intense is the pain?", "possible-values": list(range(11))},
    "A": {"question_en": "How fast did the pain appear?", "possible-values": list(range(11))},
    "R": {"question_en": "Does the pain radiate to another location?", "value_meaning": {"V_0": {"en": "nowhere"}}},
    "M": {"question_en": "Do you have any family members who have asthma?", "is_antecedent": True},
}
ROW = {
    "AGE": 18,
    "SEX": "F",
    "PATHOLOGY": "Bronchitis",
    "EVIDENCES": "['F', 'P', 'C_@_V_1', 'C_@_V_2', 'W_@_V_3', 'I_@_4', 'A_@_3', 'R_@_V_0', 'M']",
    "INITIAL_EVIDENCE": "F",
    "DIFFERENTIAL_DIAGNOSIS": "[['Bronchitis', 0.19], ['Pneumonia', 0.17]]",
}
ASKED = [
    ("What brings you in?", "Doctor, I have a fever."),
    ("Do you have pain?", "I have pain somewhere."),
    ("How bad is the pain?", "I would put how intense the pain is at 4 of 10."),
    ("Where does it hurt?", "I feel pain in the forehead."),
    ("Does the pain spread anywhere?", "The pain does not radiate to another location."),
    ("Does anyone in your family have asthma?", "I have some family members who have asthma."),
]


def case_in(folder):
    (folder / "release_evidences.json").write_text(json.dumps(EVIDENCES))
    path = folder / "patients.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    return next(iter(read_cases(path)))


@each_row(["question", "answer"], ASKED)
async def test_a_patient_of_codes_answers_as_a_patient(question, answer, tmp_path):
    case, knowledge = case_in(tmp_path), read_knowledge()
    lexicons = {language: Lexicon(knowledge.symptoms.values(), language) for language in ("en", "zh")}
    mind = RulesPatient(lexicons, Names(knowledge), random.Random(1))
    patient = Patient(mind, case.record, setting=case.setting)
    patient.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text=question))
    assert (await patient.act(REPLY)).say == answer


@each_row(["truth", "shown"], [(False, False), (True, True)])
def test_the_chart_shows_the_differential_with_its_probabilities_with_the_truth_alone(truth, shown, tmp_path):
    screen = Console(file=io.StringIO(), width=80)
    show_chart(screen, case_in(tmp_path), read_knowledge(), truth=truth)
    text = screen.file.getvalue()
    assert ("Bronchitis: 19 %" in text) == ("Pneumonia: 17 %" in text) == ("Pneumonia" in text) == shown


def test_a_case_without_probabilities_has_none_in_its_file(tmp_path):
    case = case_in(tmp_path)
    assert "probabilities" in msgspec.to_builtins(case.truth)
    assert "probabilities" not in msgspec.to_builtins(Truth(diagnoses=case.truth.diagnoses))
