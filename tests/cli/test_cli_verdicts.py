"""`polyclinic verdicts`: a sheet goes out, is filled in by several, comes back, and is summed up."""

import csv
import json

from polyclinic.cases.loaders import read_cases
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.cases.shipped import shipped_path
from polyclinic.events import TRACE_FORMAT, End, Ended, Opened, Reported, Role, Said, Trace


def fill(path, **answers):
    rows = list(csv.DictReader(path.read_text("utf-8-sig").splitlines(keepends=True)))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, **answers} for row in rows)
    return rows


def visit(case, doctor):
    trace = Trace()
    minds = {Role.DOCTOR: doctor, Role.PATIENT: "rules"}
    opened = {"case": case.id, "presentation": case.presentation, "minds": minds, "seed": 0, "max_turns": 2}
    trace.add(Opened(seq=0, format=TRACE_FORMAT, **opened))
    trace.add(Said(seq=1, turn=0, who=Role.PATIENT, to=Role.DOCTOR, text="I cough."))
    for turn in (1, 2):
        trace.add(Said(seq=2 * turn, turn=turn, who=Role.DOCTOR, to=Role.PATIENT, text=f"{doctor} asks, {turn}?"))
        trace.add(Said(seq=2 * turn + 1, turn=turn, who=Role.PATIENT, to=Role.DOCTOR, text="Yes."))
    nothing = dict.fromkeys(("symptoms", "examinations", "rationale", "treatment"), ())
    trace.add(Reported(seq=6, report=Report(diagnoses=(Diagnosis("Asthma"),), **nothing)))
    trace.add(Ended(seq=7, reason=End.CONCLUDED, turns=2))
    return trace


def test_from_a_sheet_to_agreement(run, tmp_path):
    cases = list(read_cases(shipped_path("shipped")))[:2]
    traces = tmp_path / "rules.jsonl"
    traces.write_text("".join(visit(case, "rules").lines() for case in cases), "utf-8")
    export = ("verdicts", "export", "rounds", traces, "--cases", "shipped")
    told = run(*export, "--to", tmp_path / "sheet.csv", "--who", "anna", "bea").stdout
    assert "relevant: Is what the patient" in told and "[yes | no]" in told
    answers = {"relevant": "yes", "consistent": "yes", "suggested": "no", "examined": "no"}
    anna = fill(tmp_path / "sheet.anna.csv", **answers)
    fill(tmp_path / "sheet.bea.csv", **answers | {"consistent": "no"})
    assert len(anna) == 4 and anna[0]["said"].splitlines() == ["Doctor: rules asks, 1?", "Patient: Yes."]
    assert "symptom" in anna[0]["record"]
    sheets = (tmp_path / "sheet.anna.csv", tmp_path / "sheet.bea.csv")
    all_of_it = tmp_path / "all.jsonl"
    run("verdicts", "import", *sheets, "--items", sheets[0], "--to", all_of_it)
    document = json.loads(run("verdicts", "agreement", all_of_it, "--json").stdout)["rounds"]
    alike = {one["question"]: one["alike"] for one in document["agreement"]}
    assert alike == {"relevant": 100, "consistent": 0, "suggested": 100, "examined": 100}
    assert document["figures"]["rules"]["relevance"]["percent"] == 100
    assert "one more person decides" in run("verdicts", "agreement", all_of_it).stdout
    third = run(*export, "--to", tmp_path / "third.csv", "--disputed-in", all_of_it).stdout
    assert "4 items" in third


def test_two_doctors_stand_in_either_order(run, tmp_path):
    cases = list(read_cases(shipped_path("shipped")))[:8]
    for doctor in ("one", "two"):
        text = "".join(visit(case, doctor).lines() for case in cases)
        (tmp_path / f"{doctor}.jsonl").write_text(text, "utf-8")
    files = (tmp_path / "one.jsonl", tmp_path / "two.jsonl")
    for form in ("pairs doctor", "grades"):
        run("verdicts", "export", form, *files, "--cases", "shipped", "--to", tmp_path / f"{form}.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "pairs doctor.jsonl").read_text("utf-8").splitlines()]
    assert {row["first"] for row in rows} == {"one", "two"} and len(rows) == 8
    assert all(f"{row['first']} asks" in row["first_dialogue"] for row in rows)
    rows = [json.loads(line) for line in (tmp_path / "grades.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 16 and "Diagnoses: Asthma" in rows[0]["report"]


def test_records_to_be_checked(run, tmp_path):
    told = run(
        "verdicts", "export", "records", "--cases", "shipped", "--to", tmp_path / "r.jsonl", "--each", "2"
    ).stdout
    assert "2 items" in told  # of one department
    assert "Diagnoses:" in json.loads((tmp_path / "r.jsonl").read_text("utf-8").splitlines()[0])["record"]


def test_bad_input(run, tmp_path):
    for arguments, problem in [
        (("export", "turns", "--to", tmp_path / "a.csv"), "no form 'turns'; there are: pairs doctor"),
        (("export", "rounds", "--to", tmp_path / "a.csv"), "'rounds' needs traces"),
        (("export", "grades", tmp_path / "x", "--to", tmp_path / "a.csv"), "name the case file with --cases"),
        (("agreement", tmp_path / "none.csv"), "no such file"),
    ]:
        ended = run("verdicts", *arguments, code=2)
        assert problem in ended.stderr and len(ended.stderr.splitlines()) == 1, ended.stderr
