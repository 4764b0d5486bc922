"""`--max-tokens` of every command that asks models: kept to within what is in flight, and gone on from until done."""

import json

import msgspec
import pytest

from polyclinic.testing import endpoint as serves

AT_ONCE = 2
CASE = ("--case", "shipped#p1-00001")
CASES = ("--cases", "shipped", "--limit", "2")
EXAM = ("--questions", "shipped", "--layout", "medqa", "--model", "direct/a")
COMMANDS = {
    "consult": ("consult", *CASE, "--doctor", "direct/a", "--out", "trace.jsonl"),
    "ask": ("ask", *CASE, "--examiner", "direct/a", "A chest X-ray.", "A blood count.", "An ECG."),
    "cases personas": ("cases", "personas", "--cases", "shipped", "--writer", "direct/a", "--out", "cases.jsonl"),
    "cases patient-test": (
        *("cases", "patient-test", *CASES, "--rounds", "2", "--writer", "direct/a", "--out", "set.json"),
    ),
    "names compare": ("names", "compare", "pairs.jsonl", "--judge", "direct/a"),
    "eval medqa": ("eval", "medqa", *EXAM[:2], *EXAM[4:], "--method", "zero_shot", "chain_of_thought", "--out", "out"),
    "eval aie": ("eval", "aie", *CASES, "--doctor", "direct/a", "--patient", "direct/b", "--out", "out"),
    "eval mvme": ("eval", "mvme", *CASES, "--doctor", "direct/a", "--judge", "direct/j", "--out", "out"),
    "eval reliability": ("eval", "reliability", *CASES, "--patient", "direct/a", "--judge", "direct/j", "--out", "out"),
    "study experts": (
        *("study", "experts", *EXAM, "--question-experts", "1", "--option-experts", "0"),
        *("--at-options", "0", "--at-question", "1", "--out", "out"),
    ),
    "run": ("run", "--residents", "40", "--days", "1", "--visits", "4", "--doctor", "direct/a", "--out", "out"),
}
FAST = ("ask", "consult", "names compare")


@pytest.fixture
def spent(monkeypatch):
    """The tokens of each answer, in the order in which they were given."""
    tokens = []

    def completed(*given, **options):
        body = complete(*given, **options)
        usage = msgspec.json.decode(body)["usage"]
        tokens.append(usage["prompt_tokens"] + usage["completion_tokens"])
        return body

    complete = serves.completion
    monkeypatch.setattr(serves, "completion", completed)
    return tokens


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in FAST)) for name in COMMANDS]
)
def test_a_budget_is_kept_and_gone_on_from_until_all_is_done(run, serving, spent, tmp_path, name):
    for folder in ("whole", "parts"):
        (tmp_path / folder).mkdir()
        pairs = [{"a": "heart attack", "b": other} for other in ("myocardial infarction", "gout", "angina", "flu")]
        (tmp_path / folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    with serving(latency=0.01) as endpoint:
        words = (*COMMANDS[name], "--base-url", endpoint.url, "--concurrency", AT_ONCE)
        again = () if name == "run" else ("--journal", "journal")
        # What is made up may break a rule of a visit: this counts what is asked, and not how it went.
        failing = () if name in ("ask", "cases patient-test") else ("--max-failures", 100)
        run(*words, *again, *failing, cwd=tmp_path / "whole")
        asks, limit = endpoint.requests, sum(spent) // 2
        endpoint.requests = 0
        told = []
        for _ in range(6):
            spent.clear()
            given = ("run", "--resume", "out", *failing) if told and name == "run" else (*words, *again, *failing)
            done = run(*given, "--max-tokens", limit, cwd=tmp_path / "parts", code=None)
            assert sum(spent) <= limit + AT_ONCE * max(spent)
            if done.returncode == 0:
                break
            told.append(done.stderr)
            assert "BudgetSpent" in done.stderr and "Traceback" not in done.stderr
        assert told and all("go on" in text or "goes on from there" in text for text in told)
        assert endpoint.requests == asks
    if name == "run":
        assert "stopped early; what is over:" in told[0]
