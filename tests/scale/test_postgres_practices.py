"""`evolve --replicas --out URL`: memory, answers and results of each practice are in the database."""

import json
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
from bench.postgres import PASSWORD

from polyclinic.memory.memory import open_memory
from polyclinic.results.folder import read_results
from polyclinic.run.storing import fetched
from polyclinic.testing.endpoint import EndpointProcess

FEW = ("--diseases", "influenza a,bronchial asthma")
PLACES = 2


@pytest.fixture
def run(run, tmp_path, monkeypatch):
    run = partial(run, env={"PGPASSWORD": PASSWORD}, cwd=tmp_path)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    run("cases", "generate", "--n", 12, *FEW, "--out", "train.jsonl")
    run("cases", "generate", "--seed", 1, "--n", 3, *FEW, "--out", "test.jsonl")
    return run


def practices(*more):
    return (
        "evolve",
        "--train",
        "train.jsonl",
        "--test",
        "test.jsonl",
        "--set",
        "practice.test-every=6",
        "--replicas",
        2,
        *more,
    )


def by_model(endpoint, *more):
    asked = ("--doctor", "direct/x", "--base-url", endpoint.url, "--concurrency", PLACES)
    return practices(*asked, "--set", "practice.batch=2", "--ablations", "no", "--json", *more)


def requests(endpoint):
    return endpoint.counters()["requests"]


def means(shown):
    said = json.loads(shown)
    return {**said, "runs": [{**one, "wall_seconds": 0} for one in said["runs"]]}


def remembered(folder):
    with open_memory(folder) as memory:
        return [(task, entry) for task, entry, _ in memory.news()]


@pytest.mark.parametrize("where", [(), ("--on", "local:2")], ids=["here", "elsewhere"])
def test_they_are_the_same_as_in_a_folder(where, base, run, tmp_path):
    filed = means(run(*practices("--out", "filed", "--json")).stdout)
    for _ in range(2):
        assert means(run(*practices("--out", f"{base}", "--json", *where)).stdout) == filed
    assert [one.record.seed for one in read_results(base)] == [0, 1, 0, 1]
    for seed in (0, 1):
        stored = remembered(fetched(f"{base}#{seed + 1}"))
        assert stored == remembered(tmp_path / "filed" / f"seed-{seed}") != []


@pytest.mark.parametrize("where", [(), ("--on", "local:2")], ids=["here", "elsewhere"])
def test_killed_they_go_on_on_any_machine(where, base, run, tmp_path):
    with EndpointProcess(seed=1) as endpoint:
        whole = means(run(*by_model(endpoint, "--out", "filed")).stdout)
        n = requests(endpoint)
    with EndpointProcess(seed=1, latency=0.05) as endpoint:
        words = by_model(endpoint, "--out", f"{base}", *where)
        process = subprocess.Popen(
            [sys.executable, "-m", "polyclinic", *map(str, words)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=tmp_path,
        )
        while requests(endpoint) < n * 2 // 3:
            assert process.poll() is None, "it was over before it was killed"
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(6 if where else 0.2)  # workers end by themselves
        assert means(run(*words).stdout) == whole
        assert n <= requests(endpoint) <= n + PLACES * (2 if where else 1)
    for seed in (0, 1):
        assert remembered(fetched(f"{base}#{seed + 1}")) == remembered(tmp_path / "filed" / f"seed-{seed}")


def test_without_a_store_shuffled_patients_go_on_where_they_were_cut_off(run, tmp_path):
    with EndpointProcess(seed=1) as endpoint:
        whole = means(run(*by_model(endpoint, "--out", "whole")).stdout)
        words = by_model(endpoint, "--out", "filed")
        spent = run(*words, "--token-budget", 20_000, code=1).stderr
        assert "the same command resumes" in spent
        assert means(run(*words).stdout) == whole
    assert remembered(tmp_path / "filed" / "seed-0@6") == remembered(tmp_path / "whole" / "seed-0@6") != []
