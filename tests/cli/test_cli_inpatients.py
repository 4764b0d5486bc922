"""Inpatients on the command line: drawn, listed, summed up."""

import json

from polyclinic.cases.loaders import read_cases


def test_inpatients_are_drawn_in_the_layout_of_the_paper(run, tmp_path):
    run("cases", "generate", "--format", "tor", "--n", "6", "--seed", "3", "--out", "in.jsonl", cwd=tmp_path)
    again = run("cases", "generate", "--format", "tor", "--n", "9", "--seed", "3", "--out", "more.jsonl", cwd=tmp_path)
    assert "polyclinic eval tor" in again.stderr
    lines = (tmp_path / "in.jsonl").read_text("utf-8").splitlines()
    assert lines == (tmp_path / "more.jsonl").read_text("utf-8").splitlines()[:6]
    assert {"Chief-Complaints", "Laboratory-Examination", "Options", "Label"} <= json.loads(lines[0]).keys()
    cases = list(read_cases(tmp_path / "in.jsonl"))
    assert all(len(case.truth.answers) >= 2 for case in cases)


def test_few_diseases_make_no_inpatient(complaint, tmp_path):
    said = complaint(
        "cases", "generate", "--format", "tor", "--diseases", "gout,psoriasis", "--out", "in.jsonl", cwd=tmp_path
    )
    assert "several diseases at once" in said
    assert not (tmp_path / "in.jsonl").exists()


def test_what_ships_is_many_and_of_many_departments(run):
    summary = json.loads(run("cases", "show", "inpatients", "--summary", "--json").stdout)
    assert summary["n"] >= 200
    assert len(summary["departments"]) >= 8
    assert 2 <= summary["per_case"] <= 5
    assert [one["name"] for one in summary["parts"]] == ["outpatient", "laboratory", "radiology", "pathology"]
    assert sum(one["n"] for one in summary["sexes"]) == summary["n"] == sum(one["n"] for one in summary["ages"])
    assert summary["labels"] == sum(one["n"] for one in summary["diagnoses"])
    for language in ("", "-zh"):
        for case in read_cases(f"inpatients{language}"):
            assert 2 <= len(case.truth.answers) <= 5


def test_any_file_is_summed_up(run, tmp_path):
    shown = run("cases", "show", "shipped", "--summary").stdout
    assert "48 cases" in shown
    assert "respiratory medicine" in shown
    assert "█" in shown
    (tmp_path / "bare.jsonl").write_text(
        '{"id": "1", "record": {"presentation": {"complaint": "unwell"}}, '
        '"truth": {"diagnoses": [{"name": "Rare thing"}]}}\n'
    )
    shown = run("cases", "show", "bare.jsonl", "--summary", cwd=tmp_path).stdout
    assert "sex: not recorded" in shown
    assert "Rare thing" in shown
