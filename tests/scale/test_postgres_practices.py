"""`evolve --replicas --store`: memory, answers and results of each practice are in the store, and it goes on there."""

import json
import shutil
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
from bench.postgres import PASSWORD

from polyclinic.memory.memory import entries_of, open_memory
from polyclinic.results.reading import read_results
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
        return [(task, entry) for task, entry in entries_of(memory)]


@pytest.mark.parametrize("where", [(), ("--on", "local:2")], ids=["here", "elsewhere"])
def test_they_are_the_same_as_without_a_store(where, base, run, tmp_path):
    filed = means(run(*practices("--out", "filed", "--json")).stdout)
    stored = means(run(*practices("--out", "stored", "--store", base, "--json", *where)).stdout)
    assert stored == filed
    for seed in (0, 1):
        one, other = tmp_path / "filed" / f"seed-{seed}", tmp_path / "stored" / f"seed-{seed}"
        assert not (other / "memory.sqlite").exists()
        assert remembered(other) == remembered(one) != []
        assert "secret" not in (other / "memory.store").read_text()
    assert [one.record.seed for one in read_results(base)] == [0, 1]
    run("memory", "build", f"{base}#stored/seed-1", "--out", "linked")
    assert remembered(tmp_path / "linked") == remembered(tmp_path / "filed" / "seed-1")
    assert means(run(*practices("--out", "stored", "--store", base, "--json", *where)).stdout) == filed
    (tmp_path / "other").mkdir()
    taken = run(*practices("--out", "other/stored", "--store", base, *where), code=2).stderr
    assert "there is a memory 'stored/seed-0' already" in taken
    begun = run(*practices("--out", "filed", "--store", base)).stdout
    assert begun and not (tmp_path / "filed" / "seed-0" / "memory.sqlite").exists(), "what is over is put there"


@pytest.mark.parametrize("where", [(), ("--on", "local:2")], ids=["here", "elsewhere"])
def test_killed_they_go_on_here_and_on_another_machine(where, base, run, tmp_path):
    with EndpointProcess(seed=1) as endpoint:
        whole = means(run(*by_model(endpoint, "--out", "filed")).stdout)
        n = requests(endpoint)
    with EndpointProcess(seed=1, latency=0.05) as endpoint:
        words = by_model(endpoint, "--out", "stored", "--store", base, *where)
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
        if where:
            shutil.rmtree(tmp_path / "stored")
        assert means(run(*words).stdout) == whole
        most = n + PLACES * (2 if where else 1)
        assert n <= requests(endpoint) <= most
        again = by_model(endpoint, "--out", "machine-two", "--store", base, *where)
        assert means(run(*again).stdout) == whole
        assert requests(endpoint) <= most, "another machine asks nothing"
    assert sorted(one.record.seed for one in read_results(base)) == [0, 0, 1, 1]
    for seed in (0, 1):
        assert remembered(tmp_path / "stored" / f"seed-{seed}") == remembered(tmp_path / "filed" / f"seed-{seed}")


def test_one_that_was_begun_without_a_store_stays_so(base, run, tmp_path):
    run(*practices("--out", "filed"))
    (tmp_path / "filed" / "seed-1" / "summary.json").unlink()
    refused = run(*practices("--out", "filed", "--store", base), code=2).stderr
    assert "was begun without --store" in refused


def test_without_a_store_shuffled_patients_go_on_where_they_were_cut_off(run, tmp_path):
    with EndpointProcess(seed=1) as endpoint:
        whole = means(run(*by_model(endpoint, "--out", "whole")).stdout)
        words = by_model(endpoint, "--out", "filed")
        spent = run(*words, "--token-budget", 20_000, code=1).stderr
        assert "go on with" in spent
        assert means(run(*words).stdout) == whole
    assert remembered(tmp_path / "filed" / "seed-0@6") == remembered(tmp_path / "whole" / "seed-0@6") != []
