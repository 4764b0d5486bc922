"""Time that a service takes, which may be interrupted and goes on afterwards: none of it is lost."""

from __future__ import annotations

from polyclinic.hospital.floor.clock import Clock


class Service:
    """Some of somebody's time for one person.

    Args:
        clock: tells the time.
        seconds: how long it takes, pauses left out.
        who: for whom it is.
    """

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
