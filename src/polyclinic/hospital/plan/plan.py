"""A hospital as its file describes it: areas and ways, departments, staff, shifts, opening hours, the town's illness.

Times of day are in seconds since midnight, durations in seconds. `polyclinic.hospital.plan.file` reads it from a file,
and checks it: what stands here is a hospital in which nobody gets lost.
"""

from __future__ import annotations

import math
import random
from enum import StrEnum

import msgspec


class AreaKind(StrEnum):
    """What an area is for."""

    HOME = "home"
    ENTRANCE = "entrance"
    TRIAGE = "triage"
    REGISTRATION = "registration"
    WAITING = "waiting"
    CONSULTATION = "consultation"
    EXAMINATION = "examination"
    PHARMACY = "pharmacy"
    WARD = "ward"
    OTHER = "other"


class Area(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One area.

    Attributes:
        id: unique in the hospital.
        name: in English and Chinese.
        kind: what it is for.
        capacity: how many can be served in it at once (rooms, machines, counters).
        departments: whose consultations are held here.
        examinations: the kinds of examinations that are done here (`Examination.kind` of the knowledge).
        ways: id of a neighbouring area to the seconds of walking there; read from a file, every way leads back.
        at: place on a map, (x, y), in metres from the entrance.
    """

    id: str
    name: dict[str, str]
    kind: AreaKind
    capacity: int = 1
    departments: tuple[str, ...] = ()
    examinations: tuple[str, ...] = ()
    ways: dict[str, int] = {}
    at: tuple[float, float] = (0.0, 0.0)


class Job(StrEnum):
    """What a member of the staff does."""

    DOCTOR = "doctor"
    NURSE = "nurse"
    TECHNICIAN = "technician"
    PHARMACIST = "pharmacist"
    CLERK = "clerk"


class Shift(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When somebody works: on these days of the week (0 is Monday), from one time of day to another."""

    days: tuple[int, ...]
    begin: int
    end: int


class Member(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One member of the staff.

    Attributes:
        id: unique in the hospital.
        name: in English and Chinese.
        job: what it does.
        area: where it works.
        departments: of a doctor: the one or more that it sees patients for.
        shifts: when.
        about: one line on the person.
    """

    id: str
    name: dict[str, str]
    job: Job
    area: str
    departments: tuple[str, ...] = ()
    shifts: tuple[Shift, ...]
    about: dict[str, str] = {}


class Duration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long something takes: a log-normal draw, in seconds.

    Attributes:
        median: half of the draws are shorter.
        spread: standard deviation of the logarithm; two thirds of the draws lie within a factor of exp(spread).
    """

    median: float
    spread: float = 0.0

    def draw(self, rng: random.Random) -> int:
        """Draws one, in whole seconds, at least one."""
        return max(1, round(self.median * math.exp(self.spread * rng.gauss(0, 1))))


class Durations(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long things take.

    Attributes:
        triage: at the triage station.
        registration: at the counter.
        turn: one turn of a consultation.
        examination: by kind of examination (laboratory, imaging, physical, function, endoscopy, …), result included.
        dispensing: at the pharmacy.
        patience: how long somebody with routine acuity waits before leaving; None: for ever, within opening hours.
    """

    triage: Duration
    registration: Duration
    turn: Duration
    examination: dict[str, Duration]
    dispensing: Duration
    patience: Duration | None = None


class Illness(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the town falls ill.

    Attributes:
        per_day: chance that a healthy resident falls ill on a day, the year's mean.
        diseases: what can be caught: `all`, or a list as `Knowledge.select` takes it.
        weights: how often a disease is caught over the year, relative to the others, by disease or department; 1 where
            neither is named. A disease's own weight counts before its department's.
        severities: shares of mild, moderate and severe.
        follow_up_days: days after a visit at which the patient reports back.
        most_visits: visits for one illness at most; after that it takes its course at home.
    """

    per_day: float
    diseases: str = "all"
    weights: dict[str, float] = {}
    severities: tuple[float, float, float] = (0.5, 0.35, 0.15)
    follow_up_days: int = 3
    most_visits: int = 4


class Hospital(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A hospital and its town.

    Attributes:
        name: in English and Chinese.
        first_day: the calendar day of day 0, which gives seasons and days of the week.
        open: opening and closing time of day, by day of the week (0 is Monday); a day that is not named is closed.
        departments: those that see patients here, id to name in English and Chinese.
        areas: by id, the entrance among them.
        staff: by id.
        durations: how long things take.
        illness: how the town falls ill.
        residents: how many live in the town.
        examinations: a visit at most; None for as many as the doctor orders.
    """

    name: dict[str, str]
    first_day: str
    open: dict[int, tuple[int, int]]
    departments: dict[str, dict[str, str]]
    areas: dict[str, Area]
    staff: dict[str, Member]
    durations: Durations
    illness: Illness
    residents: int = 1000
    examinations: int | None = None
