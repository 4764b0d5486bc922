"""`polyclinic study` as a user meets it."""

import csv
import itertools
import json
import re
import shlex
from pathlib import Path

import pytest

from polyclinic.evaluations.exams.medagents_study import SUBJECTS
from polyclinic.evaluations.exams.study_tables import chart
from polyclinic.statistics.uncertainty import Estimate


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


def study(name, medqa, *more):
    return ("study", name, "--questions", medqa, "--layout", "medqa", *more)


@pytest.mark.slow
def test_ablation(run, complaint, medqa, endpoint, tmp_path):
    command = study("ablation", medqa, "--model", "direct/a", "--base-url", endpoint.url, "--set", "max_rounds=1")
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
    assert len(list((tmp_path / "out").iterdir())) == 10
    assert {body["temperature"] for body in endpoint.bodies} == {1.0}
    assert "max_rounds 3 for medagents" in complaint(*command, "--protocol", "paper")
    shown = run(*command).stdout
    for text in (
        "ablation, medqa, 8 questions",
        "stages=consultation",
        "95 % interval",
        "unread.",
        "(Holm)",
        "trips",
    ):
        assert text in shown, text
    assert "goes through stages by itself" in complaint(*command, "--set", "stages=summary")
    assert "belongs to none of the methods" in complaint(*command, "--set", "depth=1")


def test_the_paper_takes_four_experts_on_pubmedqa(run, endpoint, tmp_path):
    path = tmp_path / "pubmedqa.json"
    article = {"QUESTION": "Why?", "CONTEXTS": ["First."], "final_decision": "no", "LONG_ANSWER": "It was not."}
    path.write_text(json.dumps({"1": article, "2": article}), encoding="utf-8")
    command = ("study", "ablation", "--questions", path, "--layout", "pubmedqa", "--model", "direct/a", "--json")
    document = json.loads(run(*command, "--base-url", endpoint.url).stdout)
    assert document["methods"][2]["name"] == "medagents (question_experts=4, stages=analysis)"


def test_experts(run, complaint, medqa, endpoint, tmp_path):
    command = study("experts", medqa, "--model", "direct/a", "--base-url", endpoint.url, "--set", "stages=analysis")
    ranges = ("--question-experts", "1-2", "--option-experts", "0,1", "--at-question", 2, "--at-options", 1)
    document = json.loads(run(*command, *ranges, "--json", "--out", tmp_path / "out").stdout)
    question, options = document["series"]
    assert (question["varied"], question["held"], question["numbers"]) == ("question_experts", 1, [1, 2])
    assert (options["varied"], options["held"], options["numbers"]) == ("option_experts", 2, [0, 1])
    assert question["methods"][1] == options["methods"][1]
    assert [one["cost"]["calls"] for one in options["methods"]] == [4, 6]
    # Three panels, as the pair of 2 and 1 stands in both series, the summary, and the record with its items and seals.
    assert len(list((tmp_path / "out").iterdir())) == 8
    shown = run(*command, *ranges).stdout
    for text in (
        "experts on the question, 1 on the options",
        "experts on the options, 2 on the question",
        "●",
        "100 %",
    ):
        assert text in shown, text
    assert "needs numbers from 0 to 100" in complaint(*command, "--question-experts", "7-1")
    assert "at least one expert" in complaint(*command, "--option-experts", "0", "--at-question", 0)
    assert "goes through question_experts" in complaint(*command, "--set", "medagents.question_experts=1")


@pytest.mark.slow
def test_errors(run, complaint, medqa, endpoint, tmp_path, serving):
    asked = ("eval", "medqa", "--questions", medqa, "--model", "direct/a", "--base-url", endpoint.url)
    methods = ("--method", "medagents", "--method", "zero_shot", "--match", "none", "--set", "max_rounds=1")
    ran = json.loads(run(*asked, *methods, "--out", tmp_path / "out", "--json").stdout)
    missed = [one["id"] for one in ran["methods"][0]["questions"] if not one["right"]]
    assert 2 <= len(missed) < 8
    name = "medagents-max_rounds-1"
    words = tmp_path / "words.jsonl"
    said = {"question": missed[0], "method": name, "category": "cot", "who": "Dr A"}
    words.write_text(json.dumps(said) + "\n", encoding="utf-8")
    command = study("errors", medqa, "--run", tmp_path / "out")
    judged = (*command, "--judge", "direct/j", "--base-url", endpoint.url, "--words", words)
    document = json.loads(run(*judged, "--json").stdout)
    # All of zero_shot is unreadable: no reasoning, so no category.
    assert (document["wrong"], document["unanswered"], document["looked_at"]) == (len(missed), 8, len(missed))
    assert (document["sources"]["human"]["cot"], sum(document["sources"]["judge"].values())) == (1, len(missed) - 1)
    assert sum(one["share"] for one in document["shares"].values()) == pytest.approx(100)
    assert (document["judge"], document["version"], len(document["prompts"])) == ("direct/j", 1, 16)
    shown = run(*judged).stdout
    for text in ("why answers are wrong", "mis_retrieval", "by people", document["prompts"], "0 unreadable, 0 failed"):
        assert text in shown, text
    by_people = run(*command, "--words", words).stdout
    assert f"only what people say counts; {len(missed) - 1} wrong answers are not sorted" in by_people
    few = json.loads(run(*judged, "--most", 1, "--method", name, "--json").stdout)
    assert (few["wrong"], few["looked_at"]) == (len(missed), 1)
    assert "no outcomes of method 'tor'" in complaint(*command, "--method", "tor")
    assert "--judge 'rules' is not a model" in complaint(*command, "--judge", "rules")
    assert "no such folder" in complaint(*study("errors", medqa, "--run", tmp_path / "none"))
    other = tmp_path / "other.jsonl"
    other.write_text(medqa.read_text("utf-8").splitlines()[0] + "\n", encoding="utf-8")
    assert "name the file that was asked" in complaint(*study("errors", other, "--run", tmp_path / "out"))
    with serving(faults=1.0, kinds=["huge"]) as broken:
        done = run(*command, "--judge", "direct/j", "--base-url", broken.url, "--json", code=1)
    assert json.loads(done.stdout)["failed"] == {"TooLarge": len(missed)}
    assert f"{len(missed)} of {len(missed)} questions to the judge failed (TooLarge)" in done.stderr


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
    for file in (shared_data / "qa").iterdir():
        (data / file.name).symlink_to(file)
    # A data set that is asked whole: of each of its files the beginning.
    (data / "mmlu").unlink()
    (data / "mmlu").mkdir()
    for file in (shared_data / "qa" / "mmlu").glob("*.csv"):
        with file.open(encoding="utf-8", newline="") as rows, (data / "mmlu" / file.name).open("w", newline="") as out:
            csv.writer(out).writerows(itertools.islice(csv.reader(rows), 3))
    lines = [line for block in re.findall(r"^```sh\n(.*?)^```", page, re.S | re.M) for line in block.splitlines()]
    commands = [line for line in lines if "--memory" not in line]  # of which there is none yet
    assert len(commands) == 6
    for command in commands:
        words = shlex.split(command.replace("http://127.0.0.1:8000/v1", endpoint.url))
        assert words.pop(0) == "polyclinic"
        assert run(*words, *([] if "errors" in words else ["--sample", 1]), cwd=tmp_path).stdout


def write_nine_sets(folder):
    """Writes an invented question of each set, in its published layout; returns the options that name the files."""
    options = dict(zip("ABCD", ("asthma", "gout", "measles", "scurvy"), strict=True))
    files = {
        "medqa": {"question": "Which?", "answer": "gout", "options": options, "meta_info": "step1", "answer_idx": "B"},
        "medmcqa": {
            "question": "Which one?", "exp": None, "cop": 1, "opa": "asthma", "opb": "gout", "opc": "measles",
            "opd": "scurvy", "subject_name": "Medicine", "topic_name": None, "id": "m-1", "choice_type": "single",
        },
        "pubmedqa": {
            "1": {
                "QUESTION": "Does it?", "CONTEXTS": ["It was tried."], "LABELS": ["RESULTS"], "MESHES": [],
                "YEAR": "2011", "reasoning_required_pred": "yes", "reasoning_free_pred": "yes",
                "final_decision": "yes", "LONG_ANSWER": "It does.",
            }
        },
    }  # fmt: skip
    for name, record in files.items():
        (folder / f"{name}.json").write_text(json.dumps(record) + "\n", "utf-8")
    (folder / "mmlu").mkdir()
    for subject in (*SUBJECTS, "astronomy"):  # the published folder has others too
        rows = f"What of {subject}?,one,two,three,four,A\n"
        (folder / "mmlu" / f"{subject.replace(' ', '_')}_test.csv").write_text(rows, "utf-8")
    return [word for name in files for word in (f"--{name}", folder / f"{name}.json")] + ["--mmlu", folder / "mmlu"]


@pytest.mark.slow
def test_nine_sets_have_one_average(run, complaint, endpoint, tmp_path):
    command = ("study", "medagents", *write_nine_sets(tmp_path), "--part", "table-2", "--model", "direct/a")
    command += ("--base-url", endpoint.url)
    document = json.loads(run(*command, "--json").stdout)
    assert (document["sets_of_nine"], document["sets_missing"]) == (9, [])
    for row in document["table_2"]:
        assert list(row["sets"]) == ["medqa", "medmcqa", "pubmedqa", *SUBJECTS]
        means = [one["mean"] or 0 for one in row["sets"].values()]
        assert row["average"]["mean"] == pytest.approx(sum(means) / 9) and row["average"]["n"] == 9
    extra = "What else of anatomy?,one,two,three,four,A\n"
    with (tmp_path / "mmlu" / "anatomy_test.csv").open("a", encoding="utf-8") as file:
        file.write(extra)
    sampled = json.loads(run(*command, "--sample", 1, "--protocol", "ours", "--json").stdout)
    assert sampled["questions"] == {"medqa": 1, "medmcqa": 1, "pubmedqa": 1, "mmlu": len(SUBJECTS)}
    for path in (tmp_path / "mmlu").glob("*.csv"):
        if "astronomy" not in path.name:
            path.unlink()
    assert "none of the paper's six subjects" in complaint(*command)


@pytest.mark.slow
def test_the_paper_in_one_command(run, complaint, medqa, endpoint, tmp_path):
    command = ("study", "medagents", "--medqa", medqa, "--model", "direct/a", "--base-url", endpoint.url)
    command += (
        "--judge",
        "direct/j",
        "--option-experts",
        "1-2",
        "--question-experts",
        "5",
        "--set",
        "models.price=1,2",
    )
    done = run(*command, "--journal", tmp_path / "journal", "--out", tmp_path / "out")
    for text in (
        "Table 2",
        "(of 1)",
        "No average of the paper's: that is of 9 sets, and without medmcqa, pubmedqa, anatomy",
        "Table 3",
        "Figure 3",
        "Table 4",
        "Figure 5",
    ):
        assert text in done.stdout
    assert "cost of 100 questions" in done.stdout
    assert "other than in the paper: 5 points of every run ('polyclinic protocols show medagents')" in done.stderr
    before = len(endpoint.bodies)
    document = json.loads(run(*command, "--journal", tmp_path / "journal", "--json").stdout)
    assert len(endpoint.bodies) == before
    assert set(document["figure_5"]) == {"medqa"}
    assert "no data set; name one or more" in complaint("study", "medagents", "--model", "direct/a")
    assert "300 questions of medqa" in complaint(*command, "--sample", "20")
    assert "needs a judge" in complaint(*command[:4], "--model", "local", "--part", "figure-5")
