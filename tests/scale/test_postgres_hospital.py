"""A run of the hospital whose answers are in a store as they come: who goes on with it asks nothing twice."""

import json
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
from bench.postgres import PASSWORD

from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.results.folder import read_results
from polyclinic.testing.endpoint import EndpointProcess

PLACES = 2
TOWN = ("--residents", 40, "--days", 1, "--visits", 4)


def command(endpoint, *more):
    asked = (
        "--doctor",
        "direct/x",
        "--patient",
        "direct/x",
        "--set",
        "run.profiles=direct/x",
        "--base-url",
        endpoint.url,
    )
    return ("run", *TOWN, *asked, "--concurrency", PLACES, "--set", "run.max-failures=100", "--json", *more)


def requests(endpoint):
    return endpoint.counters()["requests"]


def came(shown):
    return {name: value for name, value in json.loads(shown).items() if name != "wall_seconds"}


def killed_after(words, endpoint, n):
    """Runs a command in a process of its own, and kills it once the endpoint was asked so often."""
    process = subprocess.Popen(
        [sys.executable, "-m", "polyclinic", *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while requests(endpoint) < n:
        assert process.poll() is None, "it was over before it was killed"
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.2)  # what was in flight is counted


@pytest.fixture
def run(run):
    return partial(run, env={"PGPASSWORD": PASSWORD})


@pytest.fixture
def whole(run, tmp_path):
    """What the run comes to that nobody killed and nobody shares, and how many requests it makes."""
    with EndpointProcess(seed=1) as endpoint:
        shown = run(*command(endpoint, "--out", tmp_path / "whole")).stdout
        return came(shown), requests(endpoint)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_was_killed_goes_on_on_another_machine(workers, base, run, whole, tmp_path):
    expected, n = whole
    with EndpointProcess(seed=1, latency=0.05) as endpoint:
        shared = ("--on", f"local:{workers}", "--out", base)
        killed_after(command(endpoint, *shared), endpoint, n // 2)
        again = came(run(*command(endpoint, *shared)).stdout)
        assert n <= requests(endpoint) <= n + PLACES * workers
        assert again == expected
        assert came(run(*command(endpoint, *shared)).stdout) == expected
        assert requests(endpoint) <= n + PLACES * workers, "a third machine asks nothing"
    kept = [one.record for one in read_results(base)]
    assert len(kept) == 2 and kept[0].calls == kept[1].calls


def test_one_whose_doctors_learn_goes_on_on_another_machine(base, run, tmp_path):
    def learning(endpoint, *more):
        learns = ("--residents", 40, "--days", 2, "--visits", 6, "--learn", "--doctor", "direct/x")
        asked = ("--base-url", endpoint.url, "--concurrency", PLACES, "--set", "run.max-failures=100", "--json")
        return ("run", *learns, *asked, *more)

    with EndpointProcess(seed=1) as endpoint:
        expected = came(run(*learning(endpoint, "--out", tmp_path / "whole")).stdout)
        n = requests(endpoint)
    assert expected["memory"]
    with EndpointProcess(seed=1, latency=0.05) as endpoint:
        killed_after(learning(endpoint, "--out", base), endpoint, n // 2)
        assert came(run(*learning(endpoint, "--out", base)).stdout) == expected
        asked = requests(endpoint)
        assert n <= asked <= n + PLACES
        again = run(*learning(endpoint, "--out", base))
        assert came(again.stdout) == expected
        assert requests(endpoint) == asked, "whoever begun it asks nothing more"


def test_the_results_of_whoever_goes_on_count_all_calls(base, run, whole, tmp_path):
    with EndpointProcess(seed=1, latency=0.05) as endpoint:
        killed_after(command(endpoint, "--out", base), endpoint, whole[1] // 2)
        run(*command(endpoint, "--out", base))
    run("results", "show", f"{base}#1", "--format", "folder", "--out", tmp_path / "fetched")
    folder = tmp_path / "fetched" / "1"
    assert not (folder / "calls.sqlite").exists(), "answers lie in the store alone"
    assert calls_in(folder) == calls_in(tmp_path / "whole") != []
    assert "secret" not in str(RecordedRun(folder).configuration)


def calls_in(folder):
    rows = map(json.loads, (folder / "calls.jsonl").read_text().splitlines())
    return sorted((row.get("role"), row.get("purpose"), row.get("item"), row.get("tokens_in")) for row in rows)


def test_another_run_has_answers_of_its_own(base, run, tmp_path):
    with EndpointProcess(seed=1) as endpoint:
        run(*command(endpoint, "--out", base))
        asked = requests(endpoint)
        run(*command(endpoint, "--out", base, "--seed", 1))
        other = requests(endpoint)
        run(*command(endpoint, "--out", base, "--set", "run.load=2"))
        assert other > asked and requests(endpoint) > other
        asked = requests(endpoint)
        run(
            *command(
                endpoint,
                "--out",
                base,
                "--set",
                "models.timeout=20",
                "--set",
                "run.traces=false",
            )
        )
        assert requests(endpoint) == asked, "how long an answer may take is nothing that the run comes from"


def test_runs_in_several_processes_have_their_answers_in_the_store_as_they_come(base, run, tmp_path):
    def replicas(endpoint, *more):
        return command(endpoint, "--replicas", 3, "--on", "local:2", *more)

    with EndpointProcess(seed=1) as endpoint:
        expected = means(run(*replicas(endpoint, "--out", tmp_path / "whole")).stdout)
        n = requests(endpoint)
    with EndpointProcess(seed=1, latency=0.05) as endpoint:
        killed_after(replicas(endpoint, "--out", base), endpoint, n // 2)
        time.sleep(6)  # its workers end by themselves
        again = means(run(*replicas(endpoint, "--out", base)).stdout)
        assert n <= requests(endpoint) <= n + 2 * PLACES
    assert again == expected
    kept = read_results(base)
    assert [one.record.seed for one in kept] == [0, 1, 2], "each under a number of its own, once"
    assert len({one.record.kind for one in kept}) == 1


def means(shown):
    return json.loads(shown)["means"]
