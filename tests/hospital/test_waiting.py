"""Getting worse while waiting: when, that it is noticed at the scale's intervals, moves up, and is computed anew."""

from collections import defaultdict

import msgspec
import pytest

from polyclinic.hospital.floor.clock import Clock
from polyclinic.hospital.plan.plan import Durations
from polyclinic.hospital.record.account import account_of
from polyclinic.hospital.record.happenings import (
    Acuity,
    CalledIn,
    Consulted,
    FellIll,
    GotWorse,
    Queued,
    Triaged,
    TriagedAgain,
    Walked,
)
from polyclinic.hospital.simulation import Simulation
from polyclinic.hospital.town.illness import Worsening
from polyclinic.knowledge.acuity import TARGETS


def crowded(small):
    """One slow doctor."""
    lasting = small.lasting
    durations = Durations(
        triage=lasting(120, 0.4),
        registration=lasting(60, 0.4),
        turn=lasting(400, 0.4),
        examination={"laboratory": lasting(900, 0.4), "imaging": lasting(600, 0.4), "physical": lasting(120)},
        dispensing=lasting(60, 0.3),
        patience=lasting(36000),
    )
    return small.hospital(doctors=("respiratory", "dermatology"), durations=durations)


async def live(small, compute, *, seed=3, look_again=True, **options):
    keep = small.Keep()
    run = await Simulation(
        crowded(small),
        small.Town(seed=seed, **{"residents": 90, "worse_waiting": 0.8, **options}),
        compute,
        days=4,
        seed=seed,
        kinds=small.KINDS,
        look_again=small.look_again if look_again else None,
        sinks=[keep],
        clock=Clock(),
    ).run()
    return run, keep


def visits(log):
    """What happened, a list a visit; a visit begins where somebody walks in from home."""
    found, under_way = [], {}
    for happening in log:
        if isinstance(happening.what, Walked) and happening.what.path[0] == "homes":
            under_way[happening.who] = []
            found.append(under_way[happening.who])
        under_way.get(happening.who, []).append(happening)
    return found


async def test_the_same_history_for_every_order_in_which_answers_come(small):
    found = set()
    for order in range(3):
        run, log = await live(small, small.Compute(order=order, longest=(0.0, 0.001, 0.004)[order]))
        assert run.log_hash == account_of(log).log_hash
        found.add(run.log_hash)
    assert len(found) == 1


async def test_who_waits_gets_worse_and_is_seen_as_it_is_then(small):
    requests, decided = {}, {}

    class Noting(small.Compute):
        async def __call__(self, request):
            requests[request.case.id] = request
            decided[request.key] = await super().__call__(request)
            if decided[request.key].worse is not None:
                decided[decided[request.key].worse.key] = decided[request.key].worse
            return decided[request.key]

    _, log = await live(small, Noting())
    seen_worse = launched_late = 0
    for visit in visits(log):
        whats = [h.what for h in visit]
        at = next((n for n, what in enumerate(whats) if isinstance(what, GotWorse)), None)
        if at is None:
            continue
        before = [w for w in whats[:at] if isinstance(w, CalledIn) and w.queue == "respiratory"]
        assert not before, "somebody with a doctor got worse"
        consulted = next((w for w in whats[at:] if isinstance(w, Consulted)), None)
        if consulted is None:
            continue
        worse = [e for key, e in decided.items() if "+" in key and key.startswith(visit[0].who + "-")]
        assert consulted.turns in {e.seen[0].turns for e in worse if e.seen}
        seen_worse += 1
        launched_late += any("+" in case for case in requests)
    assert seen_worse >= 5 and launched_late


async def test_it_is_noticed_at_the_next_look_and_moves_up(small):
    _, log = await live(small, small.Compute())
    noticed = 0
    for visit in visits(log):
        again = next((h for h in visit if isinstance(h.what, TriagedAgain)), None)
        if again is None:
            continue
        noticed += 1
        triaged = next(h for h in visit if isinstance(h.what, Triaged))
        worse = next(h for h in visit if isinstance(h.what, GotWorse))
        level = triaged.what.level
        assert again.what.level == max(1, level - 2)
        if again.what.level == 1:
            assert again.t == worse.t
        else:
            assert (again.t - triaged.t) % (TARGETS[level].minutes * 60) == 0
            assert 0 <= again.t - worse.t < TARGETS[level].minutes * 60
    assert noticed >= 5


async def test_who_has_moved_up_is_called_before_those_who_came_earlier(small):
    _, log = await live(small, small.Compute())
    waiting, overtook = {}, 0
    for h in log:
        match h.what:
            case Queued(queue="respiratory", again=False):
                waiting[h.who] = [list(Acuity).index(h.what.acuity), h.seq]
            case TriagedAgain() if h.who in waiting:
                waiting[h.who][0] = list(Acuity).index(h.what.acuity)
            case CalledIn(queue="respiratory") if h.who in waiting:
                called = waiting.pop(h.who)
                assert all(called <= other for other in waiting.values()), h
                overtook += any(called[1] > other[1] for other in waiting.values())
            case _:
                if h.who in waiting and isinstance(h.what, Walked):
                    waiting.pop(h.who)
    assert overtook > 3


async def test_nobody_gets_worse_where_nobody_looks_and_illness_begins_alike(small):
    with_it, with_log = await live(small, small.Compute())
    without, log = await live(small, small.Compute(), look_again=False)
    assert not any(isinstance(h.what, GotWorse | TriagedAgain) for h in log)
    assert with_it.log_hash != without.log_hash
    onsets = [[(h.t, h.who, h.what) for h in one if isinstance(h.what, FellIll)] for one in (with_log, log)]
    assert onsets[0][:20] == onsets[1][:20]


async def test_the_worse_case_is_what_comes_back(small):
    _, log = await live(small, small.Compute(), worse=1.0)
    cases = defaultdict(list)
    for h in log:
        if isinstance(h.what, GotWorse):
            cases[h.who].append(h.what.severity)
    assert any(severities for severities in cases.values())
    assert all(severity in ("moderate", "severe") for severities in cases.values() for severity in severities)


@pytest.mark.parametrize("kind", [GotWorse, TriagedAgain])
def test_what_is_told_of_it_is_written_and_read(kind):
    fields = {"severity": "severe"} if kind is GotWorse else {"level": 2, "acuity": Acuity.EMERGENCY}
    told = kind(**fields)
    assert msgspec.json.decode(msgspec.json.encode(told), type=kind) == told


async def test_who_gets_worse_in_the_queue_for_the_nurse_is_the_next_there_and_was_foreseen(small):
    came, keep, asked = 8 * 3600, small.Keep(), []

    async def compute(request):
        asked.append((request.case.id, request.received))
        return await small.Compute()(request)

    town = small.Town(at=[(came, "mild")] * 18, worse=0.0, delay=0)
    worse = msgspec.structs.replace

    def worsening(onset, was, visit):
        case = town.worsened(onset, was)
        return Worsening(300, worse(case, truth=worse(case.truth, acuity=1))) if onset.resident == 17 else None

    town.worsening = worsening
    hospital = small.hospital(durations=worse(crowded(small).durations, triage=small.lasting(600)))
    options = {"days": 2, "seed": 1, "kinds": small.KINDS, "look_again": small.look_again, "sinks": [keep]}
    await Simulation(hospital, town, compute, **options).run()
    (at,) = [h.t for h in keep if isinstance(h.what, GotWorse)]
    called = [h for h in keep if isinstance(h.what, CalledIn) and h.what.queue == "triage"]
    after = [h.who for h in called if h.t > at]
    assert after[0] == "r17" and len(after) > 3, after
    assert [received for case, received in asked if case.endswith("+")][:1] == [None]
    assert sum(case.endswith("+") for case, _ in asked) == 1, asked
