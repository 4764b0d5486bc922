"""Those who wait, those who serve, and the queues between them; `polyclinic.hospital.floor.queues` moves them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heapify, heappop, heappush

from polyclinic.hospital.floor.clock import Signal
from polyclinic.hospital.floor.service import Service
from polyclinic.hospital.plan.opening_hours import WEEK
from polyclinic.hospital.plan.ways import Way
from polyclinic.hospital.record.happenings import HOUR, Acuity, ShiftEnded, StaffWalked

ORDER = {acuity: number for number, acuity in enumerate(Acuity)}
"""Of acuities, the most urgent first."""

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

    def deserted(self, now: int, monday: int) -> bool:
        """Whether it is a department of which nobody is at work, or comes within the hour."""
        return self.department and not any(
            (server.present and not server.leaving) or server.begins_between(now, now + HOUR, monday)
            for server in self.servers
        )


def head_of(line: list[Ticket]) -> Ticket | None:
    """Returns who is first in a line; who does not wait any more is taken out of it."""
    while line and not line[0].waits:
        heappop(line)
    return line[0] if line else None


def longest_free(server: Server) -> int:
    """Returns since when somebody has been free, for sorting."""
    return server.free_since


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
