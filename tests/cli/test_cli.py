"""The command line as a user meets it: with what it prints and how it ends."""

import json
import re
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import msgspec
import pytest
from tests.tables import each_row

from polyclinic.cases.case import case_schema
from polyclinic.cases.shipped import SHIPPED
from polyclinic.events import Trace

CASE = {
    "id": "a",
    "record": {"presentation": {"complaint": "A dry cough for 3 days"}},
    "truth": {"diagnoses": [{"name": "COVID-19", "icd10": "U07.1"}]},
}


def lines(*cases) -> str:
    return "".join(json.dumps(case) + "\n" for case in cases)


def test_help_says_what_this_is_not_for(run):
    shown = run("--help")
    assert "never for the care of real people" in " ".join(shown.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize("words", [("--help",), ("cases", "show", "shipped")])
def test_a_reader_that_has_read_enough_is_nothing_wrong(words):
    command = [sys.executable, "-m", "polyclinic", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


@pytest.mark.slow
def test_ctrl_c_ends_a_command_with_130(tmp_path):
    command = [sys.executable, "-m", "polyclinic", "run", "--residents", "2000", "--days", "365", "--out", "town"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / "town" / "run.sqlite").exists():
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    went = "interrupted; it is day [0-9]+ of 365; the run is not over; the same command resumes from there"
    assert re.search(rf"^polyclinic: {went}\n\Z", said, re.MULTILINE)


@pytest.mark.parametrize("words", [(), ("cases",), ("eval",), ("models",)])
def test_without_a_command_there_is_help_and_exit_code_2(run, words):
    done = run(*words, code=2)
    assert done.stdout == ""
    assert f"Usage: polyclinic {''.join(f'{word} ' for word in words)}COMMAND" in done.stderr


def test_one_visit_as_json(run):
    document = json.loads(run("consult", "shipped#p1-00001", "--json").stdout)
    assert set(document) == {"case", "end", "turns", "report", "truth", "trace", "told_as_normal"}
    assert set(document["report"]) == {"symptoms", "examinations", "diagnoses", "rationale", "treatment"}
    assert document["case"] == "p1-00001"
    assert document["trace"][0]["event"] == "opened"
    probabilities = [d["probability"] for d in document["report"]["diagnoses"]]
    assert probabilities == sorted(probabilities, reverse=True)
    assert set(document["truth"]["diagnoses"][0]) <= {"name", "icd10", "probability"}


def test_one_visit_for_people(run, tmp_path):
    shown = run("consult", "shipped#p1-00001", "--out", tmp_path / "trace.jsonl")
    for word in ("Patient:", "Doctor:", "Diagnosis", "Truth", "Treatment"):
        assert word in shown.stdout
    again = run("replay", tmp_path / "trace.jsonl")
    assert again.stdout == shown.stdout
    assert "replay" in shown.stderr


def test_every_case_of_a_file(run, tmp_path):
    file = tmp_path / "cases.jsonl"
    file.write_text("".join(SHIPPED["shipped"].read_text("utf-8").splitlines(keepends=True)[:3]))
    document = json.loads(run("consult", file, "--json").stdout)
    assert [visit["case"] for visit in document] == ["p1-00001", "p1-00002", "p1-00003"]
    shown = run("consult", file, "--out", tmp_path / "trace").stdout
    assert "3 visits:" in shown
    assert len(Trace.read(tmp_path / "trace")) == 3


@pytest.mark.slow
def test_same_seed_same_trace_byte_for_byte(run, process, tmp_path):
    told = run("cases", "generate", "--n", 2, "--seed", 5, "--out", tmp_path / "cases.jsonl").stderr
    assert told.startswith("2 cases, drawn from 77 diseases: ")
    told = run("cases", "generate", "--n", 1, "--diseases", "gout", "--out", tmp_path / "one.jsonl").stderr
    assert told.startswith("1 case, drawn from 1 disease: ")
    for start, name in ((process, "one"), (run, "two")):
        start("consult", tmp_path / "cases.jsonl", "--seed", 5, "--json", "--out", tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.slow
def test_ids_may_be_left_out_by_a_layout_without_them(run, tmp_path):
    file = tmp_path / "osce.jsonl"
    osce = {
        "OSCE_Examination": {
            "Patient_Actor": {
                "Demographics": "40-year-old man",
                "History": "The patient reports two days of a swollen toe.",
                "Symptoms": {"Primary_Symptom": "Painful toe", "Secondary_Symptoms": ["Redness of the toe"]},
            },
            "Physical_Examination_Findings": {"Vital_Signs": {"Temperature": "37.0°C"}},
            "Test_Results": {"Blood_Tests": {"Uric_Acid": "9.1 mg/dL"}},
            "Correct_Diagnosis": "Gout",
        }
    }
    file.write_text(lines(osce, osce))
    document = json.loads(run("consult", f"{file}#2", "--json").stdout)
    assert document["case"] == "2"
    assert document["truth"]["diagnoses"] == [{"name": "Gout"}]
    assert document["report"]["diagnoses"] == []


def test_one_step(run, tmp_path):
    document = json.loads(run("consult", "shipped#p1-00002", "--one-step", "--json").stdout)
    assert document["turns"] == 0
    assert [e["event"] for e in document["trace"]] == ["opened", "reported", "ended", "revealed"]


def test_a_scripted_doctor(run, tmp_path):
    script = tmp_path / "doctor.json"
    report = {part: [] for part in ("symptoms", "examinations", "diagnoses", "rationale", "treatment")}
    script.write_text(json.dumps([{"say": "Goodbye.", "conclude": True}, report]))
    document = json.loads(run("consult", "shipped#p1-00001", "--doctor", f"scripted:{script}", "--json").stdout)
    assert (document["end"], document["turns"]) == ("concluded", 1)
    script.write_text("[]")
    done = run("consult", "shipped#p1-00001", "--doctor", f"scripted:{script}", "--json", code=1)
    document = json.loads(done.stdout)
    assert (document["end"], document["report"]) == ("failed", None)
    assert "the visit failed" in done.stderr and "ScriptError" in done.stderr


BAD = {
    "empty": b"",
    "truncated": lines(*({**CASE, "id": str(n)} for n in range(16))).encode() + b'{"id": "17", "record": {"presen',
    "no complaint": lines({**CASE, "record": {"presentation": {"complaint": "  "}}}).encode(),
    "missing complaint": lines({**CASE, "record": {"presentation": {}}}).encode(),
    "not utf-8": lines(CASE).encode()[:-3] + b"\xff\xfe}\n",
    "50 MB line": b'{"id": "' + b"x" * (50 * 2**20) + b'"}\n',
    "no object": b"[1, 2]",
    "other keys": b'{"name": "somebody"}\n',
    "unknown field": lines({**CASE, "colour": "blue"}).encode(),
}


@pytest.mark.slow
@each_row(
    ("name", "says"),
    [
        ("empty", ["empty"]),
        ("truncated", ["line 17", "cut off"]),
        ("no complaint", ["line 1", "complaint"]),
        ("missing complaint", ["line 1", "complaint", "$.record.presentation"]),
        ("not utf-8", ["line 1", "UTF-8"]),
        ("50 MB line", ["line 1", "16 MiB"]),
        ("no object", ["element 1", "object"]),
        ("other keys", ["'name'", "cases.layout", "agentclinic"]),
        ("unknown field", ["line 1", "colour"]),
    ],
)
def test_bad_files_get_one_clear_line_and_nothing_is_written(complaint, tmp_path, name, says):
    file = tmp_path / "cases.jsonl"
    file.write_bytes(BAD[name])
    text = complaint("consult", file, "--set", "cases.strict=true", "--out", tmp_path / "trace", "--json")
    for word in says:
        assert word in text
    assert [p.name for p in tmp_path.iterdir()] == ["cases.jsonl"]


@pytest.mark.slow
def test_a_process_ends_with_the_exit_code_and_one_line(process, complaint):
    assert process("consult", "none", code=2).stderr == complaint("consult", "none")
    assert json.loads(process("cases", "check", "--schema").stdout) == json.loads(msgspec.json.encode(case_schema()))


@pytest.mark.slow
def test_bad_arguments_get_one_clear_line(complaint, tmp_path):
    file = tmp_path / "cases.jsonl"
    file.write_text(lines(CASE))
    assert "no such file" in complaint("consult", tmp_path / "none.jsonl")
    assert "directory" in complaint("consult", tmp_path)
    assert "looks like polyclinic" in complaint("consult", file, "--set", "cases.layout=agentclinic")
    assert "no layout is called 'word'" in complaint("consult", file, "--set", "cases.layout=word")
    assert "the nearest are a" in complaint("consult", f"{file}#b")
    assert "rules, scripted:FILE" in complaint("consult", file, "--doctor", "oracle")
    assert "allowed: rules" in complaint("consult", file, "--examiner", "oracle")
    assert "scripted:FILE" in complaint("consult", file, "--patient", "scripted")
    assert "file that is read" in complaint("consult", file, "--out", file)
    assert "no folder" in complaint("consult", file, "--out", tmp_path / "no" / "trace")
    assert "--max-turns 0; allowed: 1 or more" in complaint("consult", file, "--max-turns", "0")
    assert "CASE is missing" in complaint("consult")
    for typed, says in {
        ("--case", file): "--case is gone; use consult CASE",
        (file, "--resume"): "--resume is gone; use the same command with the same --out",
        (file, "--timeuot", "3"): "no option --timeuot (did you mean --set models.timeout=VALUE?)",
        (file, "--doctors"): "--doctors needs a value",
        (file, "--doctors", "--json"): "--doctors needs a value",
        (file, "--set", "team.order=circle"): "team.order circle; allowed: parallel, sequential",
        (file, "--seed", "x"): "--seed x; allowed: a whole number",
        (file, "--seed", "1", "--seed", "2"): "--seed is given more than once",
        (file, "--set", "run.max-failures=101"): "run.max-failures 101; allowed: 0 to 100",
        (file, "--set", "run.max-failures=nan"): "run.max-failures nan; allowed: 0 to 100",
        (file, "--temperature", "3"): "--temperature 3; allowed: 0 to 2",
        (file, "--max-turn", "3"): "no option --max-turn (did you mean --max-turns?); see",
        (file, "what", "else"): "nothing takes 'what', 'else'; see 'polyclinic consult --help'",
    }.items():
        assert says in complaint("consult", *typed)
    assert "no option --doctr (did you mean --doctor?); see" in complaint("consult", "shipped", "--doctr", "x")
    assert "no option --quux; see" in complaint("consult", "--quux=3")
    assert "no command 'consutl' (did you mean consult?); there are demo, run, evolve, consult, replay" in complaint(
        "consutl"
    )
    assert "no option --days; see 'polyclinic consult --help'" in complaint("consult", file, "--days=3")
    assert "an id behind" in complaint("consult", f"{file}#")
    assert "no disease or department 'dragons'" in complaint("cases", "generate", "--diseases", "dragons", "--out", "x")
    assert "allowed: en, zh" in complaint("cases", "generate", "--language", "fr", "--out", tmp_path / "x")
    assert "the file exists" in complaint("cases", "generate", "--out", file)
    assert "no folder" in complaint("cases", "generate", "--out", tmp_path / "no" / "cases")
    assert file.read_text() == lines(CASE)


def test_what_a_case_says_is_text_and_no_markup(run, tmp_path):
    file = tmp_path / "cases.jsonl"
    file.write_text(lines({**CASE, "record": {"presentation": {"complaint": "[bold red]cough[/] \x1b[31mred\x1b[0m"}}}))
    shown = run("consult", f"{file}#a").stdout + run("cases", "show", file).stdout
    assert "\x1b" not in shown
    assert "[bold red]" in shown


@pytest.mark.slow
def test_generated_cases_pass_the_check(run, tmp_path):
    for language in ("en", "zh"):
        out = tmp_path / f"{language}.jsonl"
        run("cases", "generate", "--n", 30, "--seed", 3, "--language", language, "--out", out)
        checked = json.loads(run("cases", "check", out, "--json").stdout)
        assert (checked["n"], checked["unreadable"], checked["problems"]) == (30, 0, [])
    listed = json.loads(run("cases", "show", tmp_path / "zh.jsonl", "--json").stdout)
    assert {case["language"] for case in listed} == {"zh"}
    assert "diagnoses" not in listed[0]


def test_selections_of_diseases(run, tmp_path):
    out = tmp_path / "flu.jsonl"
    run("cases", "generate", "--n", 6, "--diseases", "influenza A, 乙型流感", "--out", out)
    names = {json.loads(line)["truth"]["diagnoses"][0]["name"] for line in out.read_text().splitlines()}
    assert names == {"Influenza A", "Influenza B"}


def test_check_reports_line_and_field_and_fails(run, tmp_path):
    file = tmp_path / "cases.jsonl"
    leaking = {**CASE, "record": {"presentation": {"complaint": "Cough; COVID-19 at home"}}}
    file.write_text(lines(CASE, CASE, {**CASE, "id": "c", "truth": {"diagnoses": "x"}}, {**leaking, "id": "d"}))
    done = run("cases", "check", file, "--json", code=2)
    found = {(p["line"], p["level"]): p for p in json.loads(done.stdout)["problems"]}
    assert "a" in found[2, "error"]["problem"]
    assert found[3, "error"]["field"] == "$.truth.diagnoses"
    assert "presentation" in found[4, "error"]["field"]


@pytest.mark.slow
def test_what_is_shipped_is_sound_and_up_to_date(run, tmp_path):
    run("cases", "check")
    for name, language in (("shipped", "en"), ("shipped-zh", "zh")):
        out = tmp_path / name
        run(
            "cases",
            "generate",
            "--n",
            48,
            "--seed",
            1,
            "--diseases",
            "respiratory",
            "--language",
            language,
            "--out",
            out,
        )
        assert out.read_text("utf-8") == SHIPPED[name].read_text("utf-8"), "generate the shipped cases anew"


@pytest.mark.slow
def test_the_ceiling_is_printed(run, tmp_path):
    (tmp_path / "few.jsonl").write_text("".join(SHIPPED["shipped"].read_text("utf-8").splitlines(keepends=True)[:4]))
    shown = run("cases", "check", tmp_path / "few.jsonl", "--ceiling")
    assert "Ceiling:" in shown.stdout
    document = json.loads(run("cases", "check", "shipped", "--ceiling", "--json").stdout)
    assert document["n"] == 48


@pytest.mark.slow
def test_the_schema_describes_the_shipped_cases(run):
    schema = json.loads(run("cases", "check", "--schema").stdout)
    assert schema == json.loads(msgspec.json.encode(case_schema()))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for line in SHIPPED["shipped-zh"].read_text("utf-8").splitlines():
        validator.validate(json.loads(line))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**CASE, "record": {"presentation": {"complaint": 3}}})


@pytest.mark.slow
def test_the_demo_ends_with_what_to_try_next(run, monkeypatch):
    monkeypatch.setattr("polyclinic.cli.demo.DAYS", 1)
    monkeypatch.setattr("polyclinic.cli.demo.RESIDENTS", 30)
    shown = run("demo").stdout
    for word in ("A town of 30", "came to the hospital", "right diagnosis", "minutes until called", "serve town"):
        assert word in shown


@pytest.mark.slow
def test_the_made_documentation_is_up_to_date(monkeypatch):
    make = Path(__file__).parents[2] / "docs" / "make.py"
    monkeypatch.setattr(sys, "argv", [str(make), "--check"])
    monkeypatch.syspath_prepend(make.parent)
    runpy.run_path(str(make), run_name="__main__")  # which ends with what is stale
