"""A player who fails ends the episode, and the failure has a name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from polyclinic.errors import PlayFailure
from polyclinic.events import Role


class EpisodeStopped(Exception):
    """A player failed; the episode ends with this."""

    def __init__(self, who: Role | str, error: str, problem: str) -> None:
        self.who, self.error, self.problem = str(who), error, problem
        super().__init__(problem)


@contextmanager
def stopping(who: Role) -> Iterator[None]:
    """Ends the episode where the player fails.

    Raises:
        EpisodeStopped: it did.
    """
    try:
        yield
    except PlayFailure as failure:
        raise EpisodeStopped(who, type(failure).__name__, str(failure)) from None
