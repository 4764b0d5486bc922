"""What befalls a hospital while it works: nobody is lost, what would have been anyhow is, and the results say when."""

from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.hospital.test_simulation import check_residents, live

from polyclinic.hospital.plan.events import Incident, IncidentKind
from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.plan.opening_hours import OpeningHours
from polyclinic.hospital.plan.plan import Epidemic, Job, Shift
from polyclinic.hospital.record.episodes import AtDoor, ConsultationHeld, Episode
from polyclinic.hospital.record.happenings import (
    DAY,
    Acuity,
    CalledIn,
    LeftUnseen,
    Queued,
    ShiftBegan,
    ShiftEnded,
    StaffCalledIn,
)
from polyclinic.hospital.simulation import opportunity
from polyclinic.hospital.town.residents import Residents
from polyclinic.hospital.town.town import Town
from polyclinic.knowledge.knowledge import read_knowledge

HOUR = 3600


def outage(area, begin, end):
    return Incident(said=f"outage {area}", kind=IncidentKind.OUTAGE, begin=begin, end=end, what=(area,))


def absent(who, day):
    return Incident(said=f"absent {who}", kind=IncidentKind.ABSENT, begin=day * DAY, end=(day + 1) * DAY, what=(who,))


AREAS = ("triage", "registration", "laboratory", "rooms", "pharmacy")
STAFF = ("d1", "d2", "n1", "t1", "p1")
events = st.lists(
    st.one_of(
        st.builds(
            lambda area, begin, lasts: outage(area, begin, begin + lasts),
            st.sampled_from(AREAS),
            st.integers(0, 3 * DAY),
            st.integers(60, DAY // 2),
        ),
        st.builds(absent, st.sampled_from(STAFF), st.integers(0, 3)),
    ),
    max_size=4,
)


BEDS = {"observation": 1, "ward": 2, "intensive care": 1, "theatre": 1}


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    events=events,
    seed=st.integers(0, 10**6),
    on_call=st.booleans(),
    failing=st.sampled_from([0.0, 0.05]),
    beds=st.sampled_from([{}, BEDS]),
)
@example(events=[], seed=19610, on_call=False, failing=0.0, beds={})  # two decisions are due in one second
async def test_nobody_is_lost_whatever_befalls(small, events, seed, on_call, failing, beds):
    """With wards, stress and failing visits; the log depends neither on the order of answers nor on the lookahead."""
    doctors = ("respiratory", "respiratory", "dermatology", "emergency")
    night = dict.fromkeys(range(7), (0, 24 * HOUR)) if on_call else None
    hospital = small.hospital(doctors=doctors, beds=beds, emergencies=night)
    if on_call:
        extra = {"n9": ("n1", 2), "d9": ("d4", 3)}
        staff = {
            id: msgspec.structs.replace(hospital.staff[like], id=id, shifts=(), on_call=limit)
            for id, (like, limit) in extra.items()
        }
        hospital = msgspec.structs.replace(hospital, staff={**hospital.staff, **staff})
    town = small.Town(seed=seed, residents=40, per_day=0.6)
    hashes = set()
    for order, lookahead in ((1, 360), (2, 30)):
        compute = small.Compute(seed=seed, failing=failing, order=order, longest=0.001)
        run, log = await live(
            small, compute, days=4, town=town, hospital=hospital, events=events, lookahead=lookahead,
            look_again=small.look_again,
        )  # fmt: skip
        hashes.add(run.log_hash)
    assert len(hashes) == 1
    s = run.summary
    assert check_residents(log, beds=beds) == s["arrived"]
    assert (
        s["arrived"] == s["seen"] + sum(s["left"].values()) + sum(s["failed"].values()) + s["died_inside"] + s["inside"]
    )
    assert all(occupied["most"] <= beds[area] for area, occupied in s["beds"].items())
    assert all(0 <= work["busy"] <= work["at_work"] for work in s["work"].values())
    for event in events:
        if event.kind is IncidentKind.OUTAGE:
            assert not [
                h
                for h in log
                if isinstance(h.what, CalledIn) and h.what.area == event.what[0] and event.begin <= h.t < event.end
            ]
        else:
            came = [h.t // DAY for h in log if h.who == event.what[0] and isinstance(h.what, ShiftBegan)]
            assert event.begin // DAY not in came


async def test_somebody_on_call_comes_when_too_many_wait(small):
    hospital = small.hospital()
    nurses = {id: m for id, m in hospital.staff.items() if m.job is not Job.NURSE}
    one = hospital.staff["n1"]
    nurses |= {"n1": one, "n9": msgspec.structs.replace(one, id="n9", shifts=(), on_call=3)}
    hospital = msgspec.structs.replace(hospital, staff=nurses)
    town = small.Town(at=[(8 * HOUR + n, "mild") for n in range(12)], worse=0.0)
    _, log = await live(small, small.Compute(), days=2, town=town, hospital=hospital)
    (called,) = [h for h in log if isinstance(h.what, StaffCalledIn)][:1]
    assert (called.who, called.what.queue, called.what.waiting) == ("n9", "triage", 3)
    began = next(h.t for h in log if h.who == "n9" and isinstance(h.what, ShiftBegan))
    assert began == called.t + 15 * 60
    assert any(isinstance(h.what, CalledIn) and h.what.staff == "n9" for h in log)


async def test_a_doctor_on_call_comes_at_night_when_an_emergency_finds_nobody(small):
    """And goes when it is no longer needed: who is on duty sees to the results."""
    night = dict.fromkeys(range(7), (0, 24 * HOUR))
    hospital = small.hospital(doctors=("respiratory", "emergency"), emergencies=night)
    around_the_clock = (Shift(days=tuple(range(7)), begin=0, end=24 * HOUR),)
    staff = {id: msgspec.structs.replace(m, shifts=around_the_clock) for id, m in hospital.staff.items()}
    staff["d2"] = msgspec.structs.replace(staff["d2"], shifts=(), on_call=9)
    hospital = msgspec.structs.replace(hospital, staff=staff)

    async def compute(request):
        held = ConsultationHeld(department="respiratory", turns=9, examinations=("blood",), diagnosis="illness")
        return Episode(
            key=request.key,
            department="respiratory",
            acuity=Acuity.EMERGENCY,
            at_door=AtDoor(level=2),
            seen=(held,),
            plan="mild",
        )

    town = small.Town(at=[(2 * HOUR, "severe"), (2 * HOUR + 60, "severe")], delay=0, worse=0.0)
    durations = msgspec.structs.replace(
        hospital.durations,
        called_in=small.lasting(60),
        turn=small.lasting(60),
        examination={**hospital.durations.examination, "laboratory": small.lasting(3 * HOUR)},
    )
    hospital = msgspec.structs.replace(hospital, durations=durations)
    _, log = await live(small, compute, days=2, town=town, hospital=hospital)
    (called,) = [h for h in log if isinstance(h.what, StaffCalledIn)]
    assert (called.who, called.what.queue, called.t // HOUR) == ("d2", "respiratory", 2)
    seen = [(h.who, h.what.staff) for h in log if isinstance(h.what, CalledIn) and h.what.queue == "respiratory"]
    assert seen == [("r0", "d1"), ("r1", "d2"), ("r0", "d1"), ("r1", "d1")]
    (left,) = [h.t for h in log if h.who == "d2" and isinstance(h.what, ShiftEnded)]
    assert left == called.t + 60 + 30 * 60


async def test_whoever_is_turned_away_comes_the_next_day_when_it_suits(small):
    hospital = small.hospital(doctors=("respiratory", "dermatology"))
    town = small.Town(at=[(15 * HOUR, "mild")] * 9, delay=1500, worse=0.0, worse_waiting=0.0)
    _, log = await live(small, small.Compute(), days=3, town=town, hospital=hospital)
    away = {h.who for h in log if isinstance(h.what, LeftUnseen) and h.what.reason != "waited too long"}
    at_the_door = [h for h in log if isinstance(h.what, Queued) and h.what.queue == "triage"]
    again = {h.t for h in at_the_door if h.who in away and h.t > DAY}
    assert away and again == {DAY + 8 * HOUR + 1500}


def test_who_is_ready_before_the_doors_open_comes_within_half_an_hour_of_it(small):
    hours = OpeningHours(small.hospital())
    came = [opportunity(hours, 600, 7 * HOUR, delay) + 600 for delay in (0, 600, 1799, 1800, 3 * HOUR + 60)]
    assert came == [8 * HOUR, 8 * HOUR + 600, 8 * HOUR + 1799, 8 * HOUR, 8 * HOUR + 60]


@pytest.fixture(scope="module")
def built():
    knowledge = read_knowledge()
    return SimpleNamespace(knowledge=knowledge, hospital=read_hospital(None, knowledge), residents=Residents(3000, 5))


def test_who_falls_ill_anyhow_does_so_with_events_too(built):
    plain = Town(built.hospital, built.knowledge, built.residents, seed=5)
    many = Incident(said="many", kind=IncidentKind.MASS_ARRIVAL, begin=DAY + 10 * HOUR, end=DAY + 14 * HOUR, many=40)
    flu = Incident(said="flu", kind=IncidentKind.EPIDEMIC, begin=DAY, end=2 * DAY, what=("influenza-a",), many=30)
    struck = Town(built.hospital, built.knowledge, built.residents, seed=5, events=(many, flu))
    assert struck.onsets(0) == plain.onsets(0)
    usual, more = plain.onsets(1), struck.onsets(1)
    assert more[: len(usual)] == usual
    strangers = [onset for onset in more if onset.at is not None]
    assert [onset.resident for onset in strangers] == list(range(3000, 3040))
    assert {onset.disease for onset in more[len(usual) : -40]} == {"influenza-a"}
    assert struck.case_for(strangers[0]).id.startswith("r03001-")
    assert struck.fell_ill(strangers[0], struck.case_for(strangers[0])).disease == strangers[0].disease
    walk = 12 * 60 + 10
    wakes, delay = struck.times(strangers[0])
    assert wakes + walk == many.begin and 0 <= delay < 20 * 60


def test_an_epidemic_of_the_hospital_file_comes_every_year(built):
    illness = built.hospital.illness
    epidemic = Epidemic(diseases="influenza-a", begins="12-20", ends="01-10", times=50)
    hospital = msgspec.structs.replace(built.hospital, illness=msgspec.structs.replace(illness, epidemics=(epidemic,)))
    plain = Town(built.hospital, built.knowledge, built.residents, seed=5)
    struck = Town(hospital, built.knowledge, built.residents, seed=5)
    # The first day is the fifth of January.
    assert len(struck.onsets(5)) > len(plain.onsets(5))
    assert struck.onsets(6) == plain.onsets(6)
