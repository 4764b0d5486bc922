"""Agent Hospital's protocol in a run, a practice and on its exam: what it sets, and what it refuses."""

import dataclasses

import pytest

from polyclinic.cli.evolve import PracticeOptions, check_practice, say_practice
from polyclinic.cli.run import TOWN, TownOptions, town_of
from polyclinic.errors import UserError

MODELS = {"doctor": "direct/d", "patient": "direct/p", "nurse": "direct/n"}


def test_a_run_has_the_papers_hospital_and_models_everywhere(capsys):
    assert town_of("ours", TOWN, "", "", doctor="rules", patient="rules", nurse="rules") == (TOWN, "", "")
    assert capsys.readouterr().err == ""
    town, *written = town_of("paper", TOWN, "", "", **MODELS)
    assert (town.hospital, town.examinations, written) == ("agent-hospital", 1, ["direct/p", "direct/p"])
    assert "other than in the paper: 5 points of every run" in capsys.readouterr().err
    named = TownOptions(hospital="agent-hospital", examinations=1)
    assert town_of("paper", named, "direct/w", "direct/c", **MODELS)[1:] == ("direct/w", "direct/c")
    for given, minds, told in (
        (TOWN, MODELS | {"nurse": "rules"}, "a model for the nurse"),
        (TOWN, MODELS | {"doctor": "recall"}, "--doctor is 'recall'"),
        (TownOptions(hospital="mine.yaml"), MODELS, "leave out --hospital"),
        (TownOptions(examinations=3), MODELS, "run.examinations is 3"),
    ):
        with pytest.raises(UserError, match=told):
            town_of("paper", given, "", "", **minds)


def test_a_practice(capsys):
    paper = PracticeOptions(
        train="t", test="t", doctor="direct/d", embedder="direct/e", k_experience=3, protocol="paper"
    )
    rules = check_practice(paper)
    say_practice(rules, train=10_000, test=500)
    assert "patients: 10,000" not in capsys.readouterr().err
    say_practice(rules, train=100, test=50)
    assert "here 100 to practise on and 50 of the test" in capsys.readouterr().err
    check_practice(PracticeOptions(train="t", test="t", batch=7))
    for more, told in (
        ({"doctor": "recall"}, "a model for the doctor"),
        ({"embedder": "case-words"}, "text-embedding-ada-002 .*--embedder is case-words"),
        ({"batch": 8}, "has 1 for batch .*practice.batch is 8"),
        ({"test_every": 50}, "practice.test-every is 50"),
        ({"k_records": 2}, "has 3 for k records .*memory.k-records is 2"),
        ({"feedback": "outcome"}, "practice.feedback is outcome"),
    ):
        with pytest.raises(UserError, match=told):
            check_practice(dataclasses.replace(paper, **more))


def test_the_commands_take_it(complaint, tmp_path):
    assert "a model for the doctor (§5.1.3, §6.2); --doctor is 'rules'" in complaint("run", "--protocol", "paper")
    practice = ("evolve", "--train", "t.jsonl", "--test", "t.jsonl", "--out", tmp_path / "out")
    assert "--doctor is 'recall'" in complaint(*practice, "--protocol", "paper")
    assert "needs one whose name is agent-hospital" in complaint(*practice, "--protocol", _own(tmp_path))


def _own(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("name: aie\n", "utf-8")
    return path
