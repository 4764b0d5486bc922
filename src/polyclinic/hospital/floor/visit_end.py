"""How a visit to the hospital ends."""

from __future__ import annotations

from enum import Enum

from polyclinic.hospital.floor.lines import Gone


class VisitEnd(Enum):
    """How a visit ended."""

    SEEN = "seen"
    IMPATIENT = "left: waited too long"
    TURNED_AWAY = "left: closed or not admitted"
    FAILED = "failed"
    DIED = "died"


def ended_by(why: Gone) -> VisitEnd:
    """Returns how the visit ends of somebody who leaves a queue uncalled."""
    return VisitEnd.IMPATIENT if why is Gone.PATIENCE else VisitEnd.TURNED_AWAY
