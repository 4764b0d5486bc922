"""Whether anybody will come to those who wait: who is at work, who comes later on that day, who stands in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polyclinic.hospital.floor.clock import Clock
from polyclinic.hospital.floor.lines import Queue, Server, Ticket, head_of, longest_free
from polyclinic.hospital.record.happenings import DAY


class Prospects:
    """What those who wait may hope for.

    Args:
        clock: tells the time.
        monday: seconds from the Monday before to the first midnight.
        covering: those who see emergencies of departments not their own, as the floor employs them.
    """

    def __init__(self, clock: Clock, monday: int, covering: Sequence[Server]) -> None:
        self._clock, self._monday, self._covering = clock, monday, covering

    def served(self, queue: Queue, *, besides: Server | None = None) -> bool:
        """Whether somebody of a queue takes new patients, now or from this very moment on."""
        now = self._clock.now
        return any(
            s.takes_new or s.begins_between(now, now + 1, self._monday) for s in queue.servers if s is not besides
        )

    def expected(self, queue: Queue) -> bool:
        """Whether a shift begins on what is left of the day."""
        now = self._clock.now
        return any(s.begins_between(now, (now // DAY + 1) * DAY, self._monday) for s in queue.servers)

    def covered(self, *, besides: Server | None = None) -> bool:
        """Whether a doctor who sees emergencies of other departments is at work."""
        return any(s.present and not s.leaving for s in self._covering if s is not besides)

    def standing_in(self) -> list[Server]:
        """Returns the doctors of emergencies who are at work, the longest free first."""
        return sorted((s for s in self._covering if s.covers == 0 and s.takes_new), key=longest_free)

    def deserted(self, queue: Queue) -> bool:
        """Whether it is a department of which nobody is at work, or comes within the hour."""
        return queue.deserted(self._clock.now, self._monday)

    def left_alone(self, queues: Iterable[Queue]) -> Ticket | None:
        """Returns who is first of those who press, and whose department has nobody."""
        heads = ((queue, head_of(queue.waiting)) for queue in queues if queue.waiting)
        return min((head for queue, head in heads if head and head.presses and self.deserted(queue)), default=None)

    def hopeful(self, ticket: Ticket) -> bool:
        """Whether somebody who waits will be called."""
        queue = ticket.queue
        if ticket.again and any(server.present for server in queue.servers):
            return True
        if ticket.alarms and self.covered():
            return True
        if ticket.presses and self.deserted(queue) and self.standing_in():
            return True
        return self.served(queue) or self.expected(queue)
