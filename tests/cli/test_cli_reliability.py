"""`polyclinic eval reliability` on the command line."""

import json

import pytest

from polyclinic.cases.loaders import read_cases
from polyclinic.events import Trace


@pytest.fixture(scope="module")
def endpoint(serving):
    with serving(latency=0.001) as process:
        yield process


@pytest.mark.slow
def test_the_table_says_what_needs_a_judge(run):
    shown = run("eval", "reliability", "--cases", "shipped", "--limit", 2).stdout
    assert "Rel and Con need a judge" in shown
    for word in ("#QA", "#Test", "Acc", "worst case", "disclosed"):
        assert word in shown


@pytest.mark.slow
def test_the_document_holds_rounds_and_attack_and_the_traces_are_kept(run, tmp_path):
    out = tmp_path / "out"
    done = run("eval", "reliability", "--cases", "shipped-zh", "--limit", 2, "--json", "--out", out)
    document = json.loads(done.stdout)
    assert document == json.loads((out / "reliability.json").read_text("utf-8"))
    (row,) = document["doctors"]
    assert (row["doctor"], row["visits"], row["failed"], row["false"]) == ("rules", 2, 0, 0)
    assert row["qa"] == len(row["rounds"]) > 0
    assert (row["relevance"], document["judge"], document["judge_version"]) == (None, "", 1)
    assert [(a["reader"], a["language"], a["requests"], a["disclosed"]) for a in document["attack"]] == [
        (reader, language, 50, 0) for reader in ("rules", "worst case") for language in ("en", "zh")
    ]
    assert len(Trace.read(out / "doctor-1.jsonl")) == 2


def test_without_the_attack_there_is_none(run):
    done = run("eval", "reliability", "--cases", "shipped", "--limit", 1, "--set", "reliability.attack=false", "--json")
    assert json.loads(done.stdout)["attack"] == []


def test_wrong_names_are_one_line(complaint):
    told = complaint("eval", "reliability", "--cases", "shipped", "--judge", "rules")
    assert "is not a model" in told
    told = complaint("eval", "reliability", "--cases", "shipped", "--doctor", "rules", "--doctor", "rules")
    assert "twice" in told
    told = complaint("eval", "reliability", "--cases", "nowhere.jsonl")
    assert "nowhere.jsonl" in told


@pytest.mark.slow
def test_every_role_and_the_judge_may_be_a_model(run, endpoint, tmp_path):
    command = ["eval", "reliability", "--cases", "shipped", "--limit", 3, "--base-url", endpoint.url, "--json"]
    command += ["--doctor", "rules", "--doctor", "direct/a", "--patient", "direct/b", "--set", "run.examiner=direct/c"]
    document = json.loads(run(*command, "--judge", "direct/d", "--out", tmp_path / "kept").stdout)
    asked = endpoint.counters()["requests"]
    assert [row["doctor"] for row in document["doctors"]] == ["rules", "direct/a"]
    for row in document["doctors"]:
        judged = row["relevance"]["n"]
        assert row["qa"] == judged + sum(row["unreadable"].values()) + sum(row["unanswered"].values())
    # What the endpoint makes up as a doctor's turn may end a visit before there is a round.
    assert document["doctors"][0]["relevance"]["n"] > 0
    assert document["judge"] == "direct/d"
    assert {a["reader"] for a in document["attack"]} == {"rules", "worst case", "direct/c"}
    assert all(a["disclosed"] == 0 for a in document["attack"])
    again = json.loads(run(*command, "--judge", "direct/d", "--out", tmp_path / "kept").stdout)
    assert again == document
    assert endpoint.counters()["requests"] == asked


def test_a_model_makes_personas(run, endpoint, tmp_path):
    out = tmp_path / "p.jsonl"
    options = ("--writer", "direct/a", "--base-url", endpoint.url, "--set", "run.max-failures=100", "--out", out)
    done = run("cases", "convert", "shipped-zh", "--persona", "anxious", *options)
    assert "persona" in done.stderr
    cases = list(read_cases(out))
    assert len(cases) == 48
    assert any(case.persona is not None and case.persona.manner == "anxious" for case in cases)


def test_people_stand_beside_what_is_read_off_the_traces(run, tmp_path):
    verdicts = tmp_path / "verdicts.jsonl"
    said = {"form": "rounds", "case": "p1-00001", "doctor": "rules", "turn": 1, "relevant": "yes", "consistent": "no"}
    verdicts.write_text("".join(json.dumps(said | {"who": who}) + "\n" for who in ("anna", "bea")), "utf-8")
    command = (
        "eval",
        "reliability",
        "--cases",
        "shipped",
        "--limit",
        1,
        "--set",
        "reliability.attack=false",
        "--verdicts",
        verdicts,
    )
    people = json.loads(run(*command, "--json").stdout)["people"]
    assert people["figures"]["rules"]["shares"]["consistent"]["percent"] == 0
    assert "#Test ┃          relevant %" in run(*command).stdout
    verdicts.write_text(json.dumps(said | {"who": "anna", "turn": 99}), "utf-8")
    assert "no turn '99' to speak of" in run(*command, code=2).stderr
