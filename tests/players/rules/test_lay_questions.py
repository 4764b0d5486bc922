"""Everyday questions to real and drawn cases, written by people who had the record and not our words, in lay.jsonl.

A line: the file of the case below `cases`, its id, the question, and whether the record holds the answer (`there`),
denies it (`denied`) or is silent (`not there`); `own_words` where the question uses the record's own; `expects`: any of
these
stands in a full answer.
"""

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from tests.tables import each_row
from tests.truth_terms import truth_terms

import polyclinic
from polyclinic.cases.loaders import read_cases
from polyclinic.events import Role, Said, State
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.players.minds import Minds
from polyclinic.players.player import OPEN, REPLY
from polyclinic.players.roles.patient import Patient

TABLE = [json.loads(line) for line in Path(__file__).with_name("lay.jsonl").read_text("utf-8").splitlines()]
SHIPPED = Path(polyclinic.__file__).parent / "cases" / "data"
LABELLED = Path(__file__).parents[2] / "cases" / "data" / "labelled"
"""Drawn cases that the questions were written to; they stay when the knowledge, and with it what is drawn, changes."""
ANSWERED = {State.EFFECTIVE_INQUIRY, State.EFFECTIVE_ADVICE, State.OPENING}
NO = ("No,", "No ", "I have no", "My child has no", "没有", "我没有", "孩子没有")

DENIED_AT_MOST = 0.05
AFFIRMED_AT_MOST = 0.02
NOT_KNOWN_AT_MOST = 0.12  # denied, or said not to be known, of what is recorded
DENIED_IN_OWN_WORDS_AT_MOST = 0.01


@pytest.fixture(scope="module")
def minds():
    return Minds(patient="rules", knowledge=read_knowledge(), seed=1)


async def ask(case, minds, question):
    patient = Patient(minds.patient(case.id), case.record, setting=case.setting, withheld=truth_terms(case))
    await patient.act(OPEN)
    patient.observe(Said(seq=1, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text=question))
    return await patient.act(REPLY)


async def answers(rows, folder, minds):
    cases = {file: {case.id: case for case in read_cases(folder / file)} for file in {row["file"] for row in rows}}
    for row in rows:
        yield row, await ask(cases[row["file"]][row["case"]], minds, row["question"])


def denies(turn) -> bool:
    return turn.state not in ANSWERED and turn.say.startswith(NO)


async def figures(rows, folder, minds) -> Counter:
    counted = Counter()
    async for row, turn in answers(rows, folder, minds):
        label = row["label"]
        counted[label] += 1
        counted[label, "answered"] += turn.state in ANSWERED
        counted[label, "denied"] += denies(turn)
        counted[label, "not known"] += turn.state is State.INEFFECTIVE_INQUIRY
        counted["own words"] += row["own_words"] and label == "there"
        counted["own words", "denied"] += row["own_words"] and label == "there" and denies(turn)
    return counted


def check(counted: Counter) -> None:
    assert counted["there", "denied"] <= DENIED_AT_MOST * counted["there"], counted
    assert counted["not there", "answered"] <= AFFIRMED_AT_MOST * counted["not there"], counted
    assert counted["there", "not known"] <= NOT_KNOWN_AT_MOST * counted["there"], counted
    assert counted["own words", "denied"] <= DENIED_IN_OWN_WORDS_AT_MOST * counted["own words"], counted


@pytest.mark.slow
async def test_everyday_questions_to_drawn_cases(minds):
    check(await figures([row for row in TABLE if "/" not in row["file"]], LABELLED, minds))


@pytest.mark.slow
async def test_everyday_questions_to_real_cases(shared_data, minds):
    check(await figures([row for row in TABLE if "/" in row["file"]], shared_data / "cases", minds))


@each_row(
    ("file", "section", "question"),
    [
        ("respiratory.jsonl", "medications", "Are you taking any medicines?"),
        ("respiratory.jsonl", "medications", "What do you take at the moment?"),
        ("respiratory.jsonl", "family", "Any illnesses in the family?"),
        ("respiratory.jsonl", "allergies", "Does anything bring you out in a rash or disagree with you?"),
        ("respiratory.jsonl", "allergies", "Are you allergic to anything?"),
        ("respiratory.zh.jsonl", "medications", "您在吃什么药吗？"),
        ("respiratory.zh.jsonl", "family", "家里人有什么病吗？"),
        ("respiratory.zh.jsonl", "allergies", "您对什么东西过敏吗？"),
    ],
)
async def test_what_a_section_holds_is_told_when_it_is_asked_for(file, section, question, minds):
    cases = [case for case in read_cases(SHIPPED / file) if getattr(case.record.history, section)]
    assert len(cases) >= 3
    told = [await ask(case, minds, question) for case in cases]
    assert {turn.state for turn in told} == {State.EFFECTIVE_INQUIRY}


@pytest.mark.parametrize("file", ["respiratory.jsonl", "respiratory.zh.jsonl"])
async def test_what_the_complaint_says_is_not_denied(file, minds):
    """Every symptom of the complaint, asked for as it is told."""
    for case in random.Random(1).sample(list(read_cases(SHIPPED / file)), 12):
        for symptom in case.record.history.symptoms:
            zh = case.presentation.language == "zh"
            turn = await ask(case, minds, f"您有没有{symptom}？" if zh else f"Do you have {symptom}?")
            assert turn.state is State.EFFECTIVE_INQUIRY, (symptom, turn.say)
