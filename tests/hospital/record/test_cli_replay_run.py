"""`polyclinic replay DIR` as a user meets it."""

import json
from typing import get_args

import pytest

from polyclinic.cli.replay import sentences
from polyclinic.cli.run import worth_reading
from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.configuration import Configuration
from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.record.happenings import What
from polyclinic.knowledge.knowledge import read_knowledge


@pytest.fixture(scope="module")
def town(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("town") / "run"
    run(
        "run", "--visits", "12", "--residents", "400", "--set", "run.load=0.1", "--seed", "2", "--out", folder, "--json"
    )
    return folder


@pytest.mark.slow
def test_visits_are_listed_and_one_is_told(run, town):
    done = run("replay", town)
    visits = json.loads(run("replay", town, "--json").stdout)
    assert len(visits) == 12
    assert "12 visits" in done.stdout
    assert all(one["id"] in done.stdout for one in visits)
    assert f"polyclinic replay {town} --visit {visits[0]['id']}" in done.stderr
    one = visits[0]
    shown = run("replay", town, "--visit", one["id"]).stdout
    for word in ("falls ill", "Nurse:", "Doctor:", "Patient:", "vital signs", "diagnosis by Dr", "plan:", one["name"]):
        assert word in shown
    told = json.loads(run("replay", town, "--visit", one["id"], "--json").stdout)
    assert told["visit"] == one
    assert told["told"]
    assert run("replay", town, "--resident", one["name"].upper()).stdout == shown


@pytest.mark.slow
def test_keeping_dialogues_changes_nothing_in_the_log(run, town):
    before = json.loads((town / "summary.json").read_text())["log_hash"]
    done = run("run", "--visits", "12", "--residents", "400", "--set", "run.load=0.1", "--seed", "2", "--json")
    assert json.loads(done.stdout)["log_hash"] == before


@pytest.mark.slow
def test_what_is_wrong_has_one_line(complaint, town, tmp_path):
    assert "there are 12, such as" in complaint("replay", town, "--visit", "r1")
    assert "give one of them" in complaint("replay", town, "--visit", "r1", "--resident", "r1")
    assert "there is no run here" in complaint("replay", tmp_path)
    (tmp_path / "trace.jsonl").write_text("")
    assert "folder of 'polyclinic run --out'" in complaint("replay", tmp_path / "trace.jsonl", "--visit", "r1")
    assert "--out DIR" in complaint("run", "--set", "run.traces=true", "--days", "1")


@pytest.mark.slow
def test_a_run_without_dialogues_says_so(run, tmp_path):
    made = (
        "run",
        "--visits",
        "2",
        "--residents",
        "400",
        "--set",
        "run.load=0.1",
        "--set",
        "run.traces=false",
        "--out",
        tmp_path / "run",
        "--json",
    )
    run(*made)
    visits = json.loads(run("replay", tmp_path / "run", "--json").stdout)
    done = run("replay", tmp_path / "run", "--visit", visits[0]["id"])
    assert "--traces" in done.stderr
    assert "Doctor:" not in done.stdout


def test_there_are_words_for_whatever_happens_to_a_patient():
    others = {
        "event began",
        "event ended",
        "called in",
        "staff walked",
        "shift began",
        "shift ended",
        "memories published",
    }
    tags = {kind.__struct_config__.tag for kind in get_args(What)}
    assert tags - others - {"diagnosed", "prescribed"} == sentences().keys() - {"measured"}


@pytest.mark.parametrize(
    ("visits", "days", "load", "kept"),
    [(2_000, 9_000, 1.0, True), (2_001, 1, 1.0, False), (None, 5, 1.0, True), (None, 5, 2.0, False)],
)
def test_dialogues_are_kept_of_runs_that_somebody_may_read(visits, days, load, kept):
    hospital = read_hospital(None, read_knowledge())
    made = Configuration(
        hospital=hospital, residents=hospital.residents, days=days, visits=visits, load=load, setup=Setup(seed=0)
    )
    assert worth_reading(made) is kept
