"""Those whom the hospital's state tells of (`polyclinic.hospital.record.world`), as they are at one time."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from polyclinic.cases.truth import Severity
from polyclinic.hospital.record.happenings import Activity, Acuity


class Doing(StrEnum):
    """What somebody does who is not at home."""

    WALKING = "walking"
    WAITING = "waiting"
    CONSULTED = "in consultation"
    SERVED = "served"
    LYING = "in a bed"
    THERE = "there"


class Visitor(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A resident out of its home."""

    home: str = ""  # the area that it came from; "" where that is not known
    area: str = ""  # where it is, or was last
    path: tuple[str, ...] = ()  # the areas of its last walk
    times: tuple[int, ...] = ()  # when each is reached
    began: int = 0  # when that walk began
    queue: str = ""  # in which it waits; "" in none
    since: int = 0  # seconds since which it waits or is served
    staff: str = ""  # who serves it; "" for nobody, and for a counter without staff
    served: str = ""  # the queue that it was called from and is served for; "" for none
    department: str = ""  # where it was sent
    acuity: Acuity | None = None  # as the nurse judged it
    bed: str = ""  # the area of its bed; "" without one
    activity: Activity | None = None  # what is done with it right now, where that is one of these
    examination: str = ""  # which, where that is an examination

    def doing(self, t: int) -> Doing:
        """Returns what it does at a time from its last happening on."""
        if self.times and t < self.times[-1]:
            return Doing.WALKING
        if self.served:
            return Doing.CONSULTED if self.served == self.department else Doing.SERVED
        if self.bed:
            return Doing.LYING
        return Doing.WAITING if self.queue else Doing.THERE


class IllResident(msgspec.Struct, array_like=True):
    """Who is ill, wherever it is."""

    name: str  # the resident's
    disease: str  # by id
    severity: Severity  # how ill it is now
    home: tuple[int, ...]  # the place of its home on the map, in metres from the entrance
    since: int  # when it fell ill


class StaffWalk(msgspec.Struct, array_like=True):
    """A member of the staff on its way to where it works, or home."""

    path: tuple[str, ...]  # the areas
    times: tuple[int, ...]  # when each is reached
    began: int  # when it set out


class Duty(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A member of the staff at work: where it is, since when it works, and whom it serves."""

    area: str
    since: int
    serves: list[str] = []


class Counts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What has happened so far, counted."""

    fell_ill: int = 0
    came: int = 0
    triaged: int = 0
    referred: int = 0
    examined: int = 0
    diagnosed: int = 0
    diagnosed_right: int = 0
    went_home: int = 0
    left_unseen: int = 0
    failed: int = 0
    recovered: int = 0
    better: int = 0
    worse: int = 0
    follow_ups_failed: int = 0
    admitted: int = 0
    discharged: int = 0
    died: int = 0
