"""The doctor by cases: it guesses where it remembers nothing, and weighs what it remembers."""

from collections import Counter

import numpy as np
import pytest

from polyclinic.cases.presentation import Question
from polyclinic.memory.entries import AskedTask, ClinicalTask, Experience, MedicalRecord
from polyclinic.memory.library import CaseWordsEmbedder, MemoryLibrary
from polyclinic.memory.recall import CameToMind, Put, RecallDoctor, TaskAnswer

LABELS = ("x", "y", "z")


def put(case="c", task=ClinicalTask.DIAGNOSIS):
    question = Question(id=f"{case}/{task}", stem="?", options=dict(zip("ABC", LABELS, strict=True)))
    return Put(task, question, AskedTask(case=case, number=1, query="", options=LABELS))


def brought(records=(), experience=()):
    """Brings records (answer, cosine) and experience (right, cosine) to mind, the nearest first."""
    libraries = MemoryLibrary(2), MemoryLibrary(2)
    for answer, cosine in records:
        entry = MedicalRecord(asked=put().asked, answer=answer)
        libraries[0].add(entry, np.array([cosine, np.sqrt(1 - cosine**2)], "f4"))
    for right, cosine in experience:
        entry = Experience(asked=put().asked, before="?", after=right[0], right=right, principle="p")
        libraries[1].add(entry, np.array([cosine, np.sqrt(1 - cosine**2)], "f4"))
    return CameToMind(*(library.nearest(np.array([1, 0], "f4"), 100) for library in libraries))


async def test_without_memory_it_guesses_evenly_and_the_same_again():
    guesses = [(await RecallDoctor(seed=1).answer(put(f"c{n}"), brought())).label for n in range(300)]
    assert guesses == [(await RecallDoctor(seed=1).answer(put(f"c{n}"), brought())).label for n in range(300)]
    assert min(Counter(guesses).values()) > 70


@pytest.mark.parametrize(
    ("records", "experience", "answer"),
    [
        ([("x", 0.9), ("y", 0.5), ("y", 0.5)], [], "x"),  # near counts for more than many
        ([("x", 0.9), ("y", 0.89), ("y", 0.89)], [], "y"),
        ([("x", 0.8)], [(("z",), 0.95)], "z"),
        ([("unheard of", 0.9), ("z", 0.1)], [], "z"),  # what is none of the options says nothing
    ],
)
async def test_it_weighs_what_came_to_mind(records, experience, answer):
    assert (await RecallDoctor(seed=1).answer(put(), brought(records, experience))).label == answer


async def test_an_examination_is_worth_what_it_led_to():
    library = MemoryLibrary(2)
    for answer, led_to in [("x", ()), ("y", (ClinicalTask.DIAGNOSIS, ClinicalTask.TREATMENT)), ("z", ())]:
        entry = MedicalRecord(asked=put().asked, answer=answer, led_to=led_to)
        library.add(entry, np.array([1, 0], "f4"))
    query = np.array([1, 0], "f4")
    came = CameToMind(library.nearest(query, 10), MemoryLibrary(2).nearest(query, 1))
    assert (await RecallDoctor(seed=1).answer(put(task=ClinicalTask.EXAMINATION), came)).label == "y"


async def test_a_lesson_is_kept_only_where_the_retest_is_right():
    few, many = brought([("x", 0.9)]), brought([("x", 1.0)] * 40)
    lesson = await RecallDoctor(seed=1).learn(put(), few, TaskAnswer("x"), ("y",))
    assert lesson is not None
    assert (lesson.after, "y" in lesson.principle) == ("y", True)
    assert await RecallDoctor(seed=1).learn(put(), many, TaskAnswer("x"), ("y",)) is None


async def test_of_a_result_it_counts_whether_it_is_high_and_of_whom_what_is_said():
    embedder = CaseWordsEmbedder()
    texts = ["a dry cough\nwhite cells: high", "a dry cough\nwhite cells: low", "dry coughs\nwhite cells: high"]
    high, low, other = await embedder.passages([("", text) for text in texts])
    assert high @ other > high @ low
    same = await embedder.passages([("", "lungs: 12.3 /nL (4-9)"), ("", "lungs: 99 /nL (4-9)")])
    assert same[0] @ same[1] == pytest.approx(1, abs=1e-6)
    assert (await embedder.query("")).tolist() == [0] * len(high)
    assert np.linalg.norm(await embedder.query("干咳三天")) == pytest.approx(1)
