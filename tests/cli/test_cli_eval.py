"""`polyclinic eval` as a user meets it."""

import json
import shlex

import pytest

from polyclinic.cases.shipped import shipped_path
from polyclinic.players.language_model.saps import QUESTIONS

pytest.importorskip("nltk", reason="the extra 'evals' is not installed")

TEN = {
    *("DIAGNOSIS", "COVERAGE", "INQUIRY_ACC", "INQUIRY_SPECIFIC", "INQUIRY_LOGIC"),
    *("ADVICE_ACC", "ADVICE_SPECIFIC", "DISTINCT", "AVG_TURN", "AVG_LEN"),
}
AIE = ("eval", "aie", "--cases", "shipped", "--limit", "4")


@pytest.fixture(scope="module")
def endpoint(serving):
    with serving(latency=0.001) as process:
        yield process


def test_offline_with_traces_that_can_be_scored_again(run, tmp_path):
    document = json.loads(run(*AIE, "--doctor", "rules", "--json", "--out", tmp_path / "out").stdout)
    (doctor,) = document["doctors"]
    assert set(doctor["metrics"]) == TEN
    assert doctor["metrics"]["DIAGNOSIS"]["n"] == len(doctor["cases"]) == doctor["mcqe"]["n"] == 4
    assert sum(length["diagnosis"]["n"] for length in doctor["by_length"].values()) == 4
    for shares in doctor["by_turn"].values():
        assert sum(shares.values()) == pytest.approx(100)
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == document
    again = json.loads(run("score", "aie", tmp_path / "out" / "rules.jsonl", "--cases", "shipped", "--json").stdout)
    for name in TEN - {"COVERAGE", "INQUIRY_LOGIC", "AVG_LEN"}:
        assert again["metrics"][name]["mean"] == pytest.approx(doctor["metrics"][name]["mean"]), name


def test_doctors_side_by_side_and_a_state_aware_patient(run, endpoint):
    shown = run(
        *AIE, "--doctor", "rules", "--doctor", "direct/a", "--patient", "saps:direct/p", "--base-url", endpoint.url
    )
    for word in ("rules", "direct/a", "DIAGNOSIS", "MCQE", "(Holm)", "patient: saps:direct/p"):
        assert word in shown.stdout
    # Which of its questions the patient asks depends on what the endpoint happens to answer.
    assert any(question in shown.stderr for question in QUESTIONS)


def test_what_fails_is_counted_and_never_scored(run, serving):
    with serving(latency=0.001, faults=1.0, kinds=["refusal"]) as refusing:
        command = (*AIE, "--doctor", "direct/a", "--base-url", refusing.url, "--json")
        done = run(*command, code=1)
        (doctor,) = json.loads(done.stdout)["doctors"]
        assert (doctor["failed"], doctor["unreadable"]) == (0, 4)
        # Nobody gains by refusing: the diagnoses are wrong, and nothing else is measured.
        assert (doctor["metrics"]["DIAGNOSIS"]["mean"], doctor["metrics"]["DIAGNOSIS"]["n"]) == (0, 4)
        assert (doctor["metrics"]["COVERAGE"]["mean"], doctor["metrics"]["COVERAGE"]["n"]) == (None, 0)
        assert doctor["mcqe"]["mean"] == 0
        assert "4 of 4 visits failed" in done.stderr


@pytest.mark.slow
def test_what_no_endpoint_answered_is_outside_every_mean(run, serving):
    with serving(latency=0.001, faults=1.0, kinds=["huge"]) as broken:
        done = run(*AIE, "--doctor", "direct/a", "--base-url", broken.url, "--json", code=1)
        (doctor,) = json.loads(done.stdout)["doctors"]
        assert (doctor["failed"], doctor["unreadable"], doctor["mcqe_failed"]) == (4, 0, 4)
        assert doctor["metrics"]["DIAGNOSIS"] == {"mean": None, "stderr": None, "low": None, "high": None, "n": 0}


@pytest.mark.slow
def test_a_judge_compares_the_doctors(run, complaint, endpoint, tmp_path):
    command = (*AIE, "--doctor", "rules", "--doctor", "direct/a", "--base-url", endpoint.url, "--judge", "direct/j")
    command += ("--out", tmp_path / "kept")
    document = json.loads(
        run(*command, "--json", "--set", "aie.group=rules=ours", "--set", "aie.group=direct/a=open").stdout
    )
    views = document["judgements"]["views"]
    assert {view: set(criteria) for view, criteria in views.items()} == {
        "doctor": {"inquiry", "logic", "diagnosis", "patient", "total"},
        "patient": {"effective", "clear", "understand", "empathy", "total"},
    }
    assert views["doctor"]["total"]["n"] == 4
    assert len(document["judgements"]["calls"]) == 2 * 2 * 4
    assert set(document["correlations"]["groups"]) == {"ours - open"}
    before = endpoint.counters()["requests"]
    shown = run(*command).stdout
    assert endpoint.counters()["requests"] == before
    assert "judged by direct/j as a patient" in shown and "Spearman" in shown
    assert "is not a model" in complaint(*AIE, "--doctor", "rules", "--doctor", "direct/a", "--judge", "rules")
    assert "name a second" in complaint(*AIE, "--doctor", "rules", "--judge", "direct/j")
    assert "needs MIND=GROUP" in complaint(*AIE, "--doctor", "rules", "--set", "aie.group=open")


def test_a_budget_ends_the_run_and_the_run_goes_on(run, endpoint, tmp_path):
    command = (*AIE, "--doctor", "direct/a", "--base-url", endpoint.url, "--out", tmp_path / "kept", "--json")
    stopped = run(*command, "--token-budget", 500, code=1)
    part = json.loads(stopped.stdout)
    assert "missing: " in part["stopped"] and len(part["doctors"][0]["cases"]) < 4
    assert "the same command resumes" in stopped.stderr and "stopped early; what is over:" in stopped.stderr
    assert len(json.loads(run(*command).stdout)["doctors"][0]["cases"]) == 4


def test_a_run_goes_on_from_its_journal(run, endpoint, tmp_path):
    command = (*AIE, "--doctor", "direct/a", "--base-url", endpoint.url, "--out", tmp_path / "kept", "--json")
    first = run(*command).stdout
    before = endpoint.counters()["requests"]
    assert run(*command).stdout == first
    assert endpoint.counters()["requests"] == before


@pytest.mark.slow
def test_bad_input_is_one_clear_line(complaint, tmp_path):
    assert "no such file" in complaint("eval", "aie", "--cases", tmp_path / "none", "--doctor", "rules")
    assert "each doctor once" in complaint(*AIE, "--doctor", "rules", "--doctor", "rules")
    assert "allowed: ours, paper" in complaint(*AIE, "--doctor", "rules", "--protocol", "mine")
    assert "saps:MODEL" in complaint(*AIE, "--doctor", "rules", "--protocol", "paper")
    longer = complaint(
        *AIE, "--doctor", "rules", "--protocol", "paper", "--patient", "saps:direct/a", "--max-turns", "9"
    )
    assert "zh 10, en 15" in longer and "take --protocol ours" in longer
    assert "direct/NAME" in complaint(*AIE, "--doctor", "oracle")
    assert "no folder" in complaint(*AIE, "--doctor", "rules", "--out", tmp_path / "no" / "out")
    file = tmp_path / "labelled.json"
    file.write_text('[{"id": 1}]')
    assert "this is a file" in complaint(*AIE, "--doctor", "rules", "--out", file)
    assert "not a labelled set" in complaint("eval", "patient-simulator", "--cases", file)
    assert "no doctor's turn" in complaint("eval", "patient-simulator", "--recorded", file)
    assert "named twice" in complaint("eval", "patient-simulator", "--recorded", file, file)
    assert "both given" in complaint("eval", "patient-simulator", "--cases", file, "--recorded", file)
    assert "--recorded FILE" in complaint("eval", "patient-simulator")


def test_a_patient_on_labelled_questions(run, tmp_path):
    vignette = "男，40 岁，咳嗽、发热 3 天。无胸痛。胸部 X 线片：右下肺斑片影。"

    def labelled(question, state, answer):
        return {"question": question, "human_state": state, "human_answer": answer, "answer": answer}

    questions = {
        "A-A-A": labelled("您发热多久了？", "A-A-A", "咳嗽、发热 3 天"),
        "A-A-B": labelled("您有没有皮疹？", "A-A-B", "没有皮疹。"),
        "B-A-A": labelled("建议您做胸部 X 线检查。", "B-A-A", "右下肺斑片影"),
        "C": labelled("请您站起来，转动一下手臂。", "C", "这是线上问诊。"),
    }
    file = tmp_path / "labelled.json"
    file.write_text(json.dumps([{"id": 1, "raw_data": {"question": vignette}, "patient_test": {"0": questions}}]))
    document = json.loads(run("eval", "patient-simulator", "--cases", file, "--json").stdout)
    assert [row["label"] for row in document["rows"]] == ["A-A-A", "A-A-B", "B-A-A", "C"]
    assert document["states"]["n"] == 4
    assert document["states"]["percent"] >= 75
    assert set(document["metrics"]) == set(document["human"])
    assert "states that agree" in run("eval", "patient-simulator", "--cases", file).stdout


def test_a_patient_on_recorded_turns(run, tmp_path):
    def doctor(name, *turns):
        opening = {"state": "O", "doctor": "您好，请问哪里不舒服？", "patient": "我咳嗽三天了。"}
        history = [opening, *({"state": state, "doctor": text, "patient": "好的。"} for state, text in turns)]
        file = tmp_path / f"{name}.json"
        case = {
            "id": 1,
            "raw_data": {"question": "男，40 岁，咳嗽 3 天。胸部 X 线片：右下肺斑片影。"},
            "history": history,
        }
        file.write_text(json.dumps([case, {"id": 2}]))
        return file

    files = (
        doctor("one", ("A-A-A", "您咳嗽多久了？"), ("E", "祝您早日康复。")),
        doctor("two", ("B-A-A", "建议您拍胸片。")),
    )
    document = json.loads(run("eval", "patient-simulator", "--recorded", *files, "--json").stdout)
    assert document["states"].keys() == {"n", "agreement", "kappa", "constant"}
    assert (document["states"]["n"], document["states"]["agreement"], document["states"]["constant"]) == (2, 100, 50)
    assert (document["kind"], document["effective"]) == (100, {"n": 2, "recall": 1, "precision": 1})
    assert document["by_state"] == {"A-A-A": {"n": 1, "recall": 1}, "B-A-A": {"n": 1, "recall": 1}}
    assert document["other_language"] == {"n": 0, "agreement": None}
    assert [one["states"]["n"] for one in document["files"].values()] == [1, 1]
    assert [one["id"] for one in document["left_out"]] == ["element 2", "element 2"]
    shown = run("eval", "patient-simulator", "--recorded", *files).stdout
    assert "how rules takes recorded turns" in shown
    assert all(name in shown for name in ("one", "two", "all", "left out"))


@pytest.mark.slow
def test_a_doctor_and_a_metric_of_ones_own(run, tmp_path):
    own = tmp_path / "own.py"
    lines = ["def turns(dialogue):", "    return len(dialogue.turns)", "def talks(dialogue):", "    return 'well'"]
    own.write_text("\n".join(lines))
    command = (*AIE, "--doctor", "rules", f"scripted:{tmp_path}/doctor.json", "--set", "run.max-failures=100")
    turns = {"speak": [{"say": "Since when?"}, {"say": "Goodbye.", "conclude": True}], "choose": []}
    (tmp_path / "doctor.json").write_text(json.dumps(turns))
    done = run(*command, "--metric", "AVG_TURN", "--metric", f"{own}:turns", "--json", "--out", tmp_path / "out")
    document = json.loads(done.stdout)
    for doctor in document["doctors"]:
        assert list(doctor["metrics"]) == ["AVG_TURN", f"{own}:turns"]
        assert doctor["metrics"]["AVG_TURN"]["mean"] == doctor["metrics"][f"{own}:turns"]["mean"]
    indicators = document["correlations"]["pairs"]["indicators"]
    assert indicators == ["AVG_TURN", f"{own}:turns"]
    assert not any(document["correlations"]["pairs"]["with_judge"].values())
    files = {file.name for file in (tmp_path / "out").iterdir()}
    assert len(files) == 5 and {"rules.jsonl", "summary.json", "results.json", "items.jsonl"} < files
    shown = run(*AIE, "--doctor", "rules", "--metric", f"{own}:turns").stdout
    assert "turns" in shown  # a long path is broken anywhere
    broken = run(*AIE, "--doctor", "rules", "--metric", f"{own}:talks", "--metric", "AVG_TURN", code=1)
    assert "AVG_TURN" in broken.stdout
    assert "BrokenMetric" in broken.stderr and "it returns a number" in broken.stderr


@pytest.mark.slow
def test_a_patient_that_tracks_no_states_is_scored_all_the_same(run, tmp_path):
    own = tmp_path / "patient.py"
    lines = ["def plain(ask, role):", "    return (role.presentation.complaint, *role.history.symptoms)[-1]"]
    own.write_text("\n".join(lines))
    scripted = {"open": [{"say": "I have a cough."}], "reply": [{"say": "Since yesterday, with a fever."}] * 40}
    (tmp_path / "patient.json").write_text(json.dumps(scripted))
    for number, patient in enumerate((f"{own}:plain", f"scripted:{tmp_path}/patient.json")):
        out = tmp_path / str(number)
        words = ("eval", "aie", "--cases", "shipped", "--limit", 2, "--doctor", "rules", "--patient", patient)
        (doctor,) = json.loads(run(*words, "--json", "--out", out).stdout)["doctors"]
        assert doctor["metrics"]["DIAGNOSIS"]["n"] == 2 and not doctor["left_out"]
        assert doctor["metrics"]["INQUIRY_ACC"]["mean"] is not None
        events = [json.loads(line) for line in (out / "rules.jsonl").read_text("utf-8").splitlines()]
        states = {event.get("state") for event in events if event.get("who") == "patient"}
        assert len(states - {None, "O"}) > 1, patient


@pytest.mark.slow
def test_the_line_that_scores_it_again_gives_the_same_figures(run, tmp_path):
    cases = tmp_path / "two {cases}.jsonl"
    cases.write_bytes(b"".join(shipped_path("shipped").read_bytes().splitlines(keepends=True)[:2]))
    done = run("eval", "aie", "--cases", cases, "--doctor", "rules", "--out", tmp_path / "out")
    line = next(line for line in done.stderr.splitlines() if "Score them again with: " in line)
    words = shlex.split(line.partition("Score them again with: polyclinic ")[2])
    again = json.loads(run(*words, "--json").stdout)
    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())["doctors"][0]
    for name in ("COVERAGE", "INQUIRY_LOGIC", "DIAGNOSIS"):
        assert again["metrics"][name] == summary["metrics"][name]
        assert again["metrics"][name]["n"] == 2
