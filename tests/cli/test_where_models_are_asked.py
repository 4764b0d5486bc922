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


@pytest.fixture(scope="module")
def asks():
    return sorted(name for name in COMMANDS if "--base-url" in options_of(name) and name not in NOT_BY_THEMSELVES)


def folder_for(command, folder):
    (folder / command).mkdir()
    return folder / command


def words_of(command, folder):
    words = tuple(command.split())
    return attack_outputs._filled(words, attack_outputs.commands()[words], folder)[0]


@pytest.mark.slow
def test_without_an_address_nobody_is_asked(asks, run, tmp_path):
    wrong = {}
    for command in asks:
        # Whoever would leave the machine fails there, see conftest.
        done = run(*words_of(command, folder_for(command, tmp_path)), code=None, cwd=tmp_path / command)
        if done.returncode != 2 or not ("nobody said where" in done.stderr or "--base-url" in done.stderr):
            wrong[command] = done.stdout + done.stderr
    assert wrong == {}


@pytest.mark.slow
def test_no_call_takes_longer_than_is_said(asks, run, serving, tmp_path, monkeypatch):
    monkeypatch.setattr(direct.Patience, "wait", lambda *_: None)
    wrong = {}
    for command in asks:
        words = words_of(command, folder_for(command, tmp_path))
        with serving(latency=30) as endpoint:
            words += ("--base-url", endpoint.url, "--set", "models.timeout=0.1")
            began = time.monotonic()
            done = run(*words, code=None, cwd=tmp_path / command)
            if not endpoint.requests or time.monotonic() - began >= 25:
                wrong[command] = done.stderr
    assert wrong == {}
