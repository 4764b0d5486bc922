"""Questions to the patient of a case, and orders to its examiner, on the command line."""

import json
import os
import pty
import sys

import pytest

from polyclinic.cases.shipped import shipped_path
from polyclinic.language.ages import say_age

CASE = "shipped#p1-00001"


def asked(run, *words, **options) -> list[dict]:
    return json.loads(run("ask", CASE, *words, "--json", **options).stdout)


def test_each_question_has_its_answer_and_its_state(run):
    fever, gone = asked(run, "Do you have a fever?", "Do you have blood in your urine?")
    assert set(fever) == {"question", "answer", "state"}
    assert (fever["question"], fever["state"]) == ("Do you have a fever?", "A-A-A")
    assert "fever" in fever["answer"] or "temperature" in fever["answer"]
    assert gone["state"] == "A-A-B"


def test_the_visits_own_patient_answers(run, tmp_path):
    """The same seed and question bring what the patient says in a visit."""
    script = tmp_path / "doctor.json"
    questions = ["Do you have a fever?", "Do you have a cough?", "Please do a chest X-ray."]
    report = {key: [] for key in ("symptoms", "examinations", "diagnoses", "rationale", "treatment")}
    script.write_text(json.dumps([*questions, {"say": "Goodbye.", "conclude": True}, report]))
    trace = json.loads(run("consult", CASE, "--doctor", f"scripted:{script}", "--json").stdout)["trace"]
    said = [(e["text"], e["state"]) for e in trace if e["event"] == "said" and e["who"] == "patient" and e["turn"]]
    assert [(one["answer"], one["state"]) for one in asked(run, *questions)] == said


def test_later_questions_stand_in_the_dialogue_of_the_earlier(run, tmp_path):
    mind = tmp_path / "patients.py"
    mind.write_text(
        "def counting(ask, role):\n"
        "    return f'{len(role.seen)} before: ' + ' / '.join(event.text for event in role.seen)\n"
    )
    first, second = asked(run, "One?", "Two?", "--patient", f"{mind}:counting")
    assert first == {"question": "One?", "answer": "2 before: 0 before:  / One?", "state": None}
    assert second["answer"].startswith("4 before: ") and second["answer"].endswith("One? / Two?")


def test_an_order_brings_findings_and_names_what_is_not_recorded(run):
    film, none = asked(run, "Chest X-ray", "Electroencephalogram", "--examiner", "rules")
    assert set(film) == {"question", "answer", "findings", "not_recorded"}
    (finding,) = film["findings"]
    assert (finding["examination"], finding["item"]) == ("chest X-ray", "chest film")
    assert finding["value"] in film["answer"] and film["not_recorded"] == []
    assert none["findings"] == [] and len(none["not_recorded"]) == 1
    number = asked(run, "C-reactive protein", "--examiner", "rules")[0]["findings"]
    (protein,) = number
    assert protein["item"] == "C-reactive protein" and float(protein["value"]) > 0


def test_what_people_read(run):
    shown = run("ask", CASE, "Do you have a fever?", "Please do a chest X-ray.")
    who = json.loads(shipped_path("shipped").read_text(encoding="utf-8").splitlines()[0])["record"]["presentation"]
    about = f"{say_age(who['age'], 'en')}, {who['sex']}"
    for text in ("Case p1-00001", about, "  1 You: Do you have a fever?", "Patient to the examiner: "):
        assert text in shown.stdout
    assert "A-A-A, effective inquiry" in shown.stdout
    assert f"polyclinic ask {CASE} --examiner" in shown.stderr
    shown = run("ask", CASE, "--examiner", "rules", "Chest X-ray")
    assert "Examiner: chest X-ray" in shown.stdout and shown.stderr == ""


def test_another_layout_and_language(run, tmp_path):
    chinese = json.loads(run("ask", "shipped-zh#p1-00001", "您发烧吗？", "--json").stdout)
    assert chinese[0]["state"] in {"A-A-A", "A-A-B"}
    osce = {
        "OSCE_Examination": {
            "Patient_Actor": {"History": "Two days of a swollen toe.", "Symptoms": {"Primary_Symptom": "Painful toe"}},
            "Test_Results": {"Blood_Tests": {"Uric_Acid": "9.1 mg/dL"}},
            "Correct_Diagnosis": "Gout",
        }
    }
    (tmp_path / "osce.jsonl").write_text(json.dumps(osce) + "\n")
    words = (
        "ask",
        tmp_path / "osce.jsonl",
        "--set",
        "cases.layout=agentclinic",
        "--examiner",
        "rules",
        "uric acid",
    )
    (given,) = json.loads(run(*words, "--json").stdout)
    assert [finding["value"] for finding in given["findings"]] == ["9.1"]
    assert "9.1 mg/dL" in given["answer"]


def test_who_has_left_is_asked_nothing_more(run, tmp_path):
    script = tmp_path / "patient.json"
    script.write_text(json.dumps(["I cough.", {"say": "Goodbye.", "leave": True}]))
    done = run("ask", CASE, "One?", "Two?", "--patient", f"scripted:{script}", "--json", code=1)
    assert [one["answer"] for one in json.loads(done.stdout)] == ["Goodbye."]
    assert "the patient left after question 1 of 2" in done.stderr
    assert run("ask", CASE, "One?", "--patient", f"scripted:{script}").stdout.endswith("patient leaves.\n")


def test_what_was_answered_before_a_failure_is_printed(run, tmp_path):
    script = tmp_path / "patient.json"
    script.write_text(json.dumps(["I cough.", "Yes."]))
    done = run("ask", CASE, "One?", "Two?", "--patient", f"scripted:{script}", "--json", code=1)
    assert [one["answer"] for one in json.loads(done.stdout)] == ["Yes."]
    assert "ScriptError" in done.stderr


def test_bad_input_is_one_line(complaint):
    assert "no case has the id 'p9'" in complaint("ask", "shipped#p9", "Fever?")
    assert "question 2 of 2 is empty" in complaint("ask", CASE, "Fever?", "  ")
    both = complaint("ask", CASE, "--patient", "rules", "--examiner", "rules", "Fever?")
    assert "--patient rules and --examiner rules; one of the two" in both
    assert "QUESTION is missing" in complaint("ask", CASE)
    assert "CASE is missing" in complaint("ask")
    assert "name one, FILE#ID, such as shipped#p1-00001" in complaint("ask", "shipped", "Fever?")
    assert "'oracle' can play the examiner" in complaint("ask", CASE, "--examiner", "oracle", "X-ray")


@pytest.mark.slow
def test_at_a_terminal_questions_are_typed():
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-m", "polyclinic", "ask", CASE])
    shown, sent = b"", 0
    try:
        while True:
            shown += os.read(terminal, 4096)
            if shown.count(b"You: ") > sent:
                os.write(terminal, b"Do you have a fever?\n" if sent == 0 else b"\n")
                sent += 1
    except OSError:  # how Linux says that the other end has closed
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert b"An empty line ends it." in shown and b"effective inquiry" in shown


def test_a_negative_seed_is_refused(run):
    assert "0 or more" in run("ask", CASE, "--seed", "-1", "Fever?", code=2).stderr


def test_the_nearest_case_is_that_in_another_case_of_letters(run):
    stderr = run("ask", "shipped#P1-00033", "Fever?", code=2).stderr
    assert "the nearest are p1-00033," in stderr
    assert stderr.startswith("polyclinic: shipped: ")


def test_a_chinese_answer_begins_beside_its_name(run):
    shown = run("ask", "shipped-zh#p1-00001", "您什么时候开始不舒服的？" * 20).stdout
    for who in ("You:", "Patient:"):
        assert all(line.strip() != who for line in shown.splitlines() if who in line)
