"""A person as the nurse: asked until the answer is one, one patient at a time, and never answered for."""

import asyncio
import json
import subprocess
import sys

import pytest

from polyclinic.cases.presentation import Presentation
from polyclinic.errors import PersonLeft
from polyclinic.events import Role, Said
from polyclinic.players.human.desk import Desk
from polyclinic.players.human.people import HumanNurse
from polyclinic.players.player import send_to
from polyclinic.players.roles.staff import Nurse

DEPARTMENTS = {"cardiology": "Cardiology", "neurology": "Neurology"}


def person(lines, shown):
    left = iter(lines)

    async def read():
        await asyncio.sleep(0)
        return next(left, "")

    desk = Desk(read, shown.append)
    return lambda seat="one": HumanNurse(desk, seat)


async def test_asked_until_it_is_an_answer():
    shown = []
    nurse = Nurse(
        person(["1\n", "3 u\n", "2 x\n", "two u\n", "2 U\n"], shown)(), Presentation(complaint="headache"), DEPARTMENTS
    )
    triage = await nurse.act(send_to(DEPARTMENTS))
    assert (triage.department, triage.acuity) == ("neurology", "urgent")
    text = "".join(shown)
    assert "headache" in text and "1 Cardiology  2 Neurology" in text
    assert text.count("a number from 1 to 2") == 4


async def test_a_person_may_ask_and_gives_a_level():
    shown = []
    mind = person(["Does it throb?\n", "Since when?\n", "2 5\n"], shown)()
    nurse = Nurse(mind, Presentation(complaint="headache"), DEPARTMENTS, 1)
    asked = await nurse.act(send_to(DEPARTMENTS))
    assert asked.ask == "Does it throb?"
    for seq, (who, to, text) in enumerate((("nurse", "patient", asked.ask), ("patient", "nurse", "It does."))):
        nurse.observe(Said(seq=seq, turn=1, who=Role(who), to=Role(to), text=text))
    # A second question is one too many.
    triage = await nurse.act(send_to(DEPARTMENTS))
    assert (triage.department, triage.level, triage.ask) == ("neurology", 5, "")
    text = "".join(shown)
    assert "1 left" in text and "Does it throb? - It does." in text and text.count("headache") == 1


async def test_the_nurse_takes_a_line_back_and_goes_on_later(tmp_path):
    left = iter(["1 u\n", "/undo\n", "2 e\n", "/leave\n"])

    async def read():
        await asyncio.sleep(0)
        return next(left, "")

    desk = Desk(read, (shown := []).append, session=tmp_path / "typed")

    async def twice():
        nurse = Nurse(HumanNurse(desk, "nurse/human p1"), Presentation(complaint="headache"), DEPARTMENTS)
        return [await nurse.act(send_to(DEPARTMENTS)) for _ in range(2)]

    with pytest.raises(PersonLeft, match="left after 1 line; the same command resumes from there"):
        await desk.play("p1", twice)
    assert "Taken back: 1 u\n" in shown
    again = Desk(read, shown.append, session=tmp_path / "typed")
    nurse = Nurse(HumanNurse(again, "nurse/human p1"), Presentation(complaint="headache"), DEPARTMENTS)
    assert (await nurse.act(send_to(DEPARTMENTS))).acuity == "emergency"


async def test_help_is_told_and_what_may_be_typed_in_full_once():
    shown = []
    sit = person(["/help\n", "?\n", "1 4\n", "2 u\n"], shown)
    for _ in range(2):
        await Nurse(sit(), Presentation(complaint="headache"), DEPARTMENTS).act(send_to(DEPARTMENTS))
    text = "".join(shown)
    assert text.count("'1 4' sends the patient to the first department") == 2
    assert "That is no answer" not in text
    assert text.count("(1 at once to 5, or e emergency") == 1
    assert max(map(len, shown[-1:])) <= 70


async def test_one_patient_at_a_time():
    shown = []
    at_the_desk = person(["1 r\n", "2 e\n"], shown)
    people = [Presentation(complaint=complaint, language="zh") for complaint in ("头痛", "胸痛")]
    nurses = [Nurse(at_the_desk(who.complaint), who, DEPARTMENTS) for who in people]
    first, second = await asyncio.gather(*(nurse.act(send_to(DEPARTMENTS)) for nurse in nurses))
    assert (first.department, second.department) == ("cardiology", "neurology")
    asked = [text for text in shown if "有人来就诊" in text]
    assert "头痛" in asked[0] and "胸痛" in asked[1]
    assert shown.index(asked[1]) > 1  # after the first had been answered


async def test_nobody_answers_for_a_person_who_has_gone():
    nurse = Nurse(person(["1\n"], [])(), Presentation(complaint="headache"), DEPARTMENTS)
    with pytest.raises(PersonLeft, match=r"nobody answers at the terminal any more \(after 1 line\)"):
        await nurse.act(send_to(DEPARTMENTS))


@pytest.mark.slow
async def test_a_patient_who_is_asked_is_answered_for_before_the_next_one_comes():
    shown = []
    at_the_desk = person(["Since when?\n", "1 4\n", "2 2\n"], shown)
    nurses = [Nurse(at_the_desk(c), Presentation(complaint=c), DEPARTMENTS, 2) for c in ("headache", "chest pain")]

    async def receive(nurse):
        triage = await nurse.act(send_to(DEPARTMENTS))
        if triage.ask:
            await asyncio.sleep(0.35)  # the answer takes longer than anybody waits between two of the nurse's
            for seq, (who, to) in enumerate((("nurse", "patient"), ("patient", "nurse"))):
                nurse.observe(Said(seq=seq, turn=1, who=Role(who), to=Role(to), text="Yesterday."))
            triage = await nurse.act(send_to(DEPARTMENTS))
        return triage.department, triage.level

    assert await asyncio.gather(*map(receive, nurses)) == [("cardiology", 4), ("neurology", 2)]
    text = "".join(shown)
    assert text.index("Yesterday.") < text.index("chest pain")


@pytest.mark.slow
def test_at_the_terminal_of_a_run():
    answers = "\n".join(["hello", *["1 u"] * 40]) + "\n"
    command = [
        sys.executable,
        "-m",
        "polyclinic",
        "run",
        "--residents",
        "60",
        "--visits",
        "1",
        "--set",
        "run.nurse=human",
        "--json",
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True, input=answers)
    document = json.loads(done.stdout)
    assert document["minds"]["nurse"] == "human"
    assert (document["failed"], document["visits"] > 0) == (0, True)
    assert "department and level" in done.stderr


def test_a_person_is_in_one_place(complaint):
    assert "one process" in complaint("run", "--set", "run.nurse=human", "--on", "local:2")
    assert "no mind 'human' can play the pharmacist" in complaint("run", "--set", "run.pharmacist=human")
