"""`--on`: workers compute the items of a command; what comes of it is what comes without them."""

import json
import re
import signal
import subprocess
import sys
import time

import pytest
from tests.exams import write_exam

from polyclinic.testing.endpoint import EndpointProcess


def rows(folder):
    read = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    assert read
    return [{**row, "seconds": 0} for row in read]


@pytest.mark.slow
def test_the_answers_of_all_parts_are_taken_by_another_run(run, tmp_path):
    with EndpointProcess(seed=1) as endpoint:
        asked = ["eval", "exam", "any", "shipped", "--model", "direct/x", "--base-url", endpoint.url]
        run(*asked, "--out", tmp_path / "parts", "--on", "local:2")
        requests = endpoint.counters()["requests"]
        assert requests == len(rows(tmp_path / "parts")) > 2
        run(*asked, "--out", tmp_path / "again", "--set", f"run.reuse={tmp_path / 'parts'}", "--on", "local:1")
        assert endpoint.counters()["requests"] == requests
        assert rows(tmp_path / "again") == rows(tmp_path / "parts")


def test_what_cannot_be_divided_is_said(complaint, tmp_path):
    asked = (
        "eval",
        "exam",
        "any",
        "shipped",
        "--model",
        "direct/x",
        "--base-url",
        "http://127.0.0.1:9/v1",
    )
    wrong = {}
    for words, told in {
        (*asked, "--on", "mars"): "--on 'mars'; allowed: local, local:N, ray, ray:N",
        (*asked, "--on", "local:0"): "--on 'local:0'; allowed",
        ("cases", "generate", "--out", "x", "--format", "tor", "--on", "local:2"): "divides outpatients",
        ("run", "--days", "1", "--on", "mars"): "--on 'mars'; allowed: local, local:N, ray, ray:N",
        ("study", "run", "papers/medagents-table3.toml", "--out", "x", "--on", "mars"): "--on 'mars'; allowed: local",
    }.items():
        if told not in (said := complaint(*words)):
            wrong[words[-3:]] = said
    assert wrong == {}


@pytest.mark.slow
def test_a_budget_is_of_all_parts_and_of_what_holds_them_and_goes_on_where_answers_are_kept(run, serving, tmp_path):
    write_exam(tmp_path / "medqa.jsonl", range(16))
    with serving(latency=0.02) as endpoint:
        words = (
            "eval",
            "exam",
            "medqa",
            tmp_path / "medqa.jsonl",
            "--limit",
            "all",
            "--model",
            "direct/x",
        )
        words += ("--base-url", endpoint.url, "--concurrency", "1")
        whole = json.loads(run(*words, "--out", tmp_path / "whole", "--json").stdout)
        words += ("--on", "local:2")
        (method,) = whole["methods"]
        cost = method["cost"]
        each, asks, n = cost["tokens_in"] + cost["tokens_out"], endpoint.requests, 0
        assert asks == 16
        limit, endpoint.requests, code = int(each * 9), 0, 1
        while code:
            before = endpoint.requests
            done = run(*words, "--out", tmp_path / "parts", "--token-budget", limit, code=None)
            code, n = done.returncode, n + 1
            assert endpoint.requests - before <= 9 + 2  # one of each part may be in flight
            assert not code or "the same command resumes from there" in done.stderr
            if n == 1:
                assert "zero_shot" in done.stdout, "what the parts asked by then is not shown"
        assert (endpoint.requests, n) == (asks, 2)
        gone = run(*words, "--token-budget", limit, code=1).stderr
        assert "with --out a run can go on" in gone
        assert "resumes from there" not in gone


@pytest.mark.slow
def test_who_stops_the_parts_sees_what_is_over_and_goes_on(run, serving, tmp_path):
    write_exam(tmp_path / "medqa.jsonl", range(24))
    processes = []

    def stopped_at_the_tenth(body):
        if endpoint.requests == 10:
            time.sleep(0.2)  # so that what was answered before is stored by then
            processes[0].send_signal(signal.SIGINT)
        return "Answer: A"

    with serving(stopped_at_the_tenth, latency=0.05) as endpoint:
        words = (
            "eval",
            "exam",
            "medqa",
            str(tmp_path / "medqa.jsonl"),
            "--limit",
            "all",
            "--model",
            "direct/x",
        )
        words += ("--base-url", endpoint.url, "--concurrency", "1", "--on", "local:2")
        words += ("--out", str(tmp_path / "out"))
        program = [sys.executable, "-m", "polyclinic", *words]
        processes.append(subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        shown, said = processes[0].communicate(timeout=60)
        assert processes[0].returncode == 130
        last = said.splitlines()[-1]
        assert re.search(r"interrupted; missing: zero_shot 1\d of 24; .* the same command resumes from there", last)
        assert "stopped early" in shown and "zero_shot" in shown
        assert (tmp_path / "out" / "results.json").is_file()
        run(*words[: words.index("--on")], *words[words.index("--out") :])
        assert endpoint.requests <= 24 + 2  # one of each part was in flight


@pytest.mark.slow
def test_a_study_in_parts_keeps_its_budget_and_goes_on(run, serving, tmp_path):
    write_exam(tmp_path / "medqa.jsonl", range(12))
    plan = ('title = "x"', "seeds = [0, 1]", "[[run]]", 'name = "a"', 'command = "eval exam"', 'exam = "medqa"')
    (tmp_path / "plan.toml").write_text("\n".join((*plan, 'questions = "medqa.jsonl"', 'limit = "all"')))
    with serving(lambda _: "Answer: A", latency=0.02) as endpoint:
        words = ("study", "run", tmp_path / "plan.toml", "--data", tmp_path, "--model", "direct/x")
        words += ("--base-url", endpoint.url, "--concurrency", "1")
        whole = json.loads(run(*words, "--out", tmp_path / "whole", "--json").stdout)
        asks, each = endpoint.requests, whole[0]["tokens"]
        parts = (*words, "--out", tmp_path / "parts", "--on", "local:1", "--token-budget", int(each * 13))
        endpoint.requests, code = 0, 1
        while code:
            before = endpoint.requests
            done = run(*parts, code=None)
            code = done.returncode
            assert endpoint.requests - before <= 13 + 1
            assert "StopIteration" not in done.stderr
            assert not code or "not done yet: " in done.stderr
        assert endpoint.requests == asks == 24
    assert "asked by the parts of --on, or earlier" in run("results", "show", tmp_path / "parts").stdout
