"""`cases generate --writer --store`: what the model wrote is in the store, wherever the command goes on."""

from functools import partial

import pytest
from bench.postgres import PASSWORD

from polyclinic.generation.writer import TIMES

PATIENTS = 6


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr("polyclinic.cli.case_generate._TRAIN", PATIENTS - 2)
    monkeypatch.setattr("polyclinic.cli.case_generate._TEST", 2)


def test_another_machine_asks_nothing_again(few, base, run, serving, tmp_path):
    run = partial(run, env={"PGPASSWORD": PASSWORD})

    def answers(body):
        return {"age": 40, "sex": "female", "complaint": "ill", "symptoms": ["a cough"], "present": "So it is."}

    with serving(answers) as endpoint:
        words = ("cases", "generate", "--preset", "agent-hospital", "--seed", 3)
        words += ("--writer", "direct/x", "--base-url", endpoint.url, "--out")
        run(*words, tmp_path / "file")
        asked = endpoint.requests
        assert asked == PATIENTS * TIMES
        for name in ("one", "other"):
            run(*words, tmp_path / name, "--store", base)
            assert endpoint.requests == 2 * asked, name
            for part in ("train.jsonl", "test.jsonl"):
                assert (tmp_path / name / part).read_bytes() == (tmp_path / "file" / part).read_bytes()
            assert not (tmp_path / name / "writer-answers.sqlite").exists()
