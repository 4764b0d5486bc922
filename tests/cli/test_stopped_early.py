"""What ends an evaluation or a study before its end: the table of what is over, kept as that, and how it goes on."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from tests.cli.test_cli_tor import answers
from tests.exams import write_exam

RECORDS = ("--cases", "inpatients", "--limit", "2")
COMMANDS = {
    "eval exam": ("eval", "exam", "medqa", "MEDQA", "--model", "direct/a"),
    "eval tor": ("eval", "tor", *RECORDS, "--model", "direct/a", "direct/b", "--method", "zero_shot"),
    "eval tor, judged": (
        "eval",
        "tor",
        *RECORDS,
        "--model",
        "direct/a",
        "--method",
        "zero_shot",
        "--judge",
        "direct/j",
    ),
    "eval aie, judged": (
        *("eval", "aie", "--cases", "shipped", "--limit", "2", "--patient", "rules", "--judge", "direct/j"),
        *("--doctor", "direct/a", "direct/b"),
    ),
    "eval exam, stages": (
        *("eval", "exam", "medqa", "MEDQA", "--model", "direct/a", "--match", "none"),
        *("--method", "zero_shot", "chain_of_thought", "medagents stages=analysis|summary|consultation"),
    ),
}
TOKENS = {
    "eval exam": 150,
    "eval tor": 900,
    "eval tor, judged": 2000,
    "eval exam, stages": 300,
}


@pytest.fixture(scope="module")
def medqa(tmp_path_factory):
    return write_exam(tmp_path_factory.mktemp("exam") / "medqa.jsonl", range(4))


def command(name, medqa, folder, endpoint):
    words = [medqa if word == "MEDQA" else word for word in COMMANDS[name]]
    return (
        *words,
        *("--base-url", endpoint.url, "--concurrency", 1, "--out", folder / "out"),
    )


def stopped_and_gone_on(run, words, endpoint, *, code, limit=(), before_going_on=lambda: None):
    """Returns what the stopped run printed, after it has gone on to its end."""
    out = words[-1]
    part = run(*words, *limit, code=code)
    assert "the same command resumes from there" in part.stderr and "stopped early; what is over:" in part.stderr
    assert "Traceback" not in part.stderr and part.stdout
    assert json.loads((out / "results.json").read_bytes())["stopped"]
    asked = endpoint.requests
    before_going_on()
    run(*words)
    assert "stopped" not in json.loads((out / "results.json").read_bytes())
    assert endpoint.requests > asked
    return part


@pytest.mark.slow
@pytest.mark.parametrize("name", ["eval exam", "eval tor"])
def test_what_was_over_lasts_though_going_on_is_killed(run, serving, medqa, tmp_path, name):
    """Nobody loses the table of a stopped run by going on: it is there until the next is written whole."""
    answering = threading.Event()
    answering.set()

    def answer(body):
        answering.wait(60)
        return answers(body)

    with serving(answer) as endpoint:
        words = command(name, medqa, tmp_path, endpoint)
        run(*words, "--token-budget", TOKENS[name], code=1)
        before = run("results", "show", tmp_path / "out", "--json").stdout
        asked = endpoint.requests
        answering.clear()
        going_on = subprocess.Popen(
            [sys.executable, "-m", "polyclinic", *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            while endpoint.requests == asked and going_on.poll() is None:
                time.sleep(0.05)
        finally:
            going_on.kill()
            going_on.wait()
        assert endpoint.requests > asked
        assert run("results", "show", tmp_path / "out", "--json").stdout == before
        answering.set()
        run(*words)
    record = json.loads((tmp_path / "out" / "results.json").read_bytes())
    assert "stopped" not in record
    left = {one.name for one in (tmp_path / "out").iterdir()}
    assert left == {"private", *record["files"], "calls.jsonl", "items.jsonl", "results.json"}


SLOW = ("eval exam", "eval tor, judged", "eval exam, stages")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in TOKENS])
def test_a_spent_budget(run, serving, medqa, tmp_path, name):
    with serving(answers) as endpoint:
        words = command(name, medqa, tmp_path, endpoint)
        stopped_and_gone_on(run, words, endpoint, code=1, limit=("--token-budget", TOKENS[name]))


BY_HAND = {"eval exam": 3, "eval tor": 3, "eval tor, judged": 2, "eval aie, judged": 8}
"""In which request it comes; what is judged then is not asked for any more."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * ("aie" in name)) for name in BY_HAND])
def test_somebody_stops_it(run, serving, medqa, tmp_path, monkeypatch, name):
    # A test of Inspect's may have put another in its place, which no signal reaches.
    monkeypatch.setattr(asyncio, "run", asyncio.runners.run)
    requests = []

    def answer_until_stopped(body):
        requests.append(body)
        if len(requests) == BY_HAND[name]:
            os.kill(os.getpid(), signal.SIGINT)
        return answers(body)

    with serving(answer_until_stopped) as endpoint:
        words = command(name, medqa, tmp_path, endpoint)
        part = stopped_and_gone_on(run, words, endpoint, code=130)
    assert "interrupted; " in part.stderr and part.stderr.count("interrupted") == 1


LOST = {"eval exam": 3, "eval tor": 3, "eval tor, judged": 3, "eval aie, judged": 8}
"""After which request the endpoint refuses the key."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in LOST])
def test_a_key_that_is_refused_from_some_moment_on(run, serving, medqa, tmp_path, name):
    requests = []

    def answer_until_locked(body):
        requests.append(body)
        if len(requests) == LOST[name]:
            endpoint.key = "another"
        return answers(body)

    def unlock():
        endpoint.key = None

    with serving(answer_until_locked) as endpoint:
        words = command(name, medqa, tmp_path, endpoint)
        part = stopped_and_gone_on(run, words, endpoint, code=1, before_going_on=unlock)
    assert "polyclinic: AccessLost: direct/" in part.stderr and "status 401" in part.stderr


def test_of_several_models_the_others_go_on_without_one_that_refuses_the_key(run, serving, medqa, tmp_path):
    with serving(answers) as endpoint, serving(answers, key="another") as locked:
        (tmp_path / "models.toml").write_text(f'[models."direct/b"]\nbase_url = "{locked.url}"\n')
        words = (
            "eval",
            "exam",
            "medqa",
            medqa,
            "--model",
            "direct/a",
            "direct/b",
            "--method",
            "zero_shot",
        )
        words = (*words, "--base-url", endpoint.url, "--set", f"models.model-file={tmp_path / 'models.toml'}", "--json")
        part = run(*words, code=1)
    assert "the other models are asked meanwhile" in part.stderr
    assert "missing: direct/b: zero_shot 4 of 4" in part.stderr
    assert [(one["name"], one["n"]) for one in json.loads(part.stdout)["methods"]] == [("direct/a: zero_shot", 4)]


def test_a_key_that_is_refused_from_the_start_is_wrong_input(run, serving, medqa, tmp_path):
    with serving(answers, key="another") as endpoint:
        words = command("eval exam", medqa, tmp_path, endpoint)
        refused = run(*words, code=2)
    assert "what is over" not in refused.stderr and len(refused.stderr.strip().splitlines()) == 1


def test_where_nothing_is_over_no_table_is_printed(run, serving, medqa, tmp_path):
    with serving(answers) as endpoint:
        words = command("eval exam", medqa, tmp_path, endpoint)
        part = run(*words, "--cost-budget", 0, "--set", "models.price=1,1", code=1)
    assert part.stdout == "nothing\n" and "4 of 4" in part.stderr
