"""`polyclinic report` as a user meets it."""

import json
import shutil

import pytest


@pytest.fixture
def folder(lived_run, tmp_path):
    shutil.copytree(lived_run, tmp_path / "run-seven")
    return tmp_path / "run-seven"


@pytest.mark.slow
def test_the_report_lies_in_the_run_s_folder(run, folder):
    done = run("report", folder)
    assert (
        done.stdout.split() == f"{_visits(folder)} visits over {_days(run, folder)} days: {folder}/report.html".split()
    )
    assert "Run run-seven, seed 11" in (folder / "report.html").read_text("utf-8")


def _visits(folder):
    return json.loads((folder / "summary.json").read_text())["visits"]


def _days(run, folder):
    return len(json.loads(run("report", folder, "--json").stdout)["series"]["days"])


@pytest.mark.slow
def test_json_prints_the_figures_and_writes_nothing_unless_told_where(run, folder):
    before = {path.name for path in folder.iterdir()}
    document = json.loads(run("report", folder, "--json").stdout)
    assert document["summary"]["arrived"] == _visits(folder)
    assert document["log_hash"] == json.loads((folder / "summary.json").read_text())["log_hash"]
    after = {path.name for path in folder.iterdir()}
    assert after - before <= {"run.sqlite-shm", "run.sqlite-wal"}
    run("report", folder, "--json", "--out", folder / "page.html")
    assert (folder / "page.html").is_file()


@pytest.mark.slow
def test_the_log_is_exported(run, folder):
    done = run("report", folder, "--format", "jsonl")
    n = len((folder / "happenings.jsonl").read_text("utf-8").splitlines())
    assert done.stdout.split() == [str(n), "happenings:", f"{folder}/happenings.jsonl"]
    document = json.loads(run("report", folder, "--format", "jsonl", "--out", folder / "log.jsonl", "--json").stdout)
    assert document == {"file": str(folder / "log.jsonl"), "happenings": n}


@pytest.mark.slow
def test_what_is_wrong_has_one_line(complaint, folder, tmp_path):
    assert "no such folder" in complaint("report", tmp_path / "nowhere")
    assert "there is no run here" in complaint("report", tmp_path)
    assert "there is no folder" in complaint("report", folder, "--out", tmp_path / "no" / "page.html")
    assert "xlsx" in complaint("report", folder, "--format", "xlsx")
