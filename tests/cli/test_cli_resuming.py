"""A run goes on with the command that began it, and with nothing else."""

import dataclasses

import msgspec
import pytest

from polyclinic import fingerprints
from polyclinic.cli.run import check_as_begun, fingerprints_of
from polyclinic.errors import UserError
from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.configuration import Configuration, read_configuration
from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.hospital.record.store import Store
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.settings import ModelSettings


@pytest.fixture(scope="module")
def began():
    setup = Setup(seed=1, doctor="direct/m", models=ModelSettings(base_url="http://a/v1", token_budget=100))
    hospital = read_hospital(None, read_knowledge())
    configuration = Configuration(hospital=hospital, residents=60, days=1, seed=1, setup=setup)
    return msgspec.structs.replace(configuration, made_of=fingerprints_of(configuration))


@pytest.fixture
def kept(began, tmp_path):
    Store.create(tmp_path / "run", began.kept()).close()
    with RecordedRun(tmp_path / "run") as run:
        yield run


def changed(began, setup=None, models=None, **fields):
    asked = dataclasses.replace(began.setup.models, **(models or {}))
    setup = msgspec.structs.replace(began.setup, **{"models": asked, **(setup or {})})
    return msgspec.structs.replace(began, setup=setup, **fields)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"setup": {"doctor": "rules"}}, "with doctor direct/m, not rules"),
        ({"models": {"base_url": "http://b/v1"}}, "with base-url http://a/v1, not http://b/v1"),
        ({"models": {"temperature": 1.0}}, "with temperature null, not 1.0"),
        ({"course": "direct/x"}, "with course , not direct/x"),
        ({"days": 2}, "with days 1, not 2"),
    ],
)
def test_another_configuration_is_refused_by_name(kept, began, changes, problem):
    with pytest.raises(UserError, match=f"{problem}; name another folder with --out"):
        check_as_begun(kept, changed(began, **changes))


def test_limits_and_keys_may_differ(kept, began):
    check_as_begun(kept, changed(began, models={"token_budget": 7, "api_key_env": "OTHER", "concurrency": 3}))


def test_how_models_are_asked_is_kept_among_the_setup_as_ever(began):
    asked = {
        "base_url": ["http://a/v1"],
        "api_key_env": "OTHER",
        "model_file": None,
        "concurrency": 3,
        "requests_per_minute": None,
        "tokens_per_minute": None,
        "temperature": 0.5,
        "longest_answer": 77,
        "hooks": ["a.py:b"],
        "token_budget": 9,
        "cost_budget": None,
        "timeout": None,
        "wait_for_server": None,
        "dry_run": False,
        "price": {"tokens_in": 1.0, "tokens_out": 2.0, "cached": None},
    }
    models = ModelSettings(
        base_url=["http://a/v1"],
        api_key_env="OTHER",
        concurrency=3,
        temperature=0.5,
        max_tokens=77,
        hooks=["a.py:b"],
        token_budget=9,
        price="1.0,2.0",
    )
    configuration = changed(began, {"models": models})
    kept = began.kept()
    kept["setup"] |= asked
    assert configuration.kept() == kept
    assert read_configuration(kept) == configuration
    kept["setup"]["model_file"] = "/gone/since.toml"
    assert read_configuration(kept) == configuration


def test_a_run_keeps_its_name_in_a_database_whichever_options_there_were(began):
    kept = began.kept()
    for new in ("longest_answer", "hooks", "wait_for_server"):
        del kept["setup"][new]
    kept["setup"]["max_tokens"] = 100  # once the budget
    assert read_configuration(kept).shared_as == began.shared_as
    assert changed(began, models={"token_budget": 7, "base_url": "http://b/v1"}).shared_as == began.shared_as
    for other in ({"temperature": 0.0}, {"max_tokens": 5}, {"hooks": ["a.py:b"]}):
        assert changed(began, models=other).shared_as != began.shared_as


def test_another_knowledge_or_other_prompts_are_refused_by_name(kept, began, monkeypatch):
    now = fingerprints.of_package()
    monkeypatch.setattr("polyclinic.results.provenance.of_package", lambda: now | {"knowledge": "x", "prompts": "y"})
    with pytest.raises(UserError, match=r"begun with another version of knowledge and prompts; name another folder"):
        check_as_begun(kept, msgspec.structs.replace(began, made_of=fingerprints_of(began)))
