"""Who waits for whom: queues in front of staff, rooms with a capacity, shifts that begin and end.

A queue calls by three things, in this order: who has been with a doctor on this visit before those who have not, then
acuity as the nurse judged it, then arrival. Severity, which only the log knows, is no part of it.

At the end of a shift nobody is called who has not been with a doctor yet. Doctors stay for their own patients until
they are done with them, and the last of a queue stays for all who are under care at that moment and need somebody
there. Where nobody is at work any more, nor will be on that day, those who wait are told that it is closed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heappop, heappush

from polyclinic.hospital.floor.clock import Clock, Signal
from polyclinic.hospital.plan.opening_hours import WEEK
from polyclinic.hospital.record.happenings import DAY, Acuity, ShiftBegan, ShiftEnded
from polyclinic.hospital.record.log import Log

_ORDER = {acuity: number for number, acuity in enumerate(Acuity)}
_UNKNOWN = len(_ORDER)


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
    waits: bool = True

    def __lt__(self, other: Ticket) -> bool:
        return self.rank < other.rank


@dataclass(eq=False)
class Server:
    """Somebody who serves, or a counter without staff."""

    id: str  # of the member of the staff; "" for a counter without staff
    area: str  # where
    begins: Sequence[int] = ()  # when its shifts begin, in seconds since midnight of a Monday
    alone: bool = True  # serves one at a time; else as many as there is place for in the area
    stays_for: Collection[str] | None = None  # departments for whose patients it stays as the last; None: for all
    queues: list[Queue] = field(default_factory=list)  # those it serves
    present: bool = field(init=False)  # whether it is at work
    serves: int = 0
    leaving: bool = False
    stays: int | None = None  # the number of the last one under care for whom it stays
    free_since: int = -1
    own: list[Ticket] = field(default_factory=list)  # those who come back to this very doctor

    def __post_init__(self) -> None:
        self.present = not self.id

    @property
    def free(self) -> bool:
        """Whether it can serve one more, if there is place."""
        return self.present and not self.leaving and not (self.alone and self.serves)

    @property
    def takes_new(self) -> bool:
        """Whether it calls those who have not been with a doctor."""
        return self.present and not self.leaving and self.stays is None


@dataclass(eq=False)
class Queue:
    """A queue and those who serve it."""

    id: str  # a department's or an area's
    servers: list[Server] = field(default_factory=list)  # in the order of the staff
    waiting: list[Ticket] = field(default_factory=list)


class Floor:
    """All queues of a hospital, those who serve them, and the places of its areas.

    Args:
        clock: tells the time.
        log: gets the shifts.
        places: how many can be served at once, by area.
        weekday: of the first day; 0 is Monday.
    """

    def __init__(self, clock: Clock, log: Log, *, places: Mapping[str, int], weekday: int = 0) -> None:
        self._clock, self._log = clock, log
        self._monday = weekday * DAY
        self.queues: dict[str, Queue] = {}
        self._places = dict(places)
        self._in_area: dict[str, list[Server]] = {}
        self._arrivals = 0
        self._cared = 0
        self._care: dict[int, tuple[str, Server | None]] = {}
        self._staying: list[Server] = []

    def open(self, queue: str) -> None:
        """Makes a queue, though nobody may serve it."""
        self.queues.setdefault(queue, Queue(queue))

    def employ(self, server: Server, queues: Iterable[str]) -> None:
        """Adds a server to its queues, which come into being."""
        self._in_area.setdefault(server.area, []).append(server)
        for id in queues:
            queue = self.queues.setdefault(id, Queue(id))
            queue.servers.append(server)
            server.queues.append(queue)

    def begin(self, server: Server) -> None:
        """A server is at work from now on."""
        came = not server.present
        server.present, server.leaving = True, False
        if server.stays is not None:
            server.stays = None
            self._staying.remove(server)
        if came:
            server.free_since = self._clock.now
            self._log.add(self._clock.now, server.id, ShiftBegan(area=server.area))
        self._call(server)

    def end(self, server: Server) -> None:
        """A server's shift is over; see the module on who stays."""
        last = any(not self._served(queue, besides=server) for queue in server.queues)
        if self._needed(server, self._cared, last=last):
            server.stays = self._cared
            self._staying.append(server)
        else:
            self._send_home(server)
        for queue in server.queues:
            self._close(queue)

    def _served(self, queue: Queue, *, besides: Server | None = None) -> bool:
        """Whether somebody of a queue takes new patients, now or from this very moment on."""
        now = self._clock.now
        return any(s.takes_new or self._begins(s, now, now + 1) for s in queue.servers if s is not besides)

    def _expected(self, queue: Queue) -> bool:
        """Whether a shift begins on what is left of the day."""
        now = self._clock.now
        return any(self._begins(server, now, (now // DAY + 1) * DAY) for server in queue.servers)

    def _begins(self, server: Server, low: int, high: int) -> bool:
        """Whether a shift of a server begins from `low` on and before `high`, which lie on one day."""
        monday = (low + self._monday) // WEEK * WEEK - self._monday
        return any(low - monday <= begin < high - monday for begin in server.begins)

    def _needed(self, server: Server, number: int, *, last: bool = True) -> bool:
        """Whether a server stays for one of those who came under care up to a number.

        A doctor stays for its own patients, the last of a queue also for those who have nobody.
        """
        if server.stays_for is None:
            return last and any(n <= number for n in self._care)
        return any(
            n <= number
            and department in server.stays_for
            and (doctor is server or (last and (doctor is None or not doctor.present)))
            for n, (department, doctor) in self._care.items()
        )

    def _send_home(self, server: Server) -> None:
        if server.serves:
            server.leaving = True
        else:
            self._leave(server)

    def _leave(self, server: Server) -> None:
        server.present = server.leaving = False
        if server.stays is not None:
            server.stays = None
            self._staying.remove(server)
        for ticket in server.own:
            if ticket.waits:
                heappush(ticket.queue.waiting, ticket)
        own, server.own = server.own, []
        self._log.add(self._clock.now, server.id, ShiftEnded())
        for queue in server.queues:
            self._close(queue)
        for queue in {ticket.queue.id: ticket.queue for ticket in own if ticket.waits}.values():
            self._call_any(queue)

    def _close(self, queue: Queue) -> None:
        """Tells those who wait in vain that it is closed."""
        if self._served(queue) or self._expected(queue):
            return
        cared_for = any(server.present for server in queue.servers)
        for ticket in sorted(queue.waiting):
            if ticket.waits and not (ticket.again and cared_for):
                self.drop(ticket, Gone.CLOSED)

    # --- care

    def take(self, department: str, doctor: Server) -> int:
        """Somebody is with a doctor for the first time on this visit; returns its number."""
        self._cared += 1
        self._care[self._cared] = (department, doctor)
        return self._cared

    def refer(self, number: int, department: str, doctor: Server | None = None) -> None:
        """Somebody under care is another doctor's or department's from now on, or no department's any more ("")."""
        self._care[number] = (department, doctor)
        self._let_go()

    def discharge(self, number: int) -> None:
        """Somebody who was under care has left."""
        del self._care[number]
        self._let_go()

    def _let_go(self) -> None:
        """Sends those home who stayed, and need not any more."""
        for server in [s for s in self._staying if s.stays is not None and not self._needed(s, s.stays)]:
            self._send_home(server)

    # --- waiting

    def join(
        self,
        queue: str,
        acuity: Acuity | None = None,
        *,
        again: bool = False,
        back_to: Server | None = None,
        patience: int | None = None,
    ) -> Ticket:
        """Somebody begins to wait.

        Args:
            queue: for whom.
            acuity: as the nurse judged it; None before.
            again: has been with a doctor on this visit.
            back_to: waits for this doctor alone while it is there.
            patience: seconds after which it leaves; None: never.
        """
        now = self._clock.now
        there = self.queues[queue]
        self._arrivals += 1
        rank = (0 if again else 1, _UNKNOWN if acuity is None else _ORDER[acuity], self._arrivals)
        ticket = Ticket(there, rank, now, self._clock.signal(), again)
        if back_to is not None and back_to.present and not back_to.leaving:
            heappush(back_to.own, ticket)
            self._call(back_to)
        else:
            heappush(there.waiting, ticket)
            self._call_any(there)
        if ticket.waits and not self._hopeful(ticket):
            self.drop(ticket, Gone.CLOSED if again else Gone.NOT_ADMITTED)
        if ticket.waits and patience is not None:
            self._clock.call(patience, lambda: self.drop(ticket, Gone.PATIENCE) if ticket.waits else None)
        return ticket

    def drop(self, ticket: Ticket, why: Gone) -> None:
        """Somebody who waits leaves the queue."""
        ticket.waits = False
        ticket.called.succeed(why)

    def release(self, server: Server) -> None:
        """A server is done with whom it served."""
        server.serves -= 1
        server.free_since = self._clock.now
        self._places[server.area] += 1
        if server.leaving and not server.serves:
            self._leave(server)
        # A place that was the last may be what another has been waiting for, longer than this one.
        short = self._places[server.area] == 1
        for other in sorted(self._in_area[server.area], key=_longest_free) if short else [server]:
            self._call(other)

    def _hopeful(self, ticket: Ticket) -> bool:
        queue = ticket.queue
        if ticket.again and any(server.present for server in queue.servers):
            return True
        return self._served(queue) or self._expected(queue)

    def _call_any(self, queue: Queue) -> None:
        free = [server for server in queue.servers if server.free]
        for server in sorted(free, key=_longest_free) if len(free) > 1 else free:
            self._call(server)

    def _call(self, server: Server) -> None:
        """Lets a server call those who are first among whom it serves, while it and a place are free."""
        while server.free and self._places[server.area] > 0:
            first, line = _head(server.own), server.own
            for queue in server.queues:
                head = _head(queue.waiting)
                if head is not None and (head.again or server.stays is None) and (first is None or head < first):
                    first, line = head, queue.waiting
            if first is None:
                return
            heappop(line)
            first.waits = False
            server.serves += 1
            self._places[server.area] -= 1
            first.called.succeed(server)


def _head(line: list[Ticket]) -> Ticket | None:
    while line and not line[0].waits:
        heappop(line)
    return line[0] if line else None


def _longest_free(server: Server) -> int:
    return server.free_since
