"""A run of which more failed than may: what came is kept, and the same command with the same --out goes on."""

import json

import pytest
from tests.cli.test_cli_study_run import write_study
from tests.cli.test_cli_tor import answers
from tests.exams import write_exam

RECORDS = ("--cases", "inpatients", "--limit", "2")
COMMANDS = {
    "eval exam": ("eval", "exam", "medqa", "MEDQA", "--model", "direct/a"),
    "eval aie": ("eval", "aie", "--cases", "shipped", "--limit", "2", "--doctor", "direct/a", "--max-turns", "2"),
    "eval tor, judged": (
        *("eval", "tor", *RECORDS, "--model", "direct/a", "--method", "zero_shot"),
        *("--judge", "direct/j"),
    ),
}


@pytest.fixture(scope="module")
def medqa(tmp_path_factory):
    return write_exam(tmp_path_factory.mktemp("exam") / "medqa.jsonl", range(4))


def rows(folder):
    return [{**json.loads(line), "seconds": 0} for line in (folder / "items.jsonl").read_text().splitlines()]


def fault_at(name):
    """The second question fails, of a judged run the first of the judge's; and nothing of it is asked again at once."""
    return [None, None, "huge"] if "judged" in name else [None, "huge"]


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_the_same_command_asks_for_what_had_no_answer(name, run, serving, medqa, tmp_path):
    words = [medqa if word == "MEDQA" else word for word in COMMANDS[name]]
    words += ["--concurrency", 1, "--set", "run.max-failures=0"]
    with serving(answers) as endpoint:
        run(*words, "--base-url", endpoint.url, "--out", tmp_path / "whole")
        n = endpoint.requests
    with serving(answers, plan=fault_at(name)) as endpoint:
        words += ["--base-url", endpoint.url, "--out", tmp_path / "out"]
        failed = run(*words, code=1).stderr
        record = json.loads((tmp_path / "out" / "results.json").read_bytes())
        assert record["failed"] in failed and "stopped" not in record
        assert failed.rstrip().endswith("the same command resumes from there")
        run(*words)
        assert n < endpoint.requests <= 2 * n - 1, "what was answered is not asked again"
    record = json.loads((tmp_path / "out" / "results.json").read_bytes())
    assert "failed" not in record and "stopped" not in record
    assert rows(tmp_path / "out") == rows(tmp_path / "whole")
    before = (tmp_path / "out" / "items.jsonl").read_bytes()
    other = run(*words, "--seed", 5, code=2).stderr
    assert "was run with --seed 0, and is now with --seed 5" in other
    assert (tmp_path / "out" / "items.jsonl").read_bytes() == before


def test_without_a_folder_there_is_nothing_to_resume_from(run, serving, medqa):
    words = ["eval", "exam", "medqa", medqa, "--model", "direct/a"]
    with serving(answers, plan=["huge"]) as endpoint:
        failed = run(*words, "--base-url", endpoint.url, code=1).stderr
        assert "resumes" not in failed


@pytest.mark.slow
def test_of_a_study_the_runs_that_failed_are_held_again(run, serving, tmp_path):
    write_study(tmp_path, questions=4)
    with serving(lambda _: "Answer: A", plan=["huge"]) as endpoint:
        words = ("study", "run", tmp_path / "plan.toml", "--data", tmp_path, "--out", tmp_path / "out")
        words += ("--model", "direct/a", "--base-url", endpoint.url)
        record = tmp_path / "out" / "runs" / "exam-seed-0" / "results.json"
        failed = run(*words, code=1)
        assert "exam-seed-0: 1 of 8 questions failed" in failed.stderr and "zero_shot" in failed.stdout
        assert "more failed than run.max-failures allows in exam-seed-0; where an endpoint failed" in failed.stderr
        assert json.loads(record.read_bytes())["failed"].startswith("1 of 8 questions failed")
        asked = endpoint.requests
        for _ in range(2):
            assert "failed" not in run(*words).stderr
            assert endpoint.requests == asked + 1
    assert "failed" not in json.loads(record.read_bytes())
    assert all(row["end"] != "failed" for row in rows(tmp_path / "out"))


def test_other_options_or_servers_are_refused_where_answers_are_kept(run, serving, medqa, tmp_path):
    words = ("cases", "patient-test", "--cases", "shipped", "--limit", 2, "--writer", "direct/a", "--out", "made.json")
    with serving(None) as endpoint:
        words += ("--base-url", endpoint.url, "--concurrency", 1, "--token-budget", 1)
        assert "resumes" in run(*words, cwd=tmp_path, code=1).stderr
        other = run(*words, "--set", "patient-test.rounds=2", cwd=tmp_path, code=2).stderr
        assert "with --rounds" in other and "is now with --rounds 2" in other
    exam = ("eval", "exam", "medqa", medqa, "--limit", 1, "--model", "direct/a", "--out", tmp_path / "out")
    with serving(answers) as endpoint, serving(answers) as another:
        run(*exam, "--base-url", endpoint.url)
        other = run(*exam, "--base-url", another.url, code=2).stderr
        assert f"was run with --base-url {endpoint.url}, and is now with --base-url {another.url}" in other
        run(*exam, "--base-url", endpoint.url, "--base-url", another.url)
