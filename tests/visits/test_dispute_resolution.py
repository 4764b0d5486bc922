"""Algorithm 1 of AI Hospital, event by event: who speaks when, who has heard what, and what ends it."""

import asyncio
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import each_row

from polyclinic.cases.record import Finding
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.errors import ScriptError, TimedOut, UnreadableReply
from polyclinic.events import (
    Disputed,
    End,
    Ended,
    Established,
    Examined,
    Failed,
    Order,
    Reported,
    Revised,
    Role,
    Said,
    Shared,
    Trace,
)
from polyclinic.players.own_mind import ScriptedMind
from polyclinic.players.player import PatientTurn, Purpose, Results
from polyclinic.visits.dispute_resolution import Attending, dispute_resolution

CBC = Finding(examination="blood count", item="hemoglobin", value=9.1, unit="g/dL")
XRAY = Finding(examination="chest X-ray", value="a shadow in the right lower lobe")


def report(name, *symptoms, examinations=()):
    return Report(
        symptoms=symptoms or ("cough",),
        examinations=examinations,
        diagnoses=(Diagnosis(name),),
        rationale=(f"it looks like {name}",),
        treatment=("rest",),
    )


class Puppet:
    """A player without a role of its own. It notes what it had heard each time that it was asked."""

    def __init__(self, script, name="puppet"):
        self.mind = ScriptedMind(script, name=name)
        self.name = name
        self.heard = []
        self.asked = []

    def observe(self, event):
        self.heard.append(event)

    async def act(self, ask):
        self.asked.append((ask.purpose, tuple(self.heard)))
        answer = await self.mind.answer(ask, self)
        if isinstance(answer, BaseException):
            raise answer
        return ask.check(answer)

    def rounds_heard(self, time):
        """Which doctor's report of which round had been heard when it was asked for that time."""
        return [(e.doctor, e.round) for e in self.asked[time][1] if isinstance(e, Revised)]

    def points_heard(self, time):
        return [e.points for e in self.asked[time][1] if isinstance(e, Disputed)]


FACTS = {"symptoms": ["cough", "fever"], "examinations": ["blood count: hemoglobin 9.1 g/dL"]}


def director(*disputes, facts=(FACTS,), final="Flu"):
    points = [{"points": one} if not isinstance(one, BaseException) else one for one in disputes]
    return Puppet({"merge": list(facts), "dispute": points, "conclude": [report(final)]}, "director")


def doctors(*answers):
    """Doctors who say in turn what is given: reports, or names of diagnoses."""
    attending = []
    for number, said in enumerate(answers, start=1):
        script = {"revise": [report(one) if isinstance(one, str) else one for one in said]}
        attending.append(
            Attending(number, Puppet(script, f"mind {number}"), report(f"first {number}"), (CBC, XRAY)[:number])
        )
    return attending


async def discussed(*players, **options):
    """A discussion, and what its trace tells of it."""
    trace = await dispute_resolution(*players, **options)
    ended, reported = trace.last(Ended), trace.last(Reported)
    return SimpleNamespace(
        trace=trace,
        end=ended.reason,
        rounds=ended.turns,
        consensus=ended.turns if ended.reason is End.CONSENSUS else None,
        kept=sum(event.kept for event in trace if isinstance(event, Revised)),
        report=reported and reported.report,
    )


def steps(trace):
    """The discussion in short: what happened, whose it was, in which round."""
    short = []
    for e in trace:
        match e:
            case Shared():
                short.append(f"facts of {e.doctor}")
            case Established():
                short.append("facts of all")
            case Revised():
                short.append(f"{e.doctor} in {e.round}: {e.report.diagnoses[0].name}{' (kept)' if e.kept else ''}")
            case Disputed():
                short.append(f"d after {e.round}: {', '.join(e.points) or 'nothing'}")
            case Reported():
                short.append(f"final: {e.report.diagnoses[0].name}")
            case Ended():
                short.append(f"{e.reason}, {e.turns}")
            case Failed():
                short.append(f"failed: {e.who} {e.doctor} {e.error} {e.answered}")
            case Said():
                short.append(f"{e.who} to {e.to}: {e.text}")
            case Examined():
                short.append(f"examined: {e.text}")
    return short


async def test_algorithm_1_event_by_event():
    team = doctors(["A", "A", "B"], ["B", "B", "B"])
    chair = director(["A or B?"], ["still A or B?"], [], final="B")
    watched = []
    trace = Trace(watch=watched.append)
    came = await discussed(team, chair, None, None, order=Order.SEQUENTIAL, trace=trace)
    assert steps(came.trace) == [
        *("facts of 1", "facts of 2", "facts of all"),
        *("1 in 0: A", "2 in 0: B"),
        "d after 0: A or B?",
        *("1 in 1: A", "2 in 1: B"),
        "d after 1: still A or B?",
        *("1 in 2: B", "2 in 2: B"),
        "d after 2: nothing",
        *("final: B", "consensus, 2"),
    ]
    assert list(came.trace) == watched
    assert (came.end, came.rounds, came.consensus, came.kept) == (End.CONSENSUS, 2, 2, 0)
    assert came.report == report("B")
    # Who has heard what: P is written from the facts alone; then each hears those before it in the same round.
    first, second = (doctor.player for doctor in team)
    assert [type(e) for e in first.asked[0][1]] == [type(e) for e in second.asked[0][1]] == [Established]
    p = [(1, 0), (2, 0)]
    assert first.rounds_heard(1) == p
    assert second.rounds_heard(1) == [(2, 0), (1, 0), (1, 1)]
    assert sorted(first.rounds_heard(2)) == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert sorted(second.rounds_heard(2)) == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]
    assert first.points_heard(1) == second.points_heard(1) == [("A or B?",)]
    assert first.points_heard(2) == [("A or B?",), ("still A or B?",)]
    # The director decides on all that was said.
    assert [purpose for purpose, _ in chair.asked] == ["merge", "dispute", "dispute", "dispute", "conclude"]
    assert [len(chair.rounds_heard(time)) for time in range(5)] == [0, 2, 4, 6, 6]


async def test_in_parallel_nobody_has_heard_the_round_that_is_on():
    team = doctors(["A", "A", "B"], ["B", "B", "B"], ["B", "B", "B"])
    await dispute_resolution(team, director(["x"], ["y"], []), None, None, order=Order.PARALLEL)
    for number, doctor in enumerate(team, start=1):
        heard = [sorted(doctor.player.rounds_heard(time)) for time in range(3)]
        assert heard == [[], [(n, 0) for n in (1, 2, 3)], sorted((n, r) for n in (1, 2, 3) for r in (0, 1))]
        # What it said itself comes before what it heard of the same round: that is how it was.
        assert next(n for n, r in doctor.player.rounds_heard(2) if r == 1) == number


async def test_the_facts_are_asked_again_at_once_and_pass_word_for_word():
    facts = {
        "symptoms": ["cough"],
        "examinations": [],
        "ask_patient": ["Any fever?", " ", "Any fever?"],
        "ask_examiner": ["chest X-ray"],
    }
    chair = director([], [], facts=(facts, FACTS | {"ask_patient": ["one more?"]}))
    team = doctors(["A", "A"], ["A", "A"])
    team = [doctor._replace(findings=(CBC,)) for doctor in team]
    together = asyncio.Barrier(2)
    asked = []

    class Meeting(Puppet):
        async def act(self, ask):
            async with asyncio.timeout(5):
                await together.wait()  # deadlocks unless both are asked at the same time
            return await super().act(ask)

    def patient():
        asked.append(Meeting({"reply": ["Yes, 39."]}))
        return asked[-1]

    def examiner():
        found = Results(findings=(XRAY,), not_recorded=(), text="a shadow")
        asked.append(Meeting({"examine": [found]}))
        return asked[-1]

    came = await discussed(team, chair, patient, examiner)
    assert steps(came.trace)[2:8] == [
        "director to patient: Any fever?",
        "patient to director: Yes, 39.",
        "director to examiner: chest X-ray",
        "examined: a shadow",
        "facts of all",
        "1 in 0: A",
    ]
    # A patient takes whoever asks for a doctor; the examiner gets the name of what to read out.
    assert [(e.who, e.text) for player in asked for e in player.heard] == [
        (Role.DOCTOR, "Any fever?"),
        (Role.DIRECTOR, "chest X-ray"),
    ]
    established = came.trace.last(Established)
    assert (established.symptoms, established.findings) == (("cough", "fever"), (CBC, XRAY))
    # What it would ask a second time is not asked.
    assert sum(purpose is Purpose.MERGE for purpose, _ in chair.asked) == 2
    assert sum(isinstance(e, Said) and e.who is Role.DIRECTOR for e in came.trace) == 2
    assert all(doctor.player.heard[0] == established for doctor in team)


async def test_without_an_examiner_the_patient_is_asked_for_results():
    facts = {**FACTS, "ask_patient": [], "ask_examiner": ["blood count"]}
    chair = director([], [], facts=(facts, FACTS))
    came = await discussed(doctors(["A", "A"], ["A", "A"]), chair, lambda: Puppet({"reply": ["It was 9.1."]}), None)
    assert steps(came.trace)[2:4] == ["director to patient: blood count", "patient to director: It was 9.1."]
    assert came.end is End.CONSENSUS


async def test_a_patient_may_turn_to_the_examiner():
    facts = {**FACTS, "ask_patient": ["Have a chest X-ray, please."], "ask_examiner": []}
    turn = PatientTurn("The doctor asks for: chest X-ray.", to="examiner")
    examiner = Puppet({"examine": [Results(findings=(XRAY,), not_recorded=(), text="a shadow")]})
    chair = director([], [], facts=(facts, FACTS))
    came = await discussed(doctors(["A", "A"], ["A", "A"]), chair, lambda: Puppet({"reply": [turn]}), lambda: examiner)
    assert steps(came.trace)[3:5] == [
        "patient to examiner: The doctor asks for: chest X-ray.",
        "examined: a shadow",
    ]
    assert XRAY in came.trace.last(Established).findings


async def test_nobody_can_be_asked_where_the_record_was_read():
    chair = director([], [], facts=({**FACTS, "ask_patient": ["Any fever?"], "ask_examiner": ["X-ray"]},))
    came = await discussed(doctors(["A", "A"], ["A", "A"]), chair, None, None)
    assert came.end is End.CONSENSUS
    assert not [e for e in came.trace if isinstance(e, Said)]


@pytest.mark.parametrize("order", Order)
async def test_the_ablation_hides_the_points_from_the_doctors_alone(order):
    team = doctors(["A", "A", "A"], ["B", "B", "A"])
    chair = director(["A or B?"], ["still?"], [])
    came = await discussed(team, chair, None, None, order=order, disputes=False)
    for doctor in team:
        assert not [e for e in doctor.player.heard if isinstance(e, Disputed)]
        assert {(e.doctor, e.round) for e in doctor.player.heard if isinstance(e, Revised)} >= {(1, 1), (2, 1)}
    assert chair.points_heard(2) == [("A or B?",)]
    # What is hidden is still measured.
    assert (came.consensus, came.rounds) == (2, 2)
    assert [e.points for e in came.trace if isinstance(e, Disputed)] == [("A or B?",), ("still?",), ()]


async def test_one_round_is_held_where_nothing_is_in_dispute_beforehand():
    came = await discussed(doctors(["A", "A"], ["A", "A"]), director([], []), None, None)
    assert (came.rounds, came.consensus, came.end) == (1, 1, End.CONSENSUS)


async def test_a_point_of_blanks_is_none():
    came = await discussed(doctors(["A", "A"], ["A", "A"]), director(["", " "], [" "]), None, None)
    assert [e.points for e in came.trace if isinstance(e, Disputed)] == [(), ()]


async def test_the_rounds_are_limited():
    team = doctors(["A"] * 4, ["B"] * 4)
    came = await discussed(team, director(*[["A or B?"]] * 4, final="B"), None, None, max_rounds=3)
    assert (came.rounds, came.consensus, came.end) == (3, None, End.ROUND_LIMIT)
    assert came.report == report("B")
    assert steps(came.trace)[-3:] == ["d after 3: A or B?", "final: B", "round limit, 3"]


async def test_one_doctor_alone_disputes_with_nobody():
    chair = director()
    came = await discussed(doctors(["A"]), chair, None, None)
    assert steps(came.trace) == ["facts of 1", "facts of all", "1 in 0: A", "final: Flu", "consensus, 0"]
    assert came.consensus == 0


@pytest.mark.parametrize("answer", [UnreadableReply("no JSON"), {"diagnoses": "flu"}])
async def test_after_an_unusable_answer_the_last_report_stands_and_is_counted(answer):
    team = doctors([answer, "A", answer], ["B", "B", "B"])
    came = await discussed(team, director(["x"], ["x"], []), None, None)
    error = type(answer).__name__ if isinstance(answer, Exception) else "WrongAnswer"
    assert [s for s in steps(came.trace) if s.startswith(("1 in", "failed"))] == [
        f"failed: doctor 1 {error} True",
        "1 in 0: first 1 (kept)",
        "1 in 1: A",
        f"failed: doctor 1 {error} True",
        "1 in 2: A (kept)",
    ]
    assert (came.end, came.kept) == (End.CONSENSUS, 2)


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("failure", [TimedOut("no answer"), ScriptError("spent")])
async def test_without_an_answer_of_a_doctor_the_discussion_has_failed(failure, order):
    team = doctors(["A", "A"], ["B", failure])
    came = await discussed(team, director(["x"], []), None, None, order=order)
    assert steps(came.trace)[-2:] == [f"failed: doctor 2 {type(failure).__name__} False", "failed, 1"]
    assert (came.end, came.report, came.consensus) == (End.FAILED, None, None)


@each_row(
    ("chair", "error", "answered"),
    [
        (director(["a", "b", "c", "d"]), "WrongAnswer", True),
        (director(UnreadableReply("no JSON")), "UnreadableReply", True),
        (director(TimedOut("no answer")), "TimedOut", False),
        (director([], TimedOut("no answer")), "TimedOut", False),
        (director(facts=({"symptoms": 3},)), "WrongAnswer", True),
        (Puppet({"merge": [FACTS], "dispute": [{"points": []}] * 2, "conclude": [{}]}), "WrongAnswer", True),
    ],
)
async def test_the_directors_failure_is_the_end(chair, error, answered):
    came = await discussed(doctors(["A", "A"], ["A", "A"]), chair, None, None)
    failed = came.trace.last(Failed)
    assert (failed.who, failed.doctor, failed.error, failed.answered) == (Role.DIRECTOR, 0, error, answered)
    assert (came.end, came.report) == (End.FAILED, None)
    assert isinstance(came.trace[-1], Ended)


@pytest.mark.parametrize("who", [Role.PATIENT, Role.EXAMINER])
async def test_the_failure_of_whoever_is_asked_again_is_the_end(who):
    facts = {**FACTS, "ask_patient": ["Any fever?"], "ask_examiner": ["X-ray"]}
    failing = {who: UnreadableReply("no")}
    patient = Puppet({"reply": [failing.get(Role.PATIENT, "Yes.")]})
    examiner = Puppet({"examine": [failing.get(Role.EXAMINER, Results((XRAY,), (), "a shadow"))]})
    chair = director(facts=(facts,))
    came = await discussed(doctors(["A"], ["A"]), chair, lambda: patient, lambda: examiner)
    assert (came.trace.last(Failed).who, came.end) == (who, End.FAILED)


async def test_what_is_no_failure_of_a_player_is_raised_and_stops_the_others():
    stopped = []

    class Slow(Puppet):
        async def act(self, ask):
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                stopped.append(ask.purpose)
                raise

    team = [
        Attending(1, Puppet({"revise": [KeyboardError()]}), report("A")),
        Attending(2, Slow({}), report("B")),
    ]
    with pytest.raises(KeyboardError):
        await dispute_resolution(team, director(), None, None)
    assert stopped == [Purpose.REVISE]


class KeyboardError(Exception):
    """Something of ours."""


names = st.sampled_from(["A", "B", "C"])
unusable = st.just(UnreadableReply("no"))


@given(
    st.lists(st.lists(names | unusable, min_size=6, max_size=6), min_size=1, max_size=4),
    st.lists(st.lists(st.text("ab", min_size=1, max_size=3), max_size=3), min_size=6, max_size=6),
    st.integers(1, 5),
    st.sampled_from(Order),
    st.booleans(),
)
async def test_whatever_is_said_the_rounds_end_and_everybody_speaks_once_in_each(said, disputes, limit, order, shown):
    team = doctors(*said)
    came = await discussed(
        team, director(*disputes, final="D"), None, None, order=order, max_rounds=limit, disputes=shown
    )
    assert came.end in (End.CONSENSUS, End.ROUND_LIMIT)
    assert came.rounds <= limit
    spoke = [(e.round, e.doctor) for e in came.trace if isinstance(e, Revised)]
    assert spoke == [(r, d) for r in range(came.rounds + 1) for d in range(1, len(team) + 1)]
    named = [e for e in came.trace if isinstance(e, Disputed)]
    assert [e.round for e in named] == (list(range(came.rounds + 1)) if len(team) > 1 else [])
    assert came.consensus == (None if named and named[-1].points else came.rounds)
    assert all(e.points for e in named[1:-1])
    assert came.report == report("D") == came.trace.last(Reported).report
    kept = [e for e in came.trace if isinstance(e, Revised) and e.kept]
    assert came.kept == len(kept) == sum(isinstance(e, Failed) for e in came.trace)
