"""`polyclinic study run`: plans of papers and of one's own, in one run, with one journal and one table."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import msgspec
import pytest
from tests.cli.test_cli_exam_memory import files as memory  # noqa: F401 - a fixture
from tests.exams import write_exam
from tests.tables import each_row

from polyclinic.errors import BadInput
from polyclinic.protocols.study_plan import SHIPPED_PLANS, find_plan, read_plan
from polyclinic.results.folder import RunRecord
from polyclinic.results.provenance import versions
from polyclinic.run.invocation import NOT_INVOKED
from polyclinic.run.storing import check_same

PLAN = """
title = "Two methods"
seeds = [0, 1]
[options]
method = ["zero_shot", "chain_of_thought"]
baseline = "zero_shot"
[[run]]
name = "exam"
command = "eval exam"
exam = "medqa"
questions = "medqa.jsonl"
[published]
columns = ["model", "method", "measure", "medqa"]
rows = [["GPT-4", "zero_shot", "right", 73.0]]
"""


def answer(body):
    number = int(re.search(r"number (\d+)", body["messages"][-1]["content"])[1])
    return f"Answer: {'A' if number % 3 or body['model'] == 'good' else 'B'}"


def write_study(folder, questions=12, plan=PLAN):
    (folder / "plan.toml").write_text(plan, "utf-8")
    write_exam(folder / "medqa.jsonl", range(questions))
    return folder


@pytest.mark.slow
def test_models_methods_and_seeds_are_one_table(run, tmp_path, serving):
    write_study(tmp_path)
    with serving(answer) as endpoint:
        command = ("study", "run", tmp_path / "plan.toml", "--data", tmp_path, "--out", tmp_path / "out")
        command += ("--model", "direct/good", "direct/bad", "--base-url", endpoint.url)
        stopped = run(*command, "--token-budget", 4000, "--concurrency", 4, code=1)
        assert "not done yet: exam-seed-1. The same command resumes" in stopped.stderr and "zero_shot" in stopped.stdout
        rows = json.loads(run(*command, "--json").stdout)
        assert endpoint.requests == 2 * 2 * 2 * 12
        shown = run(*command).stdout
        assert endpoint.requests == 96
    ours = [row for row in rows if not row["published"]]
    assert {(row["model"], row["method"]): round(row["right"]) for row in ours} == {
        ("direct/good", "zero_shot"): 100,
        ("direct/good", "chain_of_thought"): 100,
        ("direct/bad", "zero_shot"): 67,
        ("direct/bad", "chain_of_thought"): 67,
    }
    assert [row["seeds"] for row in ours] == ["0 1"] * 4
    (paper,) = (row for row in rows if row["published"])
    assert (paper["model"], paper["published"], paper["right"]) == ("GPT-4", True, 73)
    assert "GPT-4 (published)" in shown and "Two methods" in shown and "detectable" in shown
    record = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
    assert (record["kind"], record["title"], len(record["data"])) == ("study run", "Two methods", 1)
    again = json.loads(run("results", "show", tmp_path / "out", "--json").stdout)["table"]
    assert again == rows


@each_row("plan", sorted(path.name for path in SHIPPED_PLANS.glob("*.toml")))
def test_every_plan_of_a_paper_is_one(plan):
    read = read_plan(find_plan(SHIPPED_PLANS.parent / "papers" / plan))
    assert read.title and read.paper and read.runs and read.published
    assert all(value.set and value.measure for value in read.published)


@pytest.mark.slow
@each_row("plan", sorted(path.stem for path in SHIPPED_PLANS.glob("*.toml")))
def test_every_plan_of_a_paper_runs_in_small_without_a_model(run, plan, tmp_path, memory):  # noqa: F811
    (tmp_path / "data").mkdir(exist_ok=True)
    if not (tmp_path / "data" / "memory").exists():
        (tmp_path / "data" / "memory").symlink_to(memory / "m")
    small = ("--small", "--data", tmp_path / "data", "--out", tmp_path / plan)
    rows = json.loads(run("study", "run", f"papers/{plan}", *small, "--json").stdout)
    assert [row for row in rows if not row["published"] and row["items"]], rows


@pytest.mark.slow
def test_what_a_study_would_take(run, tmp_path):
    write_study(tmp_path)
    command = ("study", "run", tmp_path / "plan.toml", "--data", tmp_path, "--model", "direct/a", "--dry-run", "--json")
    assert json.loads(run(*command).stdout)["calls"] == 2 * 2 * 12
    assert not (tmp_path / "out").exists()


def test_a_plan_that_is_none_is_one_line(complaint, tmp_path):
    write_study(tmp_path)
    study, out = ("study", "run"), ("--out", tmp_path / "out", "--model", "direct/a")
    assert "no such plan (did you mean medagents-table2.toml?)" in complaint(*study, "papers/medagents-tabl2", *out)
    assert "name the folder of the data sets with --data" in complaint(*study, "papers/medagents-table2.toml", *out)
    assert "no run 'exma' in the plan" in complaint(*study, tmp_path / "plan.toml", *out, "--only", "exma")
    assert "nobody is named" in complaint(*study, tmp_path / "plan.toml", *out[:2])
    for text, problem in (
        ("title = 1", "no plan of a study"),
        ("title = ", "not TOML"),
        ('title = "x"\n[[run]]\nname = "a"', "a run needs its command"),
        (PLAN.replace("73.0", '"x"'), "needs a number for each set"),
        (PLAN.replace('"model", ', ""), "the columns begin with model, method, measure"),
    ):
        (tmp_path / "bad.toml").write_text(text, "utf-8")
        with pytest.raises(BadInput, match=problem):
            read_plan(tmp_path / "bad.toml")


@pytest.mark.slow
def test_a_study_that_is_killed_twice_asks_nothing_twice(run, tmp_path, serving):
    """40 questions, 3 methods, 2 models: in the end one table, and no more was asked than was under way."""
    plan = PLAN.replace('"chain_of_thought"]', '"chain_of_thought", "few_shot"]').replace("[0, 1]", "[0]")
    write_study(tmp_path, 40, plan)
    with serving(latency=0.02) as endpoint:
        words = ["study", "run", str(tmp_path / "plan.toml"), "--data", str(tmp_path), "--out", str(tmp_path / "out")]
        words += ["--model", "direct/a", "direct/b", "--base-url", endpoint.url, "--concurrency", "8"]
        for least in (40, 120):
            killed = subprocess.Popen([sys.executable, "-m", "polyclinic", *words], stderr=subprocess.DEVNULL)
            while endpoint.requests < least and killed.poll() is None:
                time.sleep(0.01)
            os.kill(killed.pid, signal.SIGKILL)
            killed.wait()
        rows = json.loads(run(*words, "--json").stdout)
        asked = endpoint.requests
    assert [row["items"] for row in rows if not row["published"]] == [40] * 6
    assert 240 <= asked <= 240 + 2 * 2 * 8


OVER = """
title = "One doctor"
models = ["rules"]
[[run]]
name = "aie"
command = "eval aie"
cases = "cases.jsonl"
limit = 1
"""


@pytest.mark.slow
def test_a_study_is_one_process_alone(run, complaint, tmp_path, serving):
    write_study(tmp_path, questions=4)
    with serving(latency=600) as never, serving() as endpoint:
        words = ("study", "run", tmp_path / "plan.toml", "--data", tmp_path, "--out", tmp_path / "out")
        words += ("--model", "direct/x", "--concurrency", 1, "--base-url")
        given = map(str, (*words, never.url))
        first = subprocess.Popen([sys.executable, "-m", "polyclinic", *given], stderr=subprocess.DEVNULL)
        with first:
            while not never.requests:
                assert first.poll() is None
                time.sleep(0.02)
            assert "another process is at this study" in complaint(*words, never.url)
            assert first.poll() is None
            first.kill()
        run(*words, endpoint.url)  # whoever is killed leaves no lock
    assert not json.loads((tmp_path / "out" / "results.json").read_text()).get("stopped")


@pytest.mark.slow
def test_what_is_over_is_not_shown_for_something_else(run, tmp_path):
    plan, cases, out = tmp_path / "plan.toml", tmp_path / "cases.jsonl", tmp_path / "out"
    plan.write_text(OVER, "utf-8")
    run("cases", "generate", "--n", "2", "--out", cases)
    command = ("study", "run", plan, "--data", tmp_path, "--out", out)
    run(*command)
    run(*command, "--token-budget", "1000")
    plan.write_text(OVER.replace("limit = 1", "limit = 2"), "utf-8")
    assert "was run with --limit 1, and is now with --limit 2" in run(*command, code=2).stderr
    plan.write_text(OVER, "utf-8")
    assert "is now with --temperature 0.5" in run(*command, "--temperature", "0.5", code=2).stderr
    cases.write_text("".join(reversed(cases.read_text("utf-8").splitlines(keepends=True))), "utf-8")
    assert "cases.jsonl has changed since this was run" in run(*command, code=2).stderr


def test_what_is_over_was_made_of_the_same_knowledge_and_prompts(tmp_path):
    made = RunRecord(kind="eval aie", command=["eval", "aie"], versions=versions())
    check_same(made, NOT_INVOKED, tmp_path)
    for part in ("knowledge", "prompts", "words"):
        changed = msgspec.structs.replace(made, versions=made.versions | {part: "another"})
        with pytest.raises(BadInput, match=f"was run with another version of {part}"):
            check_same(changed, NOT_INVOKED, tmp_path)


TWO_RUNS = """
title = "One that is well, and one that is not"
seeds = [0]
[[run]]
name = "exam"
command = "eval exam"
exam = "medqa"
questions = "medqa.jsonl"
method = "zero_shot"
[[run]]
name = "other"
command = "eval {command}"
{option}
"""


@pytest.mark.slow
def test_a_run_that_is_refused_loses_none_of_the_others(run, tmp_path, serving):
    """The first run is paid before the second is refused: its table is printed and kept, and is not asked again."""
    plan = TWO_RUNS.format(command="tor", option='doctor = "rules"\ncases = "inpatients"\nlimit = 1')
    write_study(tmp_path, plan=plan)
    with serving(answer) as endpoint:
        command = ("study", "run", tmp_path / "plan.toml", "--data", tmp_path, "--out", tmp_path / "out")
        command += ("--model", "direct/good", "--base-url", endpoint.url)
        for _ in range(2):
            came = run(*command, code=2)
            assert "run other-seed-0: --model and --doctor are both named" in came.stderr
            assert "done: 1 of 2 runs" in came.stderr and "zero_shot" in came.stdout
            assert endpoint.requests == 12
    shown = run("results", "show", tmp_path / "out")
    assert "stopped early" in shown.stdout + shown.stderr and "100.00" in shown.stdout


@pytest.mark.slow
def test_options_that_no_command_has_are_said_before_anybody_is_asked(complaint, tmp_path, serving):
    write_study(tmp_path, plan=TWO_RUNS.format(command="aie", option="limits = 3"))
    with serving(answer) as endpoint:
        said = complaint(
            *("study", "run", tmp_path / "plan.toml", "--data", tmp_path, "--out", tmp_path / "out"),
            *("--model", "direct/good", "--base-url", endpoint.url),
        )
        assert "no key limits" in said and endpoint.requests == 0


SWEEPS = {
    "two runs": "".join(
        f'[[run]]\nname = "{n} turns"\ncommand = "eval aie"\ncases = "shipped"\nlimit = 2\nmax_turns = {n}\n'
        for n in (2, 10)
    ),
    "a list": '[[run]]\nname = "turns"\ncommand = "eval aie"\ncases = "shipped"\nlimit = 2\nmax_turns = [2, 10]\n',
}


@pytest.mark.slow
@pytest.mark.parametrize("runs", SWEEPS.values(), ids=SWEEPS)
def test_runs_of_a_plan_that_differ_in_an_option_are_rows(run, tmp_path, runs):
    (tmp_path / "plan.toml").write_text(f'title = "Turns"\nseeds = [0]\n{runs}', "utf-8")
    rows = json.loads(
        run("study", "run", tmp_path / "plan.toml", "--model", "rules", "--out", tmp_path / "out", "--json").stdout
    )
    assert [row["method"] for row in rows] == ["max_turns=2", "max_turns=10"]
    assert rows[0]["AVG_TURN"] < rows[1]["AVG_TURN"]


def test_a_sweep_without_a_value_is_refused(complaint, tmp_path):
    plan = SWEEPS["a list"].replace("[2, 10]", "[]")
    (tmp_path / "plan.toml").write_text(f'title = "Turns"\n{plan}', "utf-8")
    told = complaint("study", "run", tmp_path / "plan.toml", "--model", "rules", "--out", tmp_path / "out")
    assert "run 'turns': max_turns is an empty list" in told
