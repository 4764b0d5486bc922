"""Every command that asks models, stopped by `--token-budget` or by hand: what is over is shown, what is missing is
said, no more is asked than was in flight, and going on until all is done asks nothing twice."""

import asyncio
import os
import re
import shutil
import signal
import time

import msgspec
import pytest
from tests.cli.preparing import _prepared  # noqa: F401 - the fixture `prepared`
from tests.cli.test_stores_everywhere import options_of

from polyclinic.cli import case_generate
from polyclinic.cli.commands import COMMANDS
from polyclinic.cli.config import keys_of
from polyclinic.testing import endpoint as serves

AT_ONCE = 2
CASE = ("shipped#p1-00001",)
CASES = ("--cases", "shipped", "--limit", "2")
RECORDS = ("--cases", "inpatients", "--limit", "5")
QUESTIONS = ("exam.jsonl", "--model", "direct/a", "--method", "zero_shot", "chain_of_thought")
WORDS = {
    "run": ("--residents", "40", "--days", "1", "--visits", "4", "--doctor", "direct/a", "--out", "out"),
    "evolve": ("--train", "train.jsonl", "--test", "test.jsonl", "--doctor", "direct/a", "--out", "out"),
    "consult": (*CASE, "--doctor", "direct/a", "--out", "trace.jsonl"),
    "ask": (*CASE, "--examiner", "direct/a", "A chest X-ray.", "A blood count.", "An ECG."),
    "cases generate": ("--preset", "agent-hospital", "--writer", "direct/a", "--out", "out"),
    "cases patient-test": (*CASES, "--set", "patient-test.rounds=2", "--writer", "direct/a", "--out", "set.json"),
    "cases convert": ("test.jsonl", "--persona", "plain", "--writer", "direct/a", "--out", "cases.jsonl"),
    "corpus add": ("docs", "docs.jsonl", "--embedder", "direct/e", "--library", "lib"),
    "eval aie": (*CASES, "--doctor", "direct/a", "direct/b", "--judge", "direct/j", "--out", "out"),
    "eval patient-simulator": ("--cases", "labelled.json", "--patient", "direct/a", "--out", "out"),
    "eval examiner": ("--cases", "shipped", "--dialogues", "asked.jsonl", "--examiner", "direct/a", "--out", "out"),
    "eval mvme": (*CASES, "--doctor", "direct/a", "direct/b", "--judge", "direct/j", "--set", "mvme.names-by=direct/j",
                  "--out", "out"),
    "eval reliability": (*CASES, "--patient", "direct/a", "--judge", "direct/j", "--out", "out"),
    "eval exam": ("medqa", *QUESTIONS, "--judge", "direct/j", "--out", "out"),
    "eval tor": (*RECORDS, "--model", "direct/a", "direct/b", "--method", "zero_shot", "--judge", "direct/j",
                 "--out", "out"),
    "score director": ("dialogues.jsonl", "--reference", "references.jsonl", "--judge", "direct/j"),
    "score icd": ("references.jsonl", "--set", "icd.table=icd.csv", "--set", "icd.names-by=direct/j"),
    "study run": ("plan.toml", "--out", "out"),
    "memory read": ("library", "--corpus", "lib/books", "--doctor", "direct/a", "--embedder", "case-words"),
    "memory build": ("exported.jsonl", "practice", "--embedder", "direct/e", "--out", "built"),
    "knowledge compare": ("pairs.jsonl", "--judge", "direct/j"),
}  # fmt: skip
WITHOUT_PARTS = {
    "serve": "asks as long as somebody plays there, and is stopped by whoever started it",
    "corpus search": "asks for the vector of one query",
    "memory show": "asks for the vector of one description",
}
"""Commands that ask and are never half done; each with its reason."""

SHOWN_AS_IT_GOES = {"ask", "consult"}
"""Whatever is over has been printed by then."""

WHOLE_OR_NOT_AT_ALL = {"memory build"}
"""They make vectors for one folder, which is there when all of them are."""

KEPT_IN_BATCHES = {"corpus add"}
"""They keep what comes of a batch of answers, and not each answer."""

SHARE = {"cases generate": 0.9, "eval mvme": 0.7}
"""How much of what all costs is allowed, where all plays are over at nearly the same time."""

FEW = 12
"""Requests up to which it is stopped by hand at the last one, so that something is over by then."""

FAST = ("knowledge compare",)


def asks_models():
    return {command for command in COMMANDS if "--token-budget" in options_of(command)}


@pytest.mark.slow
def test_every_command_that_asks_models_stands_here():
    assert asks_models() == WORDS.keys() | WITHOUT_PARTS.keys()
    assert all(len(reason) > 20 for reason in WITHOUT_PARTS.values())


class Spent:
    """The tokens of each answer, in the order in which they were given; at one of them somebody may stop it all."""

    def __init__(self):
        self.tokens = []
        self.stops_at = None

    def begin(self, *, stops_at=None):
        self.tokens.clear()
        self.stops_at = stops_at

    def of(self, answered):
        def answer(*given, **options):
            body = answered(*given, **options)
            usage = msgspec.json.decode(body)["usage"]
            self.tokens.append(usage["prompt_tokens"] + usage.get("completion_tokens", 0))
            if len(self.tokens) == self.stops_at:
                time.sleep(0.1)  # so that what was answered before is read by then
                os.kill(os.getpid(), signal.SIGINT)
            return body

        return answer


@pytest.fixture
def spent(monkeypatch):
    counted = Spent()
    monkeypatch.setattr(serves, "completion", counted.of(serves.completion))
    monkeypatch.setattr(serves, "embedded", counted.of(serves.embedded))
    return counted


def command_of(name, endpoint):
    options = options_of(name)
    words = (*name.split(), *WORDS[name], "--base-url", endpoint.url, "--concurrency", AT_ONCE)
    # What is made up may break a rule of a visit: this counts what is asked, and not how it went.
    words += ("--set", "run.max-failures=100") if any(one.key == "run.max-failures" for one in keys_of(name)) else ()
    return words + (("--out", "out") if "--out" in options and "--out" not in words else ())


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in FAST)) for name in WORDS])
def test_a_stopped_run_shows_what_is_over_says_what_is_missing_and_goes_on(
    run, serving, spent, prepared, tmp_path, monkeypatch, name
):
    monkeypatch.setattr(case_generate, "_TRAIN", 3)
    monkeypatch.setattr(case_generate, "_TEST", 1)
    # A test of Inspect's may have put another in its place, which no signal reaches.
    monkeypatch.setattr(asyncio, "run", asyncio.runners.run)
    for folder in ("whole", "parts", "by hand"):
        shutil.copytree(prepared, tmp_path / folder)
    told = []
    with serving(latency=0.005) as endpoint:
        words = command_of(name, endpoint)
        run(*words, cwd=tmp_path / "whole")
        asks, limit = endpoint.requests, int(sum(spent.tokens) * SHARE.get(name, 0.5))
        endpoint.requests = 0
        for _ in range(6):
            spent.begin()
            done = run(*words, "--token-budget", limit, cwd=tmp_path / "parts", code=None)
            assert sum(spent.tokens) <= limit + AT_ONCE * max(spent.tokens, default=0)
            if done.returncode == 0:
                break
            assert done.returncode == 1 and "BudgetSpent" in done.stderr
            told.append(done)
        again = AT_ONCE * len(told) if name in KEPT_IN_BATCHES else 0
        assert asks <= endpoint.requests <= asks + again, "what was asked is asked again, or never"
        assert told and done.returncode == 0, "it was never stopped, or came to no end"
        says_where_it_is(name, told[0])

        endpoint.requests = 0
        spent.begin(stops_at=asks if asks <= FEW else asks * 3 // 4)
        stopped = run(*words, cwd=tmp_path / "by hand", code=130)
        assert "interrupted; " in stopped.stderr
        says_where_it_is(name, stopped)
        spent.begin()
        run(*words, cwd=tmp_path / "by hand")
        assert asks < endpoint.requests <= asks + in_flight(name), "more is asked again than was under way"


def says_where_it_is(name, stopped):
    assert re.search(r"\d[\d,]* of \d[\d,]* |not done yet: |missing: ", stopped.stderr), "what is missing is not said"
    assert re.search("resumes|go on", stopped.stderr)
    if name not in SHOWN_AS_IT_GOES | WHOLE_OR_NOT_AT_ALL:
        assert "stopped early; what is over:" in stopped.stderr
    assert bool(stopped.stdout.strip()) == (name not in WHOLE_OR_NOT_AT_ALL)


def in_flight(name):
    """How many requests are under way at most: each model has a limit of its own."""
    return AT_ONCE * len({word for word in WORDS[name] if str(word).startswith("direct/")} or {"a plan's"})
