"""Dialogues out of traces and recorded files, right and wrong."""

import json

import pytest

from polyclinic.cases.loaders import read_cases
from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.cases.shipped import SHIPPED
from polyclinic.errors import BadInput
from polyclinic.events import Chosen, End, Ended, Examined, Failed, Opened, Reported, Revealed, Role, Said, State, Trace
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.dialogue import Turn, Unscorable, from_trace, information_of, read_dialogues
from polyclinic.players.minds import Minds
from polyclinic.visits.visit import see


@pytest.fixture(params=["shipped", "shipped-zh"])
async def visit(request):
    case = next(read_cases(SHIPPED[request.param]))
    minds = Minds(doctor="rules", patient="rules", knowledge=read_knowledge(), seed=1)
    return case, await see(case, minds)


@pytest.fixture
def write(tmp_path):
    def write_records(*records, lines=False):
        path = tmp_path / "recorded.json"
        text = "\n".join(map(json.dumps, records)) if lines else json.dumps(records)
        path.write_text(text, encoding="utf-8")
        return path

    return write_records


@pytest.mark.slow
async def test_a_visit_of_ours(visit):
    case, seen = visit
    dialogue = from_trace(seen.trace, case)
    said = [e for e in seen.trace if isinstance(e, Said)]
    assert dialogue.id == case.id
    assert dialogue.language == case.presentation.language
    assert dialogue.turns[0] == Turn("", State.OPENING, said[0].text)
    assert len(dialogue.turns) == seen.turns + 1
    assert dialogue.turns[-1].state is State.CONCLUSION
    assert case.record.findings[0].value_text in dialogue.information
    for read_out in (e for e in seen.trace if isinstance(e, Examined)):
        assert dialogue.turns[read_out.turn].patient.endswith(read_out.text)
    assert from_trace(seen.trace).information is None


async def test_a_file_of_traces(visit, tmp_path):
    case, seen = visit
    path = tmp_path / "traces.jsonl"
    opened = Opened(
        seq=0, format=1, case="broken", presentation=case.presentation, minds={}, seed=1, max_turns=3, one_step=False
    )
    failed = Trace(
        [
            opened,
            Failed(seq=1, who=Role.PATIENT, error="Refused", problem="no"),
            Ended(seq=2, reason=End.FAILED, turns=0),
        ]
    )
    stateless = Trace(
        [
            opened,
            Said(seq=1, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text="Hello"),
            Said(seq=2, turn=1, who=Role.PATIENT, to=Role.DOCTOR, text="Hello"),
            Ended(seq=3, reason=End.TURN_LIMIT, turns=1),
        ]
    )
    cut = Trace([opened])
    path.write_text("".join(t.lines() for t in (seen.trace, failed, stateless, cut)), encoding="utf-8")
    dialogues, left_out = read_dialogues(path, cases={case.id: case})
    assert [d.id for d in dialogues] == [case.id]
    assert [(p.id, p.failed) for p in left_out] == [("broken", True), ("broken", False), ("broken", True)]
    assert "Refused" in left_out[0].problem
    assert "turn 1 has no state" in left_out[1].problem
    assert "breaks off" in left_out[2].problem


def reported(*names):
    diagnoses = tuple(map(Diagnosis, names))
    return Reported(seq=2, report=Report(symptoms=(), examinations=(), diagnoses=diagnoses, rationale=(), treatment=()))


@pytest.mark.parametrize(
    ("last", "chosen"),
    [
        (Chosen(seq=2, answer="B"), "B"),
        (Chosen(seq=2, answer=None), None),
        (
            Reported(
                seq=2,
                report=Report(
                    symptoms=(), examinations=(), diagnoses=(Diagnosis("Influenza"),), rationale=(), treatment=()
                ),
            ),
            "A",
        ),
        (
            Reported(
                seq=2,
                report=Report(
                    symptoms=(), examinations=(), diagnoses=(Diagnosis("a broken leg"),), rationale=(), treatment=()
                ),
            ),
            None,
        ),
        (reported(), None),
    ],
)
def test_what_the_doctor_chose(last, chosen):
    question = Question(id="q", stem="Which?", options={"A": "influenza", "B": "pneumonia"})
    trace = Trace(
        [
            Opened(seq=0, format=1, case="c", presentation=Presentation(complaint="x"), minds={}, seed=1, max_turns=3),
            Said(seq=1, turn=0, who=Role.PATIENT, to=Role.DOCTOR, text="I have a cough.", state=State.OPENING),
            last,
            Ended(seq=3, reason=End.CONCLUDED, turns=0),
            Revealed(seq=4, diagnoses=(), question=question, answers=("A",)),
        ]
    )
    dialogue = from_trace(trace)
    assert (dialogue.chosen, dialogue.answers, dialogue.options) == (chosen, ("A",), question.options)
    assert from_trace(trace, chosen="B").chosen == "B"


async def test_one_step_holds_no_dialogue():
    case = next(read_cases(SHIPPED["shipped"]))
    seen = await see(case, Minds(doctor="rules", patient="rules", knowledge=read_knowledge(), seed=1), in_one_step=True)
    with pytest.raises(Unscorable, match="one step"):
        from_trace(seen.trace, case)


def test_information_is_the_whole_record_once():
    case = next(read_cases(SHIPPED["shipped"]))
    information = information_of(case)
    for _, text in case.record.history.sections():
        assert text in information


def test_a_recorded_dialogue(write, record):
    for lines in (False, True):
        dialogues, left_out = read_dialogues(write(record(7), record("b"), lines=lines))
        assert [d.id for d in dialogues] == [7, "b"]
        assert not left_out
        assert dialogues[0].language == "en"
        assert dialogues[0].turns[4].state is State.EFFECTIVE_ADVICE
        assert dialogues[0].turns[-1].patient == ""


def test_options_in_other_shapes(write, record):
    raw = record()["raw_data"]
    dialogues, _ = read_dialogues(
        write(
            record(raw_data=raw | {"options": "(A) influenza (B) pneumonia"}),
            record(raw_data={k: v for k, v in raw.items() if k != "options"}),
        )
    )
    assert dialogues[0].options == {"A": "influenza", "B": "pneumonia"}
    assert dialogues[1].options == {}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"history": []}, "empty"),
        ({"history": None}, "empty"),
        ({"history": [{"doctor": "Hello", "patient": "Hello"}]}, "turn 1: Object missing required field `state`"),
        ({"history": [{"doctor": "Hello", "state": "", "patient": "Hello"}]}, "turn 1: Invalid enum value ''"),
        (
            {"history": [{"doctor": "Hello", "state": "F", "patient": "Hello"}]},
            "Invalid enum value 'F' - at `$.state`; a turn has 'doctor', 'state' (O, A-A-A",
        ),
        (
            {"history": [{"doctor": "Hello", "state": ["O"], "patient": ""}]},
            "Expected `str`, got `array` - at `$.state`",
        ),
        ({"history": [{"state": "O", "patient": "Hello"}]}, "'doctor'"),
        ({"history": [{"doctor": "Hello", "state": "O", "patient": 3}]}, "'patient'"),
        ({"history": ["Hello"]}, "turn 1: Expected `object`"),
    ],
)
def test_what_cannot_be_scored_is_named(write, record, change, problem):
    dialogues, left_out = read_dialogues(write(record(1), record(2, **change)))
    assert [d.id for d in dialogues] == [1]
    assert [p.id for p in left_out] == [2]
    assert problem in left_out[0].problem


def test_a_record_without_an_id_is_named_by_its_place(write, record):
    nameless = record(history=[])
    del nameless["id"]
    assert read_dialogues(write(record(1), nameless))[1][0].id == "element 2"
    assert read_dialogues(write({}, record(1)))[1][0].id == "element 1"


def test_what_is_no_file_of_dialogues(write, tmp_path):
    with pytest.raises(BadInput, match="neither a trace nor a recorded dialogue"):
        read_dialogues(write({"question": "x"}))
    with pytest.raises(BadInput, match="no such file"):
        read_dialogues(tmp_path / "nothing")
    broken = tmp_path / "trace.jsonl"
    broken.write_text('{"event": "said"}\n', encoding="utf-8")
    with pytest.raises(BadInput, match="not an event"):
        read_dialogues(broken)
