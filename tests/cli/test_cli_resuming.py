"""A run is taken up as it was begun, or becomes another that is said to be one."""

import msgspec
import pytest

from polyclinic import fingerprints
from polyclinic.cli.resuming import check_fork, go_on, made_of, taken_up
from polyclinic.errors import UserError
from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.configuration import Configuration
from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.record.store import Store, fork
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.session import ModelSettings
from polyclinic.run.words import WORDS

MINDS = dict.fromkeys(("doctor", "patient", "nurse", "pharmacist", "examiner"), "rules") | {
    "profiles": "",
    "course": "",
}


@pytest.fixture(scope="module")
def began():
    setup = Setup(seed=1, doctor="direct/m", base_url="http://a/v1", token_budget=100)
    hospital = read_hospital(None, read_knowledge())
    configuration = Configuration(hospital=hospital, residents=60, days=1, seed=1, setup=setup)
    return msgspec.structs.replace(configuration, made_of=made_of(configuration))


@pytest.fixture
def store(began, tmp_path):
    with Store.create(tmp_path / "run", msgspec.to_builtins(began, str_keys=True)) as made:
        yield made


def given(*words):
    WORDS.set(words)


@pytest.mark.parametrize(
    ("words", "minds", "models"),
    [
        (("--doctor", "rules"), {}, {}),
        (("--set", "run.course=direct/x"), {"course": "direct/x"}, {}),
        (("--base-url", "http://b/v1"), {}, {"base_url": "http://b/v1"}),
        (("--temperature", "1"), {}, {"temperature": 1.0}),
    ],
)
def test_other_minds_and_endpoints_are_refused_by_name(store, words, minds, models):
    given(*words)
    with pytest.raises(
        UserError, match=rf"^{words[-2].removeprefix('--set')}.* .* leave it out, or .* --fork --out NEW"
    ):
        taken_up(store, MINDS | minds, ModelSettings(**models))


def test_what_is_the_same_may_be_said_and_limits_are_this_commands(store, began):
    given("--doctor", "direct/m", "--token-budget", "7", "--set", "models.api-key-env=OTHER", "--nurse=rules")
    going = taken_up(store, MINDS | {"doctor": "direct/m"}, ModelSettings(token_budget=7, api_key_env="OTHER"))
    assert going == msgspec.structs.replace(
        began, setup=msgspec.structs.replace(began.setup, token_budget=7, api_key_env="OTHER")
    )
    assert go_on(store.folder, on="local:2").endswith(
        "run --on local:2 --token-budget 7 --set models.api-key-env=OTHER"
    )


def test_another_knowledge_or_other_prompts_are_refused_by_name(store, monkeypatch):
    given()
    now = fingerprints.of_package()
    monkeypatch.setattr("polyclinic.cli.resuming.of_package", lambda: now | {"knowledge": "x", "prompts": "y"})
    with pytest.raises(UserError, match=r"begun with another knowledge and another prompts; .* --fork"):
        taken_up(store, MINDS, ModelSettings())
    going = taken_up(store, MINDS, ModelSettings(), fork=True)
    assert going.made_of["knowledge"] == "x"


def test_a_fork_has_what_the_run_has_and_its_own_configuration(store, began, tmp_path):
    given("--doctor", "rules")
    going = taken_up(store, MINDS, ModelSettings(), fork=True)
    (store.folder / "calls.sqlite").touch()
    fork(store.folder, tmp_path / "new", msgspec.to_builtins(going, str_keys=True))
    with Store.open(tmp_path / "new") as new:
        assert msgspec.convert(new.configuration, Configuration, strict=False) == going
    assert going.setup.doctor == "rules"
    assert (tmp_path / "new" / "calls.sqlite").exists()


def test_a_fork_needs_from_where_and_where_to(tmp_path):
    for resume, out, missing in (
        (None, None, "--resume DIR"),
        (tmp_path, None, "--out DIR"),
        (tmp_path, tmp_path, "another folder"),
    ):
        with pytest.raises(UserError, match=missing):
            check_fork(True, out, resume)
    check_fork(False, None, None)
