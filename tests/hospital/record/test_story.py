"""Visits of a run, read again: what happened, what was said when, and who came."""

import asyncio

import pytest

from polyclinic.cases.record import Finding
from polyclinic.errors import UserError
from polyclinic.events import Examined, Said, Trace
from polyclinic.hospital.record.account import Log
from polyclinic.hospital.record.episodes import AtDoor, ConsultationHeld, Episode, VitalSign
from polyclinic.hospital.record.happenings import (
    Acuity,
    Consulted,
    LeftUnseen,
    Queued,
    Registered,
    Triaged,
    Walked,
    WentHome,
)
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.hospital.record.store import Store
from polyclinic.hospital.record.story import begins, listed, story, visits_by
from polyclinic.hospital.simulation import Simulation

LINES = ("It hurts.", "Since when, and where exactly does it hurt?", "Since Monday.", "It is an illness. Rest.")


def trace():
    said = [
        Said(seq=0, turn=0, who="patient", to="doctor", text=LINES[0]),
        Said(seq=1, turn=1, who="doctor", to="patient", text=LINES[1]),
        Said(seq=2, turn=1, who="patient", to="doctor", text=LINES[2]),
        Examined(seq=3, turn=2, findings=(), not_recorded=(), text="blood: well"),
        Said(seq=4, turn=2, who="doctor", to="patient", text=LINES[3]),
    ]
    return Trace(said).lines()


PULSE = VitalSign(
    sign="heart_rate", finding=Finding(examination="vital signs", item="heart rate", value=88, unit="/min")
)


@pytest.fixture(scope="module")
def told(small, tmp_path_factory):
    """A run of two visits with their dialogues; the second patient is examined elsewhere, the first by nobody."""
    folder = tmp_path_factory.mktemp("told") / "run"

    async def compute(request):
        ordered = ("blood",) if request.resident == "r1" else ()
        held = ConsultationHeld(
            department="respiratory", turns=5, examinations=ordered, diagnosis="illness", trace=trace()
        )
        return Episode(
            key=request.key,
            department="respiratory",
            acuity=Acuity.URGENT,
            at_door=AtDoor(level=3, reason="pain", vital_signs=(PULSE,), told=(("Does it hurt?", "Yes."),)),
            seen=(held,),
            plan="mild",
            treatment=("rest",),
            dispensed=("drug",),
            right_diagnosis=True,
        )

    with Store.create(folder, {}) as store:
        asyncio.run(
            Simulation(
                small.hospital(),
                small.Town(at=[(6 * 3600, "mild"), (7 * 3600, "mild")], worse=0.0),
                store.remember(compute),
                days=4,
                seed=1,
                kinds=small.KINDS,
                sinks=[store],
            ).run()
        )
        store.finish({})
    return folder


def at(told, what, **fields):
    return [m for m in told.moments if m.what == what and fields.items() <= m.about.items()]


def test_what_was_said_lies_between_the_begin_and_the_end_of_the_talk(told):
    with RecordedRun(told) as run:
        one = story(run, "r0-d0/1")
    assert one.told
    assert [m.t for m in one.moments] == sorted(m.t for m in one.moments)
    begin, end = at(one, "began")[0].t, at(one, "consulted")[0].t
    said = [m for m in at(one, "said") if m.about["text"] in LINES]
    assert [m.about["text"] for m in said] == list(LINES)
    assert said[0].t == begin
    assert begin < said[1].t < said[2].t < said[3].t < end
    # The longer the line before, the later the next.
    assert said[2].t - said[1].t > said[1].t - said[0].t
    door = [m for m in at(one, "said") if m.about["text"] not in LINES]
    assert [(m.about["who"], m.about["text"]) for m in door] == [("nurse", "Does it hurt?"), ("patient", "Yes.")]
    assert at(one, "called")[0].t == door[0].t < door[1].t < at(one, "triaged")[0].t
    measured = at(one, "measured")[0].about
    assert measured == {"reason": "pain", "vital_signs": {"heart_rate": "88 /min"}}
    order = [m.what for m in one.moments]
    steps = ["fell ill", "walked", "queued", "called", "triaged", "consulted", "diagnosed", "dispensed", "went home"]
    assert [order.index(step) for step in steps] == sorted(order.index(step) for step in steps)


def test_results_are_told_when_the_patient_is_back_with_them(told):
    with RecordedRun(told) as run:
        one = story(run, "r1-d0/1")
    back = at(one, "began", activity="results")[0].t
    assert at(one, "results")[0].t == back >= at(one, "examined")[0].t
    assert at(one, "said", text=LINES[2])[0].t < at(one, "consulted")[0].t
    assert back < at(one, "said", text=LINES[3])[0].t <= at(one, "diagnosed")[0].t


def test_lines_are_spread_by_their_lengths():
    assert begins(["a" * 80] * 4, 100, 140) == [100, 110, 120, 130]
    assert begins([], 5, 9) == []
    assert begins(["a", "b"], 7, 7) == [7, 7]


def test_visits_are_those_that_were_registered(lived, lived_run):
    with RecordedRun(lived_run) as run:
        visits = listed(run)
    numbers = {(h.who, h.what.visit) for h in lived if isinstance(h.what, Registered)}
    assert numbers <= {(one.resident, one.number) for one in visits}
    assert len({one.id for one in visits}) == len(visits) >= 250
    assert [one.begin for one in visits] == sorted(one.begin for one in visits)
    assert sum(one.outcome == "went home" for one in visits) == sum(isinstance(h.what, WentHome) for h in lived)
    assert all(one.name and one.disease and one.severity for one in visits)
    assert {one.outcome.partition(":")[0] for one in visits} >= {"went home", "failed"}
    sent = sum(isinstance(h.what, Triaged) for h in lived)
    assert sum(one.acuity is not None for one in visits) <= sent


def test_every_visit_of_a_run_can_be_told(lived, lived_run):
    with RecordedRun(lived_run) as run:
        visits = listed(run)
        for visit in visits[::40]:
            one = story(run, visit.id)
            assert not one.told and one.visit == visit
            until = min(
                (v.begin for v in visits if v.resident == visit.resident and v.begin > visit.begin), default=1e9
            )
            assert sum(m.what == "consulted" for m in one.moments) == sum(
                isinstance(h.what, Consulted) for h in lived if h.who == visit.resident and visit.begin <= h.t < until
            )


def test_whoever_is_turned_away_comes_again_for_the_same_visit(tmp_path):
    def walk(t, *path):
        return t, Walked(path=path, times=(t,) * len(path))

    log = []
    for t in range(0, 4000, 1000):
        log += [walk(t, "homes", "triage"), (t + 1, Queued(queue="triage"))]
        log += [(t + 2, LeftUnseen(reason="closed" if t < 2000 else "waited too long"))]
        log += [walk(t + 3, "triage", "homes")]
    with Store.create(tmp_path / "run", {}) as store:
        account = Log(store)
        for t, what in log:
            account.add(t, "r1", what)
        store.finish({})
    with RecordedRun(tmp_path / "run") as run:
        visits = listed(run)
        moments = [len(story(run, visit.id).moments) for visit in visits]
    assert [(one.number, one.begin, one.end) for one in visits] == [(1, 0, 1003), (2, 2000, 2003), (3, 3000, 3003)]
    assert moments == [8, 4, 4]


def test_a_wrong_id_or_name_is_one_line_that_says_what_there_is(told, lived_run):
    with RecordedRun(told) as run:
        with pytest.raises(UserError, match=r"no visit 'r0-d0/9' in .*; there are 2, such as r0-d0/1"):
            story(run, "r0-d0/9")
        with pytest.raises(UserError, match=r"no resident 'r7' came in .*; 2 residents did, such as"):
            visits_by(run, "r7")
        assert [one.id for one in visits_by(run, "r1")] == ["r1-d0/1"]
    with RecordedRun(lived_run) as run:
        name = listed(run)[0].name
        family = name.rpartition(" ")[2]
        with pytest.raises(UserError, match=rf"residents are called '{family}': .*give one's id"):
            visits_by(run, family)
