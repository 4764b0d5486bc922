"""The state of a hospital as a page is sent it: who is drawn, and neither what somebody has nor who is ill at home.

Of thousands who are ill at home the map shows the number alone; their names and houses are asked for afterwards, when
the map stands.
"""

from __future__ import annotations

from typing import Any

import msgspec

from polyclinic.hospital.record.world import Duty, Place, StaffWalk, Visitor, World

Neighbour = tuple[str, tuple[int, ...]]
"""Who is ill: the name, and the place of the home in metres from the entrance."""


class SentWorld(msgspec.Struct, frozen=True, kw_only=True):
    """A state; what the page can tell from the rest is left out."""

    t: int
    seq: int
    people: dict[str, Visitor]
    ill: int  # how many
    duty: dict[str, Duty]
    staff_walks: dict[str, StaffWalk]
    queues: dict[str, list[Place]]
    counts: dict[str, Any]


def sent(world: World) -> SentWorld:
    """Returns what is sent of a state."""
    counts = msgspec.to_builtins(world.counts)
    counts.pop("diagnosed_right", None)
    return SentWorld(
        t=world.t,
        seq=world.seq,
        people=world.people,
        ill=len(world.ill),
        duty=world.duty,
        staff_walks=world.staff_walks,
        queues=world.queues,
        counts=counts,
    )


def neighbours(world: World) -> dict[str, Neighbour]:
    """Returns those who are ill, by id."""
    return {who: (one.name, one.home) for who, one in world.ill.items()}
