"""The staff at work: shifts, absences, outages, and calls of staff on call when too many wait."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from polyclinic.hospital.floor.clock import Clock, Steps
from polyclinic.hospital.floor.lines import Server
from polyclinic.hospital.floor.queues import Floor
from polyclinic.hospital.plan.events import Incident, IncidentKind, absences
from polyclinic.hospital.plan.opening_hours import WEEK, OpeningHours
from polyclinic.hospital.plan.plan import AreaKind, Hospital, Job, Member
from polyclinic.hospital.plan.ways import Ways
from polyclinic.hospital.record.account import Log
from polyclinic.hospital.record.happenings import DAY, TOWN, Acuity, EventBegan, EventEnded, StaffCalledIn
from polyclinic.seeds import derive

EMERGENCY = "emergency"
"""The department whose doctors are the first to see emergencies of others when no doctor of theirs is free."""

_URGENT_WAITS, _ROUTINE_WAITS = 10 * 60, 20 * 60
"""Seconds for which patients wait for the doctor who was to see them; then a colleague takes over who is free."""

_HELPS = 30 * 60
"""Seconds after which somebody who was called in looks whether it is still needed."""


class Rota:
    """Puts a hospital's staff to work on its floor."""

    def __init__(
        self,
        hospital: Hospital,
        floor: Floor,
        hours: OpeningHours,
        clock: Clock,
        log: Log,
        *,
        doors: Collection[str],
        used: Collection[str],
        ways: Ways,
        events: Sequence[Incident] = (),
    ) -> None:
        self._hospital, self._floor, self._hours, self._clock, self._log = hospital, floor, hours, clock, log
        self._absent, self._ways = absences(events), ways
        (self._entrance,) = hospital.of_kind(AreaKind.ENTRANCE)
        self._on_call: dict[str, list[tuple[Server, int]]] = {}  # by queue: who comes when how many wait there
        self._doctors: dict[str, Server] = {}
        self._coming: set[str] = set()  # who has been called in and has not gone home
        for member in hospital.staff.values():
            self._employ(member, doors, used)
        for department in hospital.departments:
            floor.open(department)
        for event in events:
            clock.start(self._befalls(event))
        worked = {member.area for member in hospital.staff.values()}
        for area in sorted(set(used) - worked):
            floor.employ(Server("", area, alone=False), [area])

    def _befalls(self, event: Incident) -> Steps:
        """An event: its beginning and its end are written down, and an area that is out calls nobody in between."""
        yield self._clock.before(event.begin)
        self._log.add(self._clock.now, TOWN, EventBegan(event=event.said, kind=str(event.kind)))
        if event.kind is IncidentKind.OUTAGE:
            self._floor.places.shut(event.what[0], event.end)
        yield self._clock.before(event.end)
        self._log.add(self._clock.now, TOWN, EventEnded(event=event.said))
        if event.kind is IncidentKind.OUTAGE:
            self._floor.reopen(event.what[0])

    def _employ(self, member: Member, doors: Collection[str], used: Collection[str]) -> None:
        doctor = member.job is Job.DOCTOR
        if doctor:
            queues: Sequence[str] = member.departments
        else:
            queues = [member.area] if member.area in used else []
        server = Server(
            member.id,
            member.area,
            begins=[begin for begin, _ in member.week],
            # One technician looks after all the places of its area.
            alone=self._hospital.areas[member.area].kind is not AreaKind.EXAMINATION,
            stays_for=() if member.area in doors else member.departments or None,
            way=self._ways.find(self._entrance, member.area),
            covers=int(EMERGENCY not in member.departments) if doctor else None,
        )
        if doctor:
            self._doctors[member.id] = server
        self._floor.employ(server, queues)
        self._clock.start(self._works(server))
        if member.on_call is not None:
            for queue in queues:
                self._on_call.setdefault(queue, []).append((server, member.on_call))

    def _works(self, server: Server) -> Steps:
        """The shifts of a member of the staff, week by week; one that begins as another ends goes on with it."""
        spans = self._hospital.staff[server.id].week
        monday = -self._hours.weekday(0) * DAY
        absent = self._absent.get(server.id, ())
        while spans:
            for number, (begin, end) in enumerate(spans):
                if monday + end <= self._clock.now:
                    continue
                yield from self._comes(server, monday + begin)
                if (monday + begin) // DAY in absent:
                    # Until now it was expected.
                    yield self._clock.wait(1)
                    self._floor.miss(server)
                    continue
                self._floor.begin(server)
                yield self._clock.at(monday + end)
                after = spans[number + 1][0] if number + 1 < len(spans) else spans[0][0] + WEEK
                if after > end or (monday + after) // DAY in absent:
                    self._floor.end(server)
            monday += WEEK

    def _comes(self, server: Server, begin: int) -> Steps:
        """Waits until a shift begins, to be there; whoever is there already, or will not come, does not walk."""
        sets_out = begin - (0 if server.way is None else server.way.seconds)
        if sets_out > self._clock.now:
            yield self._clock.at(sets_out)
            walks = server.comes(sets_out)
            if walks is not None and not server.present and begin // DAY not in self._absent.get(server.id, ()):
                self._log.add(sets_out, server.id, walks)
        yield self._clock.at(begin)

    def waited_for(self, doctor: str, acuity: Acuity | None) -> tuple[Server | None, int | None]:
        """Returns the doctor who was to see a visit, and for how long the patient waits for it alone; None for nobody.

        An emergency waits for nobody in particular, nor does anybody for a doctor who is not at work.
        """
        server = self._doctors.get(doctor)
        if server is None or not server.takes_new or acuity is Acuity.EMERGENCY:
            return None, None
        return server, _URGENT_WAITS if acuity is Acuity.URGENT else _ROUTINE_WAITS

    def call_in(self, queue: str, *, alarms: bool = False) -> None:
        """Calls in the first who is on call for a queue that has grown too long, while the house is open.

        `alarms`: an emergency has found nobody. In place of a doctor somebody is called at any hour then, of its
        department or else of emergency medicine; in place of a nurse at night, when there are few.
        """
        now = self._clock.now
        by_night = not self._hours.is_open(now)
        alarms = alarms and (by_night or queue in self._hospital.departments)
        if by_night and not alarms:
            return
        waiting = sum(ticket.waits for ticket in self._floor.queues[queue].waiting)
        on_call = [server for server, limit in self._on_call.get(queue, ()) if alarms or waiting >= limit]
        if alarms and queue in self._hospital.departments:
            on_call += [server for server, _ in self._on_call.get(EMERGENCY, ())]
        for server in on_call:
            free = not server.present and server.id not in self._coming
            if free and now // DAY not in self._absent.get(server.id, ()):
                self._coming.add(server.id)
                self._log.add(now, server.id, StaffCalledIn(queue=queue, waiting=waiting))
                self._clock.start(self._helps(server))
                return

    def _helps(self, server: Server) -> Steps:
        """Somebody on call comes, and goes home when nobody waits there any more, or goes on with its own shift."""
        rng = derive(0, "called in", server.id, self._clock.now)
        yield self._clock.wait(self._hospital.durations.called_in.draw(rng))
        if not self._on_shift(server):
            server.helps = True
            self._floor.begin(server)
            yield self._clock.wait(_HELPS)
            while any(ticket.waits for queue in server.queues for ticket in queue.waiting):
                yield self._clock.wait(_HELPS)
            if not self._on_shift(server):
                self._floor.end(server)
            server.helps = server.helps and server.present
        self._coming.discard(server.id)

    def _on_shift(self, server: Server) -> bool:
        """Whether one of its own shifts goes on now."""
        day, time = divmod(self._clock.now, DAY)
        if day in self._absent.get(server.id, ()):
            return False
        weekday, shifts = self._hours.weekday(day), self._hospital.staff[server.id].shifts
        return any(weekday in s.days and s.begin <= time < s.end for s in shifts)
