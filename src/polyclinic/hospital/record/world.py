"""The state of the hospital, made from happenings: who is where and does what, who waits, who is at work.

Only those who are out of their homes are held, so that it grows with the hospital and not with the town.

    world = World()
    for happening in run.happenings():
        apply(world, happening)
    world.people["r00042"].doing(world.t)   # Doing.WAITING
    world.position("r00042")                # 3
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from enum import StrEnum
from heapq import heappop, heappush
from typing import Any

import msgspec

from polyclinic.hospital.record.happenings import (
    Acuity,
    Called,
    Consulted,
    Diagnosed,
    Dispensed,
    Examined,
    FellIll,
    FollowedUp,
    FollowUpFailed,
    Happening,
    LeftUnseen,
    Prescribed,
    Queued,
    Referred,
    Registered,
    ShiftBegan,
    ShiftEnded,
    Triaged,
    VisitFailed,
    Walked,
    WentHome,
)

_RANK: dict[Acuity | None, int] = {acuity: number for number, acuity in enumerate([*Acuity, None])}

Place = tuple[bool, int, int, str]
"""A place in a queue: new on this visit, rank of the acuity, number of the happening, who.

Their order is that of calling, except that somebody may wait for one doctor alone."""


class Doing(StrEnum):
    """What somebody does who is not at home."""

    WALKING = "walking"
    WAITING = "waiting"
    CONSULTED = "in consultation"
    SERVED = "served"
    THERE = "there"


class Person(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A resident out of its home.

    Attributes:
        home: the area that it came from; "" where that is not known.
        area: where it is, or was last.
        path: the areas of its last walk.
        times: when each is reached.
        began: when that walk began.
        queue: in which it waits; "" in none.
        since: seconds since which it waits or is served.
        staff: who serves it; "" for nobody, and for a counter without staff.
        served: the queue that it was called from and is served for; "" for none.
        department: where it was sent.
        acuity: as the nurse judged it.
    """

    home: str = ""
    area: str = ""
    path: tuple[str, ...] = ()
    times: tuple[int, ...] = ()
    began: int = 0
    queue: str = ""
    since: int = 0
    staff: str = ""
    served: str = ""
    department: str = ""
    acuity: Acuity | None = None

    def doing(self, t: int) -> Doing:
        """Returns what it does at a time from its last happening on."""
        if self.times and t < self.times[-1]:
            return Doing.WALKING
        if self.served:
            return Doing.CONSULTED if self.served == self.department else Doing.SERVED
        return Doing.WAITING if self.queue else Doing.THERE


class Duty(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A member of the staff at work: where, since when, and whom it serves."""

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


class World(msgspec.Struct, kw_only=True):
    """The hospital at one time.

    Attributes:
        t: seconds since midnight of the first day.
        seq: of the last happening; -1 before the first.
        people: residents who are not at home, by id.
        duty: staff at work, by id.
        queues: by name, in the order in which they are called.
        counts: what has happened so far.
        homecoming: who walks home: when it arrives, and who it is; the first to arrive first.
    """

    t: int = 0
    seq: int = -1
    people: dict[str, Person] = {}
    duty: dict[str, Duty] = {}
    queues: dict[str, list[Place]] = {}
    counts: Counts = msgspec.field(default_factory=Counts)
    homecoming: list[tuple[int, str]] = []

    def advance(self, t: int) -> None:
        """Goes on to a time at which nothing else happens: who has reached home by then is no longer held."""
        self.t = t
        while self.homecoming and self.homecoming[0][0] <= t:
            arrives, who = heappop(self.homecoming)
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
        person.staff = person.served = ""

    def position(self, who: str) -> int | None:
        """Returns somebody's place in its queue, from 1; None where it does not wait."""
        person = self.people.get(who)
        if person is None or not person.queue:
            return None
        return next(number for number, place in enumerate(self.queues[person.queue], 1) if place[-1] == who)

    def encode(self) -> bytes:
        """Returns it as MessagePack."""
        return _encode(self)


_encode = msgspec.msgpack.Encoder().encode
_DECODER = msgspec.msgpack.Decoder(World)


def decode(snapshot: bytes) -> World:
    """Returns the world that `World.encode` wrote."""
    return _DECODER.decode(snapshot)


def apply(world: World, happening: Happening) -> None:
    """Lets a happening, the next of the log, change the world."""
    world.advance(happening.t)
    world.seq = happening.seq
    _CHANGES[type(happening.what)](world, happening.who, happening.what)


def _person(world: World, who: str) -> Person:
    person = world.people.get(who)
    if person is None:
        person = world.people[who] = Person()
    return person


def _walked(world: World, who: str, what: Walked) -> None:
    if who in world.duty:
        world.duty[who].area = what.path[-1]
        return
    if who not in world.people:
        world.counts.came += 1
        world.people[who] = Person(home=what.path[0])
    person = world.people[who]
    if person.queue:
        world.end_wait(who)
    if person.served and person.area != what.path[-1]:
        world.end_service(who)
    person.path, person.times, person.began, person.area = what.path, what.times, world.t, what.path[-1]
    if what.path[-1] == person.home:
        heappush(world.homecoming, (what.times[-1], who))


def _queued(world: World, who: str, what: Queued) -> None:
    person = _person(world, who)
    world.end_wait(who)
    world.end_service(who)
    person.queue, person.since = what.queue, world.t
    insort(world.queues.setdefault(what.queue, []), (not what.again, _RANK[what.acuity], world.seq, who))


def _called(world: World, who: str, what: Called) -> None:
    person = _person(world, who)
    world.end_wait(who)
    world.end_service(who)
    person.staff, person.served, person.since, person.area = what.staff, what.queue, world.t, what.area
    if what.staff in world.duty:
        world.duty[what.staff].serves.append(who)


def _triaged(world: World, who: str, what: Triaged) -> None:
    person = _person(world, who)
    world.end_service(who)
    person.department, person.acuity = what.department, what.acuity
    world.counts.triaged += 1


def _registered(world: World, who: str, what: Registered) -> None:
    _person(world, who).department = what.department
    world.end_service(who)


def _referred(world: World, who: str, _: Referred) -> None:
    _person(world, who)
    world.end_service(who)
    world.counts.referred += 1


def _served(world: World, who: str, _: Prescribed | Dispensed) -> None:
    _person(world, who)
    world.end_service(who)


# Neither a talk, nor an examination, nor a diagnosis lets the staff go: what follows it does.


def _consulted(_: World, __: str, ___: Consulted) -> None:
    pass


def _examined(world: World, _: str, __: Examined) -> None:
    world.counts.examined += 1


def _diagnosed(world: World, _: str, what: Diagnosed) -> None:
    world.counts.diagnosed += 1
    world.counts.diagnosed_right += what.right


def _ended(world: World, who: str) -> None:
    person = _person(world, who)
    world.end_wait(who)
    world.end_service(who)
    if not person.home:
        world.leave(who)


def _left_unseen(world: World, who: str, _: LeftUnseen) -> None:
    world.counts.left_unseen += 1
    _ended(world, who)


def _failed(world: World, who: str, _: VisitFailed) -> None:
    world.counts.failed += 1
    _ended(world, who)


def _went_home(world: World, who: str, _: WentHome) -> None:
    world.counts.went_home += 1
    world.leave(who)


def _fell_ill(world: World, _: str, __: FellIll) -> None:
    world.counts.fell_ill += 1


def _followed_up(world: World, _: str, what: FollowedUp) -> None:
    name = what.outcome.name.lower()
    setattr(world.counts, name, getattr(world.counts, name) + 1)


def _follow_up_failed(world: World, _: str, __: FollowUpFailed) -> None:
    """Changes nothing: the illness goes on, and the follow-up is another happening."""
    world.counts.follow_ups_failed += 1


def _began(world: World, who: str, what: ShiftBegan) -> None:
    world.duty[who] = Duty(area=what.area, since=world.t)


def _ended_shift(world: World, who: str, _: ShiftEnded) -> None:
    world.duty.pop(who, None)


_CHANGES: dict[type, Callable[[World, str, Any], None]] = {
    FellIll: _fell_ill,
    Walked: _walked,
    Triaged: _triaged,
    Registered: _registered,
    Queued: _queued,
    Called: _called,
    Consulted: _consulted,
    Examined: _examined,
    Referred: _referred,
    Diagnosed: _diagnosed,
    Prescribed: _served,
    Dispensed: _served,
    WentHome: _went_home,
    LeftUnseen: _left_unseen,
    VisitFailed: _failed,
    FollowedUp: _followed_up,
    FollowUpFailed: _follow_up_failed,
    ShiftBegan: _began,
    ShiftEnded: _ended_shift,
}
