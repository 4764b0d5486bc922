"""A model as the state-aware patient, as a task of Inspect."""

import json
import math
from importlib.util import find_spec

import pytest

from polyclinic.errors import UserError
from polyclinic.testing.endpoint import Endpoint

pytestmark = [
    *(
        pytest.mark.skipif(find_spec(name) is None, reason=f"{name} of the extra 'evals' is not installed")
        for name in ("inspect_ai", "nltk")
    ),
    pytest.mark.filterwarnings("default"),
]

VIGNETTE = "A 30-year-old woman has had a dry cough for three days. She has no fever."


async def evaluated(task, model, tmp_path):
    """Returns the log of a task, read here: its samples read themselves by patching asyncio for the whole process."""
    from inspect_ai import eval_async
    from inspect_ai.log import read_eval_log_async

    (log,) = await eval_async(task, model=model, log_dir=str(tmp_path / "logs"))
    return await read_eval_log_async(log.location)


@pytest.fixture
def labelled(tmp_path):
    def one(question, state):
        return {"question": question, "human_state": state, "human_answer": "x", "answer": "a dry cough for three days"}

    tests = {"A-B": one("How do you feel?", "A-B"), "C": one("Please stand up.", "C")}
    file = tmp_path / "labelled.json"
    file.write_text(json.dumps([{"id": 7, "raw_data": {"question": VIGNETTE}, "patient_test": {"0": tests}}]))
    return file


@pytest.mark.slow
@pytest.mark.parametrize("tracker", ["staged", "parallel"])
async def test_states_and_replies_are_scored(labelled, tmp_path, tracker):
    def answer(body):
        told = json.dumps(body)
        if "demand" in told and "other" in told and "inquiry" in told and "conclusion" in told:
            return "inquiry" if "How do you feel" in told else "demand"
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        options = schema.get("properties", {}).get("answer", {}).get("enum") or schema.get("enum") or []
        if "ambiguous" in options:
            return "ambiguous"
        return "Could you be more specific, doctor?"

    from inspect_ai.model import get_model

    from polyclinic.evals.tasks import ROW, patient_simulator

    async with Endpoint(answers=answer) as endpoint:
        model = get_model("direct/p", base_url=endpoint.url, memoize=False)
        task = patient_simulator(cases=str(labelled), tracker=tracker)
        log = await evaluated(task, model, tmp_path)
        await model.api.aclose()
    assert log.status == "success", log.error
    by_id = {sample.id: sample for sample in log.samples}
    assert set(by_id) == {"7/0/A-B", "7/0/C"}
    for sample in by_id.values():
        row = sample.store[ROW]
        value = sample.scores["states_and_replies"].value
        assert value["STATE"] == 100.0 * (row["state"] == sample.target)
        assert math.isnan(value["ACCURACY"])
        assert row["question"]["text"] in sample.messages[1].text
    assert {score.name for score in log.results.scores} >= {"STATE", "FOCUS", "GUIDANCE"}


@pytest.mark.slow
async def test_an_endpoint_that_fails_leaves_the_sample_unscored(labelled, tmp_path):
    from inspect_ai.model import get_model

    from polyclinic.evals.tasks import patient_simulator

    async with Endpoint(faults=1.0, kinds=["huge"]) as endpoint:
        model = get_model("direct/p", base_url=endpoint.url, memoize=False)
        task = patient_simulator(cases=str(labelled))
        log = await evaluated(task, model, tmp_path)
        await model.api.aclose()
    assert all(sample.error is not None and not sample.scores for sample in log.samples)


@pytest.mark.slow
def test_a_tracker_that_there_is_not(labelled):
    from polyclinic.evals.tasks import patient_simulator

    with pytest.raises(UserError, match=r"'guessing' - at `[$].tracker`"):
        patient_simulator(cases=str(labelled), tracker="guessing")


@pytest.fixture
def recorded(tmp_path):
    turns = [("O", "Hello.", "I cough."), ("A-B", "How do you feel?", "Hm?"), ("A-A-A", "您咳嗽吗？", "Yes.")]
    history = [{"state": state, "doctor": doctor, "patient": patient} for state, doctor, patient in turns]
    another = [history[0] | {"doctor": "Good morning."}, *history[1:]]
    file = tmp_path / "recorded.json"
    file.write_text(
        json.dumps([{"id": 7, "raw_data": {"question": VIGNETTE}, "history": h} for h in (history, another)])
    )
    return file


@pytest.mark.slow
async def test_recorded_turns_are_put_in_their_place(recorded, tmp_path):
    def answer(body):
        told = json.dumps(body)
        asked_for_kind = all(word in told for word in ("demand", "other", "inquiry", "conclusion"))
        return "demand" if asked_for_kind else json.dumps({"say": "I cannot do that here."})

    from inspect_ai.model import get_model

    from polyclinic.evals.tasks import recorded_turns

    async with Endpoint(answers=answer) as endpoint:
        model = get_model("direct/p", base_url=endpoint.url, memoize=False)
        log = await evaluated(recorded_turns(recorded=str(recorded)), model, tmp_path)
        await model.api.aclose()
    assert log.status == "success", [s.error for s in log.samples]
    by_id = {sample.id: sample for sample in log.samples}
    assert set(by_id) == {"7/1", "7/2", "7#2/1", "7#2/2"}
    first, second = by_id["7/1"], by_id["7/2"]
    assert first.scores["recorded_states"].value["STATE"] in (0, 100)
    assert math.isnan(first.scores["recorded_states"].value["OTHER_LANGUAGE"])
    # A turn in another language counts apart, and comes after the dialogue that was recorded before it.
    assert math.isnan(second.scores["recorded_states"].value["STATE"])
    assert second.scores["recorded_states"].value["OTHER_LANGUAGE"] in (0, 100)
    assert [message.text for message in second.messages[1:-1]] == [
        "Hello.", "I cough.", "How do you feel?", "Hm?", "您咳嗽吗？",
    ]  # fmt: skip
