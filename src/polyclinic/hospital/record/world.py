"""The state of the hospital, made from happenings: who is where and does what, who waits, who is at work.

Only those who are ill or out of their homes are held, so that it grows with the hospital and not with the town.

    world = World()
    for happening in run.happenings():
        world.apply(happening)
    world.people["r00042"].doing(world.t)   # Doing.WAITING
    world.ill["r00042"].disease             # "influenza-a"
    world.queues["cardiology"]              # who waits there, in the order of calling
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from enum import StrEnum
from heapq import heappop, heappush
from typing import Any

import msgspec

from polyclinic.cases.truth import Severity
from polyclinic.hospital.record.happenings import (
    Activity,
    ActivityBegan,
    ActivityEnded,
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
    Prescribed,
    Queued,
    Referred,
    Registered,
    Resumed,
    Sampled,
    ShiftBegan,
    ShiftEnded,
    StaffWalked,
    Triaged,
    TriagedAgain,
    VisitFailed,
    Walked,
    WentHome,
    Worsened,
)


class Doing(StrEnum):
    """What somebody does who is not at home."""

    WALKING = "walking"
    WAITING = "waiting"
    CONSULTED = "in consultation"
    SERVED = "served"
    LYING = "in a bed"
    THERE = "there"


class Visitor(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A resident out of its home."""

    home: str = ""  # the area that it came from; "" where that is not known
    area: str = ""  # where it is, or was last
    path: tuple[str, ...] = ()  # the areas of its last walk
    times: tuple[int, ...] = ()  # when each is reached
    began: int = 0  # when that walk began
    queue: str = ""  # in which it waits; "" in none
    since: int = 0  # seconds since which it waits or is served
    staff: str = ""  # who serves it; "" for nobody, and for a counter without staff
    served: str = ""  # the queue that it was called from and is served for; "" for none
    department: str = ""  # where it was sent
    acuity: Acuity | None = None  # as the nurse judged it
    bed: str = ""  # the area of its bed; "" without one
    activity: Activity | None = None  # what is done with it right now, where that is one of these
    examination: str = ""  # which, where that is an examination

    def doing(self, t: int) -> Doing:
        """Returns what it does at a time from its last happening on."""
        if self.times and t < self.times[-1]:
            return Doing.WALKING
        if self.served:
            return Doing.CONSULTED if self.served == self.department else Doing.SERVED
        if self.bed:
            return Doing.LYING
        return Doing.WAITING if self.queue else Doing.THERE


class IllResident(msgspec.Struct, array_like=True):
    """Who is ill, wherever it is."""

    name: str  # the resident's
    disease: str  # by id
    severity: Severity  # how ill it is now
    home: tuple[int, ...]  # the place of its home on the map, in metres from the entrance
    since: int  # when it fell ill


class StaffWalk(msgspec.Struct, array_like=True):
    """A member of the staff on its way to where it works, or home."""

    path: tuple[str, ...]  # the areas
    times: tuple[int, ...]  # when each is reached
    began: int  # when it set out


class Duty(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A member of the staff at work: where it is, since when it works, and whom it serves."""

    area: str
    since: int
    serves: list[str] = []


class Counts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What has happened so far, counted."""

    fell_ill: int = 0
    came: int = 0
    triaged: int = 0
    referred: int = 0
    examined: int = 0
    diagnosed: int = 0
    diagnosed_right: int = 0
    went_home: int = 0
    left_unseen: int = 0
    failed: int = 0
    recovered: int = 0
    better: int = 0
    worse: int = 0
    follow_ups_failed: int = 0
    admitted: int = 0
    discharged: int = 0
    died: int = 0


_RANK: dict[Acuity | None, int] = {acuity: number for number, acuity in enumerate([*Acuity, None])}

Place = tuple[int, int, int, str]
"""A place in a queue: 0 of an emergency, 1 of who has been with a doctor on this visit, 2 of the others; rank of the
acuity, number of the happening, who.

Their order is that of calling, except that somebody may wait for one doctor alone."""


class World(msgspec.Struct, kw_only=True):
    """The hospital at one time."""

    t: int = 0  # seconds since midnight of the first day
    seq: int = -1  # of the last happening; -1 before the first
    people: dict[str, Visitor] = {}  # residents who are not at home, by id
    ill: dict[str, IllResident] = {}  # residents who are ill, by id; also those at home
    duty: dict[str, Duty] = {}  # staff at work, by id
    staff_walks: dict[str, StaffWalk] = {}  # staff who come or go, by id
    queues: dict[str, list[Place]] = {}  # by name, in the order in which they are called
    counts: Counts = msgspec.field(default_factory=Counts)  # what has happened so far
    homecoming: list[tuple[int, str]] = []  # who walks home, and staff that walks: when it arrives, and who; a heap

    def advance(self, t: int) -> None:
        """Goes on to a time at which nothing else happens: who has reached home by then is no longer held."""
        self.t = t
        while self.homecoming and self.homecoming[0][0] <= t:
            arrives, who = heappop(self.homecoming)
            walk = self.staff_walks.get(who)
            if walk is not None and walk.times[-1] == arrives:
                del self.staff_walks[who]
                continue
            person = self.people.get(who)
            if person is not None and person.times and person.times[-1] == arrives and person.path[-1] == person.home:
                self.leave(who)

    def leave(self, who: str) -> None:
        """Lets somebody be at home."""
        if who in self.people:
            self.end_wait(who)
            self.end_service(who)
            del self.people[who]

    def end_wait(self, who: str) -> None:
        """Takes somebody out of the queue in which it waits."""
        person = self.people[who]
        if person.queue:
            line = self.queues[person.queue]
            line[:] = [place for place in line if place[-1] != who]
            if not line:
                del self.queues[person.queue]
            person.queue = ""

    def end_service(self, who: str) -> None:
        """Lets whoever serves somebody be free again."""
        person = self.people[who]
        duty = self.duty.get(person.staff)
        if duty is not None and who in duty.serves:
            duty.serves.remove(who)
        person.staff = person.served = person.examination = ""
        person.activity = None

    def staff_with(self, who: str) -> str:
        """Returns who serves somebody; "" for nobody, and for a counter without staff."""
        person = self.people.get(who)
        return person.staff if person is not None else ""

    def encode(self) -> bytes:
        """Returns it as MessagePack."""
        return _encode(self)

    def apply(self, happening: Happening) -> None:
        """Takes the next happening of the log."""
        self.advance(happening.t)
        self.seq = happening.seq
        kind = type(happening.what)
        counted = _COUNTED.get(kind)
        if counted is not None:
            setattr(self.counts, counted, getattr(self.counts, counted) + 1)
        change = _CHANGES.get(kind)
        if change is not None:
            change(self, happening.who, happening.what)

    def _person(self, who: str) -> Visitor:
        person = self.people.get(who)
        if person is None:
            person = self.people[who] = Visitor()
        return person

    def _walk(self, who: str, what: Walked) -> None:
        if who not in self.people:
            self.counts.came += 1
            self.people[who] = Visitor(home=what.path[0])
        person = self.people[who]
        self.end_wait(who)
        if person.served and person.area != what.path[-1]:
            self.end_service(who)
        person.path, person.times, person.began, person.area = what.path, what.times, self.t, what.path[-1]
        if what.path[-1] == person.home:
            heappush(self.homecoming, (what.times[-1], who))

    def _queue(self, who: str, what: Queued) -> None:
        person = self._person(who)
        self.end_wait(who)
        self.end_service(who)
        person.queue, person.since = what.queue, self.t
        first = 0 if what.acuity is Acuity.EMERGENCY else 1 if what.again else 2
        insort(self.queues.setdefault(what.queue, []), (first, _RANK[what.acuity], self.seq, who))

    def _call(self, who: str, what: CalledIn) -> None:
        person = self._person(who)
        self.end_wait(who)
        self.end_service(who)
        person.staff, person.served, person.since, person.area = what.staff, what.queue, self.t, what.area
        if what.staff in self.duty:
            self.duty[what.staff].serves.append(who)
            self.duty[what.staff].area = what.area

    def _begin_activity(self, who: str, what: ActivityBegan) -> None:
        person = self._person(who)
        person.activity, person.examination = what.activity, what.examination

    def _end_activity(self, who: str, what: Consulted | ExaminationDone | Sampled | ActivityEnded) -> None:
        person = self._person(who)
        # A result that comes later ends nothing.
        if not isinstance(what, ExaminationDone) or what.examination == person.examination:
            person.activity, person.examination = None, ""

    def _interrupt(self, who: str, _: Interrupted) -> None:
        person = self._person(who)
        served = person.served
        self.end_service(who)
        person.served = served  # it stays in the room, and nobody is with it

    def _resume(self, who: str, what: Resumed) -> None:
        person = self._person(who)
        person.staff = what.staff
        if what.staff in self.duty:
            self.duty[what.staff].serves.append(who)
            self.duty[what.staff].area = person.area

    def _move_up(self, who: str, what: TriagedAgain) -> None:
        person = self._person(who)
        person.acuity = what.acuity
        line = self.queues.get(person.queue, [])
        for place in [place for place in line if place[-1] == who]:
            line.remove(place)
            first = 0 if what.acuity is Acuity.EMERGENCY else place[0]
            insort(line, (first, _RANK[what.acuity], *place[2:]))

    def _send(self, who: str, what: Triaged | Registered) -> None:
        person = self._person(who)
        self.end_service(who)
        person.department = what.department
        if isinstance(what, Triaged):
            person.acuity = what.acuity

    def _serve(self, who: str, _: Referred | Prescribed | Dispensed) -> None:
        self._person(who)
        self.end_service(who)

    def _lie(self, who: str, what: Admitted | Moved) -> None:
        person = self._person(who)
        self.end_wait(who)
        self.end_service(who)
        person.bed = person.area = what.area
        person.since = self.t

    def _get_up(self, who: str, _: Discharged) -> None:
        person = self._person(who)
        self.end_wait(who)
        person.bed = ""

    def _diagnose(self, _: str, what: Diagnosed) -> None:
        self.counts.diagnosed_right += what.right

    def _go(self, who: str, _: LeftUnseen | VisitFailed) -> None:
        person = self._person(who)
        self.end_wait(who)
        self.end_service(who)
        if not person.home:
            self.leave(who)  # it cannot be seen to arrive

    def _follow_up(self, who: str, what: FollowedUp) -> None:
        outcome = what.outcome.value
        setattr(self.counts, outcome, getattr(self.counts, outcome) + 1)
        if what.outcome is FollowUpOutcome.RECOVERED:
            self.ill.pop(who, None)
        elif what.severity is not None:
            self._grade(who, what)

    def _fall_ill(self, who: str, what: FellIll) -> None:
        self.ill[who] = IllResident(what.name, what.disease, what.severity, what.home, self.t)

    def _grade(self, who: str, what: FollowedUp | Worsened | GotWorse) -> None:
        patient = self.ill.get(who)
        if patient is not None and what.severity is not None:
            patient.severity = what.severity

    def _die(self, who: str, _: Died) -> None:
        self.ill.pop(who, None)
        self.leave(who)

    def _walk_staff(self, who: str, what: StaffWalked) -> None:
        self.staff_walks[who] = StaffWalk(what.path, what.times, self.t)
        heappush(self.homecoming, (what.times[-1], who))

    def _begin(self, who: str, what: ShiftBegan) -> None:
        self.duty[who] = Duty(area=what.area, since=self.t)


# Looked up by type: asking whether something is an instance of a msgspec struct takes ten times as long.
_COUNTED: dict[type, str] = {
    FellIll: "fell_ill",
    Triaged: "triaged",
    Referred: "referred",
    ExaminationDone: "examined",
    Diagnosed: "diagnosed",
    WentHome: "went_home",
    LeftUnseen: "left_unseen",
    VisitFailed: "failed",
    FollowUpFailed: "follow_ups_failed",
    Admitted: "admitted",
    Discharged: "discharged",
    Died: "died",
}
# Neither a talk nor an examination lets the staff go: what follows it does.
_CHANGES: dict[type, Callable[[World, str, Any], object]] = {
    FellIll: World._fall_ill,
    Walked: World._walk,
    Queued: World._queue,
    CalledIn: World._call,
    ActivityBegan: World._begin_activity,
    ActivityEnded: World._end_activity,
    Sampled: World._end_activity,
    Consulted: World._end_activity,
    ExaminationDone: World._end_activity,
    Interrupted: World._interrupt,
    Resumed: World._resume,
    Triaged: World._send,
    TriagedAgain: World._move_up,
    Registered: World._send,
    Referred: World._serve,
    Diagnosed: World._diagnose,
    Prescribed: World._serve,
    Dispensed: World._serve,
    Admitted: World._lie,
    Moved: World._lie,
    Discharged: World._get_up,
    Worsened: World._grade,
    GotWorse: World._grade,
    Died: World._die,
    LeftUnseen: World._go,
    VisitFailed: World._go,
    WentHome: lambda world, who, _: world.leave(who),
    FollowedUp: World._follow_up,
    StaffWalked: World._walk_staff,
    ShiftBegan: World._begin,
    ShiftEnded: lambda world, who, _: world.duty.pop(who, None),
}

_encode = msgspec.msgpack.Encoder().encode
_DECODER = msgspec.msgpack.Decoder(World)


def decode(snapshot: bytes) -> World:
    """Returns the world that `World.encode` wrote."""
    return _DECODER.decode(snapshot)
