"""The time over which work and beds are counted: from the end of the warm-up until the last patient has been served.

After that nobody is left but those who lie in their beds, some for weeks; a share of that time would say nothing of how
busy a hospital was. Which service is the last nobody knows before the end, so that what comes after one waits until
there is another. While nobody has come, all that has passed is counted.
"""

from __future__ import annotations


class Window:
    """From when to when is counted, in seconds of the run; `until` is when the last service so far ended."""

    __slots__ = ("begin", "until")

    def __init__(self, begin: int = 0) -> None:
        self.begin = self.until = begin

    @property
    def seconds(self) -> int:
        """How long it is."""
        return self.until - self.begin


class TimeInWindow:
    """Seconds of something, those in a window."""

    __slots__ = ("_inside", "_later", "_until", "_window")

    def __init__(self, window: Window) -> None:
        self._window = window
        self._inside = self._later = 0
        self._until = window.until

    def add(self, begin: int, end: int, times: int = 1) -> None:
        """Adds what went on from a time to another, before anything else happens; `times` as much of it."""
        if self._until != self._window.until:
            # Somebody has been served since then.
            self._inside += self._later
            self._later, self._until = 0, self._window.until
        middle = min(max(begin, self._until), end)
        self._inside += times * (middle - begin)
        self._later += times * (end - middle)

    def so_far(self, since: int | None = None, times: int = 1) -> int:
        """Returns how much it is; `since` when something goes on that has not been added."""
        until = self._window.until
        later = self._later if self._until != until else 0
        going_on = 0 if since is None else times * max(0, until - since)
        return self._inside + later + going_on
