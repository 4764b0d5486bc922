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
    assert document["figures"]["rules"]["shares"]["relevant"]["percent"] == 100
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
    sheet, key = tmp_path / "pairs doctor.jsonl", tmp_path / "pairs doctor.key.csv"
    rows = [json.loads(line) for line in sheet.read_text("utf-8").splitlines()]
    # Whoever judges sees codes, anew in each row, in an order that is drawn.
    assert [row["case"] for row in rows] != sorted(row["case"] for row in rows)
    assert len({row[side] for row in rows for side in ("first", "second")}) == 16
    assert all(row[side].startswith("blind-") for row in rows for side in ("first", "second"))
    sheet.write_text("".join(json.dumps({**row, "who": "anna", "total": "first"}) + "\n" for row in rows), "utf-8")
    into = ("--to", tmp_path / "all.jsonl")
    assert "says who it is" in run("verdicts", "import", sheet, "--items", sheet, *into, code=2).stderr
    assert "is not known" in run("verdicts", "import", sheet, *into, code=2).stderr
    assert "8 verdicts of anna" in run("verdicts", "import", sheet, "--key", key, *into).stdout
    said = {row["case"]: row for row in map(json.loads, (tmp_path / "all.jsonl").read_text("utf-8").splitlines())}
    for row in rows:
        found = said[row["case"]]
        assert f"{found[found['total']]} asks" in row["first_dialogue"]
    # Fewer than ten comparisons make no strength.
    assert "lean on their prior" in run("verdicts", "agreement", tmp_path / "all.jsonl").stdout
    rows = [json.loads(line) for line in (tmp_path / "grades.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 16 and "Diagnoses: Asthma" in rows[0]["report"]


def test_what_cannot_be_used_is_named_and_left_out(run, tmp_path):
    """A case that is none, a visit that broke off, and rows that say nothing usable, as evaluations leave them out."""
    path = shipped_path("shipped")
    one, two = path.read_text("utf-8").splitlines()[:2]
    (tmp_path / "cases.jsonl").write_text("\n".join([one, two, "{}"]), "utf-8")
    cases = list(read_cases(path))[:3]
    lines = ["".join(visit(case, "rules").lines()).splitlines() for case in cases]
    broken = [
        "".join(f"{line}\n" for line in lines[0]),
        "".join(f"{line}\n" for line in [*lines[1][:2], *lines[1][3:]]),
    ]
    traces = tmp_path / "rules.jsonl"
    traces.write_text("".join([*broken, "".join(f"{line}\n" for line in lines[2])]), "utf-8")
    command = (
        "verdicts",
        "export",
        "rounds",
        traces,
        "--cases",
        tmp_path / "cases.jsonl",
        "--to",
        tmp_path / "s.jsonl",
    )
    done = run(*command)
    assert "2 items" in done.stdout
    for told in ("1 case of 3 left out", "event 3 where event 2 was due", f"case '{cases[2].id}'", "2 visits left out"):
        assert told in done.stderr, told
    assert run(*command, "--strict", "--force", code=2).stderr.count("\n") == 1
    sheet = (tmp_path / "s.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) | {"who": "anna", "relevant": "yes"} for line in sheet]
    filled = [rows[0], rows[1], rows[1], rows[0] | {"case": "x"}, rows[0] | {"who": "bea", "relevant": "perhaps"}]
    (tmp_path / "f.jsonl").write_text("".join(json.dumps(row) + "\n" for row in filled) + "no json\n", "utf-8")
    command = (
        "verdicts",
        "import",
        tmp_path / "f.jsonl",
        "--items",
        tmp_path / "s.jsonl",
        "--to",
        tmp_path / "a.jsonl",
    )
    done = run(*command)
    assert "1 verdict of anna" in done.stdout
    for told in ("stands in line 2 already", "no case 'x'", "'perhaps' is no answer", "not JSON", "4 rows left out"):
        assert told in done.stderr, told
    assert "line 3" in run(*command, "--strict", "--force", code=2).stderr


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
