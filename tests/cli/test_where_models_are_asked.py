"""Every command that asks models: nobody is asked where nobody said at which address, and no call takes for ever."""

import time

import pytest
from bench import attack_outputs
from bench.attack_words import ASKS_NOBODY
from tests.cli.test_stores_everywhere import options_of

from polyclinic.cli.commands import COMMANDS
from polyclinic.models import direct

# A server's visitors ask; of a memory it is its own embedder, which was said when it was made.
NOT_BY_THEMSELVES = {*ASKS_NOBODY, "serve", "memory show"}
ASKS = sorted(name for name in COMMANDS if "--base-url" in options_of(name) and name not in NOT_BY_THEMSELVES)


def words_of(command, folder):
    words = tuple(command.split())
    return attack_outputs._filled(words, attack_outputs.commands()[words], folder)[0]


@pytest.mark.slow
@pytest.mark.parametrize("command", ASKS)
def test_without_an_address_nobody_is_asked(command, run, tmp_path):
    # Whoever would leave the machine fails there, see conftest.
    done = run(*words_of(command, tmp_path), code=None, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "nobody said where" in done.stderr or "--base-url" in done.stderr, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", ASKS)
def test_no_call_takes_longer_than_is_said(command, run, serving, tmp_path, monkeypatch):
    monkeypatch.setattr(direct.Patience, "wait", lambda *_: None)
    words = words_of(command, tmp_path)
    with serving(latency=30) as endpoint:
        began = time.monotonic()
        done = run(*words, "--base-url", endpoint.url, "--set", "models.timeout=0.1", code=None, cwd=tmp_path)
        assert endpoint.requests and time.monotonic() - began < 25, done.stderr
