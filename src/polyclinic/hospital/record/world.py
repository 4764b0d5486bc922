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
from collections import Counter
from enum import StrEnum
from heapq import heappop, heappush
from typing import Any

import msgspec

from polyclinic.cases.truth import Severity
from polyclinic.hospital.record import happenings as events
from polyclinic.hospital.record.happenings import ORDER, Activity, Acuity, FollowUpOutcome, Happening


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


_CENSUS = {Doing.WAITING: "waiting", Doing.CONSULTED: "served", Doing.SERVED: "served", Doing.LYING: "lying"}

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
    counts: dict[str, int] = {}  # what has happened so far, as `COUNTED` names it; what never has is not in it
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

    def census(self, t: int) -> Counter[str]:
        """Goes on to a time; returns how many are in the hospital then, by what they do."""
        self.advance(t)
        counts: Counter[str] = Counter()
        for person in self.people.values():
            doing = person.doing(t)
            if doing is not Doing.WALKING or person.home not in (person.path[0], person.path[-1]):
                counts[_CENSUS.get(doing, "other")] += 1
        return counts

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

    def apply(self, happening: Happening) -> None:  # noqa: PLR0912 - a branch for each kind of event
        """Takes the next happening of the log."""
        self.advance(happening.t)
        self.seq = happening.seq
        who, kind = happening.who, type(happening.what)
        what: Any = happening.what
        if (counted := COUNTED.get(kind)) is not None:
            self._count(counted)
        # By type: asking whether something is an instance of a msgspec struct takes ten times as long.
        match kind:
            case events.FellIll:
                self.ill[who] = IllResident(what.name, what.disease, what.severity, what.home, self.t)
            case events.Walked:
                self._walk(who, what.path, what.times)
            case events.Diagnosed:
                if what.right:
                    self._count("diagnosed_right")
            case events.FollowedUp:
                self._count(what.outcome.value)
                if what.outcome is FollowUpOutcome.RECOVERED:
                    self.ill.pop(who, None)
                elif who in self.ill and what.severity is not None:
                    self.ill[who].severity = what.severity
            case events.Worsened | events.GotWorse:
                if who in self.ill:
                    self.ill[who].severity = what.severity
            case events.Died:
                self.ill.pop(who, None)
                self.leave(who)
            case events.WentHome:
                self.leave(who)
            case events.StaffWalked:
                self.staff_walks[who] = StaffWalk(what.path, what.times, self.t)
                heappush(self.homecoming, (what.times[-1], who))
            case events.ShiftBegan:
                self.duty[who] = Duty(area=what.area, since=self.t)
            case events.ShiftEnded:
                self.duty.pop(who, None)
            case _ if kind in _OF_VISITORS:
                self._change(who, kind, what)

    def _count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def _walk(self, who: str, path: tuple[str, ...], times: tuple[int, ...]) -> None:
        if who not in self.people:
            self._count("came")
            self.people[who] = Visitor(home=path[0])
        person = self.people[who]
        self.end_wait(who)
        if person.served and person.area != path[-1]:
            self.end_service(who)
        person.path, person.times, person.began, person.area = path, times, self.t, path[-1]
        if path[-1] == person.home:
            heappush(self.homecoming, (times[-1], who))

    def _change(self, who: str, kind: type, what: Any) -> None:  # noqa: PLR0912 - a branch for each kind of event
        """Takes what happens to a resident out of its home."""
        person = self.people.get(who) or self.people.setdefault(who, Visitor())
        served = person.served
        if kind in _ENDS_WAIT:
            self.end_wait(who)
        if kind in _ENDS_SERVICE:
            self.end_service(who)
        match kind:
            case events.Queued:
                person.queue, person.since = what.queue, self.t
                first = 0 if what.acuity is Acuity.EMERGENCY else 1 if what.again else 2
                insort(self.queues.setdefault(what.queue, []), (first, ORDER[what.acuity], self.seq, who))
            case events.CalledIn:
                person.served, person.since, person.area = what.queue, self.t, what.area
                self._serve(who, person, what.staff)
            case events.ActivityBegan:
                person.activity, person.examination = what.activity, what.examination
            case events.ActivityEnded | events.Sampled | events.Consulted:
                person.activity, person.examination = None, ""
            case events.ExaminationDone:
                if what.examination == person.examination:  # a result that comes later ends nothing
                    person.activity, person.examination = None, ""
            case events.Interrupted:
                person.served = served  # it stays in the room, and nobody is with it
            case events.Resumed:
                self._serve(who, person, what.staff)
            case events.Triaged:
                person.department, person.acuity = what.department, what.acuity
            case events.TriagedAgain:
                person.acuity = what.acuity
                line = self.queues.get(person.queue, [])
                for place in [place for place in line if place[-1] == who]:
                    line.remove(place)
                    first = 0 if what.acuity is Acuity.EMERGENCY else place[0]
                    insort(line, (first, ORDER[what.acuity], *place[2:]))
            case events.Registered:
                person.department = what.department
            case events.Admitted | events.Moved:
                person.bed = person.area = what.area
                person.since = self.t
            case events.Discharged:
                person.bed = ""
            case events.LeftUnseen | events.VisitFailed if not person.home:
                self.leave(who)  # it cannot be seen to arrive

    def _serve(self, who: str, person: Visitor, staff: str) -> None:
        person.staff = staff
        if staff in self.duty:
            self.duty[staff].serves.append(who)
            self.duty[staff].area = person.area


COUNTED: dict[type, str] = {
    events.FellIll: "fell_ill",
    events.Triaged: "triaged",
    events.Referred: "referred",
    events.ExaminationDone: "examined",
    events.Diagnosed: "diagnosed",
    events.WentHome: "went_home",
    events.LeftUnseen: "left_unseen",
    events.VisitFailed: "failed",
    events.FollowUpFailed: "follow_ups_failed",
    events.Admitted: "admitted",
    events.Discharged: "discharged",
    events.Died: "died",
}
_MOVES = {
    events.Queued, events.CalledIn, events.Admitted, events.Moved, events.LeftUnseen, events.VisitFailed,
}  # fmt: skip
_ENDS_WAIT = _MOVES | {events.Discharged}
# Neither a talk nor an examination lets the staff go: what follows it does.
_ENDS_SERVICE = _MOVES | {
    events.Interrupted, events.Triaged, events.Registered, events.Referred, events.Prescribed, events.Dispensed,
}  # fmt: skip
_OF_VISITORS = (
    _ENDS_WAIT
    | _ENDS_SERVICE
    | {
        events.ActivityBegan, events.ActivityEnded, events.Sampled, events.Consulted, events.ExaminationDone,
        events.Resumed, events.TriagedAgain,
    }
)  # fmt: skip

_encode = msgspec.msgpack.Encoder().encode
_DECODER = msgspec.msgpack.Decoder(World)


def decode(snapshot: bytes) -> World:
    """Returns the world that `World.encode` wrote."""
    return _DECODER.decode(snapshot)
