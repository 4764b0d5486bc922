"""A run goes on with the command that began it, and with nothing else."""

import msgspec
import pytest

from polyclinic import fingerprints
from polyclinic.cli.run import check_as_begun, fingerprints_of
from polyclinic.errors import UserError
from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.configuration import Configuration
from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.hospital.record.store import Store
from polyclinic.knowledge.knowledge import read_knowledge


@pytest.fixture(scope="module")
def began():
    setup = Setup(seed=1, doctor="direct/m", base_url="http://a/v1", token_budget=100)
    hospital = read_hospital(None, read_knowledge())
    configuration = Configuration(hospital=hospital, residents=60, days=1, seed=1, setup=setup)
    return msgspec.structs.replace(configuration, made_of=fingerprints_of(configuration))


@pytest.fixture
def kept(began, tmp_path):
    Store.create(tmp_path / "run", msgspec.to_builtins(began, str_keys=True)).close()
    with RecordedRun(tmp_path / "run") as run:
        yield run


def changed(began, setup, **fields):
    return msgspec.structs.replace(began, setup=msgspec.structs.replace(began.setup, **setup), **fields)


@pytest.mark.parametrize(
    ("setup", "fields", "problem"),
    [
        ({"doctor": "rules"}, {}, "with doctor direct/m, not rules"),
        ({"base_url": "http://b/v1"}, {}, "with base-url http://a/v1, not http://b/v1"),
        ({"temperature": 1.0}, {}, "with temperature null, not 1.0"),
        ({}, {"course": "direct/x"}, "with course , not direct/x"),
        ({}, {"days": 2}, "with days 1, not 2"),
    ],
)
def test_another_configuration_is_refused_by_name(kept, began, setup, fields, problem):
    with pytest.raises(UserError, match=f"{problem}; name another folder with --out"):
        check_as_begun(kept, changed(began, setup, **fields))


def test_limits_and_keys_may_differ(kept, began):
    check_as_begun(kept, changed(began, {"token_budget": 7, "api_key_env": "OTHER", "concurrency": 3}))


def test_another_knowledge_or_other_prompts_are_refused_by_name(kept, began, monkeypatch):
    now = fingerprints.of_package()
    monkeypatch.setattr("polyclinic.results.provenance.of_package", lambda: now | {"knowledge": "x", "prompts": "y"})
    with pytest.raises(UserError, match=r"begun with another version of knowledge and prompts; name another folder"):
        check_as_begun(kept, msgspec.structs.replace(began, made_of=fingerprints_of(began)))
