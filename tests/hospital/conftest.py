"""A small hospital, a town that falls ill as it is told to, and episodes that come when they like."""

import asyncio
import random
from types import SimpleNamespace

import msgspec
import pytest

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.hospital.plan.plan import (
    Area,
    AreaKind,
    Duration,
    Durations,
    Hospital,
    Illness,
    Job,
    Member,
    Shift,
)
from polyclinic.hospital.record.episodes import AtDoor, ConsultationHeld, Episode, Received
from polyclinic.hospital.record.happenings import DAY, Acuity, FellIll, FollowUpOutcome, HarmCause
from polyclinic.hospital.town.illness import IllnessCourse, Onset, Worsening, next_severity
from polyclinic.seeds import derive

WEEK = tuple(range(7))
KINDS = {"blood": "laboratory", "scan": "imaging", "touch": "physical"}


def named(name):
    return {"en": name, "zh": name}


def lasting(seconds, spread=0.0):
    return Duration(median=seconds, spread=spread)


def area(id, kind, **more):
    return Area(id=id, name=named(id), kind=kind, **more)


def hospital(
    *,
    doctors=("respiratory", "respiratory", "dermatology"),
    hours=(8 * 3600, 16 * 3600),
    shift=None,
    weekdays=WEEK,
    rooms=3,
    way=10,
    durations=None,
    examinations=None,
    beds=None,
    emergencies=None,
    **illness,
):
    """One doctor for each of the departments named; everybody works the same shift. `beds`: by kind of area."""
    begin, end = shift or hours
    shifts = (Shift(days=weekdays, begin=begin, end=end),)
    departments = tuple(dict.fromkeys(doctors))
    areas = [
        area("homes", AreaKind.HOME, ways={"entrance": way}),
        area("entrance", AreaKind.ENTRANCE, ways={"triage": way}),
        area("triage", AreaKind.TRIAGE, capacity=9, ways={"registration": way}),
        area("registration", AreaKind.REGISTRATION, capacity=9, ways={"hall": way}),
        area("hall", AreaKind.WAITING, ways={"rooms": way, "laboratory": way, "pharmacy": way}),
        area(
            "rooms",
            AreaKind.CONSULTATION,
            capacity=rooms,
            departments=departments,
            examinations=("physical",),
        ),
        area("laboratory", AreaKind.EXAMINATION, capacity=2, examinations=("laboratory", "microbiology")),
        area("scanner", AreaKind.EXAMINATION, capacity=1, examinations=("imaging",), ways={"laboratory": way}),
        area("pharmacy", AreaKind.PHARMACY, ways={"entrance": way}),
    ]

    areas += [area(kind, AreaKind(kind), beds=n, ways={"rooms": way}) for kind, n in (beds or {}).items()]
    for one in areas:
        for other in areas:
            if one.id in other.ways:
                one.ways.setdefault(other.id, other.ways[one.id])

    def member(id, job, where, *, seen=()):
        return Member(id=id, name=named(id), job=job, area=where, departments=seen, shifts=shifts)

    staff = [member(f"d{n}", Job.DOCTOR, "rooms", seen=(d,)) for n, d in enumerate(doctors, 1)]
    staff += [member(f"n{n}", Job.NURSE, "triage") for n in range(1, 7)]
    staff += [member(f"c{n}", Job.CLERK, "registration") for n in range(1, 7)]
    staff += [member("t1", Job.TECHNICIAN, "laboratory"), member("p1", Job.PHARMACIST, "pharmacy")]
    return Hospital(
        name=named("small"),
        first_day="2026-01-05",
        open=dict.fromkeys(weekdays, hours),
        emergencies=emergencies or {},
        departments={d: named(d) for d in departments},
        areas={a.id: a for a in areas},
        staff={m.id: m for m in staff},
        durations=durations
        or Durations(
            triage=lasting(120, 0.4),
            registration=lasting(60, 0.4),
            turn=lasting(40, 0.4),
            examination={"laboratory": lasting(900, 0.4), "imaging": lasting(600, 0.4), "physical": lasting(120)},
            dispensing=lasting(60, 0.3),
            patience=lasting(3600, 0.5),
        ),
        illness=Illness(per_day=0.1, **{"follow_up_days": 2, "most_visits": 3, **illness}),
        examinations=examinations,
    )


def case(id, severity, department="respiratory"):
    return Case(
        id=id,
        record=Record(presentation=Presentation(complaint="Ill."), history=History(present="Ill.")),
        truth=Truth(diagnoses=(Diagnosis(name="illness"),), severity=severity),
        department=department,
    )


class Town:
    """Residents who fall ill at the times that they are told, or by chance."""

    def __init__(self, *, seed=0, residents=40, per_day=0.3, at=None, worse=0.3, delay=1800, worse_waiting=0.5):
        self.seed, self.residents, self.per_day, self.at = seed, residents, per_day, at
        self.worse, self.delay, self.worse_waiting = worse, delay, worse_waiting

    def onsets(self, day):
        if self.at is not None:
            ill = [n for n, (t, _) in enumerate(self.at) if t // DAY == day]
        else:
            rng = derive(self.seed, "onsets", day)
            ill = [n for n in range(self.residents) if rng.random() < self.per_day]
        return [Onset(resident=n, day=day, disease="illness", severity=self.severity(n, day)) for n in ill]

    def severity(self, n, day):
        return (
            self.at[n][1] if self.at is not None else derive(self.seed, n, day).choice(("mild", "moderate", "severe"))
        )

    def name(self, resident):
        return f"r{resident}"

    def department(self, onset):
        return "respiratory"

    def fell_ill(self, onset, case):
        return FellIll(case=case.id, disease=onset.disease, severity=onset.severity, department="respiratory")

    def times(self, onset):
        if self.at is not None:
            return self.at[onset.resident][0], self.delay
        rng = derive(self.seed, "times", onset.resident, onset.day)
        return onset.day * DAY + rng.randrange(5 * 3600, 9 * 3600), rng.randrange(6 * 3600)

    def at_once(self, onset):
        return onset.severity == "severe"

    def case_for(self, onset):
        return case(f"r{onset.resident}-d{onset.day}", onset.severity)

    def worsened(self, onset, was, days=0):
        return case(was.id + "+", next_severity(was.truth.severity))

    def nature(self, was, visit, treatment):
        return Lies(derive(self.seed, "lies", was.id, visit), worse=self.worse)

    def worsening(self, onset, was, visit):
        rng = derive(self.seed, "waits", onset.resident, onset.day, visit)
        after = rng.randrange(7200) if rng.random() < self.worse_waiting else None
        if after is None or was.truth.severity == "severe":
            return None
        return Worsening(after, self.worsened(onset, was))

    def course(self, was, visit, treatment):
        rng = derive(self.seed, "course", was.id, visit)
        days = rng.randint(1, 5)
        severity = was.truth.severity
        if rng.random() < (self.worse if treatment.right else 2 * self.worse):
            return IllnessCourse(
                outcome=FollowUpOutcome.WORSE, recovers_after_days=None, severity=next_severity(severity)
            )
        outcome = FollowUpOutcome.RECOVERED if days <= 2 else FollowUpOutcome.BETTER
        return IllnessCourse(outcome=outcome, recovers_after_days=days, severity=severity)


class Lies:
    """Somebody in a bed, to whom things happen by chance."""

    disease, since, severity, recognised = SimpleNamespace(id="illness"), 0, "mild", False

    def __init__(self, rng, *, worse):
        self.rng, self.worse, self.stage, self.left = rng, worse, 0, []
        self._draw()

    def _draw(self):
        self.stay = self.rng.choice([
            [("observation", 7200)],
            [("ward", 90000)],
            [("intensive care", 40000), ("ward", 20000)],
            [("theatre", 5000), ("ward", 30000)],
            [("theatre", 5000), ("intensive care", 9000), ("ward", 30000)],
        ])  # fmt: skip
        self.turn = self.rng.uniform(600, 90000) if self.rng.random() < self.worse and self.stage < 4 else None
        self.dies = self.rng.random() < 0.3

    def legs(self):
        return self.stay

    def gives(self, place):
        return 2

    def next_turn(self, gives):
        assert gives in (1, 2)
        return None if self.turn is None else (self.dies, max(0.0, self.turn))

    def spend(self, seconds, gives):
        if self.turn is not None:
            self.turn -= seconds
            assert self.turn > -2

    def cause_of(self, gives, *, death):
        return HarmCause.ILLNESS

    def worsen(self):
        self.stage += 1
        self.severity = next_severity(self.severity)
        self._draw()

    def at_home(self):
        return IllnessCourse(outcome=FollowUpOutcome.BETTER, recovers_after_days=4, severity=self.severity)


def decide(request, *, seed=0, failing=0.0):
    """An episode, drawn for its request alone."""
    rng = derive(seed, "episode", request.key)
    acuity = rng.choice(list(Acuity)) if request.received is None else request.received.acuity
    level = {Acuity.EMERGENCY: 2, Acuity.URGENT: 3, Acuity.ROUTINE: 4}[acuity]
    worse = None
    if request.worse is not None and rng.random() < 0.5:
        again = Received(department="respiratory", acuity=acuity, at_door=AtDoor(level=level))
        worse = decide(msgspec.structs.replace(request, case=request.worse, worse=None, received=again), seed=seed)
    if rng.random() < failing:
        where = rng.choice(["nurse", "doctor", "second doctor"])
        department = "" if where == "nurse" else "respiratory"
        first = ConsultationHeld(department="respiratory", turns=3, refer_to="dermatology")
        return Episode(
            key=request.key,
            department=department,
            acuity=acuity,
            seen=(first,) if where == "second doctor" else (),
            at_door=None if where == "nurse" else AtDoor(level=level),
            failed=where.split()[-1],
            error="Refused",
            problem="no",
        )
    referred = rng.random() < 0.2
    ordered = tuple(rng.sample(list(KINDS), rng.randint(0, 3)))
    seen = [
        ConsultationHeld(
            department="respiratory",
            turns=rng.randint(2, 9),
            examinations=ordered,
            diagnosis="illness",
            refer_to="dermatology" if referred else "",
        )
    ]
    if referred:
        seen.append(ConsultationHeld(department="dermatology", turns=4, diagnosis="illness"))
    return Episode(
        key=request.key,
        department="respiratory",
        acuity=acuity,
        at_door=AtDoor(level=level, vital_signs=()),
        worse=worse,
        seen=tuple(seen),
        plan=rng.choice(("mild", "moderate", "severe")),
        treatment=("rest",),
        dispensed=("drug",) if rng.random() < 0.7 else (),
        right_diagnosis=rng.random() < 0.7,
        right_treatment=rng.random() < 0.6,
        disposition=rng.choice(("home", "home", "observation", "ward", "intensive care", "operation")),
    )


class Compute:
    """Computes episodes that come after times drawn by `order`, which is no part of the history."""

    def __init__(self, *, seed=0, failing=0.0, order=None, longest=0.004):
        self.seed, self.failing, self.longest = seed, failing, longest
        self.order = None if order is None else random.Random(order)
        self.calls = 0

    async def __call__(self, request):
        self.calls += 1
        if self.order is not None:
            await asyncio.sleep(self.order.random() * self.longest)
        return decide(request, seed=self.seed, failing=self.failing)


def look_again(case, before):
    """Two levels up."""
    return AtDoor(level=max(1, before.level - 2))


class Keep(list):
    """A sink that keeps everything."""

    def add(self, happening, account):
        self.append(happening)


@pytest.fixture(scope="session")
def small():
    """What tests of the hospital build their worlds from."""
    return SimpleNamespace(
        hospital=hospital,
        Town=Town,
        Compute=Compute,
        Keep=Keep,
        KINDS=KINDS,
        lasting=lasting,
        case=case,
        decide=decide,
        look_again=look_again,
    )
