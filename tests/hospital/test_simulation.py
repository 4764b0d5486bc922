"""The same history whatever the order of answers; nobody is lost; waits are those of theory."""

import asyncio
import heapq
import math
from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polyclinic.errors import Refused
from polyclinic.hospital.floor.clock import Clock
from polyclinic.hospital.floor.lines import Ticket
from polyclinic.hospital.floor.queues import Floor
from polyclinic.hospital.plan.plan import Duration, Durations
from polyclinic.hospital.record.account import account_of
from polyclinic.hospital.record.episodes import ConsultationHeld, Episode
from polyclinic.hospital.record.happenings import (
    DAY,
    Acuity,
    Admitted,
    CalledIn,
    Consulted,
    Diagnosed,
    Died,
    Discharged,
    Dispensed,
    ExaminationDone,
    FellIll,
    FollowedUp,
    FollowUpFailed,
    FollowUpOutcome,
    GotWorse,
    Happening,
    Interrupted,
    LeftUnseen,
    Moved,
    Operated,
    Prescribed,
    Queued,
    Referred,
    Registered,
    Resumed,
    Sampled,
    ShiftBegan,
    ShiftEnded,
    Triaged,
    TriagedAgain,
    VisitFailed,
    Walked,
    WentHome,
    Worsened,
)
from polyclinic.hospital.simulation import Simulation

HOUR = 3600


async def live(small, compute, *, days=4, seed=3, town=None, hospital=None, **options):
    keep = small.Keep()
    run = await Simulation(
        hospital or small.hospital(),
        town or small.Town(seed=seed),
        compute,
        days=days,
        seed=seed,
        kinds=small.KINDS,
        sinks=[keep, *options.pop("sinks", ())],
        **options,
    ).run()
    return run, keep


class Hasty(Clock):
    """A clock that lies: what was decided takes effect when the answer comes."""

    def launch(self, work, *, due, name=""):
        happens = self.signal()
        task = self._task(work)
        task.add_done_callback(lambda done: happens.succeed(done.result()))
        return happens

    async def run(self, until=None):
        while True:
            await super().run(until)
            if not self.open or self._stopped:
                return
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)


async def hashes(small, clock, n, **options):
    found = set()
    for order in range(n):
        # Answers within no time, or over times as long as the whole run.
        compute = small.Compute(order=order, longest=(0.0, 0.002, 0.02)[order % 3])
        run, log = await live(small, compute, clock=clock(), **options)
        assert run.log_hash == account_of(log).log_hash
        found.add(run.log_hash)
    return found


@pytest.mark.slow
async def test_the_same_history_for_every_order_in_which_answers_come(small):
    assert len(await hashes(small, Clock, 12)) == 1


async def test_a_clock_that_applies_answers_as_they_come_is_found_out(small):
    assert len(await hashes(small, Hasty, 4)) > 1


async def test_how_an_illness_goes_on_is_asked_for_those_alone_who_are_followed_up(small):
    asked = []

    async def forecast(case, number, treatment):
        asked.append((case.id, number, treatment.treated))
        await asyncio.sleep(0)
        return Refused("no")

    for options in ({}, {"visits": 20}):
        asked.clear()
        _, log = await live(small, small.Compute(), forecast=forecast, **options)
        failed = sum(isinstance(happening.what, FollowUpFailed) for happening in log)
        assert len(asked) == failed > 0, options


async def test_another_seed_is_another_history(small):
    one, _ = await live(small, small.Compute(), seed=3)
    other, _ = await live(small, small.Compute(), seed=4)
    assert one.log_hash != other.log_hash


async def test_lookahead_changes_when_episodes_are_launched_and_nothing_else(small):
    found, ahead = set(), {}
    for minutes in (0, 60, 720, 5000):
        clock, launched = Clock(), []
        launch = clock.launch

        def watched(work, *, due, name="", launch=launch, clock=clock, launched=launched):
            launched.append(due - clock.now)
            return launch(work, due=due, name=name)

        clock.launch = watched
        run, _ = await live(small, small.Compute(order=minutes), lookahead=minutes, clock=clock)
        found.add(run.log_hash)
        ahead[minutes] = max(launched)
        assert max(launched) <= minutes * 60
    assert len(found) == 1
    assert ahead[0] == 0
    assert ahead[720] == 720 * 60


@pytest.mark.parametrize("visits", [1, 17, 60])
async def test_after_so_many_visits_nobody_sets_out_and_nothing_is_computed_in_vain(small, visits):
    found = set()
    for minutes in (0, 720):
        compute = small.Compute()
        run, log = await live(small, compute, days=60, visits=visits, lookahead=minutes)
        found.add(run.log_hash)
        registered = {(h.who, h.what.visit) for h in log if isinstance(h.what, Registered)}
        assert len(registered) <= visits
        first = (
            run.summary["arrived"] - run.summary["left"].get("closed", 0) - run.summary["left"].get("not admitted", 0)
        )
        assert first <= visits <= run.summary["arrived"]
        assert run.summary["inside"] == 0
        assert visits <= compute.calls <= visits + 3
        assert run.days < 60
    assert len(found) == 1


async def test_what_computing_raises_ends_the_run(small):
    class Broke(Exception):
        pass

    async def compute(request):
        raise Broke("no money left")

    with pytest.raises(Broke, match="no money left"):
        await live(small, compute)


SERVED = Triaged | Registered | Consulted | ExaminationDone | Diagnosed | Prescribed | Dispensed
ENDS = WentHome | LeftUnseen | VisitFailed


def check_residents(log, home="homes", *, beds=None):
    """Everybody is in one place, is served where it is, by whom it was called, and every visit has one end.

    No area has more patients in its beds than `beds` says, who lies in one is there, and nothing happens to the dead.
    """
    lies, dead = {}, set()
    at, ill, inside, held, seen, ended = {}, {}, set(), {}, {}, 0
    at_work, last, alone, left_for, gone = set(), (-1, -1), {}, {}, {}

    def let_go(who):
        staff = held.pop(who, None)
        if alone.get(staff) == who:
            del alone[staff]

    for h in log:
        assert (h.seq, h.t) > last and h.seq == last[0] + 1 and h.t >= last[1]
        if h.t > last[1]:
            # Who has gone home leaves nobody who is being served.
            assert not gone.keys() & set(held.values())
            gone = {}
        last = (h.seq, h.t)
        who, what = h.who, h.what
        place, since = at.get(who, (home, 0))
        nobody = isinstance(what, ExaminationDone) and not what.staff  # a result that nobody waits for
        if not nobody and not isinstance(what, ShiftBegan | ShiftEnded | GotWorse | TriagedAgain):
            # Whoever is on a way can do nothing before its end, but get worse there, which is seen at once.
            assert h.t >= since, h
            assert who not in dead
        match what:
            case ShiftBegan():
                assert who not in at_work
                at_work.add(who)
            case ShiftEnded():
                at_work.remove(who)
                gone[who] = h.t
            case FellIll():
                assert who not in ill and place == home
                ill[who] = "at home"
            case Walked(path=path, times=times):
                assert path[0] == place and list(times) == sorted(times) and times[0] == h.t
                if who not in inside and place == home:
                    assert who in ill
                    inside.add(who)
                    seen[who] = []
                at[who] = (path[-1], times[-1])
                assert who not in lies or path[-1] in beds
            case Admitted(area=area) | Moved(area=area):
                assert place == area and who in inside and (who in lies) == isinstance(what, Moved)
                lies[who] = area
                assert list(lies.values()).count(area) <= beds[area]
                seen[who].append(what)
            case Operated(area=area):
                assert lies[who] == area == "theatre"
            case Dispensed(staff=""):
                assert who in inside and isinstance(seen[who][-1], Prescribed)  # to the bed that it will lie in
                held.pop(who)
            case Worsened():
                assert who in inside and who not in held
            case Discharged(area=area):
                assert lies.pop(who) == area
            case Died(area=""):
                assert who not in lies
                dead.add(who)
                ended += who in inside
                inside.discard(who)
            case Died(area=area):
                assert lies.pop(who) == area
                dead.add(who)
                inside.remove(who)
                ended += 1
            case Queued():
                assert who in inside and who not in held
                seen[who].append(what)
                if what.queue in (beds or {}):
                    assert lies.get(who) != what.queue
            case CalledIn():
                assert isinstance(seen[who][-1], Queued) and seen[who][-1].queue == what.queue
                assert what.staff == "" or what.staff in at_work
                if what.queue in ("triage", "registration", "laboratory", "scanner", "pharmacy"):
                    assert place == what.area == what.queue
                held[who] = what.staff
                seen[who].append(what)
                if what.staff.startswith("d"):
                    # A doctor is with one at a time.
                    assert alone.get(what.staff) is None, h
                    alone[what.staff] = who
            case Interrupted(staff=staff):
                assert alone.pop(staff) == who and held.pop(who) == staff
                left_for[who] = staff
            case Resumed(staff=staff):
                assert alone.get(staff) is None and left_for.pop(who) == staff
                held[who] = staff
                alone[staff] = who
            case ExaminationDone(examination="blood"):
                assert any(isinstance(w, Sampled) and what.examination in w.examinations for w in seen[who])
            case Sampled():
                assert place == what.area and held[who] == what.staff
                seen[who].append(what)
            case LeftUnseen() | VisitFailed():
                let_go(who)
                inside.remove(who)
                ended += 1
            case WentHome():
                assert place == home
                assert any(isinstance(w, Prescribed) for w in seen[who])
                inside.remove(who)
                ended += 1
            case FollowedUp(outcome=outcome):
                assert who in ill and who not in inside and place == home
                if outcome is FollowUpOutcome.RECOVERED:
                    del ill[who]
            case _ if isinstance(what, SERVED):
                staff = next((getattr(what, f) for f in ("staff", "nurse") if hasattr(what, f)), held.get(who))
                assert who in inside and held[who] == staff
                before = {Diagnosed: Consulted, Consulted: Registered, Registered: Triaged, Prescribed: Diagnosed}
                needed = before.get(type(what))
                assert needed is None or any(isinstance(w, needed) for w in seen[who])
                seen[who].append(what)
        if isinstance(what, Prescribed | Referred) and alone.get(what.staff) == who:
            del alone[what.staff]
        to_the_doctor = isinstance(what, Walked) and bool(seen[who]) and isinstance(seen[who][-1], CalledIn)
        if isinstance(what, Walked | Queued) and not to_the_doctor:
            let_go(who)
    assert inside == set(lies) or all(isinstance(seen[who][-1], Queued) for who in inside - set(lies))
    assert not left_for
    return ended + len(inside)


def check_order(log):
    """Emergencies are called first, then who has been with a doctor, then acuity, then arrival."""
    order, waiting, severity, came_back = list(Acuity), {}, {}, set()

    def rank(queued):
        return 0 if queued.acuity is Acuity.EMERGENCY else 1 if queued.again else 2

    for h in log:
        match h.what:
            case FellIll():
                severity[h.who] = h.what.severity
            case Queued(queue="respiratory" | "dermatology" as queue) as q:
                (came_back.add if q.again else came_back.discard)(h.who)
                waiting[h.who] = (queue, (rank(q), order.index(q.acuity), h.seq), h.t)
            case CalledIn(queue="respiratory" | "dermatology"):
                queue, mine, _ = waiting.pop(h.who)
                for other, (where, other_rank, since) in waiting.items():
                    # Somebody who comes back waits for its own doctor.
                    if where == queue and since < h.t and other_rank < mine:
                        assert other in came_back, (h, other)
            case LeftUnseen():
                waiting.pop(h.who, None)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    residents=st.integers(1, 60),
    per_day=st.floats(0.05, 0.9),
    doctors=st.integers(1, 3),
    rooms=st.integers(1, 3),
    failing=st.sampled_from([0.0, 0.3, 1.0]),
    days=st.integers(1, 5),
    worse=st.floats(0.0, 0.5),
)
async def test_nobody_is_lost(small, seed, residents, per_day, doctors, rooms, failing, days, worse):
    hospital = small.hospital(doctors=("respiratory",) * doctors + ("dermatology",), rooms=rooms)
    town = small.Town(seed=seed, residents=residents, per_day=per_day, worse=worse)
    run, log = await live(small, small.Compute(seed=seed, failing=failing), days=days, town=town, hospital=hospital)
    s = run.summary
    assert check_residents(log) == s["arrived"] == s["seen"] + sum(s["left"].values()) + sum(s["failed"].values())
    check_order(log)
    fell_ill = {h.who for h in log if isinstance(h.what, FellIll)}
    assert s["fell_ill"] - s["follow_ups"]["recovered"] == run.still_ill <= len(fell_ill)
    assert s == account_of(log).summary()
    assert (
        s["over_triage"]["right"] + s["under_triage"]["right"] + s["acuity"]["right"]
        == s["acuity"]["n"]
        == s["triage"]["n"]
    )
    assert all(0 <= work["busy"] <= work["at_work"] for work in s["work"].values())
    if failing == 1.0:
        assert s["seen"] == 0 and s["diagnosis"]["n"] == 0


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    beds=st.dictionaries(
        st.sampled_from(["observation", "ward", "intensive care", "theatre"]), st.integers(1, 3), min_size=1
    ),
    per_day=st.floats(0.2, 0.9),
    days=st.integers(1, 5),
    worse=st.floats(0.0, 0.9),
    visits=st.sampled_from([None, 20]),
)
async def test_beds_are_never_overfilled_and_nobody_in_them_is_lost(small, seed, beds, per_day, days, worse, visits):
    town = small.Town(seed=seed, residents=40, per_day=per_day, worse=worse)
    run, log = await live(
        small, small.Compute(seed=seed), days=days, town=town, hospital=small.hospital(beds=beds), visits=visits
    )
    s = run.summary
    assert check_residents(log, beds=beds) == s["arrived"]
    assert (
        s["arrived"] == s["seen"] + sum(s["left"].values()) + sum(s["failed"].values()) + s["died_inside"] + s["inside"]
    )
    assert s["fell_ill"] - s["follow_ups"]["recovered"] - s["died"] == run.still_ill
    assert s == account_of(log).summary()
    for area, occupied in s["beds"].items():
        assert 0 <= occupied["mean"] <= occupied["most"] <= beds[area]
    assert s["died_inside"] <= s["died"] == sum(s["died_by_cause"].values()) == sum(s["died_by_disease"].values())
    kinds = {kind for kind in s["admitted"] if s["admitted"][kind]}
    assert kinds <= set(beds)


@pytest.mark.slow
async def test_with_wards_too_the_order_of_answers_and_lookahead_are_nothing_to_the_history(small):
    found = set()
    beds = {"observation": 1, "ward": 2, "intensive care": 1, "theatre": 1}
    for minutes in (0, 720):
        for order in range(3):
            compute = small.Compute(order=order, longest=(0.0, 0.002, 0.02)[order])
            run, _ = await live(small, compute, lookahead=minutes, hospital=small.hospital(beds=beds))
            found.add(run.log_hash)
    assert len(found) == 1
    assert run.summary["admitted"] and run.summary["died"] and run.summary["operated"]


async def test_who_cannot_wait_comes_at_night_where_there_is_a_door_for_it(small):
    at = [(23 * HOUR, "severe"), (23 * HOUR, "mild"), (DAY + 2 * HOUR, "severe")]
    arrived = {}
    for door in (None, dict.fromkeys(range(7), (0, DAY))):
        hospital = small.hospital(shift=(0, DAY), hours=(8 * HOUR, 16 * HOUR), emergencies=door)
        _, log = await live(small, small.Compute(), town=small.Town(at=at, worse=0.0, delay=600), hospital=hospital)
        came = [(h.who, h.t) for h in log if isinstance(h.what, Queued) and h.what.queue == "triage"]
        arrived[door is not None] = dict(reversed(came))
    assert all(t >= DAY + 8 * HOUR for t in arrived[False].values())
    assert arrived[True]["r1"] >= DAY + 8 * HOUR  # who can wait does
    assert arrived[True]["r0"] < DAY and arrived[True]["r2"] < DAY + 3 * HOUR


async def test_everybody_is_accounted_for_where_episodes_fail(small):
    run, log = await live(small, small.Compute(failing=0.3), days=8, town=small.Town(residents=40, per_day=0.5))
    s = run.summary
    failed = [h for h in log if isinstance(h.what, VisitFailed)]
    assert s["failed"] == {"Refused": len(failed)} and len(failed) > 10
    assert s["arrived"] == s["seen"] + len(failed) + sum(s["left"].values())
    # Whoever failed is followed up like everybody else.
    later = {h.who for h in log if isinstance(h.what, FollowedUp)}
    assert {h.who for h in failed if h.t < 3 * DAY} <= later


async def test_who_gets_worse_comes_back_on_the_next_day(small):
    town = small.Town(at=[(6 * HOUR, "mild")], worse=1.0)
    run, log = await live(small, small.Compute(), days=30, town=town, hospital=small.hospital(most_visits=3))
    told = [h.t // DAY for h in log if isinstance(h.what, FollowedUp) and h.what.outcome is FollowUpOutcome.WORSE]
    came = [h.t // DAY for h in log if isinstance(h.what, Queued) and h.what.queue == "triage"]
    assert came == [0, told[0] + 1, told[1] + 1]
    assert run.summary["arrived"] == 3 and len(told) > 3
    right = [list(Acuity).index(h.what.right_acuity) for h in log if isinstance(h.what, Triaged)]
    assert right == sorted(right, reverse=True)


async def test_the_log_comes_back_from_json_with_the_same_hash(small):
    run, log = await live(small, small.Compute())
    back = msgspec.json.decode(msgspec.json.encode(list(log)), type=list[Happening])
    assert back == log and account_of(back).log_hash == run.log_hash
    assert account_of(back[:-1]).log_hash != run.log_hash


def erlang_c_wait(arrivals, service, c):
    load = arrivals / service
    last = load**c / math.factorial(c) * c / (c - load)
    return last / (sum(load**k / math.factorial(k) for k in range(c)) + last) / (c * service - arrivals)


@pytest.mark.slow
async def test_the_wait_for_a_doctor_is_that_of_erlang(small):
    """A department that never closes, Poisson arrivals, consultations of exponential length: an M/M/3 queue."""
    c, rho, service, days = 3, 0.6, 900, 8
    durations = Durations(
        triage=small.lasting(1),
        registration=small.lasting(1),
        turn=small.lasting(1),
        examination={},
        dispensing=small.lasting(1),
    )
    hospital = small.hospital(doctors=("respiratory",) * c, hours=(0, DAY), way=0, durations=durations)

    def length(number, seed):
        return round(np.random.default_rng([number, seed]).exponential(service))

    def in_turn(at, seed):
        """Who came at these times waits so long for the first doctor who is free (Kiefer and Wolfowitz 1955)."""
        free = [0] * c
        for number, (t, _) in enumerate(at):
            called = max(t, heapq.heappop(free))
            heapq.heappush(free, called + length(number, seed))
            if DAY / 2 < called < days * DAY:
                yield called - t

    async def compute(request):
        seen = (ConsultationHeld(department="respiratory", turns=length(int(request.resident[1:]), seed)),)
        return Episode(key=request.key, department="respiratory", seen=seen)

    means = []
    for seed in range(2):
        gaps = np.random.default_rng(seed).exponential(service / (c * rho), size=int(days * DAY * c * rho / service))
        at = [(int(t), "mild") for t in np.cumsum(gaps) if t < days * DAY]
        town = small.Town(at=at, worse=0.0, delay=0)
        _, log = await live(small, compute, days=days, seed=seed, town=town, hospital=hospital)
        waits = [
            h.what.waited
            for h in log
            if isinstance(h.what, CalledIn) and h.what.queue == "respiratory" and h.t > DAY / 2
        ]
        assert len(waits) > 900
        means.append(np.mean(waits))
        assert means[-1] == pytest.approx(np.mean(list(in_turn(at, seed))), rel=0.02)
    # Two runs of a week are a tenth off, more or less; what theory says to the point, floor/test_theory.py asks.
    assert np.mean(means) == pytest.approx(erlang_c_wait(c * rho / service, 1 / service, c), rel=0.25)


@pytest.mark.slow
async def test_a_visit_takes_as_many_operations_however_many_visits_there_are(small, monkeypatch):
    """`python -m bench hospital` measures the time."""
    operations = Counter()

    def count(owner, name):
        done = getattr(owner, name)

        def counted(*args, **options):
            operations[name] += 1
            return done(*args, **options)

        monkeypatch.setattr(owner, name, counted)

    count(Clock, "plan")  # every event once
    count(Ticket, "__lt__")  # what queues compare
    count(Floor, "_first")
    count(Floor, "_call")
    count(Floor, "_hopeful")
    durations = Durations(
        triage=Duration(median=60),
        registration=Duration(median=30),
        turn=Duration(median=10),
        examination={},
        dispensing=Duration(median=10),
    )
    hospital = small.hospital(doctors=("respiratory",) * 4 + ("dermatology",) * 3, durations=durations)

    async def cost(visits):
        operations.clear()
        run = await Simulation(
            hospital,
            small.Town(residents=3000, per_day=0.12),
            small.Compute(),
            days=10_000,
            visits=visits,
            seed=5,
            kinds=small.KINDS,
        ).run()
        assert run.summary["arrived"] >= visits
        return {name: n / run.summary["arrived"] for name, n in operations.items()}

    few, many = await cost(200), await cost(800)
    assert few.keys() == many.keys()
    assert all(many[name] < 1.2 * few[name] for name in few), (few, many)
