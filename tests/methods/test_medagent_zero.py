"""MedAgent-Zero on questions: what comes to mind, what stands in the prompt, and the paper's tables."""

from pathlib import Path

import numpy as np
import pytest

from polyclinic.answering.outcome import OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import BadInput, TimedOut, UserError
from polyclinic.evaluations.exams.evaluation import Learning, run_methods
from polyclinic.memory.entries import AskedTask, ClinicalTask, Experience
from polyclinic.memory.library import DIMENSIONS, CaseWordsEmbedder
from polyclinic.memory.memory import About, DoctorMemory, New
from polyclinic.memory.reading import PassageRead, ReadingLibrary, Studied, StudyRecord
from polyclinic.memory.remembering import ExamMemory
from polyclinic.methods.medagent_zero import medagent_zero
from polyclinic.methods.table import choose
from polyclinic.protocols.study_plan import find_plan, read_plan
from polyclinic.questions.exam import ExamQuestion

ABOUT = About(embedder="case-words", dimensions=DIMENSIONS, knowledge="8 diseases")
VALVES = {"A": "Aortic", "B": "Mitral"}
PRINCIPLES = {
    ClinicalTask.EXAMINATION: ("a diastolic murmur needs an echocardiogram", "fever needs a blood test"),
    ClinicalTask.DIAGNOSIS: ("a murmur at the apex is mitral", "itching is an allergy"),
    ClinicalTask.TREATMENT: ("a diastolic murmur at the apex is mild",),
}


def remembered(language="en"):
    memory, library = DoctorMemory(ABOUT), ReadingLibrary(About(embedder="case-words", dimensions=DIMENSIONS))
    new = []
    for task, principles in PRINCIPLES.items():
        for n, principle in enumerate(principles):
            query = "fever" if language == "en" else "发热"
            asked = AskedTask(case=f"c{n}", number=100 * n + 1, query=query, options=("x", "y"))
            lesson = Experience(asked=asked, before="x", after="y", right=("y",), principle=principle)
            new.append(New(task, lesson, np.zeros(DIMENSIONS, "f4")))
    memory.commit(new)
    records = [
        StudyRecord(
            passage=f"book#{n}",
            question=Question(id=f"q{n}", stem=stem, options=VALVES),
            key="B",
            reasoning=f"reason {n}",
            evidence="",
            written_by="w",
            answered_by="d",
        )
        for n, stem in enumerate(("Which valve makes a diastolic murmur?", "Which valve is mitral?", "What itches?"))
    ]
    vectors = CaseWordsEmbedder().vectors([record.query for record in records])
    library.commit([PassageRead(Studied(passage="book#1", records=tuple(records)), vectors)])
    return ExamMemory(memory, library, embedder=CaseWordsEmbedder())


def said(purpose, text):
    return {"numbers": [1]} if purpose == "helpful" else "It rumbles.\n\nAnswer: B"


async def test_records_are_examples_and_helpful_experience_stands_before_the_question(by_purpose, question):
    model = by_purpose(said)
    outcome = await medagent_zero(question, model, memory=remembered())
    assert (outcome.answer, outcome.calls, outcome.round_trips) == ("B", 2, 2)
    (judged,), (answered,) = model.shown("helpful"), model.shown("reasoning")
    assert "a diastolic murmur at the apex is mild" not in judged.text  # of a treatment
    assert ("needs an echocardiogram" in judged.text) and ("at the apex is mitral" in judged.text)
    assert answered.user.count("=== ") == 2
    assert ("at the apex is mitral" in answered.user) != ("needs an echocardiogram" in answered.user)
    assert "come first; the last question is yours" in answered.system


async def test_parts_and_snapshots_of_the_memory(by_purpose, question):
    for settings, calls, round_trips in (
        ({"records": 0}, 2, 2),
        ({"experience": 0}, 1, 1),
        ({"patients": 0}, 1, 1),
        ({"patients": 50}, 2, 2),
    ):
        model = by_purpose(said)
        outcome = await medagent_zero(question, model, memory=remembered(), **settings)
        assert (outcome.calls, outcome.round_trips) == (calls, round_trips), settings
        (answered,) = model.shown("reasoning")
        assert ("last question is yours" in answered.system) == (settings.get("records") != 0), settings
    assert "itching" not in model.shown("helpful")[0].text  # learnt later
    plain = by_purpose(said)
    assert (await medagent_zero(question, plain)).calls == 1


async def test_an_equal_question_is_no_example_and_a_judge_who_fails_leaves_experience_out(by_purpose):
    same = Question(id="q", stem="Which valve makes a diastolic murmur?", options=VALVES)
    model = by_purpose(lambda purpose, _: "no list" if purpose == "helpful" else "So.\n\nAnswer: B")
    outcome = await medagent_zero(same, model, memory=remembered())
    assert outcome.answer == "B"
    assert "reason 0" not in model.shown("reasoning")[0].text
    assert "=== memory" not in model.shown("reasoning")[0].user
    late = by_purpose(lambda *_: TimedOut("late"))
    assert (await medagent_zero(same, late, memory=remembered())).end is OutcomeEnd.FAILED
    with pytest.raises(BadInput, match="the memory is in 'zh', question q in 'en'"):
        await medagent_zero(same, model, memory=remembered("zh"))
    with pytest.raises(UserError, match="records is -1"):
        await medagent_zero(same, model, records=-1)


async def test_the_tables_of_the_paper(by_purpose, question):
    """The plan of Agent Hospital's tables takes its parts and its patients from one memory."""
    (plan,) = read_plan(find_plan(Path("agent-hospital-table4"))).runs
    chosen = choose(plan.options["method"])
    assert {one.name for one in chosen} == {"medagent_zero"}
    assert [one.settings for one in chosen] == [
        {},
        {"experience": 0},
        {"records": 0},
        *({"patients": n} for n in (0, 2_000, 4_000, 6_000)),
    ]
    two = [*choose("chain_of_thought"), chosen[0]]
    put = [ExamQuestion(question=question, key=("B",))]
    results = await run_methods(
        put, two, lambda _: lambda _: by_purpose(said), learning=Learning(memory=remembered()), match="none"
    )
    assert [one.cost.calls for one in results] == [1, 2]
    assert [one.accuracy.mean for one in results] == [100, 100]
