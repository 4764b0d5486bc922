"""What somebody else wrote, outside of the package, plays in every command."""

import json
import re
from pathlib import Path

import pytest

from polyclinic import plugins
from polyclinic.players import Purpose

PAGE = (Path(__file__).parents[1] / "docs" / "extend.md").read_text("utf-8")

THEIRS = """
from polyclinic.players import DoctorTurn
from polyclinic.questions import show


async def method(question, model):
    return await model.ask(show(question), answer=tuple(question.options))


def doctor(ask, role):
    if ask.purpose == "report":
        return ["COVID-19"]
    return DoctorTurn("Goodbye.", conclude=True) if ask.question is None else next(iter(ask.question.options))
"""
QUESTION = {"question": "Which valve?", "options": {"A": "aortic", "B": "mitral"}, "answer_idx": "B"}


def four_commands(url, method, doctor):
    exam = ("eval", "medqa", "--questions", "exam.jsonl", "--model", "direct/a", "--base-url", url, "--method", method)
    return {
        "medqa": exam,
        "consult": ("consult", "--case", "shipped#p1-00001", "--doctor", doctor),
        "aie": ("eval", "aie", "--cases", "cases.jsonl", "--doctor", doctor),
        "run": ("run", "--residents", "60", "--days", "1", "--doctor", doctor),
    }


@pytest.fixture
def folder(run, tmp_path):
    (tmp_path / "exam.jsonl").write_text(json.dumps(QUESTION) + "\n")
    run("cases", "generate", "--n", 2, "--out", tmp_path / "cases.jsonl")
    return tmp_path


def check(said, method, doctor):
    (answered,) = said["medqa"]["methods"]
    assert (answered["name"], answered["failed"], answered["ends"]) == (method, 0, {"answered": 1})
    assert said["consult"]["report"]["diagnoses"][0]["name"] == "COVID-19"
    assert [one["name"] for one in said["aie"]["doctors"]] == [doctor]
    assert (said["run"]["minds"]["doctor"], said["run"]["failed"]) == (doctor, 0)


@pytest.mark.slow
def test_a_script_of_somebody_elses(run, serving, folder):
    (folder / "theirs.py").write_text(THEIRS)
    names = ("theirs.py:method", "theirs.py:doctor")
    with serving() as endpoint:
        commands = four_commands(endpoint.url, *names)
        said = {name: json.loads(run(*words, "--json", cwd=folder).stdout) for name, words in commands.items()}
    check(said, *names)


LOUD = """
print("IMPORTED")


async def method(question, model):
    print("METHOD")
    return "A"


def doctor(ask, role):
    print("DOCTOR")
    if ask.question is not None:
        return next(iter(ask.question.options))
    return ["COVID-19"] if ask.purpose == "report" else {"say": "Goodbye.", "conclude": True}
"""


@pytest.mark.slow
def test_what_somebody_elses_code_prints_is_no_part_of_the_document(run, serving, folder):
    (folder / "loud.py").write_text(LOUD)
    (folder / "metric.py").write_text("def shouted(dialogue):\n    print('METRIC')\n    return 1.0\n")
    with serving() as endpoint:
        commands = four_commands(endpoint.url, "loud.py:method", "loud.py:doctor")
        commands["aie"] = (*commands["aie"], "--metric", "metric.py:shouted")
        for name, words in commands.items():
            done = run(*words, "--json", cwd=folder)
            assert json.loads(done.stdout)
            shouted = {"METHOD"} if name == "medqa" else {"DOCTOR", "METRIC"} if name == "aie" else {"DOCTOR"}
            assert shouted <= set(done.stderr.split())
            if name != "run":
                assert ("METHOD" if name == "medqa" else "DOCTOR") in run(*words, cwd=folder).stdout


@pytest.mark.slow
def test_an_installed_package_of_somebody_elses(run, process, serving, folder, monkeypatch):
    site = folder / "site"
    (site / "theirs-1.0.dist-info").mkdir(parents=True)
    (site / "theirs.py").write_text(THEIRS)
    (site / "theirs-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (site / "theirs-1.0.dist-info" / "entry_points.txt").write_text(
        "[polyclinic.methods]\nlook = theirs:method\n\n[polyclinic.minds]\nhasty = theirs:doctor\n"
    )
    with serving() as endpoint:
        commands = four_commands(endpoint.url, "look", "hasty")
        said = {"medqa": json.loads(process(*commands.pop("medqa"), "--json", cwd=folder, path=site).stdout)}
        monkeypatch.syspath_prepend(site)
        monkeypatch.setattr(plugins, "_installed", plugins._installed.__wrapped__)
        said |= {name: json.loads(run(*words, "--json", cwd=folder).stdout) for name, words in commands.items()}
    check(said, "look", "hasty")


def test_from_python_a_visit_has_a_report(capsys):
    block = re.findall(r"^```python\n(.*?)^```", PAGE.partition("## From Python")[2], re.S | re.M)[0]
    names = {"__name__": "block"}
    exec(compile(block, "block", "exec"), names)
    assert [diagnosis.name for diagnosis in names["visit"].report.diagnoses] == ["Influenza A"]


def test_the_page_says_what_every_purpose_takes():
    told = set(re.findall(r"^\| `([a-z ]+)` \|", PAGE, re.M))
    assert told == {*Purpose} - {Purpose.EXAMINE}


@pytest.mark.slow
def test_the_staff_of_the_page_serves(run, tmp_path):
    for name, text in re.findall(r"`(\w+\.py)`:\n\n```python\n(.*?)^```", PAGE, re.S | re.M):
        (tmp_path / name).write_text(text)
    staff = ["--examiner", "staff.py:examiner"]
    staff += [word for who in ("nurse", "pharmacist") for word in ("--set", f"run.{who}=staff.py:{who}")]
    town = run("run", "--residents", 60, "--days", 2, *staff, "--json", cwd=tmp_path).stdout
    assert (json.loads(town)["failed"], json.loads(town)["minds"]["nurse"]) == (0, "staff.py:nurse")
    team = ["--doctors", "doctor.py:doctor", "rules", "--director", "director.py:director"]
    said = json.loads(run("consult", "--case", "shipped#p1-00001", *team, "--json", cwd=tmp_path).stdout)
    assert (said["end"], said["report"]["diagnoses"][0]["name"]) == ("consensus", "Influenza A")


def test_the_examples_of_the_page_are_short():
    shown = re.findall(r"^```python\n(.*?)^```", PAGE, re.S | re.M)
    assert len(shown) >= 5
    assert max(len(block.splitlines()) for block in shown) <= 15
