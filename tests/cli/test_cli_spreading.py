"""`--on`: what comes of a command in parts is what comes of it in one; what cannot be divided is said in one line."""

import contextlib
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from tests.exams import write_exam

from polyclinic.cli import spreading
from polyclinic.cli.evolve_folder import made_here
from polyclinic.cli.spreading import in_parts, value_of, without
from polyclinic.cluster.jobs import JobEnded
from polyclinic.cluster.worker import JobWorker
from polyclinic.errors import PlayFailure
from polyclinic.models.journal_parts import JournalRow
from polyclinic.testing.endpoint import EndpointProcess

TOWN = ("run", "--residents", "30", "--days", "1", "--json")


def rows(folder):
    read = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    assert read
    return [{**row, "seconds": 0} for row in read]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_an_evaluation_in_parts_is_the_same_and_asks_as_often(workers, run, tmp_path):
    with EndpointProcess(seed=1) as endpoint:
        asked = ["eval", "exam", "any", "shipped", "--model", "direct/x", "--base-url", endpoint.url]
        came = []
        for name, more in {
            "whole": [],
            "parts": ["--on", f"local:{workers}", "--journal", str(tmp_path / "j.sqlite")],
        }.items():
            before = endpoint.counters()["requests"]
            run(*asked, "--out", tmp_path / name, *more)
            came.append((rows(tmp_path / name), endpoint.counters()["requests"] - before))
        assert came[0] == came[1]
        assert came[0][1] == len(came[0][0]) > 2
        again = endpoint.counters()["requests"]
        run(*asked, "--out", tmp_path / "again", *more)
        assert endpoint.counters()["requests"] == again  # the journal's parts hold all of it


@pytest.mark.slow
def test_runs_side_by_side_are_the_same_and_are_not_made_twice(run, tmp_path, monkeypatch):
    def told(done):
        return [{**one, "wall_seconds": 0} for one in json.loads(done.stdout)["runs"]]

    parts = told(run(*TOWN, "--replicas", "2", "--out", tmp_path / "parts", "--on", "local:2"))
    alone = json.loads(run(*TOWN, "--seed", "1", "--out", tmp_path / "alone").stdout)
    assert parts[1] == {**alone, "wall_seconds": 0}
    monkeypatch.setattr(JobWorker, "begin", None)  # nothing begins any more
    assert told(run(*TOWN, "--replicas", "2", "--out", tmp_path / "parts", "--on", "local:2")) == parts


@pytest.mark.slow
def test_patients_drawn_in_parts_are_the_same_and_practices_come_home(run, tmp_path):
    drawn = ("cases", "generate", "--n", "50", "--diseases", "respiratory", "--out")
    for name, more in {"whole": [], "parts": ["--on", "local:2"]}.items():
        run(*drawn, tmp_path / name, *more)
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    run(*drawn, tmp_path / "test", "--seed", "1")
    words = (
        "evolve",
        "--train",
        "parts",
        "--test",
        "test",
        "--set",
        "practice.batch=50",
        "--ablations",
        "no",
        "--json",
    )
    came = [
        json.loads(run(*words, "--replicas", "2", "--out", name, *more, cwd=tmp_path).stdout)["runs"]
        for name, more in {"alone": [], "spread": ["--on", "local:2"]}.items()
    ]
    assert [{**one, "wall_seconds": 0} for one in came[0]] == [{**one, "wall_seconds": 0} for one in came[1]]


def test_a_practice_that_came_home_names_the_files_of_this_machine(tmp_path):
    made = dict.fromkeys(("batch", "test_every", "seed"), 0)
    made |= dict.fromkeys(("records_only", "experience_only"), False)
    made |= {"k": None, "k_records": None, "k_experience": None, "doctor": "direct/x", "feedback": "truth"}
    made |= {"train": "/there/1/train", "test": "/there/2/test", "endpoint": {"model_file": "/there/3/models"}}
    (tmp_path / "evolve.json").write_text(json.dumps(made))
    made_here(tmp_path, {"train": "train", "test": "test", "model_file": str(tmp_path / "models")})
    home = json.loads((tmp_path / "evolve.json").read_text())
    assert (home["train"], home["test"]) == ("train", "test")
    assert home["endpoint"] == {"model_file": str(tmp_path / "models")}


class Left:
    """A site at which nothing is left to do, and something to be taken."""

    name, ships, workers = "left", False, 2

    def __init__(self, rows):
        self.rows, self.begun, self.forgotten = rows, [], []

    async def begin(self, job, answered, *, of):
        self.begun.append((job, list(answered)))
        return self

    async def news(self):
        return [JobEnded(0)]

    async def release(self):
        pass

    async def left(self, kept):
        return dict.fromkeys(["part 1 of 3", "seed 0", "seed 1", "seed 9"], self.rows)

    async def forget(self, kept):
        self.forgotten.append(kept)


def test_a_command_that_was_killed_goes_on_from_what_its_workers_were_answered(tmp_path, monkeypatch):
    row = JournalRow("calls", ("run", "episode", b"request", 0, "turn", b"reply"))
    sites = []

    @asynccontextmanager
    async def opened(_name):
        yield sites[-1]

    monkeypatch.setattr(spreading, "open_site", opened)
    out = tmp_path / "runs"
    runs = ["run", "--replicas", "2", "--on", "local:2", "--out", str(out)]

    def given(words):
        sites.append(Left([row]))
        with contextlib.suppress(PlayFailure), in_parts(words):
            pass
        return {job.name: answered for job, answered in sites[-1].begun}

    assert given(runs) == {"seed 0": [], "seed 1": []}
    shutil.rmtree(out / "seed-1")
    assert given(runs) == {"seed 0": [row], "seed 1": []}
    names = {job.kept for site in sites for job, _ in site.begun}
    assert len(names) == 1
    assert names == {kept for site in sites for kept in site.forgotten}


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
        (*asked, "--on", "mars"): "--on 'mars'; allowed: local, local:N, ray",
        (*asked, "--on", "local:0"): "--on 'local:0'; allowed",
        (*asked, "--share", "3/2"): "--share '3/2'; needs which part of how many",
        ("cases", "generate", "--out", "x", "--format", "tor", "--on", "local:2"): "divides patients in our layout",
        ("run", "--on", "ray:2"): "makes several runs at once; say how many with --replicas N, 2 or more",
        ("run", "--replicas", "auto", "--on", "ray:2"): "say how many with --replicas N",
        ("run", "--replicas", "2", "--on", "local:2"): "makes runs that are kept; say where with --out DIR",
    }.items():
        if told not in (said := complaint(*words)):
            wrong[words[-3:]] = said
    assert wrong == {}


def test_options_are_found_and_left_out_in_both_forms():
    words = ["eval", "aie", "--on", "ray", "--seed=3", "--json", "--cases", "--on"]
    assert (value_of(words, "--seed"), value_of(words, "--on"), value_of(words, "--out")) == ("3", "ray", None)
    assert without(["a", "--on", "x", "--seed=3", "--json", "b"], "--on", "--seed", switches=("--json",)) == ["a", "b"]


@pytest.mark.parametrize("given", [["--store", "URL"], ["--store=URL"]])
def test_the_password_of_a_store_stands_in_no_word_of_a_worker(given):
    words = [word.replace("URL", "postgresql://ann:s3cr3t@h/d?schema=ours&sslpassword=k3y%20s") for word in given]
    site = SimpleNamespace(ships=False)
    job = spreading._job(
        "part 1 of 2", site, ["eval", "exam", "medqa", *words], ["--share", "1/2"], answers="j", tails="j"
    )
    assert "s3cr3t" not in repr(job.words) and "k3y" not in repr(job.words)
    assert "postgresql://ann@h/d?schema=ours" in repr(job.words)
    assert job.environment == {"PGPASSWORD": "s3cr3t", "POLYCLINIC_SSLPASSWORD": "k3y s"}


@pytest.mark.parametrize("ships", [False, True])
def test_variables_with_passwords_reach_other_machines_and_an_address_comes_before_them(ships, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", "of the machine")
    monkeypatch.setenv("POLYCLINIC_SSLPASSWORD", "of the key")
    site, words = SimpleNamespace(ships=ships), ["eval", "exam", "medqa", "--store", "postgresql://ann:s3cr3t@h/d"]
    job = spreading._job("part 1 of 2", site, words, [], answers="j", tails="j")
    travels = {"POLYCLINIC_SSLPASSWORD": "of the key"} if ships else {}  # here, a process inherits it
    assert {name: key for name, key in job.environment.items() if "PASS" in name} == {"PGPASSWORD": "s3cr3t", **travels}


@pytest.mark.slow
def test_sorted_answers_in_parts_are_the_same_and_ask_as_often(run, tmp_path):
    with EndpointProcess(seed=1) as endpoint:
        words = ["eval", "exam", "any", "shipped", "--model", "direct/x", "--judge", "direct/x", "--json"]
        words += ["--base-url", endpoint.url]
        came = []
        for more in ([], ["--on", "local:2", "--journal", str(tmp_path / "j.sqlite")]):
            before = endpoint.counters()["requests"]
            came.append((json.loads(run(*words, *more).stdout), endpoint.counters()["requests"] - before))
        assert came[0][1] == came[1][1] > 1
        assert _timeless(came[0][0]) == _timeless(came[1][0])


def _timeless(document):
    if isinstance(document, dict):
        return {key: _timeless(one) for key, one in document.items() if "second" not in key}
    return [_timeless(one) for one in document] if isinstance(document, list) else document


@pytest.mark.slow
def test_a_plan_in_parts_is_the_same_table_and_asks_as_often(run, tmp_path):
    (tmp_path / "plan.toml").write_text(
        'title = "two"\nseeds = [0, 1]\n[options]\nmethod = ["zero_shot", "chain_of_thought"]\n'
        '[[run]]\nname = "exam"\ncommand = "eval exam"\nexam = "medqa"\nquestions = "shipped"\n'
    )
    with EndpointProcess(seed=1) as endpoint:
        plan = ["study", "run", str(tmp_path / "plan.toml"), "--model", "direct/x", "--model", "direct/y"]
        plan += ["--base-url", endpoint.url]
        came = []
        for name, more in {"whole": [], "parts": ["--on", "local:2"]}.items():
            before = endpoint.counters()["requests"]
            run(*plan, "--out", tmp_path / name, *more)
            came.append((rows(tmp_path / name), endpoint.counters()["requests"] - before))
        assert came[0] == came[1]
        assert came[0][1] == len(came[0][0])  # each of two models, methods and seeds, each question once
        run(*plan, "--out", tmp_path / "parts", "--on", "local:2")
        assert endpoint.counters()["requests"] == came[0][1] * 2


@pytest.mark.slow
def test_a_budget_is_of_all_parts_and_of_what_holds_them_and_goes_on_where_answers_are_kept(run, serving, tmp_path):
    write_exam(tmp_path / "medqa.jsonl", range(24))
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
        whole = json.loads(run(*words, "--journal", tmp_path / "whole", "--json").stdout)
        words += ("--on", "local:2")
        (method,) = whole["methods"]
        cost = method["cost"]
        each, asks, n = cost["tokens_in"] + cost["tokens_out"], endpoint.requests, 0
        assert asks == 24
        limit, endpoint.requests, code = int(each * 9), 0, 1
        while code:
            before = endpoint.requests
            done = run(*words, "--journal", tmp_path / "parts", "--token-budget", limit, code=None)
            code, n = done.returncode, n + 1
            assert endpoint.requests - before <= 9 + 2  # one of each part may be in flight
            assert not code or "the same command goes on from there" in done.stderr
            if n == 1:
                assert "zero_shot" in done.stdout, "what the parts asked by then is not shown"
        assert (endpoint.requests, n) == (asks, pytest.approx(3, abs=1))
        gone = run(*words, "--token-budget", limit, code=1).stderr
        assert "with --journal FILE a run can go on" in gone
        assert "goes on from there" not in gone


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
        words += ("--journal", str(tmp_path / "j"), "--out", str(tmp_path / "out"))
        program = [sys.executable, "-m", "polyclinic", *words]
        processes.append(subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        shown, said = processes[0].communicate(timeout=60)
        assert processes[0].returncode == 130
        last = said.splitlines()[-1]
        assert re.search(r"interrupted; missing: zero_shot 1\d of 24; .* the same command goes on from there", last)
        assert "stopped early" in shown and "zero_shot" in shown
        assert (tmp_path / "out" / "results.json").is_file()
        run(*words)
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
        parts = (*words, "--out", tmp_path / "parts", "--on", "local:2", "--token-budget", int(each * 13))
        endpoint.requests, code = 0, 1
        while code:
            before = endpoint.requests
            done = run(*parts, code=None)
            code = done.returncode
            assert endpoint.requests - before <= 13 + 2
            assert "StopIteration" not in done.stderr
            assert not code or "not done yet: " in done.stderr
        assert endpoint.requests == asks == 24
    assert "asked by the parts of --on, or earlier" in run("results", "show", tmp_path / "parts").stdout
