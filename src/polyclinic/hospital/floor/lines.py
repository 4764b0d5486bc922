"""Patients at a visit, staff who serve them, and the queues; `polyclinic.hospital.floor.queues` moves them."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field
from enum import StrEnum
from heapq import heapify, heappop, heappush
from operator import attrgetter

from polyclinic.cases.case import Case
from polyclinic.hospital.floor.clock import Clock, Signal
from polyclinic.hospital.plan.opening_hours import WEEK
from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.plan.ways import Way
from polyclinic.hospital.record.episodes import Episode
from polyclinic.hospital.record.happenings import ORDER, Acuity, ShiftEnded, StaffWalked
from polyclinic.knowledge.acuity import Level


class Service:
    """Some of somebody's time for one person."""

    __slots__ = ("_clock", "_runs", "_since", "done", "left", "who")

    def __init__(self, clock: Clock, seconds: int, who: str) -> None:
        self._clock, self.who = clock, who
        self.left = seconds  # as it was when it last began
        self.done = clock.signal()  # happens at its end
        self._since = clock.now
        self._runs = 0  # counts what would end a run of it, so that one that was interrupted ends nothing

    def go_on(self) -> None:
        """Begins, or goes on after a pause."""
        self._since = self._clock.now
        self._runs += 1
        run = self._runs
        self._clock.call(self.left, lambda: self.done.succeed() if run == self._runs else None)

    def pause(self) -> None:
        """Stands still from now on."""
        self.left -= self._clock.now - self._since
        self._runs += 1

    @property
    def ends(self) -> int:
        """When it ends unless it is interrupted."""
        return self._since + self.left


ROUTINE = ORDER[Acuity.ROUTINE]


class Gone(StrEnum):
    """Why somebody leaves a queue uncalled."""

    PATIENCE = "waited too long"
    CLOSED = "closed"
    NOT_ADMITTED = "not admitted"


@dataclass(eq=False, slots=True)
class Ticket:
    """Somebody's place in a queue."""

    queue: Queue
    rank: tuple[int, int, int]  # the least is called first
    since: int  # when it was taken
    called: Signal  # happens at the end of the wait; its value is the `Server` who calls, or a `Gone`
    again: bool  # has been with a doctor on this visit
    alarms: bool = False  # an emergency that waits for a doctor, any that there is
    waits: bool = True
    area: str = ""  # where it is served, once it is called

    def __lt__(self, other: Ticket) -> bool:
        return self.rank < other.rank

    @property
    def presses(self) -> bool:
        """Whether it is more than routine, or has been with a doctor."""
        return self.again or self.rank[1] < ROUTINE


@dataclass(eq=False)
class Server:
    """Somebody who serves, or a counter without staff."""

    id: str  # of the member of the staff; "" for a counter without staff
    area: str  # where
    begins: Sequence[int] = ()  # when its shifts begin, in seconds since midnight of a Monday
    alone: bool = True  # serves one at a time; else as many as there is place for in the area
    stays_for: Collection[str] | None = None  # departments for whose patients it stays as the last; None: for all
    covers: int | None = None  # sees emergencies of departments not its own: those with 0 first, then those with 1
    way: Way | None = None  # from the entrance to where it works; None where nobody sees it come or go
    queues: list[Queue] = field(default_factory=list)  # those it serves
    present: bool = field(init=False)  # whether it is at work
    serves: int = 0
    leaving: bool = False
    helps: bool = False  # was called in, and leaves its patients to who is on duty
    stays: int | None = None  # the number of the last one under care for whom it stays
    free_since: int = -1
    own: list[Ticket] = field(default_factory=list)  # those who come back to this very doctor
    doing: Service | None = None  # what it is in the middle of and could be interrupted in
    paused: list[Service] = field(default_factory=list)  # what it was interrupted in, and goes on with

    def __post_init__(self) -> None:
        self.present = not self.id

    def comes(self, now: int) -> StaffWalked | None:
        """Returns how it comes, setting out now; None where nobody sees that."""
        if self.way is None or not self.way.seconds:
            return None
        return StaffWalked(path=self.way.path, times=tuple(now + seconds for seconds in self.way.reached))

    def leaves(self, now: int) -> tuple[ShiftEnded, *tuple[StaffWalked, ...]]:
        """Returns the end of its shift, and its way home where somebody sees it."""
        if self.way is None or not self.way.seconds:
            return (ShiftEnded(),)
        times = tuple(now + self.way.seconds - seconds for seconds in reversed(self.way.reached))
        return ShiftEnded(), StaffWalked(path=self.way.path[::-1], times=times)

    @property
    def free(self) -> bool:
        """Whether it can serve one more, if there is place; of those who interrupt others, while one is paused."""
        return self.present and not self.leaving and not (self.alone and self.serves > len(self.paused))

    def begins_between(self, low: int, high: int, monday: int) -> bool:
        """Whether a shift of its begins from `low` on and before `high`, which is a day later at most.

        `monday`: seconds from the Monday before to the first midnight.
        """
        since = (low + monday) // WEEK * WEEK - monday
        return any(low - since <= begin < high - since for begin in self.begins)

    @property
    def takes_new(self) -> bool:
        """Whether it calls those who have not been with a doctor."""
        return self.present and not self.leaving and self.stays is None


@dataclass(slots=True)
class Care:
    """Of somebody under care: whose patient it is."""

    department: str
    doctor: Server | None
    emergency: bool

    def needs(self, server: Server, *, last: bool, covered: bool) -> bool:
        """Whether it needs a doctor to stay, who may be the last of its queues.

        `covered`: somebody else is there who sees emergencies of every department.
        """
        sees = server.stays_for is not None and self.department in server.stays_for
        if self.doctor is server and not (server.helps and covered):
            return sees or server.covers is not None
        if self.doctor is not None and self.doctor.present:
            return False
        return (sees and last) or (self.emergency and server.covers is not None and not covered)


@dataclass(eq=False)
class Queue:
    """A queue and those who serve it."""

    id: str  # a department's or an area's
    department: bool = False  # of a department: where it has nobody, doctors of emergencies stand in
    servers: list[Server] = field(default_factory=list)  # in the order of the staff
    waiting: list[Ticket] = field(default_factory=list)


def head_of(line: list[Ticket]) -> Ticket | None:
    """Returns who is first in a line; who does not wait any more is taken out of it."""
    while line and not line[0].waits:
        heappop(line)
    return line[0] if line else None


longest_free = attrgetter("free_since")
"""Sorts servers by the time since which they have been free."""


def shared(tickets: Sequence[Ticket]) -> list[Queue]:
    """Puts those who wait for one doctor alone among those who wait for anybody; returns the queues they stand in."""
    tickets = [ticket for ticket in tickets if ticket.waits]
    for server in dict.fromkeys(server for ticket in tickets for server in ticket.queue.servers):
        mine = [ticket for ticket in tickets if ticket in server.own]
        server.own = [ticket for ticket in server.own if ticket not in mine]
        heapify(server.own)
        for ticket in mine:
            heappush(ticket.queue.waiting, ticket)
    return list({ticket.queue.id: ticket.queue for ticket in tickets}.values())


RIGHT_ACUITY = {
    1: Acuity.EMERGENCY,
    2: Acuity.EMERGENCY,
    3: Acuity.URGENT,
    4: Acuity.ROUTINE,
    5: Acuity.ROUTINE,
}
"""How urgent somebody of each level of the five-level index is (see `polyclinic.knowledge.acuity`)."""

OF_SEVERITY = {"mild": Acuity.ROUTINE, "moderate": Acuity.URGENT, "severe": Acuity.EMERGENCY}
"""The same by severity, of a case whose maker does not say the level."""


@dataclass(eq=False)
class Encounter:
    """One coming to the hospital."""

    who: str
    _: KW_ONLY
    number: int  # from 1 within the illness
    department: str  # to which the illness belongs
    right_acuity: Acuity
    rng: random.Random
    hospital: InitVar[Hospital]
    right_level: Level | None = None
    at: str = ""
    room: str = ""  # where it is served
    acuity: Acuity | None = None  # before triage, what anybody sees
    care: int = 0  # its number among those under care
    unseen: bool = False  # has set out, and neither seen a doctor nor left yet
    seen_as: Case | None = None  # the case that was looked at
    left: bool = False  # is out of the hospital again, or has died there
    episode: Episode | None = None  # once triage is over
    anew: Signal | None = None  # happens with the episode of who got worse, where that is launched anew
    triaged: int = 0  # when
    ticket: Ticket | None = None  # its place in a queue

    def __post_init__(self, hospital: Hospital) -> None:
        # Drawn at once and in this order, so that what happens on the way does not change what is drawn.
        durations, rng = hospital.durations, self.rng
        self.triage = durations.triage.draw(rng)
        self.registration = durations.registration.draw(rng)
        self.turn = durations.turn.draw(rng)
        self.dispensing = durations.dispensing.draw(rng)
        self.patience = None if durations.patience is None else durations.patience.draw(rng)
        self.sampling = durations.sampling.draw(rng)

    @property
    def at_once(self) -> bool:
        """Whether anybody sees at the door that minutes are too long: nobody asks first, and no nurse is waited for."""
        return self.right_level == 1 and self.acuity is Acuity.EMERGENCY

    @property
    def lies(self) -> bool:
        """Whether it is of level 1, as anybody sees or the nurse has judged: nobody lets it walk to the laboratory."""
        at_door = None if self.episode is None else self.episode.at_door
        return self.at_once or (at_door is not None and at_door.level == 1)

    def is_of_level(self, level: Level | None) -> None:
        """Takes down of which level of the five-level index it is, where its case says so."""
        if level is not None:
            self.right_acuity, self.right_level = RIGHT_ACUITY[level], level
