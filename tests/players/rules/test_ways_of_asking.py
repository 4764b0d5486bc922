"""In how many ways one asks since when, how long, where, how bad, what helps, for medicines, allergies, the family."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest
from tests.players.rules.test_everyday import asked, minds  # noqa: F401

from polyclinic.cases import History, Presentation, Record
from polyclinic.events import State
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.players.rules.symptom_attributes import attributes_of

RECORDS = {
    "en": Record(
        presentation=Presentation(complaint="Pain in the upper belly for two weeks", language="en", age=40),
        history=History(
            present="The pain began two weeks ago after a wedding dinner. It lies in the pit of the stomach and "
            "spreads to the back. It is 7 out of 10. It is worse after greasy meals and better when sitting forward. "
            "Each bout lasts an hour.",
            medications="Takes metformin 500 mg twice daily.",
            allergies="Allergic to penicillin.",
            family="His father had bowel cancer; his mother has diabetes.",
        ),
    ),
    "zh": Record(
        presentation=Presentation(complaint="上腹痛2周", language="zh", age=40),
        history=History(
            present="2周前聚餐后出现上腹痛，位于剑突下，向背部放射，疼痛评分7分，进食油腻后加重，前倾坐位时缓解。"
            "每次持续约1小时。",
            medications="口服二甲双胍，每日2次。",
            allergies="对青霉素过敏。",
            family="父亲患肠癌，母亲有糖尿病。",
        ),
    ),
}

LEAST = [("ways_of_asking.tsv", {"en": 20, "zh": 19}), ("ways_of_asking_2.tsv", {"en": 14, "zh": 17})]
"""What is found of the twenty a language of each half; by the second nothing was mended."""


def rows(name):
    with Path(__file__).with_name(name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.mark.parametrize(("name", "least"), LEAST)
async def test_what_is_asked_in_many_ways_is_told(minds, name, least):  # noqa: F811
    found, missed = Counter(), []
    for row in rows(name):
        turn = await asked(minds, RECORDS[row["language"]], row["question"])
        told = re.search(row["told"], turn.say) is not None
        found[row["language"]] += told
        missed += [] if told else [f"{row['asked for']}: {row['question']} -> {turn.say}"]
    assert all(found[language] >= n for language, n in least.items()), "\n".join(missed)


@pytest.mark.parametrize("question", ["Since when does it hurt?", "Since when is it worse?", "什么时候起疼的？"])
def test_since_when_asks_for_no_circumstance(question):
    names = [one.name for one in attributes_of(question, "en" if question.isascii() else "zh", ())]
    assert "time" in names
    assert "trigger" not in names


@pytest.mark.slow
async def test_a_pain_of_the_complaint_has_lasted_as_long_as_it(minds):  # noqa: F811
    drawn = [c for c in generate(read_knowledge(), n=150, seed=7) if "pain in the side" in c.presentation.complaint]
    assert drawn
    for case in drawn:
        turn = await asked(minds, case.record, "When did the pain start?")
        assert turn.state is State.EFFECTIVE_INQUIRY
        assert re.search(r"\d+ (?:hour|day|week|month|year)", turn.say), turn.say
