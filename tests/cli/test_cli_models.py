"""Language models at the command line: mixes of minds, going on after a stop, and everything an endpoint can refuse."""

import json
import re

import pytest

from polyclinic.terminal.figures import AT_LEAST, money

KEY = "sk-proj-NOBODY-MAY-SEE-THIS-42"
CASE = ("consult", "shipped#p1-00001")


@pytest.fixture(scope="module")
def endpoint(serving):
    with serving(latency=0.001) as process:
        yield process


@pytest.mark.slow
@pytest.mark.parametrize(
    "minds",
    [
        {"doctor": "direct/a", "patient": "rules"},
        {"doctor": "rules", "patient": "direct/a"},
        {"doctor": "direct/a", "patient": "direct/b", "examiner": "direct/c"},
    ],
    ids="-".join,
)
def test_any_mix_of_minds(run, endpoint, minds):
    options = [word for role, mind in minds.items() for word in (f"--{role}", mind)]
    done = run(*CASE, *options, "--base-url", endpoint.url, "--json")
    document = json.loads(done.stdout)
    playing = document["trace"][0]["minds"]
    assert {role: playing[role] for role in minds if role in playing} == minds
    assert document["end"] in ("concluded", "turn limit", "patient left")


def test_calls_tokens_and_cost_are_told(run, endpoint):
    shown = run(*CASE, "--doctor", "direct/a", "--base-url", endpoint.url, "--set", "models.price=1,2")
    assert "model calls" in shown.stderr
    assert "speak" in shown.stderr and "report" in shown.stderr and "cost" in shown.stderr


@pytest.mark.slow
def test_nothing_is_asked_twice(run, endpoint, tmp_path):
    command = ("consult", "shipped", "--doctor", "direct/a", "--base-url", endpoint.url, "--json")
    before = endpoint.counters()["requests"]
    for name in ("one", "two"):
        run(*command, "--out", tmp_path / "trace")
        (tmp_path / name).write_bytes((tmp_path / "trace").read_bytes())
        if name == "one":
            asked = endpoint.counters()["requests"] - before
    assert asked >= 48
    assert endpoint.counters()["requests"] - before == asked
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.slow
def test_a_budget_ends_the_run_cleanly_and_the_run_goes_on(run, endpoint, tmp_path):
    command = ["consult", "shipped", "--doctor", "direct/a", "--base-url", endpoint.url, "--json"]
    command += ["--out", tmp_path / "trace", "--concurrency", 4]
    stopped = run(*command, "--token-budget", 3000, code=1)
    done = len(json.loads(stopped.stdout)) if stopped.stdout else 0
    assert done < 48
    assert f"{done} of 48 visits are done" in stopped.stderr
    assert "--token-budget allows: 3,000" in stopped.stderr
    before = endpoint.counters()["requests"]
    assert len(json.loads(run(*command).stdout)) == 48
    again = endpoint.counters()["requests"] - before
    fresh_before = endpoint.counters()["requests"]
    run(*command[: command.index("--out")])
    assert again < endpoint.counters()["requests"] - fresh_before


@pytest.mark.slow
def test_too_many_failures_fail_the_run(run, serving):
    with serving(latency=0.001, faults=1.0, kinds=["refusal"]) as refusing:
        command = ("consult", "shipped", "--doctor", "direct/a", "--base-url", refusing.url, "--json")
        done = run(*command, code=1)
        visits = json.loads(done.stdout)
        assert {visit["end"] for visit in visits} == {"failed"}
        assert all(visit["report"] is None for visit in visits)
        failed = [event for event in visits[0]["trace"] if event["event"] == "failed"]
        assert failed[0]["error"] == "Refused"
        assert "48 of 48 visits failed" in done.stderr
        run(*command, "--set", "run.max-failures=100")


@pytest.mark.slow
def test_what_an_endpoint_refuses_is_one_clear_line(run, complaint, endpoint, tmp_path, serving, monkeypatch):
    monkeypatch.setattr("polyclinic.models.retry.MOST_PAUSE", 0.01)  # seconds between attempts
    direct = (*CASE, "--json", "--doctor", "direct/a", "--base-url")
    assert "direct/NAME" in complaint(*CASE, "--doctor", "gpt-4o")
    assert "there are: direct/NAME" in complaint(*CASE, "--doctor", "oracle/x")
    assert "needs what a million tokens cost" in complaint(*direct, endpoint.url, "--set", "models.price=cheap")
    assert "nonsense" in complaint(*direct, "nonsense")
    with serving(key="right", models=["b"]) as strict:
        assert "OPENAI_API_KEY" in complaint(*direct, strict.url)
        assert "MY_KEY" in complaint(*direct, strict.url, "--set", "models.api-key-env=MY_KEY")
        wrong = complaint(*direct, strict.url, env={"OPENAI_API_KEY": KEY})
        assert "OPENAI_API_KEY" in wrong and KEY not in wrong
        assert "'a'" in complaint(*direct, strict.url, env={"OPENAI_API_KEY": "right"})
    down = run(*direct, "http://127.0.0.1:9/v1", code=1)
    assert "Unreachable" in down.stderr and down.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_key_never_shows(run, tmp_path, serving):
    with serving(key=KEY, faults=0.2, seed=3) as endpoint:
        shown = run(
            *("consult", "shipped", "--doctor", "direct/a", "--patient", "direct/b", "--json"),
            *("--base-url", endpoint.url, "--out", tmp_path / "trace"),
            *("--set", "run.max-failures=100"),
            env={"OPENAI_API_KEY": KEY},
        )
    assert endpoint.url
    assert KEY not in shown.stdout + shown.stderr
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 2
    assert not any(KEY.encode() in content for content in written)


@pytest.mark.slow
def test_with_three_servers_each_question_arrives_where_it_belongs(run, serving, tmp_path):
    """One model at three endpoints: the roles are told apart by what they are asked, and how."""
    with serving() as doctor, serving() as patient, serving() as judge:
        file = tmp_path / "models.toml"
        file.write_text(
            f"[roles.patient]\nbase_url = '{patient.url}'\ntemperature = 0.1\n"
            f"[roles.judge]\nbase_url = '{judge.url}'\neffort = 'low'\n"
        )
        run(
            "eval", "reliability", "--cases", "shipped", "--limit", "4", "--doctor", "direct/a", "--patient",
            "direct/a", "--judge", "direct/a", "--base-url", doctor.url, "--set", f"models.model-file={file}", "--temperature", "0.7",  # noqa: E501
            "--json", "--set", "run.max-failures=100", "--set", "reliability.attack=false",
        )  # fmt: skip
        for endpoint, begins, how in (
            (doctor, r"You are \w+ doctor", (0.7, None)),
            (patient, r"You are \w+ patient", (0.1, None)),
            (judge, "You check a simulated clinic", (0.7, "low")),
        ):
            assert endpoint.bodies
            for body in endpoint.bodies:
                assert re.match(begins, body["messages"][0]["content"])
                assert (body.get("temperature"), body.get("reasoning_effort")) == how


@pytest.mark.slow
def test_a_sum_without_a_price_for_all_is_told_as_the_least_it_can_be(run, endpoint, tmp_path):
    (tmp_path / "models.toml").write_text('[models."direct/a"]\nprice = [1, 2]\n')
    words = ("eval", "exam", "medqa", "shipped", "--limit", 3, "--model", "direct/a", "direct/b")
    words += ("--base-url", endpoint.url, "--set", f"models.model-file={tmp_path / 'models.toml'}")
    folder = tmp_path / "out"
    told = run(*words, "--out", folder)
    (line,) = (line for line in told.stderr.splitlines() if line.lstrip().startswith("all "))
    assert AT_LEAST in line
    assert f"{AT_LEAST}: 3 calls took tokens that have no price" in told.stderr
    record = json.loads((folder / "results.json").read_text())
    assert sum(one["unpriced"] for one in record["calls"]) == 3
    cost = sum(one["cost"] for one in record["calls"])
    shown = run("results", "show", folder).stdout
    assert f"cost {money(cost, 3)}, without 3 calls that took tokens without a price" in shown
    assert money(cost, 3) in run("results", "show", folder, "--rows", "runs", env={"COLUMNS": "200"}).stdout
    expected = json.loads(run(*words, "--dry-run", "--json").stdout)
    assert expected["unpriced"] == 3 and expected["cost"] > 0
    limited = run(*words, "--cost-budget", 1, code=2)
    assert "what tokens of direct/b cost" in limited.stderr
