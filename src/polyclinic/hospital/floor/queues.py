"""Who waits for whom: queues in front of staff, rooms with a capacity, shifts that begin and end.

A queue calls by four things, in this order: emergencies first, then who has been with a doctor on this visit before
those who have not, then acuity as the nurse judged it (at the doors, as anybody sees it), then arrival. Severity, which
only the log knows, is no part of it.

An emergency that finds no doctor of its department free is seen by a free doctor of emergencies; where there is none, a
consultation that is no emergency's is interrupted, the one that would last longest, and goes on afterwards: its patient
stays in the room, and none of its time is lost. Where they all are with emergencies, any doctor of the house comes.
A doctor sees the emergencies of its own departments first, but calls those of one queue in that queue's order, also
where one of them comes back to this doctor.

Of a department that has nobody at work, as at night, doctors of emergencies see those who are more than routine.

At the end of a shift nobody is called who has not been with a doctor yet. Doctors stay for their own patients until
they are done with them, and the last of a queue stays for all who are under care at that moment and need somebody
there. Where nobody is at work any more, nor will be on that day, those who wait are told so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush

from polyclinic.hospital.floor.clock import Clock, Signal
from polyclinic.hospital.floor.lines import (
    Care,
    Gone,
    Queue,
    Server,
    Service,
    Ticket,
    head_of,
    longest_free,
    shared,
)
from polyclinic.hospital.record.account import Log
from polyclinic.hospital.record.happenings import DAY, HOUR, ORDER, Acuity, Interrupted, Resumed, ShiftBegan


class Places(dict[str, int]):
    """Free places by area; one that is out of order has none, though nobody in it is sent away."""

    def __init__(self, places: Mapping[str, int]) -> None:
        super().__init__(places)
        self._shut: dict[str, int] = {}  # until when, by area

    def has(self, area: str) -> bool:
        """Whether somebody more can be served in an area."""
        return self.get(area, 0) > 0 and self.is_open(area)

    def is_open(self, area: str) -> bool:
        """Whether an area is in order."""
        return area not in self._shut

    def shut(self, area: str, until: int) -> None:
        """Nobody is called in an area until a time, at which it is to be opened again."""
        self._shut[area] = max(until, self._shut.get(area, 0))

    def reopen(self, area: str, now: int) -> bool:
        """Opens an area again, where nothing else keeps it shut; returns whether it is open."""
        if self._shut.get(area, now) > now:
            return False
        self._shut.pop(area, None)
        return True

    def open_from(self, area: str, t: int) -> int:
        """Returns when what would be done in an area at a time is done."""
        return max(t, self._shut.get(area, t))


class Floor:
    """All queues of a hospital, those who serve them, and how many can be served at once in each area (`places`).

    `weekday` is that of the first day (0 is Monday); emergencies are seen in the area `resuscitation` while it has a
    place.
    """

    def __init__(
        self, clock: Clock, log: Log, *, places: Mapping[str, int], weekday: int = 0, resuscitation: str = ""
    ) -> None:
        self._clock, self._log = clock, log
        self.queues: dict[str, Queue] = {}
        self.places = Places(places)
        self._in_area: dict[str, list[Server]] = {}
        self._arrivals = 0
        self._cared = 0
        self._care: dict[int, Care] = {}
        self._staying: list[Server] = []
        self._covering: list[Server] = []
        self._monday = weekday * DAY  # seconds from the Monday before to the first midnight
        self._alarms: list[Ticket] = []  # emergencies that wait for a doctor, and some that do not any more
        self._resuscitation = resuscitation

    def open(self, queue: str) -> None:
        """Makes the queue of a department, though nobody may serve it."""
        self.queues.setdefault(queue, Queue(queue)).department = True

    def employ(self, server: Server, queues: Iterable[str]) -> None:
        """Adds a server to its queues, which come into being."""
        self._in_area.setdefault(server.area, []).append(server)
        if server.covers is not None:
            self._covering.append(server)
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
        self._share(*(ticket for ticket in server.own if not ticket.again))
        last = any(not self._served(queue, besides=server) for queue in server.queues)
        if self._needed(server, self._cared, last=last):
            server.stays = self._cared
            self._staying.append(server)
        else:
            self._send_home(server)
        self._close_all(server)

    def miss(self, server: Server) -> None:
        """A server that was expected does not come."""
        self._close_all(server)

    def _needed(self, server: Server, number: int, *, last: bool = True) -> bool:
        """Whether a server stays for one of those who came under care up to a number.

        A doctor stays for its own patients, the last of a queue also for those who have nobody.
        """
        if server.stays_for is None:
            return last and any(n <= number for n in self._care)
        covered = self._covered(besides=server)
        return any(n <= number and care.needs(server, last=last, covered=covered) for n, care in self._care.items())

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
        for what in server.leaves(self._clock.now):
            self._log.add(self._clock.now, server.id, what)
        self._close_all(server)
        for queue in {ticket.queue.id: ticket.queue for ticket in own if ticket.waits}.values():
            self._call_any(queue)

    def _close_all(self, server: Server) -> None:
        """Tells those who wait in vain for somebody who takes no new patients any more."""
        for queue in self.queues.values() if server.covers is not None else server.queues:
            self._close(queue)

    def _close(self, queue: Queue) -> None:
        """Tells those who wait in vain that it is closed."""
        if not queue.waiting or self._served(queue) or self._expected(queue):
            return
        for ticket in sorted(queue.waiting):
            if ticket.waits and not self._hopeful(ticket):
                self.drop(ticket, Gone.CLOSED)
        if head_of(queue.waiting) is not None:
            for server in self._standing_in():
                self._call(server)

    def reopen(self, area: str) -> None:
        """An area that was out of order may call again."""
        if self.places.reopen(area, self._clock.now):
            for server in sorted(self._in_area.get(area, ()), key=longest_free):
                self._call(server)

    # --- care

    def take(self, department: str, doctor: Server, *, emergency: bool = False) -> int:
        """Somebody is with a doctor for the first time on this visit; returns its number."""
        self._cared += 1
        self._care[self._cared] = Care(department, doctor, emergency)
        return self._cared

    def refer(self, number: int, department: str, doctor: Server | None = None) -> None:
        """Somebody under care is another doctor's or department's from now on, or no department's any more ("")."""
        care = self._care[number]
        care.department, care.doctor = department, doctor
        self._let_go()

    def discharge(self, number: int) -> None:
        """Somebody who was under care has left."""
        del self._care[number]
        self._let_go()

    def _let_go(self) -> None:
        """Sends those home who stayed, and need not any more."""
        for server in [s for s in self._staying if s.stays is not None and not self._needed(s, s.stays)]:
            self._send_home(server)

    # --- what those who wait may hope for

    def _served(self, queue: Queue, *, besides: Server | None = None) -> bool:
        """Whether somebody of a queue takes new patients, now or from this very moment on."""
        now = self._clock.now
        return any(
            s.takes_new or s.begins_between(now, now + 1, self._monday) for s in queue.servers if s is not besides
        )

    def _expected(self, queue: Queue) -> bool:
        """Whether a shift begins on what is left of the day."""
        now = self._clock.now
        return any(s.begins_between(now, (now // DAY + 1) * DAY, self._monday) for s in queue.servers)

    def _covered(self, *, besides: Server | None = None) -> bool:
        """Whether a doctor who sees emergencies of other departments is at work."""
        return any(s.present and not s.leaving for s in self._covering if s is not besides)

    def _standing_in(self) -> list[Server]:
        """Returns the doctors of emergencies who are at work, the longest free first."""
        return sorted((s for s in self._covering if s.covers == 0 and s.takes_new), key=longest_free)

    def _deserted(self, queue: Queue) -> bool:
        """Whether it is a department of which nobody is at work, or comes within the hour."""
        now = self._clock.now
        return queue.department and not any(
            (s.present and not s.leaving) or s.begins_between(now, now + HOUR, self._monday) for s in queue.servers
        )

    def _left_alone(self) -> Ticket | None:
        """Returns who is first of those who press, and whose department has nobody."""
        heads = ((queue, head_of(queue.waiting)) for queue in self.queues.values() if queue.waiting)
        return min((head for queue, head in heads if head and head.presses and self._deserted(queue)), default=None)

    def _hopeful(self, ticket: Ticket) -> bool:
        """Whether somebody who waits will be called."""
        queue = ticket.queue
        if ticket.again and any(server.present for server in queue.servers):
            return True
        if ticket.alarms and self._covered():
            return True
        if ticket.presses and self._deserted(queue) and self._standing_in():
            return True
        return self._served(queue) or self._expected(queue)

    # --- waiting

    def join(
        self,
        queue: str,
        acuity: Acuity | None = None,
        *,
        again: bool = False,
        back_to: Server | None = None,
        only_for: int | None = None,
        patience: int | None = None,
        alarms: bool = False,
    ) -> Ticket:
        """Somebody begins to wait; `again`: has been with a doctor on this visit.

        While the doctor `back_to` is there, the patient waits for that doctor alone, for `only_for` seconds at most.
        The patient leaves after `patience` seconds. An emergency that `alarms` must be with any doctor at once.
        """
        now = self._clock.now
        there = self.queues[queue]
        self._arrivals += 1
        first = 0 if acuity is Acuity.EMERGENCY else 1 if again else 2
        rank = (first, ORDER[acuity], self._arrivals)
        ticket = Ticket(there, rank, now, self._clock.signal(), again, alarms)
        if back_to is not None and back_to.present and not back_to.leaving:
            heappush(back_to.own, ticket)
            self._call(back_to)
            if ticket.waits and alarms:
                self._interrupt([back_to])
            if ticket.waits and only_for is not None:
                self._clock.call(only_for, lambda: self._share(ticket))
        else:
            heappush(there.waiting, ticket)
            self._call_any(there)
            if ticket.waits and alarms:
                self._alarms.append(ticket)
                self._rescue(ticket)
            elif ticket.waits and self._deserted(there):
                for server in self._standing_in():
                    self._call(server)
        if ticket.waits and not self._hopeful(ticket):
            self.drop(ticket, Gone.CLOSED if again else Gone.NOT_ADMITTED)
        if ticket.waits and patience is not None:
            # Who has moved up since does not go any more.
            leaves = lambda: self.drop(ticket, Gone.PATIENCE) if ticket.waits and ticket.rank == rank else None  # noqa: E731
            self._clock.call(patience, leaves)
        return ticket

    def _share(self, *tickets: Ticket) -> None:
        """Lets those who wait for one doctor alone wait for anybody of their queue."""
        for queue in shared(tickets):
            self._call_any(queue)

    def move_up(self, ticket: Ticket, acuity: Acuity, *, alarms: bool = False) -> None:
        """Somebody who waits is more urgent from now on, and `alarms` as in `join`; among equals its arrival counts."""
        if not ticket.waits:
            return
        ticket.rank = (0 if acuity is Acuity.EMERGENCY else ticket.rank[0], ORDER[acuity], ticket.rank[2])
        heapify(ticket.queue.waiting)
        self._share(ticket)
        if alarms and not ticket.alarms:
            ticket.alarms = True
            self._alarms.append(ticket)
            self._rescue(ticket)

    def drop(self, ticket: Ticket, why: Gone) -> None:
        """Somebody who waits leaves the queue."""
        ticket.waits = False
        ticket.called.succeed(why)

    def release(self, server: Server, area: str = "") -> None:
        """A server is done with whom it served, in its own area or in another."""
        area = area or server.area
        server.serves -= 1
        server.doing = None
        server.free_since = self._clock.now
        self.places[area] += 1
        if server.leaving and not server.serves:
            self._leave(server)
        # A place that was the last may be what another has been waiting for, longer than this one.
        short = self.places[area] == 1
        for other in sorted(self._in_area.get(area, ()), key=longest_free) if short else ():
            if other is not server:
                self._call(other)
        self._call(server)
        if server.paused:
            self._clock.call(0, lambda: self._go_on(server))

    def work(self, server: Server, seconds: int, who: str, *, emergency: bool = False) -> Signal:
        """A server is busy for so long with somebody, an emergency or not; returns what happens at the end.

        What is no emergency may be interrupted, and is at once where an emergency has been waiting for this.
        """
        work = Service(self._clock, seconds, who)
        work.go_on()
        server.doing = None if emergency or not server.alone else work
        if server.doing is not None and self._alarm(server):
            self._interrupt([server])
        return work.done

    # --- emergencies

    def _alarm(self, server: Server) -> bool:
        """Whether an emergency waits that a server could see."""
        own = head_of(server.own)
        if own is not None and own.alarms:
            return True
        self._alarms = [ticket for ticket in self._alarms if ticket.waits]
        return any(server.covers is not None or ticket.queue in server.queues for ticket in self._alarms)

    def _rescue(self, ticket: Ticket) -> None:
        """Finds somebody for an emergency that nobody of its queue is free for."""
        for rank in (0, 1):
            others = [s for s in self._covering if s.covers == rank and ticket.queue not in s.queues]
            for server in sorted(others, key=longest_free):
                self._call(server)
                if not ticket.waits:
                    return
            if (rank == 0 and self._interrupt(ticket.queue.servers)) or self._interrupt(others):
                return

    def _interrupt(self, servers: Iterable[Server]) -> bool:
        """Interrupts the one that would be busy longest, and lets it call; returns whether there was one."""
        now = self._clock.now
        anywhere = self.places.has(self._resuscitation)
        could = [
            (s, s.doing)
            for s in servers
            if s.doing is not None and s.doing.ends > now and s.present and not s.leaving and not s.paused
            if anywhere or self.places.is_open(s.area)
        ]
        if not could:
            return False
        server, work = max(could, key=lambda pair: pair[1].ends)
        work.pause()
        server.doing = None
        server.paused.append(work)
        self._log.add(now, work.who, Interrupted(staff=server.id))
        self._call(server)
        return True

    def _go_on(self, server: Server) -> None:
        """A server goes on with what it was interrupted in, once the emergency has left."""
        if not server.paused or server.serves > len(server.paused):
            return
        if server.free and self._alarm(server):
            self._call(server)
            if server.serves > len(server.paused):
                return
        work = server.paused.pop()
        server.doing = work
        self._log.add(self._clock.now, work.who, Resumed(staff=server.id))
        work.go_on()

    def _call_any(self, queue: Queue) -> None:
        for server in sorted((server for server in queue.servers if server.free), key=longest_free):
            self._call(server)

    def _call(self, server: Server) -> None:
        """Lets a server call those who are first among whom it serves, while it and a place are free."""
        while server.free:
            first, line = self._first(server)
            area = "" if first is None or (server.paused and not first.alarms) else self._place(server, first)
            if first is None or not area:
                return
            heappop(line)
            first.waits = False
            first.area = area
            server.serves += 1
            self.places[area] -= 1
            first.called.succeed(server)

    def _first(self, server: Server) -> tuple[Ticket | None, list[Ticket]]:
        """Returns who is first among whom a server serves, and the line in which it stands."""
        first, line = head_of(server.own), server.own
        for queue in server.queues:
            head = head_of(queue.waiting)
            if head is None or (first is not None and first < head):
                continue
            if head.again or head.alarms or server.stays is None:
                first, line = head, queue.waiting
        if server.covers is not None:
            self._alarms = [ticket for ticket in self._alarms if ticket.waits]
            waiting = [ticket for ticket in self._alarms if ticket.queue not in server.queues]
            if first is not None and first.alarms:
                # An emergency who comes back to this doctor does not overtake another in the same queue.
                waiting = [ticket for ticket in waiting if ticket.queue is first.queue and ticket < first]
            if waiting:
                line = min(waiting).queue.waiting
                first = head_of(line)
        if first is None and server.covers == 0 and server.takes_new:
            first = self._left_alone()
            line = line if first is None else first.queue.waiting
        return first, line

    def _place(self, server: Server, ticket: Ticket) -> str:
        """Returns where a server sees somebody, "" for nowhere; whoever was interrupted makes room."""
        if ticket.alarms and self.places.has(self._resuscitation):
            return self._resuscitation
        beside = server.paused and self.places.is_open(server.area)
        return server.area if beside or self.places.has(server.area) else ""
