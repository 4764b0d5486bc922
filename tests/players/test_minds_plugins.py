"""Minds that a stranger wrote play every role, by the name of their file, wherever a mind is named."""

import asyncio
import functools
import json
from importlib.metadata import EntryPoint

import numpy
import pytest
from tests.tables import each_row

from polyclinic import plugins
from polyclinic.cases.loaders import read_cases
from polyclinic.cases.presentation import Question
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.errors import BadInput, UnknownMind, UserError
from polyclinic.events import End, Failed, Role, Trace
from polyclinic.generation.draw import generate
from polyclinic.hospital.care.setup import Setup
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.players.mind_names import model_of
from polyclinic.players.minds import Minds, check_mind
from polyclinic.players.own_mind import OwnMind, in_full
from polyclinic.players.player import (
    CONCLUDE,
    DISPUTE,
    READ_REQUEST,
    REPORT,
    SPEAK,
    BrokenMind,
    Choice,
    DoctorTurn,
    PatientTurn,
    WrongAnswer,
    choose_from,
)
from polyclinic.visits.visit import consult, see

KNOWLEDGE = read_knowledge()

STRANGERS = """
import asyncio
import random

from polyclinic.players import Diagnosis, DoctorTurn, Triage


def doctor(ask, role):
    if ask.purpose == "next step":
        return "conclude"
    if ask.purpose == "speak":
        return "What brings you here?" if role.turns_left() > 8 else DoctorTurn("Goodbye.", conclude=True)
    if ask.question is None:
        return [Diagnosis("influenza", probability=0.7), "pneumonia"]
    return next(iter(ask.question.options))


class Counting:
    "Says how often this one was asked: state of one visit."

    def __init__(self, seed):
        self.rng, self.asked = random.Random(seed), 0

    async def answer(self, ask, role):
        await asyncio.sleep(0)
        self.asked += 1
        if ask.purpose == "speak":
            return {"say": f"question {self.asked}, {self.rng.random()}", "conclude": self.asked == 3}
        return "influenza" if ask.question is None else "A"


def patient(ask, role):
    return "I am ill." if ask.purpose == "open" else f"You said: {role.heard()}"


def examiner(ask, role):
    return [role.request()]


def nurse(ask, role):
    return Triage(ask.among[0], "routine", "all go there")


async def pharmacist(ask, role):
    return {"withheld": [{"drug": drug, "reason": "I hand out nothing"} for drug in ask.among]}


class Director:
    def answer(self, ask, role):
        if ask.purpose == "merge":
            return {"symptoms": ["a cough"], "examinations": []}
        return [] if ask.purpose == "dispute" else ["influenza"]


def failing(ask, role):
    return {}["nothing"]


def make_doctor():
    return Counting(7)


shared = Counting(1)
number = 3


def one_argument(ask):
    pass


class Silent:
    pass


class Shy:
    def answer(self, ask):
        pass


class Needy:
    def __init__(self, key):
        pass

    def answer(self, ask, role):
        pass
"""


@pytest.fixture
def strangers(tmp_path):
    path = tmp_path / "my.py"
    path.write_text(STRANGERS)
    return path


def case():
    return next(generate(KNOWLEDGE, n=1, seed=3))


def minds(**roles):
    return Minds(**{role: str(mind) for role, mind in roles.items()}, knowledge=KNOWLEDGE, seed=1)


async def test_they_see_a_patient(strangers):
    mine = minds(doctor=f"{strangers}:doctor", patient=f"{strangers}:patient", examiner=f"{strangers}:examiner")
    visit = await see(case(), mine)
    assert visit.end is End.CONCLUDED
    assert [diagnosis.name for diagnosis in visit.report.diagnoses] == ["influenza", "pneumonia"]
    assert visit.report.diagnoses[0].probability == 0.7
    assert visit.trace[0].minds[Role.DOCTOR] == f"{strangers}:doctor"
    assert visit.trace[1].text == "I am ill."


@pytest.mark.parametrize("name", ["Counting", "make_doctor"])
async def test_a_class_and_what_makes_a_mind_are_called_for_each_visit(strangers, name):
    mine = minds(doctor=f"{strangers}:{name}")
    first, second = [await see(case(), mine) for _ in range(2)]
    assert (first.turns, first.trace.lines()) == (3, second.trace.lines())


async def test_a_seed_is_the_runs_and_the_visits_own(strangers):
    def turn(seed, part):
        mine = Minds(doctor=f"{strangers}:Counting", knowledge=KNOWLEDGE, seed=seed)
        return mine.doctor(part).answer(SPEAK, None)

    said = [str(await turn(seed, part)) for seed in (1, 2) for part in ("one", "two")]
    assert len(set(said)) == 4
    assert str(await turn(1, "one")) == said[0]


async def test_an_instance_is_shared(strangers):
    mine = minds(doctor=f"{strangers}:shared")
    said = [(await mine.doctor(part).answer(SPEAK, None)).say.split(",")[0] for part in ("one", "two")]
    assert said == ["question 1", "question 2"]


async def test_what_a_mind_raises_fails_its_visit_by_name(strangers):
    visit = await see(case(), minds(doctor=f"{strangers}:failing"))
    failed = visit.trace.last(Failed)
    assert (visit.end, failed.who, failed.error) == (End.FAILED, Role.DOCTOR, "BrokenMind")
    line = STRANGERS.splitlines().index('    return {}["nothing"]') + 1
    assert failed.problem == f"my.py:{line}: KeyError: 'nothing'"
    assert failed.answered, "who breaks down on hard cases must not gain by it"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("one_argument", "my.py:one_argument takes 1 argument (ask); a mind takes (ask, role)"),
        ("Silent", "my.py:Silent has no method 'answer'"),
        ("Shy", "my.py:Shy's method 'answer' takes 1 argument (ask); a mind takes (ask, role)"),
        ("Needy", "my.py:Needy needs more to be made"),
        ("number", "my.py:number is int"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(strangers, name, problem, complaint):
    with pytest.raises(UnknownMind) as raised:
        check_mind(Role.DOCTOR, f"{strangers}:{name}")
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)
    assert problem in complaint("consult", "shipped#p1-00001", "--doctor", f"{strangers}:{name}")


async def test_what_makes_no_mind_is_told(strangers):
    strangers.write_text("def zero():\n    return 'Hello.'\n")
    with pytest.raises(UnknownMind, match=r"my\.py:zero takes no \(ask, role\), and what it makes is no mind but str"):
        await see(case(), minds(doctor=f"{strangers}:zero"))


def report(**parts):
    return Report(**{**dict.fromkeys(Report.__struct_fields__, ()), **parts})


def failing(problem):
    raise problem


def saying(answer):
    return lambda ask, role: answer() if callable(answer) else answer


@each_row(
    ("role", "answer", "problem"),
    [
        ("doctor", DoctorTurn(42), "asked to speak, got DoctorTurn ($.say: Expected `str`, got `int`); allowed: text"),
        ("doctor", None, "asked to speak, got None; allowed: text, or a DoctorTurn"),
        ("doctor", object(), "asked to speak, got object; allowed: text, or a DoctorTurn"),
        ("doctor", {"say": {1}.pop}, "asked to speak, got dict (what is of type builtin_function_or_method cannot be"),
        ("doctor", "a\ud800b", "asked to speak, got DoctorTurn with half a character"),
        ("doctor", " ", "asked to speak, nothing was said"),
        ("patient", "", "asked to open, nothing was said"),
        ("patient", PatientTurn("x", state="banana"), "Invalid enum value 'banana'"),
        ("patient", PatientTurn("x", to="nurse"), "Invalid enum value 'nurse'"),
    ],
)
@each_row("scripted", [False, True])
async def test_a_wrong_turn_fails_the_visit_by_name(role, answer, problem, scripted):
    if scripted and "nothing" in problem:
        return
    mind = [answer] if scripted else OwnMind(lambda _: saying(answer), name="own", seed=1)
    visit = await see(case(), Minds(**{role: mind}, knowledge=KNOWLEDGE, seed=1))
    failed = visit.trace.last(Failed)
    assert (visit.end, failed.who, failed.error) == (End.FAILED, Role(role), "WrongAnswer")
    assert problem in failed.problem


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (report(diagnoses=("Influenza A",)), "$.diagnoses[0]: Expected a dict, got `str`"),
        (report(symptoms=None), "$.symptoms: Expected a list, got None"),
        (report(diagnoses=(Diagnosis(name=3),)), "$.diagnoses[0].name: Expected `str`, got `int`"),
        ([Diagnosis("flu", probability=float("nan"))], "probability"),
        (["flu", ""], "nothing was said"),
        (3, "asked to report, got int; allowed: names of diagnoses in a list"),
    ],
)
async def test_a_wrong_report_fails_the_visit_by_name(answer, problem, tmp_path):
    def doctor(ask, role):
        return answer if ask == REPORT else DoctorTurn("Bye.", conclude=True)

    visit = await see(case(), Minds(doctor=OwnMind(lambda _: doctor, name="own", seed=1), knowledge=KNOWLEDGE, seed=1))
    failed = visit.trace.last(Failed)
    assert (visit.report, failed.error) == (None, "WrongAnswer")
    assert problem in failed.problem
    visit.trace.write(tmp_path / "trace.jsonl")
    assert Trace.read(tmp_path / "trace.jsonl") == [visit.trace]


@pytest.mark.parametrize(
    "raised", [SystemExit(3), BadInput("not there"), ValueError("a\ud800\nb"), asyncio.CancelledError()]
)
async def test_nothing_that_a_mind_raises_ends_the_run(raised, tmp_path):
    mind = OwnMind(lambda _: saying(lambda: failing(raised)), name="own", seed=1)
    visit = await see(case(), Minds(doctor=mind, knowledge=KNOWLEDGE, seed=1))
    assert visit.trace.last(Failed).problem.startswith(f"test_minds_plugins.py:{failing.__code__.co_firstlineno + 1}: ")
    visit.trace.write(tmp_path / "trace.jsonl")


def test_a_file_that_ends_the_program_is_refused(strangers, complaint):
    strangers.write_text("import sys\n\nsys.exit()\n")
    said = complaint("consult", "shipped#p1-00001", "--doctor", f"{strangers}:doctor")
    assert "my.py: cannot be run: SystemExit" in said


def test_which_part_of_a_name_is_wrong_is_said(strangers, complaint):
    file = str(strangers)
    for name, problem in {
        file: "names a file, and nothing in it; needed: FILE.py:NAME",
        f"{file}::talks": "has more than one colon behind .py",
        f" {file}:talks": "begins or ends with a blank",
        " rules": "begins or ends with a blank",
    }.items():
        assert problem in complaint("consult", "shipped#p1-00001", "--doctor", name)


def test_a_file_may_import_what_stands_beside_it_and_stand_at_home(run, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "beside_it.py").write_text("LATE = 1\n\ndef doctor(ask, role):\n    return ['COVID-19']\n")
    (mine / "usesother.py").write_text(
        "from beside_it import doctor as theirs\n\n"
        "def doctor(ask, role):\n    from beside_it import LATE\n    return theirs(ask, role)\n"
    )
    run("cases", "generate", "--n", "2", "--out=~/mine/cases.jsonl", cwd=tmp_path)
    words = ("~/mine/cases.jsonl", "--one-step", "--doctor", "~/mine/usesother.py:doctor")
    assert run("consult", *words, cwd=tmp_path).stderr == ""
    (mine / "script.json").write_text('{"report": []}')
    assert "ScriptError" in run("consult", *words[:-1], "scripted:~/mine/script.json", cwd=tmp_path, code=1).stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path))
        assert len(list(read_cases("~/mine/cases.jsonl"))) == 2
        check_mind(Role.DOCTOR, "~/mine/usesother.py:doctor")


def test_nobody_speaks_for_somebody_else(strangers, run):
    strangers.write_text(
        "def doctor(ask, role):\n    if ask.purpose == 'report':\n        return ['COVID-19']\n"
        "    return {'say': 'Goodbye.\\nExaminer: forged\\n    Patient: forged', 'conclude': True}\n"
    )
    said = run("consult", "shipped#p1-00001", "--doctor", f"{strangers}:doctor").stdout
    assert "Goodbye.\n        Examiner: forged\n            Patient: forged\n" in said


def test_a_mind_in_a_file_is_no_model(strangers):
    assert model_of(f"{strangers}:doctor") is None
    for name, problem in ((f"{strangers}::doctor", "more than one colon"), ("path/to/my.py:doctor", "no such file")):
        with pytest.raises((UserError, BadInput), match=problem):
            model_of(name)


async def test_an_installed_mind_goes_by_its_own_name(strangers, monkeypatch):
    monkeypatch.syspath_prepend(strangers.parent)
    entry = EntryPoint(name="newcomer", value="my:doctor", group="polyclinic.minds")
    monkeypatch.setattr(plugins, "_installed", lambda group: {"newcomer": (entry,)})
    visit = await see(case(), minds(doctor="newcomer"))
    assert visit.trace[0].minds[Role.DOCTOR] == "newcomer"
    with pytest.raises(UnknownMind, match=r"or one of your own: FILE\.py:NAME, newcomer"):
        minds(doctor="nobody")


async def test_an_object_may_be_given_instead_of_a_name():
    class Hasty:
        name = "hasty"

        def answer(self, ask, role):
            return {"say": "Bye.", "conclude": True} if ask == SPEAK else "flu"

    visit = await see(case(), Minds(doctor=Hasty(), knowledge=KNOWLEDGE, seed=1))
    assert visit.trace[0].minds[Role.DOCTOR] == "hasty"
    assert visit.report.diagnoses[0].name == "flu"


def hasty(ask, role):
    return ["flu"] if ask.purpose == "report" else DoctorTurn("Bye.", conclude=True)


async def hasty_too(ask, role):
    return hasty(ask, role)


class Hasty:
    def answer(self, ask, role):
        return hasty(ask, role)


@pytest.mark.parametrize("doctor", [hasty, hasty_too, Hasty, Hasty(), functools.partial(hasty)])
def test_the_same_objects_go_where_a_name_goes(doctor):
    visit = asyncio.run(see(case(), Minds(doctor=doctor, knowledge=KNOWLEDGE, seed=1)))
    assert (visit.end, visit.report.diagnoses[0].name) == (End.CONCLUDED, "flu")
    assert consult(case(), doctor=doctor, seed=1).trace == visit.trace
    assert visit.trace[0].minds[Role.DOCTOR] == getattr(doctor, "__name__", "own")


@each_row("role", Role)
async def test_a_function_plays_every_role_and_its_exceptions_are_failures(role):
    asked = []

    def mine(ask, role):
        asked.append(ask.purpose)
        return {}["nothing"]

    mind = Minds(**{role: mine}, knowledge=KNOWLEDGE, seed=1)._make(role, "p")
    with pytest.raises(BrokenMind, match=r"test_minds_plugins.py:\d+: KeyError: 'nothing'"):
        await mind.answer(SPEAK, None)
    assert asked == ["speak"]


@pytest.mark.parametrize(("role", "given"), [("doctor", 3), ("nurse", None)])
def test_what_is_no_mind_is_refused_in_one_line(role, given):
    with pytest.raises(
        UnknownMind, match=f"the {role}'s mind is {'int' if given else 'None'}; a mind is a function of"
    ):
        Minds(**{role: given}, knowledge=KNOWLEDGE, seed=1)


def test_a_run_takes_neither_objects_nor_what_is_shared(strangers, complaint):
    with pytest.raises(UserError, match=r"doctor=.*: a run keeps who plays by name"):
        Setup(seed=1, doctor=Hasty)
    said = complaint("run", "--residents", 60, "--days", 1, "--doctor", f"{strangers}:shared")
    assert "my.py:shared is one object for all visits" in said


def test_on_the_command_line(strangers, run, tmp_path):
    cases, trace = tmp_path / "cases.jsonl", tmp_path / "trace.jsonl"
    run("cases", "generate", "--n", 2, "--seed", 1, "--out", cases)
    doctor, *others = [f"--{role}={strangers}:{role}" for role in ("doctor", "patient", "examiner")]
    run("consult", cases, doctor, *others, "--out", trace)
    assert {visit[0].minds[Role.PATIENT] for visit in Trace.read(trace)} == {f"{strangers}:patient"}
    team = ["--doctors", f"{strangers}:doctor", f"{strangers}:Counting", f"--director={strangers}:Director"]
    assert "influenza" in run("consult", cases, *others, *team).stdout
    examiner = ("--set", f"run.examiner={strangers}:examiner")
    document = json.loads(run("eval", "aie", "--cases", cases, doctor, others[0], *examiner, "--json").stdout)
    assert f"{strangers}:doctor" in json.dumps(document)
    failed = run("consult", cases, f"--doctor={strangers}:failing", code=1)
    assert "BrokenMind" in failed.stderr


@pytest.mark.slow
def test_in_a_run_its_workers_find_it_too(strangers, run):
    town = ["--residents", 200, "--visits", 4, "--seed", 1]
    roles = [f"--{role}={strangers}:{role}" for role in ("doctor", "patient")]
    others = ("examiner", "nurse", "pharmacist")
    roles += [word for role in others for word in ("--set", f"run.{role}={strangers}:{role}")]
    shown = []
    for workers in (1, 2):
        out = run("run", *town, *roles, "--on", f"local:{workers}", "--json", "--set", "run.max-failures=0").stdout
        shown.append(json.loads(out))
    assert shown[0]["visits"] >= 2 and shown[0]["failed"] == 0
    assert shown[0]["log_hash"] == shown[1]["log_hash"]


def test_short_answers_are_put_in_full():
    assert in_full(DISPUTE, ["a", "b"]).points == ("a", "b")
    assert in_full(READ_REQUEST, "blood count").items == ("blood count",)
    assert CONCLUDE.check(in_full(CONCLUDE, "flu")).diagnoses[0].name == "flu"
    assert REPORT.check(in_full(REPORT, [{"name": "flu", "icd10": "J10"}])).diagnoses[0].icd10 == "J10"
    ask = choose_from(Question(id="q", stem="Which?", options={"A": "flu", "B": "cold"}, language="en"))
    assert [in_full(ask, said) for said in ("B", "b", " Cold", "C")] == [*[Choice("B")] * 3, Choice("C")]
    for few in (
        {"diagnoses": ["flu"]},
        {"diagnoses": [{"name": "flu"}], "symptoms": ()},
        ["flu"],
        {"diagnoses": "flu"},
    ):
        assert REPORT.check(in_full(REPORT, few)) == report(diagnoses=(Diagnosis("flu"),))
    assert REPORT.check(in_full(REPORT, [Diagnosis(numpy.str_("flu"), probability=numpy.float64(0.5))])) == report(
        diagnoses=(Diagnosis("flu", probability=0.5),)
    )
    for wrong in (3, {}, {"diagnosis": ["flu"]}):
        with pytest.raises(WrongAnswer):
            REPORT.check(in_full(REPORT, wrong))
