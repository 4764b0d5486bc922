"""Sweeps over the settings of methods, and the kinds of wrong answers, as a user meets them."""

import csv
import itertools
import json
import re
import shlex
from pathlib import Path

import pytest

from polyclinic.statistics.uncertainty import Estimate
from polyclinic.terminal.tables import chart


@pytest.fixture(scope="module")
def endpoint(serving):
    with serving() as process:
        yield process


@pytest.fixture(scope="module")
def medqa(tmp_path_factory):
    path = tmp_path_factory.mktemp("exam") / "medqa.jsonl"
    lines = [
        {"question": f"Number {n}?", "options": {k: f"{k}{n}" for k in "ABCD"}, "answer_idx": "ABCD"[n % 4]}
        for n in range(8)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def asked(medqa, endpoint, *more):
    return ("eval", "exam", "medqa", medqa, "--model", "direct/a", "--base-url", endpoint.url, "--match", "none", *more)


@pytest.mark.slow
def test_what_each_stage_brings(run, complaint, medqa, endpoint, tmp_path):
    stages = "medagents stages=analysis|summary|consultation"
    command = asked(medqa, endpoint, "--method", "zero_shot", "chain_of_thought", stages, "--temperature", 1)
    command += ("--set", "max_rounds=1", "--baseline", "zero_shot")
    document = json.loads(run(*command, "--json", "--out", tmp_path / "out").stdout)
    assert [one["name"] for one in document["methods"]] == [
        "zero_shot",
        "chain_of_thought",
        "medagents (max_rounds=1, stages=analysis)",
        "medagents (max_rounds=1, stages=summary)",
        "medagents (max_rounds=1, stages=consultation)",
    ]
    # The endpoint says nothing of use to who asks for text, and follows any form: nothing is made up for it.
    assert [one["unreadable"] for one in document["methods"]] == [8, 8, 0, 0, 0]
    assert [one["cost"]["calls"] for one in document["methods"][:4]] == [1, 1, 10, 11]
    assert document["methods"][4]["cost"]["round_trips"] >= 6
    assert {one["baseline"] for one in document["comparisons"]} == {"zero_shot"}
    assert len(document["comparisons"]) == 4
    assert len([path for path in (tmp_path / "out").iterdir() if path.is_file()]) == 9
    assert {body["temperature"] for body in endpoint.bodies} == {1.0}
    assert "max_rounds 3 for medagents" in complaint(*command, "--protocol", "paper")
    for text in ("medagents stages=x", "medagents stages="):
        assert "allowed: analysis, summary, consultation" in complaint(*asked(medqa, endpoint, "--method", text))
    assert "belongs to none of the methods" in complaint(*asked(medqa, endpoint, "--method", "medagents depth=1"))
    twice = ("--method", "medagents stages=summary", "medagents stages=summary")
    assert "'medagents (stages=summary)' is named twice" in complaint(*asked(medqa, endpoint, *twice))


def test_the_paper_takes_four_experts_on_pubmedqa(run, endpoint, tmp_path):
    path = tmp_path / "pubmedqa.json"
    article = {"QUESTION": "Why?", "CONTEXTS": ["First."], "final_decision": "no", "LONG_ANSWER": "It was not."}
    path.write_text(json.dumps({"1": article, "2": article}), encoding="utf-8")
    command = ("eval", "exam", "pubmedqa", path, "--method", "medagents stages=analysis", "--model", "direct/a")
    document = json.loads(run(*command, "--base-url", endpoint.url, "--match", "none", "--json").stdout)
    assert document["methods"][0]["name"] == "medagents (question_experts=4, stages=analysis)"


@pytest.mark.slow
def test_numbers_of_experts_are_a_curve(run, complaint, medqa, endpoint):
    on_question = "medagents question_experts=1|2|3 option_experts=1 stages=analysis"
    on_options = "medagents question_experts=2 option_experts=0|1|2 stages=analysis"
    command = asked(medqa, endpoint, "--method", on_question, on_options)
    done = run(*command, "--json")
    document = json.loads(done.stdout)
    # Two gatherings (one where there is nobody on the options), an analysis each, the decision.
    assert [one["cost"]["calls"] for one in document["methods"]] == [5, 6, 7, 4, 7]
    shown = run(*command).stdout
    assert "right % by question_experts: medagents option_experts=1 stages=analysis" in shown
    assert "right % by option_experts: medagents question_experts=2 stages=analysis" in shown
    assert shown.count("●") == 6 and "100 %" in shown
    none = "medagents question_experts=0 option_experts=0"
    assert complaint(*asked(medqa, endpoint, "--method", none))


@pytest.mark.slow
def test_wrong_answers_are_sorted(run, complaint, medqa, endpoint, tmp_path, serving):
    methods = ("--method", "medagents", "--method", "zero_shot", "--set", "max_rounds=1")
    command = asked(medqa, endpoint, *methods)
    ran = json.loads(run(*command, "--json", "--out", tmp_path / "kept").stdout)
    command = (*command, "--set", f"run.reuse={tmp_path / 'kept'}")
    missed = [one["id"] for one in ran["methods"][0]["questions"] if not one["right"]]
    assert 2 <= len(missed) < 8 and "errors" not in ran
    name = "medagents-max_rounds-1"
    words = tmp_path / "words.jsonl"
    said = {"question": missed[0], "method": name, "category": "cot", "who": "Dr A"}
    words.write_text(json.dumps(said) + "\n", encoding="utf-8")
    judged = (*command, "--judge", "direct/j", "--verdicts", words)
    before = len(endpoint.bodies)
    document = json.loads(run(*judged, "--json", "--out", tmp_path / "out").stdout)
    # The answers are kept: only the judge is asked, and not of what a person said.
    assert len(endpoint.bodies) - before == len(missed) - 1
    errors = document["errors"]
    # All of zero_shot is unreadable: no reasoning, so no category.
    assert errors["looked_at"] == len(missed)
    assert (errors["sources"]["human"]["cot"], sum(errors["sources"]["judge"].values())) == (1, len(missed) - 1)
    assert sum(one["share"] for one in errors["shares"].values()) == pytest.approx(100)
    assert (errors["judge"], errors["version"], len(errors["prompts"])) == ("direct/j", 1, 16)
    rows = [json.loads(line) for line in (tmp_path / "out" / "items.jsonl").read_text("utf-8").splitlines()]
    assert sum("cot" in row["values"] for row in rows) == len(missed)
    shown = run(*judged).stdout
    for text in ("why answers are wrong", "mis_retrieval", "by people", errors["prompts"], "0 unreadable, 0 failed"):
        assert text in shown, text
    by_people = run(*command, "--verdicts", words).stdout
    assert f"only people's verdicts count; {len(missed) - 1} wrong answers are not sorted" in by_people
    few = json.loads(run(*judged, "--set", "exam.wrong-answers=1", "--json").stdout)
    assert few["errors"]["looked_at"] == 1
    assert "--judge 'rules' is not a model" in complaint(*command, "--judge", "rules")
    with serving(faults=1.0, kinds=["huge"]) as broken:
        (tmp_path / "models.toml").write_text(f'[models."direct/j"]\nbase_url = "{broken.url}"\n', "utf-8")
        elsewhere = ("--set", f"models.model-file={tmp_path / 'models.toml'}")
        done = run(*command, "--judge", "direct/j", *elsewhere, "--json", code=1)
    assert f"{len(missed)} of {len(missed)} questions to the judge failed (TooLarge)" in done.stderr
    assert json.loads(done.stdout)["errors"]["failed"] == {"TooLarge": len(missed)}


def test_a_chart_stands_where_the_numbers_are():
    rows = [
        ("1", Estimate(mean=50.0, stderr=5.0, low=40.0, high=60.0, n=9)),
        ("10", Estimate(mean=0.0, stderr=None, low=None, high=None, n=1)),
        ("2", Estimate(mean=None, stderr=None, low=None, high=None, n=0)),
        ("3", Estimate(mean=100.0, stderr=0.0, low=100.0, high=100.0, n=9)),
    ]
    first, ten, none, all_right, scale = chart(rows).splitlines()
    start = scale.index("0")
    assert first.index("●") - start == 25
    assert (first.index("├") - start, first.index("┤") - start) == (20, 30)
    assert ten.index("●") == start
    assert none.split() == ["2", "–"]
    assert all_right.index("●") - start == 50
    assert scale.index("50") - start in (24, 25)


@pytest.mark.slow
def test_the_commands_of_the_page(run, endpoint, shared_data, tmp_path):
    """What docs/exams.md shows, on the published files, in order and with few questions."""
    page = (Path(__file__).parents[2] / "docs" / "exams.md").read_text("utf-8")
    data = tmp_path / "data"
    data.mkdir()
    # Of each file the beginning, as it is read anew by each command.
    for file in (shared_data / "qa").rglob("*"):
        few = data / file.relative_to(shared_data / "qa")
        if file.is_dir():
            few.mkdir()
        elif file.suffix == ".csv":
            with file.open(encoding="utf-8", newline="") as rows, few.open("w", newline="") as out:
                csv.writer(out).writerows(itertools.islice(csv.reader(rows), 3))
        elif file.suffix == ".jsonl":
            with file.open(encoding="utf-8") as lines:
                few.write_text("".join(itertools.islice(lines, 40)), "utf-8")
        else:
            few.symlink_to(file)
    lines = [line for block in re.findall(r"^```sh\n(.*?)^```", page, re.S | re.M) for line in block.splitlines()]
    commands = [line for line in lines if "--memory" not in line and "table4" not in line]  # there is no memory yet
    assert len(commands) == 9
    for command in commands:
        words = shlex.split(command.replace("http://127.0.0.1:8000/v1", endpoint.url))
        assert words.pop(0) == "polyclinic"
        few = {"eval": ["--limit", 1], "study": ["--small"], "results": []}[words[0]]
        assert run(*words, *few, cwd=tmp_path).stdout
