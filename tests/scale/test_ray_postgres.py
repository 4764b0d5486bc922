"""Parts of a command on Ray nodes that share a PostgreSQL server: the same comes, and no password is told."""

import contextlib
import json
import os
import signal
import subprocess
import time
import urllib.parse
from pathlib import Path

import pytest
from bench.cluster import AT_ONCE, ENVIRONMENT, WORKER, Nodes, _items, _one_part, _words, command
from bench.postgres import PASSWORD
from tests.exams import write_exam

from polyclinic.testing.endpoint import EndpointProcess

pytest.importorskip("ray", reason="Ray is not installed: pip install 'polyclinic[ray]'")

FEW = ("--diseases", "influenza a,bronchial asthma")
ASKED = ("--concurrency", AT_ONCE)
_QUOTED = urllib.parse.quote(PASSWORD, safe="")


@pytest.fixture(scope="module")
def nodes():
    with Nodes(1) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_exam(folder / "medqa.jsonl", range(12), text="{}?")
    for seed, (name, n) in enumerate({"train": 8, "test": 2}.items()):
        assert not command("cases", "generate", "--n", n, "--seed", seed, *FEW, "--out", folder / name).returncode
    practice = (
        "--train",
        folder / "train",
        "--test",
        folder / "test",
        "--set",
        "practice.test-every=4",
        "--set",
        "practice.batch=2",
    )
    town = ("--residents", 40, "--days", 1, "--visits", 4, "--set", "run.max-failures=100")
    return {
        "eval": ("eval", "exam", "medqa", folder / "medqa.jsonl", "--method", "self_consistency",
                 "--model", "direct/x"),
        "run": ("run", *town, "--doctor", "direct/x", "--replicas", 2),
        "evolve": ("evolve", *practice, "--doctor", "direct/x", "--ablations", "no", "--replicas", 2),
    }  # fmt: skip


def kept(folder):
    """Returns what a command has kept, item by item, or what came of each of several."""
    if (folder / "items.jsonl").is_file():
        return _items(folder)
    found = [json.loads(one.read_text()) for one in sorted(folder.glob("*/summary.json"))]
    assert len(found) == 2
    return [{name: value for name, value in one.items() if "seconds" not in name} for one in found]


def told_of(nodes):
    """Returns what Ray has written, what it lists, and the processes, in which the server's password stands."""
    from ray._raylet import GcsClientOptions, GlobalStateAccessor

    listed = GlobalStateAccessor(GcsClientOptions.create(nodes.gcs, None, True, False))
    assert listed.connect()
    tables = {"jobs": listed.get_job_table(), "actors": listed.get_actor_table(None, None)}
    found = {name: b"".join(map(bytes, rows)) for name, rows in tables.items()}
    assert all(found.values())
    for path in [*nodes.written.rglob("*"), *Path("/proc").glob("[0-9]*/cmdline")]:
        with contextlib.suppress(OSError):  # a folder, or a process that has ended
            found[str(path)] = path.read_bytes()
    assert any(path.endswith(".log") for path in found)
    assert any(WORKER.encode() in one for one in found.values())
    written = PASSWORD.encode(), _QUOTED.encode()
    return [name for name, content in found.items() if any(one in content for one in written)]


@pytest.mark.parametrize("name", ["eval", "run", "evolve"])
def test_they_share_a_store_and_a_worker_is_killed(name, words, nodes, base, tmp_path):
    with EndpointProcess(seed=1) as endpoint:
        asked = (*words[name], "--base-url", endpoint.url, *ASKED)
        whole = command(*asked, "--out", tmp_path / "whole")
        assert not whole.returncode, whole.stderr
        n = endpoint.counters()["requests"]
    with EndpointProcess(seed=1, latency=0.05) as endpoint:
        asked = (*words[name], "--base-url", endpoint.url, *ASKED, "--on", nodes.address)
        kept_in = ("--out", base.replace(f":{_QUOTED}@", "@"))
        environment = {**os.environ, **ENVIRONMENT, "PGPASSWORD": PASSWORD}
        with subprocess.Popen(
            _words(*asked, *kept_in), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment
        ) as process:
            while endpoint.counters()["requests"] < n // 3:
                assert process.poll() is None, process.stderr.read().decode()
                time.sleep(0.05)
            told = told_of(nodes)
            os.kill(_one_part(endpoint), signal.SIGKILL)
            said = process.communicate()[1].decode()
        assert not process.returncode, said
        assert n <= endpoint.counters()["requests"] <= n + AT_ONCE
        fetched = tmp_path / "parts"
        assert not command("results", "show", base, "--format", "folder", "--out", fetched).returncode
        assert kept(fetched / "1" if name == "eval" else fetched) == kept(tmp_path / "whole")
        assert told == []
