"""MedAgent-Zero on a model: what it is shown, which experience is kept, and what a failure becomes."""

import numpy as np
import pytest

from polyclinic.cases.presentation import Question
from polyclinic.errors import TimedOut
from polyclinic.memory.entries import AskedTask, ClinicalTask, Experience, MedicalRecord
from polyclinic.memory.library import MemoryLibrary
from polyclinic.memory.recall import CameToMind, Put, TaskAnswer
from polyclinic.methods.medagent_zero_practice import MedAgentZero
from polyclinic.models.scripted import Scripted

LABELS = ("influenza", "common cold")


def put(language="en"):
    stem, context = ("Which disease?", "a high fever") if language == "en" else ("是哪种病？", "高热")
    question = Question(
        id="c1/diagnosis", stem=stem, context=context, options=dict(zip("AB", LABELS, strict=True)), language=language
    )
    return Put(
        ClinicalTask.DIAGNOSIS,
        question,
        AskedTask(case="c1", number=1, query=context, options=LABELS),
        "practice",
    )


def brought(records=(), principles=()):
    libraries = MemoryLibrary(2), MemoryLibrary(2)
    asked = AskedTask(case="c0", number=1, query="of another patient", options=LABELS)
    for n, answer in enumerate(records):
        entry = MedicalRecord(asked=asked, answer=answer, reasoning=f"reasoning {n}")
        libraries[0].add(entry, np.array([1 - n / 10, 0], "f4"))
    for n, principle in enumerate(principles):
        entry = Experience(asked=asked, before="x", after="y", right=("y",), principle=principle)
        libraries[1].add(entry, np.array([1 - n / 10, 0], "f4"))
    return CameToMind(*(library.nearest(np.array([1, 0], "f4"), 9) for library in libraries))


def said(key, reasoning="So."):
    return {"reasoning": reasoning, "answer": key}


def learner(*answers):
    """Returns a learner on a script, and what the model was asked: (system, user) each."""
    asked, script = [], iter(answers)

    def answer(messages):
        asked.append([text for _, text in messages])
        return next(script)

    model = Scripted(answer)
    return MedAgentZero(lambda _: model), asked


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_what_came_to_mind_stands_before_the_question_the_most_like_next_to_it(language):
    doctor, asked = learner({"numbers": [2]}, said("A", "It is high."))
    came = await doctor.answer(put(language), brought(["common cold", "influenza"], ["the first", "the second"]))
    assert came.label == "influenza"
    assert came.reasoning == "It is high."
    user = asked[1][1]
    places = [user.index(text) for text in ("the second", "reasoning 1", "reasoning 0", put(language).question.stem)]
    assert places == sorted(places)
    assert "the first" not in user  # nobody called it helpful


async def test_a_memory_that_is_empty_costs_one_call_and_says_nothing():
    doctor, asked = learner(said("B"))
    assert (await doctor.answer(put(), brought())).label == "common cold"
    assert len(asked) == 1
    assert asked[0][1].startswith("Context:")


async def test_a_judge_who_says_nothing_usable_leaves_the_experience_out():
    asked = []

    def answer(messages):
        asked.append(messages[-1][1])
        return "no list" if "=== notes" in messages[-1][1] else said("B")

    doctor = MedAgentZero(lambda _: Scripted(answer))
    assert (await doctor.answer(put(), brought(principles=["never this"]))).label == "common cold"
    assert "never this" not in asked[-1]


async def test_a_lesson_is_kept_in_general_terms_where_the_retest_is_right():
    doctor, asked = learner(
        {"principle": "High fever means influenza."}, said("A"), {"principle": "High fever speaks for influenza."}
    )
    lesson = await doctor.learn(put(), brought(), TaskAnswer("common cold", "it is winter"), ("influenza",))
    assert (lesson.principle, lesson.after) == ("High fever speaks for influenza.", "influenza")
    reflection, again, abstraction = asked
    assert "it is winter" in reflection[1]
    assert "influenza" in reflection[1].rpartition("right:")[2]
    assert "High fever means influenza." in again[1]
    assert "right:" not in again[1]  # the golden answer is in the principle at most
    assert abstraction[1] == "High fever means influenza."


async def test_a_lesson_that_does_not_help_is_no_lesson():
    doctor, asked = learner({"principle": "Look twice."}, said("B"))
    assert await doctor.learn(put(), brought(), TaskAnswer("common cold"), ("influenza",)) is None
    assert len(asked) == 2


async def test_what_cannot_be_used_is_no_answer():
    doctor = MedAgentZero(lambda _: Scripted(lambda _: "nothing of the kind"))
    came = await doctor.answer(put(), brought())
    assert came.label == ""
    assert await doctor.learn(put(), brought(), TaskAnswer("common cold"), ("influenza",)) is None


async def test_an_endpoint_that_gives_no_answer_ends_the_practice_and_is_not_a_wrong_answer():
    def late(_):
        raise TimedOut("too slow")

    doctor = MedAgentZero(lambda _: Scripted(late))
    for came in (doctor.answer(put(), brought()), doctor.learn(put(), brought(), TaskAnswer("x"), ("influenza",))):
        with pytest.raises(TimedOut):
            await came
