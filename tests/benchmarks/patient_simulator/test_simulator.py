"""Patients on labelled questions: the set, the rows, the agreement."""

import json

import pytest
from tests.tables import each_row

from polyclinic.errors import BadInput, Refused, TimedOut
from polyclinic.evaluations.patient_simulator.evaluation import EFFECT, compare, read_labelled, replies, simulate
from polyclinic.events import State
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.scripted import Scripted
from polyclinic.players.minds import Minds

VIGNETTE = "A 30-year-old woman has had a dry cough for three days. She denies chest pain. She works as a teacher."
LABELS = {
    "A-A-A": ("Do you have a cough?", "A-A-A"),
    "A-A-B": ("Do you have a headache?", "A-A-B"),
    "A-B": ("How do you feel?", "A-B"),
    "B-A-A": ("I would like you to have a CT of the head.", "B-A-B"),
    "B-A-B": ("I recommend an MRI of the knee.", "B-A-B"),
    "B-B": ("I suggest that you do some tests.", "B-B"),
    "C": ("Please lie down and raise your leg.", "C"),
    "D": ("What is your favorite movie?", "D"),
}


def labelled(**changes):
    """A set of one case, each question at another context length, as in the published set."""
    test = {
        str(length): {
            key: {"human_state": state, "human_answer": f"answer {key}"}
            | ({"question": text, "answer": "", "state_prediction": "A-A-A", "prediction": "?"} if n == length else {})
            for n, (key, (text, state)) in enumerate(LABELS.items())
        }
        for length in range(10)
    }
    return [{"id": 7, "raw_data": {"question": VIGNETTE}, "patient_test": test, **changes}]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "set.json"
    path.write_text(json.dumps(labelled()))
    return path


def test_the_set_is_read(file):
    (case,) = read_labelled(file)
    assert case.id == "7"
    assert (case.record.presentation.age, case.record.presentation.sex) == (30, "female")
    assert case.record.presentation.complaint == "A 30-year-old woman has had a dry cough for three days"
    assert [(q.key, q.turn, q.text, q.state) for q in case.questions] == [
        (key, turn, text, State(state)) for turn, (key, (text, state)) in enumerate(LABELS.items())
    ]
    assert {q.recorded_state for q in case.questions} == {State.EFFECTIVE_INQUIRY}
    assert case.questions[2].answer == "answer A-B"


@each_row(
    ("content", "told"),
    [
        ("{}", "not a labelled set"),
        ("[{]", "not a labelled set"),
        ("[]", "no question in it"),
        (json.dumps(labelled(patient_test={})), "no question in it"),
        (json.dumps([{"id": 7}]), "raw_data"),
        (json.dumps(labelled()).replace('"human_state": "A-B"', '"human_state": "Z"'), "human_state"),
    ],
)
def test_a_set_that_is_none_is_named(tmp_path, content, told):
    path = tmp_path / "set.json"
    path.write_text(content)
    with pytest.raises(BadInput, match=told):
        read_labelled(path)


async def test_rows_and_agreement(file):
    rows = await simulate(read_labelled(file), Minds(knowledge=read_knowledge(), seed=1))
    assert [row.question.key for row in rows] == list(LABELS)
    assert all(row.state is row.question.state and row.reply and row.information == VIGNETTE for row in rows)
    whole, effect = compare(rows), compare(rows, EFFECT)
    assert (whole.states.n, whole.states.percent, whole.states.kappa, whole.failed) == (8, 100, 1, 0)
    assert (whole.constant, effect.states.n, effect.states.percent, effect.constant) == (87.5, 4, 100, 75)
    labels = whole.states.labels
    row = whole.states.confusion[labels.index("B-A-B")]
    assert row[labels.index("B-A-B")] == sum(row) == 2
    scored = replies(rows)
    assert [(r.state, r.heard, r.turn) for r in scored] == [(r.state, r.state, n) for n, r in enumerate(scored)]
    assert [r.answer for r in scored if r.answer] == ["answer A-A-A"]
    assert {(r.text, r.heard) for r in replies(rows, recorded=True)} == {("?", State.EFFECTIVE_INQUIRY)}


async def test_a_state_aware_patient_and_its_failures(file):
    def answer(messages):
        said = messages[-1][1]
        if "movie" in said:
            return Refused("no")
        if "raise your leg" in said:
            return TimedOut("late")
        return {"say": "Hm."} if "`say`" in messages[0][1] else "demand"

    minds = Minds(patient="saps:direct/x", knowledge=read_knowledge(), seed=1, models={"direct/x": Scripted(answer)})
    rows = await simulate(read_labelled(file), minds)
    assert [(row.state, row.reply, row.error, row.failed) for row in rows] == [
        *[(State.DEMAND, "Hm.", "", False)] * 6,
        (None, "", "TimedOut", True),
        (None, "", "Refused", False),
    ]
    whole = compare(rows)
    # A refusal is an answer that is not right; a question that the endpoint did not answer is outside.
    assert (whole.states.n, whole.states.percent, sum(whole.states.unreadable), whole.failed) == (7, 0, 1, 1)
    assert len(replies(rows)) == 6
    assert compare([]).states.percent is None


async def test_a_patient_that_cannot_open_has_answered_nothing(file):
    minds = Minds(patient="direct/x", knowledge=read_knowledge(), seed=1, models={"direct/x": Scripted(lambda _: "?")})
    rows = await simulate(read_labelled(file), minds)
    assert {row.error for row in rows} == {"UnreadableReply"}
    assert len(rows) == len(LABELS)


@pytest.mark.slow
async def test_the_rules_patient_agrees_with_people(shared_data):
    (path,) = (shared_data / "cases" / "aie" / "patient_simulator").glob("*.json")
    cases = read_labelled(path)
    rows = await simulate(cases, Minds(knowledge=read_knowledge(), seed=1))
    whole, effect = compare(rows), compare(rows, EFFECT)
    assert (len(cases), whole.states.n, effect.states.n) == (25, 200, 100)
    assert (whole.constant, effect.constant) == (79, 58)
    assert whole.states.percent >= 85
    assert effect.states.percent >= 70
    assert await simulate(cases, Minds(knowledge=read_knowledge(), seed=1)) == rows
