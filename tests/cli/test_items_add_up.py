"""What results say over items is what the evaluation itself says over its rounds, requests, questions and turns."""

import json

import pytest
from tests.cli.preparing import _prepared  # noqa: F401 - the fixture `prepared`


def of_results(run, folder, name):
    (row,) = json.loads(run("results", "show", name, "--json", cwd=folder).stdout)["table"]
    return row


def held(run, folder, *words, out):
    run(*words, "--out", out, cwd=folder)
    return json.loads(next((folder / out).glob("[sr]*y.json")).read_text())


@pytest.mark.slow
def test_reliability_over_rounds(run, serving, prepared):
    words = (
        "eval",
        "reliability",
        "--cases",
        "shipped",
        "--limit",
        "3",
        "--judge",
        "direct/j",
        "--set",
        "reliability.attack=false",
    )
    with serving() as endpoint:
        (told,) = held(run, prepared, *words, "--base-url", endpoint.url, out="of-rounds")["doctors"]
    row = of_results(run, prepared, "of-rounds")
    for name in ("relevance", "consistency", "accuracy"):
        assert row[name] == pytest.approx(told[name]["mean"]), name
    assert row["questions_a_visit"] == pytest.approx(told["qa_per_visit"]["mean"])
    assert row["examinations_a_visit"] == pytest.approx(told["tests_per_visit"]["mean"])


@pytest.mark.slow
def test_requests_to_the_examiner(run, prepared):
    words = ("eval", "examiner", "--cases", "shipped", "--dialogues", "asked.jsonl")
    told = held(run, prepared, *words, out="of-requests")
    row = of_results(run, prepared, "of-requests")
    assert told["ordered"] == 0 or row["given"] == pytest.approx(100 * told["given"] / told["ordered"])
    assert row["not_ordered"] == pytest.approx(100 * told["beyond"] / (told["given"] + told["beyond"]))


@pytest.mark.slow
def test_labelled_questions(run, prepared):
    told = held(run, prepared, "eval", "patient-simulator", "--cases", "labelled.json", out="of-questions")
    row = of_results(run, prepared, "of-questions")
    assert row["states"] == pytest.approx(told["states"]["percent"])
    metrics = {name: one["mean"] for name, one in told["metrics"].items() if one["mean"] is not None}
    assert len(metrics) > 3 and metrics == pytest.approx({name: row[name] for name in metrics})


@pytest.mark.slow
def test_recorded_turns(run, prepared):
    name = "eval patient-simulator"
    recorded = [
        {
            "id": n,
            "raw_data": {"question": "男性，40岁，因咳嗽三天就诊。无发热。", "answer": "咳嗽"},
            "history": [
                {"state": "A-A-A", "doctor": "您咳嗽多久了？", "patient": "三天。"},
                {"state": "B-A-A", "doctor": "您发热吗？", "patient": "没有。"},
                {"state": "C", "doctor": "今天天气真好。", "patient": "是的。"},
            ][: 2 + n],
        }
        for n in (0, 1)
    ]
    (prepared / "recorded.json").write_text(json.dumps(recorded))
    told = held(run, prepared, *name.split(), "--recorded", "recorded.json", out="of-turns")
    row = of_results(run, prepared, "of-turns")
    assert row["states"] == pytest.approx(told["states"]["agreement"]) and row["kind"] == pytest.approx(told["kind"])
