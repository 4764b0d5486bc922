"""One visit, step by step: where a patient goes, who serves it, and the ways in which a visit can end."""

import pytest
from msgspec.structs import replace

from polyclinic.hospital.floor.clock import Clock
from polyclinic.hospital.plan.plan import Duration, Durations
from polyclinic.hospital.plan.ways import Ways
from polyclinic.hospital.record.episodes import ConsultationHeld, Episode
from polyclinic.hospital.record.happenings import (
    ActivityBegan,
    Acuity,
    CalledIn,
    Consulted,
    Diagnosed,
    Dispensed,
    ExaminationDone,
    LeftUnseen,
    Prescribed,
    Queued,
    Referred,
    Registered,
    Sampled,
    ShiftBegan,
    ShiftEnded,
    Triaged,
    VisitFailed,
    Walked,
    WentHome,
)
from polyclinic.hospital.simulation import Simulation

HOUR = 3600
EIGHT = 8 * HOUR


def exact(patience=None):
    """Durations without chance."""
    return Durations(
        triage=Duration(median=120),
        registration=Duration(median=60),
        turn=Duration(median=60),
        examination={kind: Duration(median=600) for kind in ("laboratory", "imaging", "physical", "microbiology")},
        dispensing=Duration(median=30),
        patience=None if patience is None else Duration(median=patience),
    )


def episode(*seen, acuity=Acuity.ROUTINE, department="respiratory", **more):
    return Episode(key="k", department=department, acuity=acuity, seen=seen, **more)


def seen(department="respiratory", **more):
    return ConsultationHeld(department=department, **{"turns": 5, "diagnosis": "illness", **more})


TREATED = {"plan": "mild", "treatment": ("rest",), "right_diagnosis": True, "right_treatment": True}


async def live(small, episodes, *, at=None, days=5, patience=None, level=None, **options):
    """Runs a hospital in which the residents fall ill at given times and get these episodes; returns the log."""
    at = at or [(6 * HOUR, "mild")] * len(episodes)
    keep = small.Keep()

    async def compute(request):
        return episodes[int(request.resident[1:])]

    town = small.Town(at=at, worse=0.0, delay=2 * HOUR)
    if level is not None:
        drawn, town.case_for = town.case_for, lambda onset: of_level(drawn(onset), level)
    run = await Simulation(
        small.hospital(durations=exact(patience), **options),
        town,
        compute,
        days=days,
        seed=1,
        kinds={**small.KINDS, "culture": "microbiology"},
        sinks=[keep],
        at_the_door=lambda case: Acuity.EMERGENCY if case.truth.acuity == 1 else None,
    ).run()
    return keep, run


def of_level(case, level):
    return replace(case, truth=replace(case.truth, acuity=level))


def of(log, who, *kinds):
    return [(h.t, h.what) for h in log if h.who == who and (not kinds or isinstance(h.what, kinds))]


async def test_a_visit_step_by_step(small):
    came = episode(
        seen(examinations=("touch", "blood", "scan")),
        **TREATED,
        dispensed=("drug",),
        withheld=("other: allergy",),
        right_examination=True,
    )
    log, run = await live(small, [came], at=[(6 * HOUR, "moderate")])
    story = of(log, "r0")
    names = [type(what).__name__ for _, what in story]
    assert names == [
        *("FellIll", "Walked", "Queued", "CalledIn", "Triaged"),
        *("Walked", "Queued", "CalledIn", "Registered"),
        *("Walked", "Queued", "CalledIn", "Walked", "ActivityBegan", "Consulted"),
        *("ActivityBegan", "ExaminationDone"),  # the doctor's own hands
        *("Walked", "Queued", "CalledIn", "ActivityBegan", "Sampled"),  # the laboratory
        *("Walked", "Queued", "CalledIn", "ActivityBegan", "ExaminationDone"),  # the scanner
        *("Walked", "ExaminationDone"),  # the blood was as quick
        *("Queued", "CalledIn", "Walked", "ActivityBegan", "Diagnosed", "Prescribed"),
        *("Walked", "Queued", "CalledIn", "Dispensed", "Walked", "WentHome"),
        *(name for name in names if name == "FollowedUp"),
    ]
    times = {type(what): t for t, what in story}
    assert times[Triaged] == EIGHT + 20 + 120
    assert times[Registered] == times[Triaged] + 10 + 60
    assert times[Consulted] == times[Registered] + 10 + 10 + 5 * 60
    # 10 minutes of the doctor's, 20 s to the laboratory, 3 minutes, 10 s, 10 minutes, 20 s to the hall, 10 s, a turn
    assert times[Prescribed] == times[Diagnosed] == times[Consulted] + 600 + 20 + 180 + 10 + 600 + 20 + 10 + 60
    assert times[Dispensed] == times[Prescribed] + 20 + 30
    triaged = next(what for _, what in story if isinstance(what, Triaged))
    assert (triaged.acuity, triaged.right_acuity) == (Acuity.ROUTINE, Acuity.URGENT)
    places = [(what.examination, what.area, what.staff) for _, what in of(log, "r0", ExaminationDone)]
    assert places == [("touch", "rooms", "d1"), ("scan", "scanner", ""), ("blood", "laboratory", "")]
    walked = of(log, "r0", Walked)[0][1]
    assert walked.path == ("homes", "entrance", "triage")
    assert walked.times == (EIGHT, EIGHT + 10, EIGHT + 20)
    assert run.summary["under_triage"]["right"] == run.summary["acuity"]["n"] == 1


async def test_results_go_back_to_the_same_doctor_before_new_patients(small):
    came = episode(seen(examinations=("scan",)), **TREATED)
    new = episode(seen(turns=60), acuity=Acuity.URGENT, **TREATED)
    # The second patient is with the one doctor while the first is examined, the third is waiting by then.
    at = [(6 * HOUR, "mild"), (6 * HOUR + 4 * 60, "severe"), (6 * HOUR + 5 * 60, "severe")]
    log, _ = await live(small, [came, new, new], at=at, doctors=("respiratory",))
    called = [(h.who, h.what.queue) for h in log if isinstance(h.what, CalledIn) and h.what.queue == "respiratory"]
    assert [who for who, _ in called] == ["r0", "r1", "r0", "r2"]


async def test_a_referral_leads_to_the_other_department_without_the_counter(small):
    came = episode(seen(refer_to="dermatology"), seen("dermatology", turns=2), **TREATED)
    log, run = await live(small, [came])
    story = [what for _, what in of(log, "r0", Referred, Registered, Consulted, Diagnosed, Queued)]
    queues = [what.queue for what in story if isinstance(what, Queued)]
    assert queues == ["triage", "registration", "respiratory", "dermatology"]
    assert [what.department for what in story if isinstance(what, Registered)] == ["respiratory", "dermatology"]
    assert [what.department for what in story if isinstance(what, Consulted)] == ["respiratory", "dermatology"]
    assert [what.staff for what in story if isinstance(what, Diagnosed)] == ["d3"]
    assert run.summary["referred"] == 1


@pytest.mark.parametrize(
    ("department", "consultations", "before"),
    [
        ("", (), CalledIn),
        ("respiratory", (), ActivityBegan),
        ("respiratory", (seen(),), Consulted),
        ("respiratory", (seen(refer_to="dermatology"),), ActivityBegan),
    ],
)
async def test_a_failed_visit_ends_where_it_failed(small, department, consultations, before):
    failed = episode(*consultations, department=department, failed="doctor", error="Refused", problem="no")
    log, run = await live(small, [failed])
    story = [what for _, what in of(log, "r0")]
    end = next(n for n, what in enumerate(story) if isinstance(what, VisitFailed))
    assert isinstance(story[end - 1], before)
    assert isinstance(story[end + 1], Walked)
    assert story[end + 1].path[-1] == "homes"
    assert not [what for what in story if isinstance(what, Diagnosed | Prescribed | WentHome)]
    assert run.summary["failed"] == {"Refused": 1}
    assert (run.summary["seen"], run.summary["left"], run.summary["diagnosis"]["n"]) == (0, {}, 0)
    # Nobody is left busy with the patient.
    assert {h.who for h in log if isinstance(h.what, ShiftEnded)} == {
        h.who for h in log if isinstance(h.what, ShiftBegan)
    }
    assert sum(work["busy"] for work in run.summary["work"].values()) < HOUR


async def test_who_was_judged_routine_loses_patience_and_others_do_not(small):
    long = episode(seen(turns=200), **TREATED)
    routine, urgent = episode(seen(), **TREATED), episode(seen(), acuity=Acuity.URGENT, **TREATED)
    at = [(6 * HOUR, "mild"), (6 * HOUR + 60, "mild"), (6 * HOUR + 120, "severe")]
    log, run = await live(small, [long, routine, urgent], at=at, patience=1800, doctors=("respiratory",))
    (left,) = of(log, "r1", LeftUnseen)
    assert left[1] == LeftUnseen(reason="waited too long", waited=1800)
    assert of(log, "r2", WentHome)
    assert run.summary["left"] == {"waited too long": 1}


async def test_who_is_turned_away_comes_once_more_when_the_doors_open(small):
    long, other = episode(seen(turns=600), **TREATED), episode(seen(), **TREATED)
    at = [(6 * HOUR, "mild"), (6 * HOUR + 60, "mild")]
    log, run = await live(small, [long, other], at=at, doctors=("respiratory",))
    story = of(log, "r1")
    (left,) = [t for t, what in story if isinstance(what, LeftUnseen)]
    assert left == 16 * HOUR
    home = next(t for t, what in story if isinstance(what, WentHome))
    assert 32 * HOUR < home < 40 * HOUR
    assert [what.visit for _, what in story if isinstance(what, Registered)] == [1, 1]
    assert run.summary["arrived"] == 3 == run.summary["seen"] + run.summary["left"]["closed"]


async def test_a_hospital_closed_on_the_day_is_visited_on_the_next_open_one(small):
    log, _ = await live(
        small, [episode(seen(), **TREATED)], at=[(5 * 24 * HOUR + 6 * HOUR, "mild")], days=9, weekdays=tuple(range(5))
    )
    arrived = of(log, "r0", Queued)[0][0]
    assert arrived // (24 * HOUR) == 7


async def test_a_patient_under_care_at_the_end_of_the_shift_is_seen_through(small):
    late = episode(seen(turns=20, examinations=("blood",)), **TREATED, dispensed=("drug",))
    log, run = await live(
        small, [late], at=[(15 * HOUR, "mild")], hours=(EIGHT, 18 * HOUR), shift=(EIGHT, 17 * HOUR + 900)
    )
    home = of(log, "r0", WentHome)[0][0]
    assert home > 17 * HOUR + 900
    assert run.summary["seen"] == 1
    ends = {h.who: h.t for h in log if isinstance(h.what, ShiftEnded) and h.t < 24 * HOUR}
    story = {type(what): t for t, what in of(log, "r0")}
    assert ends["n1"] == 17 * HOUR + 900  # nobody who is under care comes to triage
    assert ends["d2"] == ends["d3"] == ends["n1"]  # d1 looks after the patient
    assert ends["d1"] == story[Prescribed] > ends["n1"]
    assert ends["t1"] == ends["p1"] == story[Dispensed]
    assert run.summary["work"]["d1"]["at_work"] > run.summary["work"]["d2"]["at_work"]


def test_ways_are_the_shortest_and_lead_back(small):
    ways = Ways(small.hospital(way=7).areas)
    way = ways.find("scanner", "homes")
    assert way.path == ("scanner", "laboratory", "hall", "pharmacy", "entrance", "homes")
    assert way.reached == (0, 7, 14, 21, 28, 35)
    assert ways.find("hall", "hall").seconds == 0


async def test_an_episode_for_a_department_without_doctors_is_not_admitted(small):
    came = episode(seen("surgery"), department="respiratory", **TREATED)
    hospital = small.hospital(durations=exact())
    import msgspec

    hospital = msgspec.structs.replace(
        hospital, departments={**hospital.departments, "surgery": {"en": "s", "zh": "s"}}
    )
    keep = small.Keep()

    async def compute(request):
        return msgspec.structs.replace(came, department="surgery")

    async with Clock() as clock:
        await Simulation(
            hospital,
            small.Town(at=[(6 * HOUR, "mild")], worse=0.0),
            compute,
            days=4,
            seed=1,
            kinds=small.KINDS,
            sinks=[keep],
            clock=clock,
        ).run()
    assert [what.reason for _, what in of(keep, "r0", LeftUnseen)] == ["not admitted", "not admitted"]


async def test_a_patient_waits_for_the_doctor_who_was_to_see_it(small):
    """The first doctor is busy for an hour: the routine patient waits twenty minutes for it, the urgent one ten."""
    busy = episode(seen(turns=60, doctor="d1"), **TREATED)
    for acuity, waits in ((Acuity.ROUTINE, 1200), (Acuity.URGENT, 600), (Acuity.EMERGENCY, 0)):
        one, free = (episode(seen(doctor=doctor), acuity=acuity, **TREATED) for doctor in ("d1", "d2"))
        at = [(6 * HOUR, "mild"), (6 * HOUR + 300, "mild"), (6 * HOUR + 300, "mild")]
        log, run = await live(small, [busy, one, free], at=at, doctors=("respiratory", "respiratory", "respiratory"))
        assert run.summary["inside"] == 0
        assert run.summary["taken_over"] == (2 if acuity is Acuity.EMERGENCY else 1)
        called = [what for _, what in of(log, "r1", CalledIn) if what.queue == "respiratory"]
        assert called[0].instead_of == "d1"
        assert called[0].staff in ("d2", "d3")
        assert abs(called[0].waited - waits) < 30
        called = [what for _, what in of(log, "r2", CalledIn) if what.queue == "respiratory"]
        assert acuity is Acuity.EMERGENCY or (called[0].staff, called[0].instead_of) == ("d2", "")


async def test_who_is_of_level_1_is_with_a_doctor_at_once_whatever_the_nurse_thinks(small):
    came = episode(seen(), **TREATED, acuity=Acuity.ROUTINE)
    log, _ = await live(small, [came], level=1)
    arrived, called = of(log, "r0", Queued)[0][0], of(log, "r0", CalledIn)[1]
    assert called[1].staff == "d1"
    assert called[0] - arrived == 20  # the way, and nothing else
    assert [what.nurse for _, what in of(log, "r0", Triaged)] == [""]
    assert of(log, "r0", Queued)[1][1].acuity is Acuity.EMERGENCY
    log, _ = await live(small, [came], level=2)
    assert [what.nurse for _, what in of(log, "r0", Triaged)] == ["n1"]


async def test_an_emergency_is_treated_before_its_cultures_are_read(small):
    for acuity, before in ((Acuity.EMERGENCY, True), (Acuity.URGENT, False)):
        came = episode(seen(examinations=("culture",)), **TREATED, acuity=acuity, disposition="ward")
        log, _ = await live(small, [came], beds={"ward": 1})
        told, treated = of(log, "r0", ExaminationDone)[0][0], of(log, "r0", Prescribed)[0][0]
        assert (treated < told) == before, acuity


async def test_samples_of_who_is_of_level_1_are_taken_at_the_bedside_and_the_laboratory_takes_its_time(small):
    came = episode(seen(examinations=("blood",)), **TREATED)
    for level in (1, 3):
        log, _ = await live(small, [came], level=level)
        ((taken, sample),) = of(log, "r0", Sampled)
        ((told, result),) = of(log, "r0", ExaminationDone)
        assert (result.area, told - taken) == ("laboratory", 600)
        assert ((sample.area, sample.staff) == ("laboratory", "t1")) == (level == 3), sample
        assert any("laboratory" in what.path for _, what in of(log, "r0", Walked)) == (level == 3)
