"""What the built-in cases record, asked for in everyday words; and what must not be told of it."""

from pathlib import Path

import pytest

from polyclinic.cases import History, Presentation, Record
from polyclinic.events import Role, Said, State
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.players.minds import Minds
from polyclinic.players.player import REPLY
from polyclinic.players.roles.patient import Patient

TOLD = {State.EFFECTIVE_INQUIRY, State.OPENING}
FOUND = {"en": 0.87, "zh": 0.9}
"""The share that is found; the rest needs an inference, or a word that is not known yet."""
PERSONAL = ("room", "kitchen", "Cigarette", "fumes", "people", "Somebody", "家", "身边", "烟", "尘", "屋")
SECTIONS = {
    "allergies": ("allergy", "过敏"),
    "family": ("Parents", "父母"),
    "medications": ("inhaler", "amoxicillin", "吸入剂", "阿莫西林"),
    "past": ("vaccination", "Earlier attacks", "疫苗", "以前"),
    "personal": PERSONAL,
}


@pytest.fixture(scope="module")
def minds():
    return Minds(patient="rules", knowledge=read_knowledge(), seed=1)


def record_of(told, language, complaint=""):
    section = next((name for name, words in SECTIONS.items() if any(word in told for word in words)), "symptoms")
    history = History(symptoms=(told,)) if section == "symptoms" else History(**{section: told})
    plain = complaint or {"en": "Unwell", "zh": "其他不适"}[language]
    return Record(presentation=Presentation(complaint=plain, language=language, age=40), history=history)


async def asked(minds, record, question):
    patient = Patient(minds.patient("1"), record, setting="ward")
    patient.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text=question))
    return await patient.act(REPLY)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_what_is_recorded_is_found_in_everyday_words(minds, language):
    lines = Path(__file__).with_name(f"everyday.{language}.txt").read_text(encoding="utf-8").splitlines()
    record, missed, questions = None, [], 0
    for line in lines:
        if not line.startswith(" "):
            record = record_of(line, language)
            continue
        questions += 1
        turn = await asked(minds, record, line.strip())
        missed += [f"{record.history} {line} -> {turn.say}"] if turn.state not in TOLD else []
    assert len(missed) <= (1 - FOUND[language]) * questions, "\n".join(missed)


NOT_THERE = [
    # What a question takes for granted and is not there.
    ("Acute chest pain for two days", "What were you doing when you blacked out?"),
    ("Rash on the trunk for three weeks", "Since when have you been getting out of breath?"),
    ("Heartburn for three months", "How old were you when you had your first period?"),
    ("发热3天", "这个肿物是多少天前发现的？"),
    # Another part of the body, another circumstance, another thing.
    ("Pain in the right knee for two weeks", "What is the pain in your ear like?"),
    ("Cough worse near cats", "Is it worse in cold air?"),
    ("头痛3天，咽痛", "眼睛往旁边看的时候有什么感觉？"),
    ("Pain in the right hand", "Are you left-handed or right-handed?"),
    ("Loss of smell for a week", "Do you have any kidney trouble?"),
    # Infections, vaccinations and drugs are each their own.
    ("A skin infection last year", "Have you ever had tuberculosis?"),
    ("Stress at work. Takes metformin daily.", "Do you take anything for your prostate?"),
    ("Had a coronavirus vaccination within the year", "Have you had Covid?"),
    ("一年内打过冠状病毒疫苗", "打过流感疫苗没有？"),
]


async def test_what_is_not_recorded_is_not_answered_with_something_else(minds):
    wrong = []
    for told, question in NOT_THERE:
        language = "zh" if question[-1] == "？" else "en"
        plain = {"en": "Unwell", "zh": "其他不适"}[language]
        record = Record(
            presentation=Presentation(complaint=plain, language=language, age=40), history=History(present=told)
        )
        turn = await asked(minds, record, question)
        wrong += [f"{told}: {question} -> {turn.say}"] if turn.state in TOLD else []
    assert not wrong, "\n".join(wrong)


EN = History(
    present="He fell off a ladder while painting. The doctor told him that it was a sprain. "
    "It is worse on the left side. He noticed it by chance while showering. "
    "Afterwards he felt dizzy. The swelling started at the ankle.",
    past="Asthma. Appendectomy in 2010.",
    allergies="Allergic to penicillin.",
    family="His father died of a heart attack.",
    personal="Native of Chile. Eats a vegetarian diet.",
)
ZH = History(
    present="患者1个月前无意间发现颈部肿物，左侧明显，因车祸外伤。外院诊断为淋巴结炎，要求手术治疗。",
    past="有高血压病史。",
    allergies="对青霉素过敏。",
    family="父亲有糖尿病。",
    personal="出生于四川，久居本地。",
)
CIRCUMSTANCES = [
    ("How did it happen?", ["ladder"]),
    ("What did the other doctor say?", ["sprain"]),
    ("Which side is worse?", ["left"]),
    ("How did you find it?", ["chance"]),
    ("How do you feel once it is over?", ["dizzy"]),
    ("Where did the swelling start?", ["ankle"]),
    ("Where are you from?", ["Chile"]),
    ("What do you usually eat?", ["vegetarian"]),
    ("What did your dad die of?", ["heart attack"]),
    ("Past illnesses, allergies, family history?", ["sthma", "penicillin", "heart attack"]),
    ("Any allergies or operations?", ["penicillin", "ppendectomy"]),
    ("是怎么受伤的？", ["车祸"]),
    ("当地医生怎么说？", ["淋巴结炎"]),
    ("哪一侧更明显？", ["左侧"]),
    ("这个肿物是怎么发现的？", ["无意"]),
    ("您是哪里人？", ["四川"]),
    ("这次来想解决什么问题？", ["手术"]),
    ("既往史、过敏史、家族史？", ["高血压", "青霉素", "糖尿病"]),
    ("请问有没有既往病史，过敏史和家族史？", ["高血压", "青霉素", "糖尿病"]),
]


async def test_circumstances_and_all_that_is_asked_for_are_told(minds):
    wrong = []
    for question, told in CIRCUMSTANCES:
        language = "zh" if question[-1] == "？" else "en"
        plain, history = {"en": ("A swollen ankle", EN), "zh": ("颈部肿物", ZH)}[language]
        record = Record(presentation=Presentation(complaint=plain, language=language, age=40), history=history)
        turn = await asked(minds, record, question)
        wrong += [f"{question} -> {turn.say}"] if not all(word in turn.say for word in told) else []
    assert not wrong, "\n".join(wrong)
