"""Where a model's doctor meets the rules patient, the command and its results say how far that one is to be trusted."""

import json

import pytest

from polyclinic.players.patient_trust import trust_fields, trust_in

TRUST = trust_in("rules", ["direct/a"])
CONSULT = ("consult", "shipped#p1-00001")


@pytest.fixture(scope="module")
def endpoint(serving):
    with serving(latency=0.001) as process:
        yield process


@pytest.fixture
def model(endpoint):
    return ("--doctor", "direct/a", "--base-url", endpoint.url)


def test_a_visit(run, model):
    done = run(*CONSULT, *model, "--json")
    assert done.stderr.count(TRUST.line) == 1
    assert {"patient_trust": json.loads(done.stdout)["patient_trust"]} == trust_fields(TRUST)
    assert TRUST.line in run(*CONSULT, *model).stderr


def test_visits_in_which_nobody_meets_it(run, model, endpoint):
    saps = ("--patient", "saps:direct/b")
    for words in ((*model, "--one-step"), (*model, *saps), (*saps, "--base-url", endpoint.url), ()):
        done = run(*CONSULT, *words, "--json")
        assert "played by rules" not in done.stderr
        assert "patient_trust" not in json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", ["aie", "mvme", "reliability"])
def test_an_evaluation(run, model, benchmark, tmp_path):
    words = ("eval", benchmark, "--cases", "shipped", "--limit", "1", *model, "--set", "run.max-failures=100")
    done = run(*words, "--out", tmp_path)
    footnote = " ".join(done.stdout.split())
    assert TRUST.line in done.stderr and TRUST.line in footnote
    document = tmp_path / ("reliability.json" if benchmark == "reliability" else "summary.json")
    assert json.loads(document.read_text())["patient_trust"]["agreement"] == TRUST.agreement


@pytest.mark.slow
def test_a_hospital(run, model):
    words = ("run", "--residents", "20", "--visits", "6", *model, "--set", "run.max-failures=100")
    done = run(*words, "--json")
    assert TRUST.line in done.stderr
    assert {"patient_trust": json.loads(done.stdout)["patient_trust"]} == trust_fields(TRUST)
    assert TRUST.line in " ".join(run(*words).stdout.split())
    assert "patient_trust" not in json.loads(run("run", "--residents", "20", "--visits", "6", "--json").stdout)


def test_a_trace_holds_who_played_and_no_figures(run, model, tmp_path):
    run(*CONSULT, *model, "--out", tmp_path / "trace.jsonl")
    opened = json.loads((tmp_path / "trace.jsonl").read_text().splitlines()[0])
    assert opened["minds"]["patient"] == "rules"
    assert "patient_trust" not in opened
