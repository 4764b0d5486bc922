"""Classes of questions that are easily answered by what is only near to them, in classes.jsonl.

Others' trouble, what somebody reacts to, trades, earlier operations, what a medicine is for, and where, when, how long
and how much. Drawn cases stand in classes_cases.jsonl, with what their patients know; half `b` was put away while the
rules were made.
"""

import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from tests.players.rules.test_lay_questions import ANSWERED, answers, denies
from tests.tables import each_row

from polyclinic.cases import History, Presentation, Record
from polyclinic.events import Role, Said, State
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.players.minds import Minds
from polyclinic.players.player import REPLY
from polyclinic.players.roles.patient import Patient
from polyclinic.players.rules.recall import asks_of_others

HERE = Path(__file__)
TABLE = [json.loads(line) for line in HERE.with_name("classes.jsonl").read_text("utf-8").splitlines()]
AFFIRMED_AT_MOST = 0.05
NOT_FOUND_AT_MOST = 0.1


@pytest.fixture(scope="module")
def minds():
    return Minds(patient="rules", knowledge=read_knowledge(), seed=1)


@pytest.fixture(scope="module")
def drawn():
    lines = HERE.with_name("classes_cases.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {
        (row["file"], row["case"]): Record(
            presentation=msgspec.convert(row["presentation"], Presentation),
            history=msgspec.convert(row["history"], History),
        )
        for row in rows
    }


async def ask(record, minds, question):
    patient = Patient(minds.patient("1"), record, setting="ward")
    patient.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text=question))
    return await patient.act(REPLY)


def check(told) -> None:
    counted, wrong = Counter(), []
    for row, turn in told:
        label, answered = row["label"], turn.state in ANSWERED
        counted[label] += 1
        if label == "there" and not answered:
            counted["not found"] += 1
            wrong.append((row["question"], turn.say))
            assert not denies(turn), (row["question"], turn.say)
        if label == "not there" and answered:
            counted["affirmed"] += 1
            wrong.append((row["question"], turn.say))
    assert counted["affirmed"] <= AFFIRMED_AT_MOST * counted["not there"], wrong
    assert counted["not found"] <= NOT_FOUND_AT_MOST * counted["there"], wrong


@pytest.mark.slow
async def test_drawn_cases(drawn, minds):
    rows = [row for row in TABLE if "/" not in row["file"]]
    check([(row, await ask(drawn[row["file"], row["case"]], minds, row["question"])) for row in rows])


@pytest.mark.slow
async def test_real_cases(shared_data, minds):
    rows = [row for row in TABLE if "/" in row["file"]]
    check([one async for one in answers(rows, shared_data / "cases", minds)])


@each_row(
    ("history", "question", "answered"),
    [
        ({"present": "现为手术治疗来院。"}, "以前动过手术吗？", False),
        ({"present": "要求手术治疗。"}, "做过手术吗？", False),
        ({"past": "三年前行阑尾切除术。"}, "以前动过手术吗？", True),
        ({"past": "腹部手术史。"}, "手上动过手术吗？", False),
        ({"past": "Takes insulin. Takes aspirin."}, "Other than the insulin, do you take any tablets?", True),
        ({"medications": "Insulin."}, "Apart from the insulin, what do you take?", False),
        ({"medications": "Omeprazole."}, "What do you take for your stomach?", True),
        ({"medications": "Metformin."}, "What do you take for your headaches?", False),
        ({"symptoms": ("blisters",)}, "Where are the blisters?", False),
        ({"symptoms": ("blisters on the hands",)}, "Where are the blisters?", True),
        ({"past": "He had an operation on the knee."}, "When was your knee operated on?", False),
        ({"past": "服药不规律。"}, "降压药是按时吃的吗？", True),
        ({"present": "The pain is in the back of the head."}, "Where in your head does it hurt?", True),
    ],
)
async def test_what_is_near_is_no_answer(history, question, answered, minds):
    language = "en" if question.isascii() else "zh"
    complaint = {"en": "Unwell", "zh": "其他不适"}[language]
    record = Record(
        presentation=Presentation(complaint=complaint, language=language, age=40), history=History(**history)
    )
    turn = await ask(record, minds, question)
    assert (turn.state is State.EFFECTIVE_INQUIRY) is answered, turn.say


@each_row(
    ("question", "of_others"),
    [
        ("Is anybody else in your class off sick?", True),
        ("Does your husband have the same rash?", True),
        ("Did the people who ate with you get ill?", True),
        ("Does your wife say that you snore?", False),
        ("Do you have the same cough as before?", False),
        ("Does anyone at home smoke?", False),
        ("Has anyone else examined you?", False),
        ("同桌也打喷嚏吗？", True),
        ("周围有没有人得一样的病？", True),
        ("学校里有没有流感？", True),
        ("肿块周围有没有其他症状，比如疼痛？", False),
        ("家里有人抽烟吗？", False),
        ("您和同事说过头晕吗？", False),
    ],
)
def test_whose_trouble_is_asked_for(question, of_others):
    assert asks_of_others(question, "en" if question.isascii() else "zh") is of_others
