"""What befalls a hospital from outside, in the log; and what every happening of the log is."""

from __future__ import annotations

import msgspec

TOWN = "town"
"""To whom an event happens."""


class Befallen(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", omit_defaults=True):
    """What happened."""


class EventBegan(Befallen, frozen=True, kw_only=True, tag="event began"):
    """Something befalls the town or its hospital: many at once, an outage, an absence, an epidemic."""

    event: str
    kind: str


class EventEnded(Befallen, frozen=True, kw_only=True, tag="event ended"):
    """It is over."""

    event: str


class StaffCalledIn(Befallen, frozen=True, kw_only=True, tag="called in"):
    """A member of the staff who is on call is asked to come, as too many wait in a queue."""

    queue: str
    waiting: int


class MemoriesPublished(Befallen, frozen=True, kw_only=True, tag="memories published"):
    """What doctors have learnt until now can be read from now on; it happens to the town.

    `version` names all of it, `records` and `experience` are what is new in all memories together, and `cases` how many
    patients it comes from. `passages` were read off shift, and `questions` on them answered rightly.
    """

    version: str
    cases: int = 0
    records: int = 0
    experience: int = 0
    passages: int = 0
    questions: int = 0
