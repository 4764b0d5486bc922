"""What is no case is named and left out, in every command; and cases in other layouts."""

import json
import sys

import pytest

from polyclinic.cases.loaders import read_cases, read_usable
from polyclinic.cases.shipped import SHIPPED
from polyclinic.models.ledger import Ledger
from polyclinic.run.case_files import read_case_file
from polyclinic.run.options import CaseOptions, RunOptions
from polyclinic.run.output import Output, finish
from polyclinic.run.run import Run

GOOD = SHIPPED["shipped"].read_text(encoding="utf-8").splitlines()[:2]


@pytest.fixture
def cases(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text(f"{GOOD[0]}\n{{broken\n{GOOD[1]}\n", encoding="utf-8")
    return path


def test_every_result_says_what_was_left_out(run, cases, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    output = Output(document={}, show=lambda screen: screen.print("the table"))
    for number, options in enumerate((RunOptions(out=tmp_path / "out"), RunOptions(json=True))):
        one = Run(options)
        read_case_file(cases, shares=one.case_shares) if number else one.cases(CaseOptions(cases=str(cases)))
        finish(one, output, Ledger())
    shown = capsys.readouterr()
    assert "left out: cases.jsonl, line 2: " in shown.err
    assert "1 case of 3 left out of cases.jsonl; cases.strict stops instead" in shown.err
    table, _, document = shown.out.partition("{")
    assert table.split("\n\n") == ["the table", "2 of 3 cases of cases.jsonl can be used; 1 left out\n"]
    share = json.loads("{" + document)["cases_used"]
    assert [(one["file"], one["records"], one["used"]) for one in share] == [("cases.jsonl", 3, 2)]
    assert json.loads((tmp_path / "out" / "results.json").read_text())["cases"] == share
    assert "cases: 2 of 3 cases of cases.jsonl can be used" in run("results", "show", tmp_path / "out").stdout


def test_a_case_without_a_diagnosis_cannot_be_graded(complaint, tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(json.loads(GOOD[1]) | {"truth": {"diagnoses": []}}), encoding="utf-8")
    for benchmark, told in (("mvme", "no diagnosis to grade by"), ("aie", "no question, and no diagnosis to make")):
        assert told in complaint("eval", benchmark, "--cases", path, "--doctor", "rules")


def test_strict_stops(run, cases, tmp_path):
    for words in (
        ("eval", "mvme", "--cases", cases, "--doctor", "rules", "--set", "cases.strict=true"),
        ("consult", cases, "--set", "cases.strict=true"),
        ("cases", "convert", cases, "--format", "fhir", "--out", tmp_path / "out", "--set", "cases.strict=true"),
    ):
        assert "cases.jsonl, line 2: " in run(*words, code=2).stderr, words
    listed = run("cases", "show", cases)
    assert "2 cases" in listed.stdout
    assert "1 case of 3 left out" in listed.stderr


def test_one_case_is_found_whatever_stands_beside_it(run, cases):
    wanted = json.loads(GOOD[1])["id"]
    assert wanted in run("cases", "show", f"{cases}#{wanted}", "--json").stdout


def test_cases_are_converted(run, cases, tmp_path, monkeypatch):
    out = tmp_path / "out.jsonl"
    done = run("cases", "convert", cases, "--format", "polyclinic", "--out", out)
    assert list(read_cases(out)) == list(read_cases(SHIPPED["shipped"]))[:2]
    assert "what was read is what was written" in done.stderr
    done = run("cases", "convert", cases, "--format", "agentclinic", "--out", out, "--force")
    assert "truth.severity (2)" in done.stderr
    assert "OSCE_Examination" in out.read_text()
    monkeypatch.setitem(sys.modules, "fhir.resources.R4B", None)
    done = run("cases", "convert", cases, "--format", "fhir", "--out", out, "--force", "--json")
    assert "not checked: what checks FHIR is not installed: pip install 'polyclinic[fhir]'" in done.stderr
    assert (json.loads(done.stdout)["cases"], json.loads(done.stdout)["valid"]) == (2, None)
    written, read = list(read_cases(out)), read_usable(cases).cases
    assert [case.record.findings for case in written] == [case.record.findings for case in read]
