"""Parts of a command on a Ray cluster of two nodes. `make test-cluster` installs what this needs."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from bench.cluster import AT_ONCE, VICTIMS, Nodes, _free, command, in_parts, killed
from tests.exams import write_exam

from polyclinic.errors import UserError
from polyclinic.parallel import ray_site
from polyclinic.parallel.pool import open_site
from polyclinic.testing.endpoint import EndpointProcess

pytest.importorskip("ray", reason="Ray is not installed: pip install 'polyclinic[ray]'")


@pytest.fixture(scope="module")
def nodes():
    with Nodes(1) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def endpoint():
    with EndpointProcess(latency=0.3, seed=1) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def evaluations(endpoint, tmp_path_factory):
    questions = write_exam(tmp_path_factory.mktemp("questions") / "medqa.jsonl", range(9), text="{}?")
    asked = {
        "medqa": ("exam", "medqa", questions, "--method", "self_consistency", "--model"),
        "aie": ("aie", "--cases", "shipped", "--limit", 6, "--doctor"),
        "mvme": ("mvme", "--cases", "shipped", "--limit", 3, "--doctor"),
    }
    models = ("direct/x", "--base-url", endpoint.url, "--concurrency", AT_ONCE)
    return {name: ("eval", *words, *models) for name, words in asked.items()}


def test_evaluations_in_parts_are_the_same_and_ask_as_often(nodes, endpoint, evaluations, tmp_path):
    wrong = {}
    # AIE's is killed below.
    cases = [("medqa", nodes.address), ("mvme", nodes.address), ("medqa", "ray:2")]
    for number, (name, where) in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        same, one, parts = in_parts(folder, where, endpoint, evaluations[name])
        if not (same and one == parts > 2):
            wrong[name, where] = same, one, parts
    assert wrong == {}


def test_a_node_with_another_polyclinic_computes_with_the_one_of_the_command(nodes, evaluations, tmp_path):
    (tmp_path / "polyclinic").mkdir()
    (tmp_path / "polyclinic" / "__init__.py").write_text('__version__ = "9.9"\n')
    with nodes.another(PYTHONPATH=str(tmp_path)):
        done = command(*evaluations["medqa"], "--on", nodes.address)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("what", "other"), [("ray", "2.1.0"), ("python", "3.99.1")])
async def test_a_cluster_of_another_ray_or_python_is_refused_in_one_line(what, other, monkeypatch, nodes):
    from ray._private import utils

    versions = dict(zip(("ray", "python"), utils.compute_version_info(), strict=True))
    ours = tuple(({**versions, what: other}).values())
    monkeypatch.setattr(utils, "compute_version_info", lambda: ours)
    there, here = (rf"Ray: {ray} .*Python: {python}\b" for ray, python in (versions.values(), ours))
    with pytest.raises(UserError, match=rf"^--on {nodes.address}: .*mismatch.* {there}.*{here}.*have to be the same"):
        await open_site(nodes.address)


@pytest.fixture(scope="module")
def whole(endpoint, evaluations, tmp_path_factory):
    """Returns a folder with an evaluation that nobody disturbed, and how often it asked."""
    folder = tmp_path_factory.mktemp("killed")
    same, needed, _ = in_parts(folder, "local:1", endpoint, evaluations["aie"])
    assert same
    (folder / "one").rename(folder / "whole")
    return folder, needed


@pytest.mark.parametrize("victim", VICTIMS[:-1])
def test_whoever_is_killed_costs_what_was_in_flight(victim, nodes, endpoint, evaluations, whole):
    """The second node, whose part asks at that moment, is the last: it is gone then."""
    folder, needed = whole
    same, again, _ = killed(victim, folder, nodes, endpoint, evaluations["aie"], needed)
    assert same
    assert again <= AT_ONCE


def test_a_head_that_is_killed_is_one_line_and_the_same_command_goes_on_with_the_next(endpoint, evaluations, whole):
    folder, needed = whole
    with Nodes(1) as nodes:
        same, again, said = killed("head", folder, nodes, endpoint, evaluations["aie"], needed)
    assert len(said) == 1
    assert f"--on {nodes.address}: the head of the cluster is gone; what was answered is kept" in said[0]
    assert same
    assert again <= AT_ONCE


_JOBS = """
import asyncio, ray
from polyclinic.parallel.pool import open_site

async def jobs():
    site = await open_site("ray:1")
    print([one["Entrypoint"] for one in ray._private.state.jobs()])
    await site.close()

asyncio.run(jobs())
"""


def test_the_jobs_of_a_cluster_do_not_name_the_words_of_a_command():
    """A password may stand there, and whoever sees the cluster sees its jobs."""
    # In a process of its own: one that was in another cluster starts none.
    words = [sys.executable, "-c", _JOBS, "--out", "postgresql://ann:a-password@host/db"]
    came = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert came.stdout.splitlines()[-1:] == ["['polyclinic']"], came.stderr


async def test_nobody_there_and_somebody_else_there_are_each_one_line(monkeypatch):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        with pytest.raises(UserError, match=rf"nobody answers at 127\.0\.0\.1 port {port}"):
            await open_site(f"ray://127.0.0.1:{port}")
        listening.listen()
        monkeypatch.setattr(ray_site, "SECONDS", 3)
        with pytest.raises(UserError, match=r"something listens there, and it did not let us in; .* want a token"):
            await open_site(f"ray://127.0.0.1:{port}")
    for wrong in ("ray://", "ray://:99999999", "ray://host:port"):
        with pytest.raises(UserError, match="a cluster is named ray://HOST:PORT"):
            await open_site(wrong)


def test_a_cluster_that_asks_for_a_token_is_shown_the_one_of_the_home(tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment["HOME"] = str(tmp_path)
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("5" * 64)
    port, client = _free(), _free()
    ray = Path(sys.executable).with_name("ray")
    start = ("start", "--head", "--block", "--include-dashboard=false", "--num-cpus=1", f"--port={port}")
    start += (f"--ray-client-server-port={client}", f"--temp-dir={tempfile.mkdtemp(prefix='ray', dir='/tmp')}")
    with subprocess.Popen([ray, *start], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as head:
        try:
            while not _listens(client):
                assert head.poll() is None
                time.sleep(0.2)
            words = [
                sys.executable,
                "-m",
                "polyclinic",
                "eval",
                "exam",
                "medqa",
                "shipped",
                "--model",
                "made-up",
            ]
            words += ["--method", "zero_shot", "--limit", "2", "--on", f"ray://127.0.0.1:{client}"]
            done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=False)
            assert done.returncode == 0, done.stderr
        finally:
            head.terminate()


def _listens(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
