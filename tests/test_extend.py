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
    exam = (
        "eval",
        "exam",
        "medqa",
        "exam.jsonl",
        "--model",
        "direct/a",
        "--base-url",
        url,
        "--method",
        method,
    )
    return {
        "medqa": exam,
        "consult": ("consult", "shipped#p1-00001", "--doctor", doctor),
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
    staff = [word for who in ("examiner", "nurse", "pharmacist") for word in ("--set", f"run.{who}=staff.py:{who}")]
    town = run("run", "--residents", 60, "--days", 2, *staff, "--json", cwd=tmp_path).stdout
    assert (json.loads(town)["failed"], json.loads(town)["minds"]["nurse"]) == (0, "staff.py:nurse")
    team = ["--doctors", "doctor.py:doctor", "rules", "--director", "director.py:director"]
    said = json.loads(run("consult", "shipped#p1-00001", *team, "--json", cwd=tmp_path).stdout)
    assert (said["end"], said["report"]["diagnoses"][0]["name"]) == ("consensus", "Influenza A")


def test_the_examples_of_the_page_are_short():
    shown = re.findall(r"^```python\n(.*?)^```", PAGE, re.S | re.M)
    assert len(shown) >= 5
    assert max(len(block.splitlines()) for block in shown) <= 45


@pytest.fixture
def brevity(tmp_path):
    (example,) = re.findall(r"^`brevity.py`:\n\n```python\n(.*?)^```", PAGE, re.S | re.M)
    (tmp_path / "brevity.py").write_text(example)
    return tmp_path


@pytest.mark.slow
def test_an_evaluation_of_your_own_has_all_that_ours_have(run, complaint, brevity):
    words = ("eval", "brevity.py:BREVITY", "--cases", "shipped", "--limit", "4", "--doctor", "rules")
    done = run(*words, "--out", "out", cwd=brevity)
    assert "right %" in done.stdout and "turns" in done.stdout
    rows = [json.loads(line) for line in (brevity / "out" / "items.jsonl").read_text().splitlines()]
    assert len(rows) == 4 and all({*row["values"]} == {"right", "turns"} for row in rows)
    record = json.loads((brevity / "out" / "results.json").read_text())
    assert (record["kind"], record["configuration"]["max_turns"]) == ("eval brevity.py:BREVITY", 8)
    (code,) = record["code"]
    assert code["name"] == "brevity.py:BREVITY" and len(code["sha256"]) == 64
    document = json.loads(run(*words, "--max-turns", "1", "--json", cwd=brevity).stdout)
    (entrant,) = document["entrants"]
    assert entrant["means"]["turns"]["mean"] == 1
    assert "--max-turns" in run("eval", "brevity.py:BREVITY", "--help", cwd=brevity).stdout
    assert "max-turns = 8" in run("config", "show", "eval brevity.py:BREVITY", cwd=brevity).stdout


@pytest.mark.slow
def test_an_evaluation_of_your_own_stops_and_resumes(run, serving, brevity):
    words = ("eval", "brevity.py:BREVITY", "--cases", "shipped", "--limit", "3", "--doctor", "direct/a", "rules")
    with serving() as endpoint:
        words += ("--base-url", endpoint.url, "--out", "j", "--concurrency", "1")
        part = run(*words, "--token-budget", "600", code=1, cwd=brevity)
        assert "the same command resumes from there" in part.stderr and "missing: " in part.stderr
        whole = json.loads(run(*words, "--json", cwd=brevity).stdout)
        asked = endpoint.requests
        parts = json.loads(run(*words, "--json", "--on", "local:2", cwd=brevity).stdout)
        assert endpoint.requests == asked
    assert whole == parts and {one["measure"] for one in whole["comparisons"]} == {"right", "turns"}


@pytest.mark.parametrize(
    ("name", "broken", "told"),
    [
        ("brevity.py:BREVIT", ("", ""), "holds no 'BREVIT' (did you mean BREVITY?)"),
        ("brevity.py:plan", ("", ""), "is no evaluation; declare one"),
        ("brevity.py:BREVITY", ("visit.turns", "visit.tuns"), "no attribute 'tuns' (brevity.py:"),
        ("brevity.py:BREVITY", ("import see", "import sea"), "brevity.py: cannot be run: ImportError"),
        ("brevities", ("", ""), "no command 'brevities'"),
    ],
)
def test_a_mistake_in_an_evaluation_is_one_line(complaint, brevity, name, broken, told):
    file = brevity / "brevity.py"
    file.write_text(file.read_text().replace(*broken))
    assert told in complaint("eval", name, "--cases", "shipped", "--limit", "1", "--doctor", "rules", cwd=brevity)


def test_an_evaluation_of_an_installed_package(run, brevity, monkeypatch):
    def declared(name, group):
        return plugins.find(f"{brevity / 'brevity.py'}:BREVITY", group) if name == "brevity" else None

    monkeypatch.setattr("polyclinic.evaluations.evaluation.find", declared)
    done = run("eval", "brevity", "--cases", "shipped", "--limit", "1", "--doctor", "rules")
    assert "right %" in done.stdout
