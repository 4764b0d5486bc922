"""`polyclinic models check`, `polyclinic models install`, and the endpoint as a program."""

import json
import os
import signal
import subprocess
import sys
import urllib.request

import pytest

from polyclinic.cli.check import EXTRAS, check_model, extras
from polyclinic.models.scripted import Scripted
from polyclinic.testing.endpoint import Endpoint, EndpointProcess


async def test_a_good_model(opened):
    async with Endpoint(lacks=["response_format"], latency=0.01) as endpoint:
        found = await check_model(opened(endpoint.url, report=lambda _: None))
    assert found.good
    assert (found.reachable, found.answers, found.structured, found.problem) == (True, True, True, "")
    assert found.seconds >= 0.01
    assert found.left_out == ["response_format"]


@pytest.mark.parametrize(
    ("options", "facts", "problem"),
    [
        ({"faults": 1.0, "kinds": ["503"]}, (False, False, False), "Broken: direct/test at"),
        ({"faults": 1.0, "kinds": ["refusal"]}, (True, False, False), "Refused"),
        ({"answers": ["Hello."]}, (True, True, False), "UnreadableReply"),
        ({"key": "another"}, (False, False, False), "put it into OPENAI_API_KEY"),
        ({"models": ["other"]}, (False, False, False), "it has: other"),
    ],
)
async def test_what_is_wrong_with_a_model_is_said(options, facts, problem, opened, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with Endpoint(**options) as endpoint:
        found = await check_model(opened(endpoint.url, attempts=2))
    assert (found.reachable, found.answers, found.structured) == facts
    assert problem in found.problem
    assert not found.good


async def test_any_door_can_be_checked():
    found = await check_model(Scripted(lambda said: "lung"), rounds=1)
    assert (found.answers, found.structured) == (True, False)


def test_extras_are_those_of_the_package():
    from importlib.metadata import metadata

    assert set(EXTRAS) | {"all", "dev"} == set(metadata("polyclinic").get_all("Provides-Extra"))
    assert set(extras()) == set(EXTRAS)


@pytest.mark.slow
def test_the_command(run, complaint):
    with EndpointProcess() as endpoint:
        good = run("models", "check", "--model", "direct/a", "--model", "direct/b", "--base-url", endpoint.url)
        assert good.stdout.count("reachable yes; answers yes; structured answers yes") == 2
        assert "extra local" in good.stdout
        document = json.loads(
            run("models", "check", "--model", "direct/a", "--base-url", endpoint.url, "--json").stdout
        )
        assert document["models"][0]["structured"] is True
        assert set(document["extras"]) == set(EXTRAS)
    down = run("models", "check", "--model", "direct/a", "--base-url", endpoint.url, code=1)
    assert "cannot be reached" in down.stdout
    assert "no model 'gpt'" in complaint("models", "check", "--model", "gpt")
    assert "models.timeout 0; allowed: 0.1 to 604,800" in complaint("models", "check", "--set", "models.timeout=0")
    run("models", "check")


def test_the_endpoint_as_a_program():
    command = [
        sys.executable,
        "-m",
        "polyclinic.testing.endpoint",
        "--port",
        "0",
        "--latency",
        "0.001",
        "--faults",
        "0.5",
    ]
    # As a shell starts what runs in the background: with SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    process = subprocess.Popen([*command, "--seed", "1"], stdout=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before)
    try:
        url = process.stdout.readline().strip()
        statuses = []
        for number in range(30):
            body = json.dumps({"model": "x", "messages": [{"role": "user", "content": str(number)}]}).encode()
            try:
                with urllib.request.urlopen(urllib.request.Request(url + "/chat/completions", body)) as answer:
                    answer.read()
                    statuses.append(answer.status)
            except Exception as error:
                statuses.append(getattr(error, "code", 0))
        with urllib.request.urlopen(url.removesuffix("/v1") + "/counters") as answer:
            counters = json.load(answer)
        assert counters["requests"] == 30
        assert 5 < sum(counters["faults"].values()) < 25
        assert len(set(statuses)) > 2
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    assert process.returncode == 0 or os.name == "nt"


async def test_faults_depend_on_the_seed_and_the_request_and_not_on_the_order(opened):
    async def met(seed, order):
        async with (
            Endpoint(faults=0.3, seed=seed, kinds=["503"]) as endpoint,
            opened(endpoint.url, attempts=1) as model,
        ):
            failed = set()
            for number in order:
                try:
                    await model.ask(f"hello {number}")
                except Exception:
                    failed.add(number)
        return failed

    forward = await met(1, range(50))
    assert forward == await met(1, reversed(range(50)))
    assert forward != await met(2, range(50))
