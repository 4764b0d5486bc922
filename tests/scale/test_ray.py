"""Parts of a command on a Ray cluster. `make test-scale` installs what this needs."""

import json
import socket

import pytest

from polyclinic.cluster import ray_cluster
from polyclinic.cluster.opening import open_site
from polyclinic.cluster.worker import JobWorker
from polyclinic.errors import UserError
from polyclinic.testing.process import EndpointProcess

pytest.importorskip("ray", reason="Ray is not installed: pip install 'polyclinic[ray]'")


@pytest.fixture(autouse=True)
def _no_token(monkeypatch):
    """Each test has a home of its own, and Ray reads a token there once."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")


def rows(folder):
    return [{**json.loads(line), "seconds": 0} for line in (folder / "items.jsonl").read_text().splitlines()]


def test_an_evaluation_on_a_cluster_is_the_same_and_asks_as_often(run, tmp_path):
    with EndpointProcess(seed=1) as endpoint:
        asked = ["eval", "exam", "--questions", "shipped", "--model", "direct/x", "--base-url", endpoint.url]
        came = []
        for name, more in {"whole": [], "parts": ["--on", "ray:2"]}.items():
            before = endpoint.counters()["requests"]
            run(*asked, "--out", tmp_path / name, *more)
            came.append((rows(tmp_path / name), endpoint.counters()["requests"] - before))
        assert came[0] == came[1]
        assert came[0][1] == len(came[0][0]) > 2


async def test_nodes_that_would_compute_something_else_are_refused(monkeypatch):
    theirs = JobWorker().about()
    monkeypatch.setattr(JobWorker, "about", lambda self: {**theirs, "polyclinic": "9.9"})
    with pytest.raises(UserError, match=r"polyclinic .* there, 9\.9 here; install the same on both"):
        async with open_site("ray:1"):
            pass


async def test_nobody_there_and_somebody_else_there_are_each_one_line(monkeypatch):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        with pytest.raises(UserError, match=rf"nobody answers at 127\.0\.0\.1 port {port}"):
            async with open_site(f"ray://127.0.0.1:{port}"):
                pass
        listening.listen()
        monkeypatch.setattr(ray_cluster, "SECONDS", 3)
        with pytest.raises(UserError, match="something listens there, and it did not let us in within 3 s"):
            async with open_site(f"ray://127.0.0.1:{port}"):
                pass
    for wrong in ("ray://", "ray://:99999999", "ray://host:port"):
        with pytest.raises(UserError, match="a cluster is named ray://HOST:PORT"):
            async with open_site(wrong):
                pass
