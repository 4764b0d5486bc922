"""Recorded dialogues put to a patient turn by turn, each turn in its place."""

import json
import math

import pytest

from polyclinic.errors import BadInput, Refused, TimedOut
from polyclinic.evaluations.patient_simulator.evaluation import (
    LabelledQuestion,
    LabelledReply,
    compare_turns,
    put_questions,
    read_recorded,
    recorded_turns,
)
from polyclinic.events import State
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.scripted import Scripted
from polyclinic.players.minds import Minds
from polyclinic.run.output import short_names

VIGNETTE = "A 52-year-old man has had a dry cough for two weeks. He smokes. Chest X-ray shows a shadow. Which is it?"
SETS = ("HospitalCases", "MedicalExam")
TURNS = [
    ("O", "Hello, what can I do for you?", "I have had a dry cough for two weeks."),
    ("A-A-A", "Do you smoke?", "Yes."),
    ("A-A-B", "Do you have a rash?", "No rash."),
    ("A-A-B", "您有没有皮疹？", "No."),
    ("B-A-A", "I recommend a chest X-ray.", "It showed a shadow."),
    ("E", "Goodbye and take care.", ""),
]


def dialogue(turns=TURNS, **changes):
    history = [{"state": state, "doctor": doctor, "patient": patient} for state, doctor, patient in turns]
    raw = {"question": VIGNETTE, "options": {"A": "x", "B": "y"}, "answer_idx": "A"}
    return {"id": 7, "raw_data": raw, "question": "Which is it?", "history": history, **changes}


@pytest.fixture
def file(tmp_path):
    def write(*records):
        path = tmp_path / "doctor.json"
        path.write_text(json.dumps(records))
        return path

    return write


def minds(patient="rules", **models):
    return Minds(
        patient=patient, knowledge=read_knowledge(), seed=1, models={f"direct/{k}": m for k, m in models.items()}
    )


def test_the_turns_are_read(file):
    read = read_recorded(file(dialogue(), {"id": 8, "raw_data": {"question": VIGNETTE}, "history": []}))
    (one,), left_out = read
    assert (one.id, one.record.presentation.age, one.record.presentation.complaint) == ("7", 52, TURNS[0][2])
    assert "Which is it" not in one.record.history.present
    # Neither the opening nor the conclusion is put.
    assert [question.turn for question in one.questions] == [1, 2, 3, 4]
    assert [left.id for left in left_out] == ["element 2"]


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ([{"id": 1}], "no doctor's turn in it"),
        ([dialogue(TURNS[:1])], "no doctor's turn in it"),
        ([dialogue([("Z", "Hm?", "?")])], "Invalid enum value 'Z'"),
        ([dialogue(history=[])], "complaint"),
        ([], "empty"),
    ],
)
def test_a_file_without_turns_is_named(file, records, told):
    with pytest.raises(BadInput, match=told):
        read_recorded(file(*records))


async def test_the_figures(file):
    dialogues, _ = read_recorded(file(dialogue()))
    result = await recorded_turns(dialogues).hold({"rules": minds()})
    assert [(row.question.turn, row.question.state, row.state, row.other_language) for row in result.rows] == [
        (1, State.EFFECTIVE_INQUIRY, State.EFFECTIVE_INQUIRY, False),
        (2, State.INEFFECTIVE_INQUIRY, State.INEFFECTIVE_INQUIRY, False),
        (3, State.INEFFECTIVE_INQUIRY, result.rows[2].state, True),
        (4, State.EFFECTIVE_ADVICE, State.EFFECTIVE_ADVICE, False),
    ]
    whole = result.all
    assert (whole.states.n, whole.states.percent, whole.kind, whole.other_language.n) == (3, 100, 100, 1)
    assert (whole.effective.n, whole.effective.recall, whole.effective.precision) == (2, 1, 1)
    assert math.isclose(whole.constant, 100 / 3)
    assert {state.value: (one.n, one.recall) for state, one in whole.by_state.items()} == {
        "A-A-A": (1, 1),
        "A-A-B": (1, 1),
        "B-A-A": (1, 1),
    }
    assert list(result.by_file.values()) == [whole]


def row(recorded, state, error="", text="?", language="en"):
    question = LabelledQuestion(key="1", turn=1, text=text, state=State(recorded))
    given = None if state is None else State(state)
    about = {"file": "f", "case": "1", "language": language, "information": "", "error": error}
    return LabelledReply(question=question, state=given, **about)


def test_what_is_counted_where():
    rows = [
        row("A-A-A", "A-A-A"),
        row("A-A-A", "B-A-A"),  # Effective it is, and of another kind.
        row("A-A-A", "A-B"),
        row("A-A-B", "A-A-A"),
        row("A-B", "A-A-A"),  # Not recorded as specific: says nothing of the precision.
        row("D", "C"),
        row("B-B", None),  # A mind that tracks no states.
        row("B-B", None, error="TimedOut"),
        row("B-B", "B-B", text="您好吗？"),
    ]
    whole = compare_turns(rows)
    assert (whole.states.n, whole.states.percent) == (7, 100 / 7)
    assert whole.effective.n == 3
    assert math.isclose(whole.effective.recall, 2 / 3)
    assert math.isclose(whole.effective.precision, 2 / 3)
    assert math.isclose(whole.kind, 100 * 5 / 7)
    assert math.isclose(whole.constant, 100 * 3 / 7)
    assert (whole.other_language.n, whole.other_language.percent, whole.failed) == (1, 100, {"TimedOut": 1})
    nothing = compare_turns([])
    assert (nothing.states.percent, nothing.kind, nothing.constant, nothing.effective.recall) == (None,) * 4


async def test_each_turn_is_put_in_its_place(file):
    seen = []

    def answer(messages):
        text = "\n".join(part for _, part in messages)
        if "`say`" in messages[0][1]:
            seen.append(text)
            return {"say": "Something of its own."}
        return "demand"

    (one,), _ = read_recorded(file(dialogue()))
    await put_questions(one, minds("saps:direct/x", x=Scripted(answer)))
    assert len(seen) == 4
    last = next(text for text in seen if "chest X-ray" in text)
    # The dialogue is the recorded one: the patient's own replies to other turns are no part of it.
    assert all(part in last for _, doctor, patient in TURNS[1:3] for part in (doctor, patient))
    assert "Something of its own." not in last
    first = next(text for text in seen if "Do you have a rash?" not in text)
    assert TURNS[0][2] in first


async def test_a_failure_is_counted_by_its_name_and_outside(file):
    def answer(messages):
        said = messages[-1][1]
        if "rash" in said:
            return TimedOut("late")
        if "smoke" in said and "X-ray" not in said:
            return Refused("no")
        return {"say": "Hm."} if "`say`" in messages[0][1] else "demand"

    dialogues, _ = read_recorded(file(dialogue()))
    result = await recorded_turns(dialogues).hold({"m": minds("saps:direct/x", x=Scripted(answer))})
    assert sum(result.all.failed.values()) == sum(bool(row.error) for row in result.rows) > 0
    assert set(result.all.failed) <= {"TimedOut", "Refused"}
    assert result.all.states.n + result.all.other_language.n + sum(result.all.failed.values()) == 4


def test_files_are_told_apart_by_their_last_parts():
    assert short_names(["a/x.json", "b/y.json"]) == ["x", "y"]
    assert short_names(["a/x.json", "b/x.json"]) == ["a/x", "b/x"]
    assert short_names(["a.json", "a.txt"]) == ["a.json", "a.txt"]


@pytest.mark.slow
async def test_the_rules_patient_takes_recorded_doctors_as_the_published_tracker_did(shared_data):
    folder = shared_data / "cases" / "aie" / "recorded"
    files = [folder / cases / f"{doctor}.json" for cases in SETS for doctor in ("chatgpt", "internlm-20b")]
    if missing := [file for file in files if not file.is_file()]:
        pytest.skip(f"no recorded dialogues at {missing[0]}")
    dialogues = [dialogue for file in files for dialogue in read_recorded(file)[0][::3]]
    whole = (await recorded_turns(dialogues).hold({"rules": minds()})).all
    assert whole.failed == {}
    # What the figures are on parts of these files, and on others, stands in docs/patients.md.
    assert whole.states.percent >= 58
    assert whole.kind >= 91
    assert min(whole.effective.recall, whole.effective.precision) >= 0.45
    assert whole.by_state[State.AMBIGUOUS_ADVICE].recall >= 0.30
    assert whole.by_state[State.AMBIGUOUS_INQUIRY].recall >= 0.25


def test_turns_without_words_and_dialogues_that_stand_twice_are_said(file):
    silent = [*TURNS[:-1], ("A-B", " ", "What?"), TURNS[-1]]
    dialogues, left_out = read_recorded(file(dialogue(), dialogue(), dialogue(silent, id=8)))
    assert [one.id for one in dialogues] == ["7", "8"]
    assert [(left.id, left.problem.partition(" ")[0]) for left in left_out] == [("7", "the"), ("8", "turns")]
    assert "says nothing: 1" in left_out[1].problem


def test_a_record_that_is_none_is_said_with_its_field(file):
    _, (left,) = read_recorded(file(dialogue(), {"id": 1}))
    assert left.problem.startswith("$.raw_data: ")
