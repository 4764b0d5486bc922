"""The state of the hospital, told by happenings."""

import bisect
from collections import Counter

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyclinic.hospital.record.happenings import (
    Activity,
    ActivityBegan,
    ActivityEnded,
    Acuity,
    CalledIn,
    Consulted,
    Diagnosed,
    Died,
    ExaminationDone,
    FellIll,
    FollowedUp,
    FollowUpOutcome,
    GotWorse,
    Happening,
    HarmCause,
    LeftUnseen,
    Prescribed,
    Queued,
    Referred,
    Registered,
    Sampled,
    ShiftBegan,
    ShiftEnded,
    StaffWalked,
    Triaged,
    VisitFailed,
    Walked,
    WentHome,
    Worsened,
)
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.hospital.record.world import Doing, IllResident, World, decode


def play(*events, world=None):
    world = world or World()
    for t, who, what in events:
        world.apply(Happening(seq=world.seq + 1, t=t, who=who, what=what))
    return world


def position(world, who):
    """Somebody's place in its queue, from 1."""
    return next(number for number, place in enumerate(world.queues[world.people[who].queue], 1) if place[-1] == who)


def walked(t, *path):
    return Walked(path=path, times=tuple(t + 100 * n for n in range(len(path))))


COMES = (
    (0, "dr", ShiftBegan(area="room")),
    (1000, "r1", walked(1000, "homes", "entrance", "triage")),
    (1200, "r1", Queued(queue="triage")),
    (1210, "r1", CalledIn(queue="triage", staff="nurse", area="triage", waited=10)),
    (
        1300,
        "r1",
        Triaged(
            nurse="nurse",
            department="heart",
            acuity=Acuity.URGENT,
            right_department="heart",
            right_acuity=Acuity.ROUTINE,
        ),
    ),
    (1300, "r1", walked(1300, "triage", "hall")),
    (1400, "r1", Registered(department="heart", visit=1)),
    (1400, "r1", Queued(queue="heart", acuity=Acuity.URGENT)),
)
TALKS = (
    (1500, "r1", CalledIn(queue="heart", staff="dr", area="room", waited=100)),
    (1500, "r1", walked(1500, "hall", "room")),
)
GOES = (
    (2000, "r1", Consulted(staff="dr", department="heart", turns=8)),
    (2000, "r1", Diagnosed(staff="dr", diagnosis="angina", right=True)),
    (2000, "r1", Prescribed(staff="dr", plan="mild", treatment=("rest",), right=True)),
    (2000, "r1", walked(2000, "room", "entrance", "homes")),
)


def test_a_visit_step_by_step():
    world = play(*COMES[:2])
    r1 = world.people["r1"]
    assert (r1.doing(1100), r1.home, r1.path[0], r1.times[-1]) == (Doing.WALKING, "homes", "homes", 1200)
    assert r1.doing(1200) is Doing.THERE
    play(*COMES[2:3], world=world)
    assert r1.doing(1205) is Doing.WAITING
    play(*COMES[3:4], world=world)
    assert r1.doing(1250) is Doing.SERVED
    play(*COMES[4:], world=world)
    assert (r1.doing(1450), r1.since, position(world, "r1")) == (Doing.WAITING, 1400, 1)
    play(*TALKS, world=world)
    assert r1.queue == ""
    assert world.queues == {}
    assert (r1.doing(1550), r1.doing(1700)) == (Doing.WALKING, Doing.CONSULTED)
    assert world.duty["dr"].serves == ["r1"]
    play(*GOES, world=world)
    assert world.duty["dr"].serves == []
    assert r1.doing(2100) is Doing.WALKING
    world.advance(2199)
    assert "r1" in world.people
    world.advance(2200)
    assert world.people == {}
    play((2200, "r1", WentHome()), (3000, "dr", ShiftEnded()), world=world)
    assert (world.people, world.duty, world.homecoming) == ({}, {}, [])
    assert world.counts == dict.fromkeys(("came", "triaged", "diagnosed", "diagnosed_right", "went_home"), 1)


def test_a_queue_is_in_the_order_of_calling():
    def waits(who, acuity, again=False):
        return (5, who, Queued(queue="heart", acuity=acuity, again=again))

    world = play(
        waits("calm", Acuity.ROUTINE), waits("unknown", None), waits("dire", Acuity.EMERGENCY),
        waits("calm-too", Acuity.ROUTINE), waits("back", Acuity.ROUTINE, again=True),
    )  # fmt: skip
    assert [place[-1] for place in world.queues["heart"]] == ["dire", "back", "calm", "calm-too", "unknown"]
    assert position(world, "calm-too") == 4
    play((6, "dire", LeftUnseen(reason="closed")), world=world)
    assert position(world, "calm-too") == 3
    assert "dire" not in world.people  # where it came from is not known, so no way home is waited for


@pytest.mark.slow
def test_after_a_lived_run_nobody_is_left_and_every_visit_is_counted(lived):
    world, most = World(), 0
    for happening in lived:
        world.apply(happening)
        most = max(most, len(world.people))
    world.advance(lived[-1].t + 3600)
    assert most > 5
    assert (world.people, world.queues, world.homecoming) == ({}, {}, [])
    counts = Counter(world.counts)
    assert counts["came"] == counts["went_home"] + counts["left_unseen"] + counts["failed"]
    assert counts["failed"] > 0
    assert counts["went_home"] == sum(isinstance(h.what, WentHome) for h in lived)
    assert not any(duty.serves for duty in world.duty.values())


def test_a_snapshot_is_the_world_and_grows_with_the_hospital_alone(lived):
    world, longest = World(), 0
    for number, happening in enumerate(lived):
        world.apply(happening)
        if number % 97 == 0:
            snapshot = world.encode()
            assert decode(snapshot) == world
            longest = max(longest, len(snapshot) / (len(world.people) + len(world.ill) + len(world.duty) + 10))
    assert longest < 500  # bytes for each who is there


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=40)
def test_seeking_is_applying_all_until_then(lived, lived_run, data):
    times = [happening.t for happening in lived]
    exactly = st.sampled_from(times)
    t = data.draw(exactly | st.integers(0, times[-1] + 10_000))
    world = World()
    for happening in lived[: bisect.bisect_right(times, t)]:
        world.apply(happening)
    world.advance(t)
    with RecordedRun(lived_run) as recorded:
        assert recorded.seek(t) == world


def test_seeking_starts_at_a_snapshot(lived, lived_run, monkeypatch):
    with RecordedRun(lived_run) as recorded:
        read = []
        monkeypatch.setattr(recorded, "_happening", lambda *row: read.append(row) or happening(*row))
        happening = RecordedRun._happening.__get__(recorded)
        recorded.seek(lived[-1].t)
        assert len(lived) > 4_000
        assert 0 < len(read) <= 2_000


def test_who_is_ill_is_known_by_name_illness_and_severity_until_it_is_well_or_dead():
    ill = FellIll(case="r1-d0", disease="flu", severity="mild", department="heart", name="Ann Lee", home=(-30, 40))
    world = play((500, "r1", ill), (510, "r2", msgspec.structs.replace(ill, name="Bo Ray")), *COMES)
    assert world.ill["r1"] == IllResident("Ann Lee", "flu", "mild", (-30, 40), 500)
    play((1450, "r1", GotWorse(severity="moderate")), world=world)
    assert world.ill["r1"].severity == "moderate"
    play((1460, "r1", Worsened(severity="severe", cause=HarmCause.ILLNESS)), world=world)
    play((1470, "r1", FollowedUp(outcome=FollowUpOutcome.BETTER)), world=world)
    assert world.ill["r1"].severity == "severe"
    play((1480, "r1", FollowedUp(outcome=FollowUpOutcome.RECOVERED, severity="mild")), world=world)
    play((1490, "r2", Died(disease="flu", cause=HarmCause.ILLNESS)), world=world)
    assert world.ill == {}


def test_what_is_done_with_somebody_begins_and_ends():
    consultation = ActivityBegan(activity=Activity.CONSULTATION, area="room", staff="dr")
    scan = {"activity": Activity.EXAMINATION, "area": "scanner", "examination": "scan"}
    world = play(*COMES, *TALKS, (1600, "r1", consultation))
    r1 = world.people["r1"]
    assert (r1.activity, r1.examination) == (Activity.CONSULTATION, "")
    play((2000, "r1", Consulted(staff="dr", department="heart", turns=8)), world=world)
    assert r1.activity is None
    play(
        (2010, "r1", ActivityBegan(**scan)), (2020, "r1", ExaminationDone(examination="blood", area="lab")), world=world
    )
    assert (r1.activity, r1.examination) == (Activity.EXAMINATION, "scan")  # an earlier sample's result ends nothing
    play((2030, "r1", ActivityEnded(**scan)), world=world)
    assert (r1.activity, r1.examination) == (None, "")


def test_staff_come_and_go_and_are_where_they_were_called_to():
    way = StaffWalked(path=("entrance", "room"), times=(0, 50))
    back = StaffWalked(path=("room", "entrance"), times=(900, 950))
    world = play((0, "dr", way))
    assert world.staff_walks["dr"].path == ("entrance", "room")
    play((50, "dr", ShiftBegan(area="room")), world=world)
    assert (world.staff_walks, world.duty["dr"].area) == ({}, "room")
    play(
        (60, "r1", Queued(queue="heart")),
        (70, "r1", CalledIn(queue="heart", staff="dr", area="bay", waited=10)),
        world=world,
    )
    assert world.duty["dr"].area == "bay"
    play((900, "dr", ShiftEnded()), (900, "dr", back), world=world)
    assert world.staff_walks["dr"].times == (900, 950)
    world.advance(950)
    assert (world.staff_walks, world.homecoming) == ({}, [])


def test_in_a_lived_run_every_activity_that_begins_ends(lived):
    ends = {
        Activity.CONSULTATION: Consulted | VisitFailed | Died,
        Activity.RESULTS: Diagnosed | Referred | VisitFailed,
        Activity.EXAMINATION: ExaminationDone | ActivityEnded,
        Activity.SAMPLING: Sampled,
    }
    going, seen = {}, set()
    for happening in lived:
        what, who = happening.what, happening.who
        if type(what) is ActivityBegan:
            assert who not in going, happening
            going[who] = what.activity
            seen.add(what.activity)
        elif who in going and isinstance(what, ends[going[who]]):
            del going[who]
    assert going == {}
    assert seen == set(Activity)


def test_in_a_lived_run_the_staff_walk_to_their_shifts(lived):
    walks = [h for h in lived if isinstance(h.what, StaffWalked)]
    begins = {(h.who, h.t) for h in lived if isinstance(h.what, ShiftBegan)}
    comes = {(h.who, h.what.times[-1]) for h in walks if h.what.path[0] == "entrance"}
    leaves = {(h.who, h.t) for h in walks if h.what.path[-1] == "entrance"}
    assert comes <= begins
    assert len(comes) > 0.8 * len(begins)
    assert leaves == {(h.who, h.t) for h in lived if isinstance(h.what, ShiftEnded)}
