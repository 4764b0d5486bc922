"""`polyclinic results`, and the folder that evaluations leave."""

import csv
import io
import json
import re

import pytest
from tests.tables import each_row

from polyclinic.errors import UserError
from polyclinic.models.session import open_models
from polyclinic.models.settings import ModelSettings

NUMBER = re.compile(r"number (\d+)")


def answer(body):
    number = int(NUMBER.search(body["messages"][-1]["content"])[1])
    right = number <= (8 if body["model"] == "good" else 3)
    return f"Answer: {'A' if right else 'B'}"


@pytest.fixture(scope="module")
def medqa(tmp_path_factory):
    path = tmp_path_factory.mktemp("exam") / "medqa.jsonl"
    with path.open("w") as file:
        for n in range(1, 13):
            options = {letter: f"finding {letter}" for letter in "ABCD"}
            file.write(json.dumps({"question": f"number {n}?", "options": options, "answer_idx": "A"}) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(run, medqa, serving, tmp_path_factory):
    """Two models and two methods in one run."""
    out = tmp_path_factory.mktemp("results") / "out"
    with serving(answer) as endpoint:
        models = ("--model", "direct/good", "--model", "direct/bad", "--base-url", f"{endpoint.url}?api-version=sesame")
        methods = (
            "--method",
            "zero_shot",
            "--method",
            "chain_of_thought",
            "--set",
            "models.price=1,2",
            "--temperature",
            "0.5",
        )
        done = run("eval", "exam", "medqa", medqa, *models, *methods, "--out", out, "--seed", 7)
        assert endpoint.requests == 48
    assert "direct/good: zero_shot" in done.stdout
    return out


def test_a_run_says_what_it_was(folder, medqa):
    record = json.loads((folder / "results.json").read_text("utf-8"))
    assert (record["kind"], record["seed"], record["configuration"]["match"]) == ("eval exam", 7, "calls")
    assert record["data"][0]["file"] == str(medqa) and len(record["data"][0]["sha256"]) == 64
    assert {"polyclinic", "python", "numpy"} <= record["versions"].keys()
    assert {one["name"] for one in record["models"]} == {"direct/good", "direct/bad"}
    assert record["models"][0]["parameters"] == {"temperature": 0.5, "price": "1,2"}
    assert sum(one["calls"] for one in record["calls"]) == 48
    assert not any("sesame" in file.read_text("utf-8") for file in folder.iterdir() if file.is_file())
    item = json.loads((folder / "items.jsonl").read_text("utf-8").splitlines()[0])
    assert (item["set"], item["model"], item["method"], item["values"]) == (
        "medqa", "direct/good", "zero_shot", {"right": 100.0},
    )  # fmt: skip
    assert item["at"] == "direct-good-zero_shot.jsonl:1" and item["cost"] > 0


def test_runs_in_one_table(run, folder, complaint, tmp_path):
    listed = json.loads(run("results", "show", folder, "--rows", "runs", "--json").stdout)
    assert (listed[0]["models"], listed[0]["items"]) == (["direct/good", "direct/bad"], 48)
    joined = json.loads(run("results", "show", folder.parent, "--json").stdout)["table"]
    assert {(row["model"], row["right"]) for row in joined} == {("direct/good", 200 / 3), ("direct/bad", 25)}
    compared = json.loads(run("results", "compare", folder, "--json", "--baseline", "direct/bad").stdout)
    assert {round(row["difference"]["mean"], 1) for row in compared} == {41.7}
    assert "0.0625" in run("results", "compare", folder).stdout
    assert "temperature 0.5" in run("results", "show", folder).stdout
    assert "medqa" in run("results", "show", folder, "--rows", "runs").stdout
    assert run("results", "show", folder, "--format", "markdown").stdout.startswith("| set | model |")
    run("results", "show", folder, "--rows", "items", "--out", tmp_path / "items.csv")
    assert len((tmp_path / "items.csv").read_text("utf-8").splitlines()) == 49
    assert "there are no results here" in complaint("results", "show", tmp_path)
    assert "name one or more folders" in complaint("results", "show")
    assert "no command 'shwo' (did you mean show?)" in complaint("results", "shwo")


def test_every_table_is_csv_too(run, folder):
    done = run("results", "show", folder, "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout), strict=True))
    joined = json.loads(run("results", "show", folder, "--json").stdout)["table"]
    for row, one in zip(rows, joined, strict=True):
        assert (row["set"], row["model"], row["method"]) == (one["set"], one["model"], one["method"])
        assert [float(row[f"right{end}"]) for end in ("", " low", " high")] == [
            one[f"right{end}"] for end in ("", "_low", "_high")
        ]
        for name, same in {
            "n": "items",
            "failed": "failed",
            "calls": "calls",
            "tokens": "tokens",
            "cost": "cost",
        }.items():
            assert (float(row[name]) if row[name] else None) == one[same]
    assert "intervals of 95 %" in done.stderr


@pytest.mark.slow
def test_a_spent_budget_shows_what_is_over_and_goes_on(run, medqa, tmp_path, serving):
    with serving(answer) as endpoint:
        asked = ("--model", "direct/good", "direct/bad", "--base-url", endpoint.url, "--concurrency", 2)
        command = (
            "eval",
            "exam",
            "medqa",
            medqa,
            *asked,
            "--out",
            tmp_path / "out",
        )
        while endpoint.requests < 12:
            done = run(*command, "--token-budget", 150, code=1)
            assert "stopped early" in done.stdout and "direct/" in done.stdout
            assert "the same command resumes from there" in done.stderr and "missing: " in done.stderr
            assert json.loads((tmp_path / "out" / "results.json").read_bytes())["stopped"]
            assert "so far" in run("results", "show", tmp_path / "out", "--rows", "runs").stdout
            assert "\nstopped: " in (told := run("results", "show", tmp_path / "out").stdout) and "finished" not in told
        joined = json.loads(run(*command, "--json").stdout)
        assert [one["n"] for one in joined["methods"]] == [12, 12]
        assert endpoint.requests == 24
    # What was answered before is told from what was asked now.
    record = json.loads((tmp_path / "out" / "results.json").read_bytes())
    assert 0 < sum(one["replayed"] for one in record["calls"]) < 24
    assert "of them answered from a journal" in run("results", "show", tmp_path / "out").stdout
    assert "of 24 calls were answered from a journal" in run("results", "show", tmp_path / "out").stdout


def test_mmlu_is_sampled_where_a_number_is_named(run, shared_data, serving):
    with serving(lambda _: "Answer: A") as endpoint:
        model = ("--model", "direct/a", "--base-url", endpoint.url)
        run("eval", "exam", "mmlu", shared_data / "qa" / "mmlu", *model, "--limit", 6)
        assert endpoint.requests == 6


async def test_a_call_may_take_so_long_on_every_command_that_asks_models():
    options = ModelSettings(base_url="http://127.0.0.1:1/v1", timeout=0.05)
    async with open_models(["direct/a"], options) as session:
        assert session.models["direct/a"].servers[0]._timeout == 0.05
    with pytest.raises(UserError, match=r"models\.timeout 0; allowed"):
        ModelSettings(timeout=0)


@pytest.mark.slow
@each_row(
    "words, told",
    [
        (
            ("eval", "exam", "medqa", "x", "--model", "direct/a", "--method", "medagent"),
            "did you mean medagents?",
        ),
        (("consult", "shipped#p1-00001", "--doctor", "ruls"), "did you mean rules?"),
        (("eval", "aie", "--cases", "shiped", "--doctor", "rules"), "did you mean shipped?"),
        (("eval", "aie", "--cases", "shipped", "--doctor", "rules", "--metric", "COVERGE"), "did you mean COVERAGE?"),
        (
            ("eval", "aie", "--cases", "shipped", "--doctor", "rules", "--set", "cases.layout=polyclinik"),
            "mean polyclinic?",
        ),
        (("cases", "generate", "--diseases", "influenzza", "--out", "x", "--n", "1"), "(did you mean influenza"),
        (("results", "show", ".", "--format", "latx"), "did you mean latex?"),
        (("eval", "exam", "medqa", "shiped", "--model", "made-up"), "did you mean shipped?"),
        (("eval", "exam", "medqa", "shipped", "--model", "made_up"), "did you mean made-up?"),
        (
            ("eval", "exam", "medqa", "shipped", "--model", "scripted:s.json"),
            "did you mean scripted/s.json?",
        ),
        (
            ("eval", "exam", "medqa", "shipped", "--model", "made-up", "--protocol", "papr"),
            "mean paper?",
        ),
        (
            ("eval", "exam", "medqa", "shipped", "--model", "made-up", "--set", "temprature=1"),
            "mean temperature",
        ),
        (
            ("eval", "exam", "medqa", "shipped", "--model", "made-up", "--baseline", "zeroshot"),
            "mean zero_shot?",
        ),
        (("eval", "aie", "--cases", "shipped", "--doctor", "direkt/a"), "did you mean direct/a?"),
        (("eval", "aie", "--cases", "shipped", "--doctor", "rules", "--patient", "sap:local"), "mean saps:local?"),
        (
            ("eval", "aie", "--cases", "shipped", "--doctor", "rules", "made-up", "--judge", "opnai/x"),
            "did you mean openai/x?",
        ),
        (("eval", "mvme", "--cases", "shipped", "--doctor", "rules", "--judge", "rulse"), "did you mean rules?"),
        (("run", "--days", "1", "--event", "outage labratory 4 h"), "did you mean laboratory?"),
        (
            ("run", "--replicas", "auto", "--set", "replicas.measure=waiting.urgnt.mean"),
            "did you mean waiting.urgent.mean?",
        ),
        (("config", "show", "medagent"), "did you mean medagents?"),
        (("corpus", "search", "knowlege", "fever"), "did you mean knowledge?"),
    ],
)
def test_the_name_that_is_meant_is_told(complaint, words, told):
    assert told in complaint(*words)


@pytest.fixture(scope="module")
def lived(run, tmp_path_factory):
    out = tmp_path_factory.mktemp("town") / "run"
    run("run", "--residents", 30, "--days", 1, "--visits", 4, "--seed", 5, "--out", out)
    return out


@pytest.mark.slow
def test_every_kind_of_run_leaves_one_kind_of_folder(run, lived, tmp_path):
    run("eval", "aie", "--cases", "shipped", "--limit", 2, "--doctor", "rules", "--seed", 3, "--out", tmp_path / "aie")
    record = json.loads((tmp_path / "aie" / "results.json").read_text("utf-8"))
    assert (record["kind"], record["seed"], record["configuration"]["max_turns"]) == ("eval aie", 3, None)
    assert record["data"][0]["file"].endswith("respiratory.jsonl") and record["finished"] and record["versions"]
    listed = json.loads(run("results", "show", lived, "--rows", "runs", tmp_path / "aie", "--json").stdout)
    assert [(one["kind"], one["sets"], one["models"]) for one in listed] == [
        ("run", ["hospital"], ["rules"]),
        ("eval aie", ["shipped"], ["rules"]),
    ]
    hospital = json.loads((lived / "results.json").read_text("utf-8"))
    assert (hospital["seed"], hospital["measures"][0]["name"]) == (5, "right diagnosis, first visit, %")
    shown = run("results", "show", lived).stdout
    assert "seed 5, " in shown and "warm_up 0" in shown and "in the folder's results.json also hospital" in shown
    options = shown.partition("options: ")[2].partition("\n")[0]
    assert "doctor rules" in options and not re.search(r"setup|made_of|hospital\.|api_key|pilot", options)
    assert len(shown) < 6000
    rows = {
        row["set"]: row for row in json.loads(run("results", "show", lived, tmp_path / "aie", "--json").stdout)["table"]
    }
    assert rows["shipped"]["DIAGNOSIS"] == 100 and rows["hospital"]["right diagnosis, first visit, %"] is not None
    items = [json.loads(line) for line in (tmp_path / "aie" / "items.jsonl").read_text("utf-8").splitlines()]
    traces = (tmp_path / "aie" / "rules.jsonl").read_text("utf-8").splitlines()
    for item in items:
        opened = json.loads(traces[int(item["at"].partition(":")[2]) - 1])
        assert (opened["event"], opened["case"]) == ("opened", item["item"])


@pytest.mark.slow
def test_a_learning_run_and_a_tree_run_leave_it_too(run, tmp_path):
    run("cases", "generate", "--diseases", "respiratory", "--n", 24, "--seed", 1, "--out", tmp_path / "train.jsonl")
    run("cases", "generate", "--diseases", "respiratory", "--n", 24, "--seed", 2, "--out", tmp_path / "test.jsonl")
    cases = ("--train", tmp_path / "train.jsonl", "--test", tmp_path / "test.jsonl", "--ablations", "no")
    run("evolve", *cases, "--out", tmp_path / "evolved")
    run("eval", "tor", "--cases", "inpatients", "--limit", 2, "--doctor", "rules", "--out", tmp_path / "tor")
    run("eval", "mvme", "--cases", "shipped", "--limit", 2, "--doctor", "rules", "--out", tmp_path / "mvme")
    rows = {row["set"]: row for row in json.loads(run("results", "show", tmp_path, "--json").stdout)["table"]}
    assert rows["test"]["method"] == "after 24 patients" and rows["test"]["diagnosis (evolve)"] is not None
    assert rows["shipped"]["diagnosis (mvme)"] <= 4  # a grade, and no share
    assert rows["inpatients"]["f1_of_a_record"] is not None and rows["shipped"]["symptoms"] is not None


def test_a_folder_of_visits_is_scored_and_replayed(run, complaint, tmp_path):
    aie = ("eval", "aie", "--cases", "shipped", "--limit", 1)
    run(*aie, "--doctor", "rules", "--out", tmp_path / "one")
    assert "rules" in run("score", "aie", tmp_path / "one", "--cases", "shipped").stdout
    assert "Case p1-00001" in run("replay", tmp_path / "one").stdout
    assert "no traces of visits are here" in complaint("score", "aie", tmp_path)
    (tmp_path / "one" / "other.jsonl").write_bytes((tmp_path / "one" / "rules.jsonl").read_bytes())
    assert "holds 2 traces; name one of them" in complaint("replay", tmp_path / "one")


@pytest.mark.slow
def test_who_asked_nothing_stays_in_the_table_of_turns(run, tmp_path):
    silent = tmp_path / "silent.json"
    report = {"diagnoses": [{"name": "influenza"}], "rationale": "x", "treatment": "rest"}
    silent.write_text(json.dumps({"speak": [{"say": "Goodbye.", "conclude": True}], "report": [report]}))
    command = ("eval", "mvme", "--cases", "shipped", "--limit", 1, "--doctor", f"scripted:{silent}", "rules")
    shown = run(*command, "--set", "run.max-failures=100").stdout.partition("What a visit took")[2]
    assert "silent.json" in "".join(shown.split("told as normal:")[0].split())


@pytest.mark.slow
def test_what_a_script_lacks_is_named(run, lived, tmp_path):
    (tmp_path / "short.json").write_text(json.dumps({"speak": [{"say": "Goodbye.", "conclude": True}]}))
    done = run("eval", "aie", "--cases", "shipped", "--limit", 1, "--doctor", f"scripted:{tmp_path}/short.json", code=1)
    assert "asked to choose, and the script holds answers for speak only" in done.stderr
    run("report", lived)
    assert "Who played: doctor rules, patient rules, nurse rules." in (lived / "report.html").read_text("utf-8")


def test_every_call_is_a_row(run, complaint, folder):
    calls = json.loads(run("results", "show", folder, "--rows", "calls", "--json").stdout)
    assert len(calls) == 48 and not any("sesame" in str(one) for one in calls)
    assert {(one["role"], one["model"]) for one in calls} == {
        (method, model) for method in ("zero_shot", "chain_of_thought") for model in ("direct/good", "direct/bad")
    }
    assert all(one["tokens_in"] and one["cost"] and one["requests"] == 1 and not one["error"] for one in calls)
    items = json.loads(run("results", "show", folder, "--rows", "items", "--json").stdout)
    assert {(one["player"], one["item"]) for one in calls} == {(one["method"], one["item"]) for one in items}
    bare = folder.parent.with_name("bare")
    bare.mkdir()
    for name in ("results.json", "items.jsonl"):
        (bare / name).write_bytes((folder / name).read_bytes())
    assert "no calls are kept there" in complaint("results", "show", bare, "--rows", "calls")


def test_a_file_is_no_folder(complaint, medqa, tmp_path):
    for command in (("report",), ("results", "show")):
        assert "this is a file, and no folder" in complaint(*command, medqa)
        assert "no such folder" in complaint(*command, tmp_path / "none")


def test_what_a_visit_took_stands_with_it(run, serving, tmp_path):
    with serving() as endpoint:
        visits = ("eval", "aie", "--cases", "shipped", "--limit", 1, "--max-turns", 2, "--doctor", "rules", "direct/a")
        run(*visits, "--base-url", endpoint.url, "--out", tmp_path / "aie")
    by_rules, of_model = lines(tmp_path / "aie" / "items.jsonl")
    calls = lines(tmp_path / "aie" / "calls.jsonl")
    assert "calls" not in by_rules and of_model["calls"] == len(calls) > 1
    assert of_model["tokens"] == sum(call["tokens_in"] + call["tokens_out"] for call in calls)
    assert {(call["player"], call["item"]) for call in calls} == {("direct/a", of_model["item"])}


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_what_is_shown_goes_into_a_paper(run, folder, complaint, tmp_path):
    run("results", "show", folder, "--columns", "sets", "--out", tmp_path / "t.tex")
    text = (tmp_path / "t.tex").read_text("utf-8")
    assert r"direct/good & zero\_shot & 66.67 {\footnotesize [39.06, 86.19]} \\" in text
    assert (
        "| direct/good | zero_shot | 66.67 [39.06, 86.19] |"
        in run("results", "show", folder, "--columns", "sets", "--format", "markdown").stdout
    )
    compared = run("results", "compare", folder, "--baseline", "direct/bad", "--format", "markdown").stdout
    assert "| +41.67 [" in compared and "p (Holm)" in compared
    rows = run("results", "show", folder, "--format", "csv").stdout.splitlines()
    assert rows[0].startswith("set,model,method,right,right_stderr,right_low") and len(rows) == 5
    run("results", "show", folder, "--out", tmp_path / "t.md")
    assert "66.67 [39.06, 86.19]" in (tmp_path / "t.md").read_text("utf-8")
    for command in ("show", "compare"):
        assert "what a run has left" in complaint(
            "results", command, folder, "--format", "csv", "--out", folder / "items.jsonl"
        )
    assert "its ending says no layout" in complaint("results", "show", folder, "--out", tmp_path / "table")


@pytest.mark.slow
def test_what_was_written_anew_is_another_method(run, process, medqa, tmp_path, serving):
    mine, folders = tmp_path / "mine.py", [tmp_path / "old", tmp_path / "new", tmp_path / "again"]
    with serving(lambda body: f"Answer: {body['messages'][-1]['content'][-1]}") as endpoint:
        for folder, letter in zip(folders, "ABB", strict=True):
            mine.write_text(f"async def ask(question, model):\n    return await model.ask('say {letter}')\n")
            words = ("eval", "exam", "medqa", medqa, "--model", "direct/a", "--out", folder)
            process(*words, "--method", "mine.py:ask", "zero_shot", "--base-url", endpoint.url, cwd=tmp_path)
    joined = json.loads(run("results", "show", *folders[:2], "--json").stdout)["table"]
    right = {row["method"]: row["right"] for row in joined}
    own = {name: value for name, value in right.items() if name.startswith("mine.py:ask")}
    assert len(right) == 3 and len(own) == 2 and all("code of mine.py:ask=" in name for name in own)
    assert set(own.values()) == {100.0, 0.0}
    assert len(json.loads(run("results", "show", *folders[1:], "--json").stdout)["table"]) == 2
    (code,) = json.loads((folders[0] / "results.json").read_text())["code"]
    assert code["name"] == "mine.py:ask" and code["sha256"][:12] in run("results", "show", folders[0]).stdout
