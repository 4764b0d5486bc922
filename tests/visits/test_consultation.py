"""The loop: who hears what, why it ends, and that it always does."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.record import Finding
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.errors import ScriptError
from polyclinic.events import Chosen, End, Ended, Examined, Failed, Reported, Role, Said, Trace
from polyclinic.players.own_mind import ScriptedMind
from polyclinic.players.player import (
    OPEN,
    REPORT,
    SPEAK,
    DoctorTurn,
    PatientTurn,
    Purpose,
    Results,
    WrongAnswer,
)
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.staging import Staging
from polyclinic.visits.consultation import consultation

REPORT_GIVEN = Report(
    symptoms=("cough",),
    examinations=(),
    diagnoses=(Diagnosis("Cold"),),
    rationale=("it is a cold",),
    treatment=("tea",),
)
CBC = Finding(examination="blood count", item="hemoglobin", value=9.1, unit="g/dL")


class Puppet:
    """A player without a role of its own, which remembers what it heard."""

    name = "puppet"

    def __init__(self, script):
        self.mind = ScriptedMind(script)
        self.heard = []

    def observe(self, event):
        self.heard.append(event)

    async def act(self, ask):
        return ask.check(await self.mind.answer(ask, self))


def doctor(*turns, report=REPORT_GIVEN, max_turns=10):
    script = {"speak": turns, "report": [] if report is None else [report]}
    return Doctor(ScriptedMind(script), Presentation(complaint="cough"), max_turns=max_turns)


def patient(*replies):
    return Puppet({"open": ["I cough."], "reply": replies})


def examiner(*results):
    return Puppet({"examine": results})


async def visited(*players, **options):
    """A consultation, and what its trace tells of it."""
    trace = await consultation(*players, **options)
    ended, reported, chosen = trace.last(Ended), trace.last(Reported), trace.last(Chosen)
    report, answer = reported and reported.report, chosen and chosen.answer
    return SimpleNamespace(trace=trace, end=ended.reason, turns=ended.turns, report=report, answer=answer)


async def test_a_visit_event_by_event():
    look = Results(findings=(CBC,), not_recorded=("chest CT",), text="hemoglobin 9.1 g/dL; not recorded: chest CT")
    who = doctor("Any fever?", "Have a blood count and a chest CT.", DoctorTurn("You have a cold.", conclude=True))
    whom = patient("No.", PatientTurn("Please: blood count, chest CT", to="examiner"))
    by = examiner(look)
    watched = []
    came = await visited(who, whom, by, trace=Trace(watch=watched.append))
    assert [type(e).__name__ for e in came.trace] == [
        *("Said", "Said", "Said", "Said", "Said", "Examined", "Said", "Reported", "Ended"),
    ]
    assert list(came.trace) == watched
    assert (came.end, came.turns, came.report) == (End.CONCLUDED, 3, REPORT_GIVEN)
    assert [(e.turn, e.who, e.to) for e in came.trace if isinstance(e, Said)] == [
        (0, "patient", "doctor"),
        (1, "doctor", "patient"),
        (1, "patient", "doctor"),
        (2, "doctor", "patient"),
        (2, "patient", "examiner"),
        (3, "doctor", "patient"),
    ]
    # The examiner hears requests only; what it found, doctor and patient learn word for word.
    assert [e.text for e in by.heard] == ["Please: blood count, chest CT"]
    assert [e.findings for e in who.seen if isinstance(e, Examined)] == [(CBC,)]
    assert any(isinstance(e, Examined) for e in whom.heard)


async def test_at_the_limit_the_doctor_is_asked_for_the_report():
    came = await visited(doctor(*["Hm."] * 9), patient(*["Yes."] * 9), None, max_turns=4)
    assert (came.end, came.turns, came.report) == (End.TURN_LIMIT, 4, REPORT_GIVEN)


async def test_a_patient_may_leave():
    whom = patient(PatientTurn("Thank you, goodbye.", leave=True))
    came = await visited(doctor("It is a cold; drink tea."), whom, None)
    assert (came.end, came.turns, came.report) == (End.PATIENT_LEFT, 1, REPORT_GIVEN)


async def test_without_an_examiner_the_patient_answers_itself():
    came = await visited(
        doctor("Blood count, please.", "Fine."), patient(PatientTurn("9.1", to="examiner")), None, max_turns=1
    )
    said = [e for e in came.trace if isinstance(e, Said)]
    assert said[-1].to is Role.DOCTOR


@pytest.mark.parametrize(
    ("who", "whom", "by", "failing", "error"),
    [
        (doctor(), patient("Yes."), None, Role.DOCTOR, "ScriptError"),
        (doctor("Any fever?"), patient(), None, Role.PATIENT, "ScriptError"),
        (doctor(DoctorTurn("Bye.", conclude=True), report=None), patient(), None, Role.DOCTOR, "ScriptError"),
        (doctor({"speak": "hm"}), patient(), None, Role.DOCTOR, "WrongAnswer"),
        (doctor("CT?"), patient(PatientTurn("CT", to="examiner")), examiner(), Role.EXAMINER, "ScriptError"),
    ],
)
async def test_a_failure_is_named_and_never_an_answer(who, whom, by, failing, error):
    came = await visited(who, whom, by)
    failed = came.trace.last(Failed)
    assert (came.end, came.report) == (End.FAILED, None)
    assert (failed.who, failed.error) == (failing, error)
    assert came.trace.last(Reported) is None
    assert isinstance(came.trace[-1], Ended)


async def test_one_step():
    came = await visited(doctor(), None, None)
    assert [type(e).__name__ for e in came.trace] == ["Reported", "Ended"]
    assert (came.end, came.turns) == (End.CONCLUDED, 0)
    failed = await visited(doctor(report=None), None, None)
    assert (failed.end, failed.report) == (End.FAILED, None)


QUESTION = Question(id="q", stem="What is it?", options={"A": "Cold", "B": "Flu"})


@pytest.mark.parametrize(("given", "answer"), [({"answer": "B"}, "B"), ({"answer": None}, None)])
async def test_a_question_is_put_in_place_of_the_report(given, answer):
    who = Doctor(
        ScriptedMind({"speak": [DoctorTurn("Bye.", conclude=True)], "choose": [given]}),
        Presentation(complaint="cough"),
        max_turns=10,
    )
    came = await visited(who, patient(), None, question=QUESTION)
    assert (came.end, came.report, came.answer) == (End.CONCLUDED, None, answer)
    assert [type(e).__name__ for e in came.trace][-2:] == ["Chosen", "Ended"]


async def test_an_option_that_does_not_exist_is_a_failure_and_no_answer():
    who = Doctor(ScriptedMind({"choose": [{"answer": "E"}]}), Presentation(complaint="cough"), max_turns=10)
    came = await visited(who, None, None, question=QUESTION)
    assert (came.end, came.answer) == (End.FAILED, None)
    assert came.trace.last(Failed).error == "WrongAnswer"
    assert "the options are A, B" in came.trace.last(Failed).problem


anything = st.one_of(
    st.text(max_size=10),
    st.builds(DoctorTurn, st.text(max_size=10), conclude=st.booleans()),
    st.builds(dict, say=st.text(max_size=5), conclude=st.booleans()),
    st.none() | st.integers() | st.lists(st.text(max_size=3), max_size=2),
)


@given(st.lists(anything, max_size=12), st.booleans(), st.integers(1, 8), st.lists(st.booleans(), max_size=12))
async def test_the_loop_ends_for_any_scripted_doctor(turns, reports, limit, orders):
    replies = [PatientTurn("x", to="examiner" if order else "doctor") for order in orders] + [PatientTurn("y")] * 12
    look = Results(findings=(), not_recorded=("x",), text="x")
    who = doctor(*turns, report=REPORT_GIVEN if reports else None)
    came = await visited(who, patient(*replies), examiner(*[look] * 12), max_turns=limit, trace=Trace())
    assert came.end in End
    assert came.turns <= limit
    assert isinstance(came.trace[-1], Ended)
    assert (came.report is None) == (came.end is End.FAILED)


async def test_scripts():
    by_function = ScriptedMind(lambda ask, role: f"asked to {ask.purpose}")
    assert await by_function.answer(SPEAK, None) == DoctorTurn("asked to speak")
    in_a_row = ScriptedMind(["one", "two"])
    assert await in_a_row.answer(OPEN, None) == PatientTurn("one")
    assert await in_a_row.answer(SPEAK, None) == DoctorTurn("two")
    with pytest.raises(ScriptError, match="script of 2 answers is spent"):
        await in_a_row.answer(SPEAK, None)
    with pytest.raises(ScriptError, match="holds answers for speak only"):
        await ScriptedMind({"speak": []}).answer(REPORT, None)


def test_an_ask_checks_the_answer():
    assert SPEAK.check({"say": "x", "conclude": True}) == DoctorTurn("x", conclude=True)
    with pytest.raises(WrongAnswer, match="asked to speak, got dict"):
        SPEAK.check({"say": 3})
    assert SPEAK.purpose is Purpose.SPEAK


async def test_at_ai_hospitals_limit_the_report_follows_the_doctors_last_turn(shared_data):
    """As the published dialogues are built, of which the longest are those at the limit: who speaks how often."""
    staging = Staging(concludes=False, answers_last=False)
    came = await visited(doctor(*["Hm."] * 10), patient(*["Yes."] * 10), None, greeting="Hello.", staging=staging)
    assert (came.end, came.turns) == (End.TURN_LIMIT, 10)
    ours = [event.who for event in came.trace if isinstance(event, Said)]
    recorded = shared_data / "cases" / "ai_hospital" / "dialog_history_gpt3_first150.jsonl"
    every = [json.loads(line)["dialog_history"] for line in recorded.read_text("utf-8").splitlines()]
    most = max(said[-1]["turn"] for said in every)
    longest = [[turn["role"] for turn in said] for said in every if said[-1]["turn"] == most]
    # The last of them is the report.
    assert {(roles[:-1].count("Doctor"), roles.count("Patient")) for roles in longest} == {
        (ours.count(Role.DOCTOR), ours.count(Role.PATIENT))
    }
