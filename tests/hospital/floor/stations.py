"""Stations of the hospital's floor with customers between them, for what queueing theory and other simulators say."""

import math
import statistics

from polyclinic.hospital.floor.clock import Clock
from polyclinic.hospital.floor.lines import Server
from polyclinic.hospital.floor.queues import Floor
from polyclinic.hospital.record.account import Log
from polyclinic.hospital.record.happenings import Acuity

T95 = {5: 2.776, 6: 2.571, 8: 2.365, 10: 2.262, 12: 2.201, 20: 2.093, 200: 1.972}
"""Student's t of 95 % intervals, by the number of replications."""


def interval(values):
    """The mean of replications, and half the width of its 95 % interval."""
    half = T95[len(values)] * statistics.stdev(values) / math.sqrt(len(values))
    return statistics.fmean(values), half


class Stations:
    """Stations with some servers each, who never rest."""

    def __init__(self, clock, servers):
        self.clock = clock
        self.floor = Floor(clock, Log(), places=servers)
        for station, many in servers.items():
            for number in range(many):
                server = Server(f"{station}{number}", station)
                self.floor.employ(server, [station])
                self.floor.begin(server)

    def serve(self, station, seconds, *, acuity=Acuity.ROUTINE, note=None):
        """Lets somebody wait at a station and be served there; returns how long it waited, and notes it when called."""
        ticket = self.floor.join(station, acuity)
        server = yield ticket.called
        waited = self.clock.now - ticket.since
        if note is not None:
            note(waited)
        yield self.clock.wait(seconds)
        self.floor.release(server)
        return waited


async def live(servers, arrivals, until=None):
    """Runs stations to which `arrivals` brings customers, until a time or until the last has left."""
    async with Clock() as clock:
        clock.start(arrivals(Stations(clock, servers), clock))
        await clock.run(until)
