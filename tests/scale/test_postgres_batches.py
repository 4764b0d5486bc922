"""Batches whose ids are in a store: another machine goes on with them, and none is made twice."""

import os
import signal
import subprocess
import sys

import psycopg
from tests.exams import write_exam

from polyclinic.models import batch
from polyclinic.results.folder import read_results

_METHODS = ("--method", "zero_shot")


def exam(endpoint, *more):
    asked = (
        "eval",
        "exam",
        "medqa",
        "shipped",
        "--model",
        "direct/x",
        *_METHODS,
        "--set",
        "run.max-failures=100",
    )
    return [*map(str, (*asked, "--base-url", endpoint.url, "--json", *more))]


def answers(results):
    return [(row.item, row.values) for row in results.rows]


def test_a_command_that_is_killed_goes_on_elsewhere_with_the_batch_it_made(base, run, serving, tmp_path, monkeypatch):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder in (here, elsewhere):
        folder.mkdir()
    with serving(lambda _: "Answer: B", batches={"looks": 2}) as endpoint:
        words = exam(endpoint, "--set", "models.batch-api=true", "--out", base)
        process = subprocess.Popen(
            [sys.executable, "-m", "polyclinic", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=here,
            env={**os.environ, "HOME": str(here)},
        )
        assert any("as batch batch_1" in line for line in process.stderr)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        monkeypatch.setattr(batch, "QUIET", 0.02)
        monkeypatch.setattr(batch, "FIRST_LOOK", 0.01)
        monkeypatch.setenv("HOME", str(elsewhere))
        resumed = run(*words, cwd=elsewhere)
        assert "goes on with batch batch_1, 5 of its answers are wanted" in resumed.stderr
        run(*words, cwd=elsewhere)
        assert len(endpoint.batches.made) == 1
        assert endpoint.requests == 5
        run(*exam(endpoint, "--set", "models.batch-api=true", "--out", base, "--seed", "1"), cwd=elsewhere)
        assert len(endpoint.batches.made) == 2, "another seed is another run, and has answers of its own"
    with serving(lambda _: "Answer: B") as endpoint:
        run(*exam(endpoint, "--out", tmp_path / "whole"))
    resumed, again, _ = map(answers, read_results(base))
    (whole,) = map(answers, read_results(tmp_path / "whole"))
    assert len(whole) == 5
    assert resumed == again == whole


def test_a_batch_of_many_questions_in_a_store_of_before(base, run, serving, tmp_path, monkeypatch):
    monkeypatch.setattr(batch, "QUIET", 0.02)
    monkeypatch.setattr(batch, "FIRST_LOOK", 0.01)
    questions = write_exam(tmp_path / "medqa.jsonl", range(300), text="number {}?")
    with serving(lambda _: "Answer: B", batches={"looks": 1}) as endpoint:
        few = exam(endpoint, "--set", "models.batch-api=true", "--out", base)
        run(*few)
        with psycopg.connect(base, autocommit=True) as connection:  # as stores were made at first
            connection.execute("DROP INDEX polyclinic.batches_line_digest")
            connection.execute("ALTER TABLE polyclinic.batches ADD CONSTRAINT batches_line_key UNIQUE (line)")
        many = ("eval", "exam", "medqa", questions, "--limit", "all", "--model", "direct/x", *_METHODS)
        many += (
            "--set",
            "run.max-failures=100",
            "--set",
            "models.batch-api=true",
            "--out",
            base,
            "--base-url",
            endpoint.url,
        )
        for _ in range(2):
            run(*many)
        run(*few)
        assert len(endpoint.batches.made) == 2
        assert endpoint.requests == 305
