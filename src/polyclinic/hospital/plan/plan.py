"""A hospital as its file describes it: areas and ways, departments, staff, shifts, opening hours, the town's illness.

Times of day are in seconds since midnight, durations in seconds. `polyclinic.hospital.plan.file` reads it from a file,
and checks it: what stands here is a hospital in which nobody gets lost.
"""

from __future__ import annotations

import datetime
import math
import random
from enum import StrEnum
from typing import Annotated

import msgspec

from polyclinic.hospital.record.happenings import DAY
from polyclinic.players.roles.doctor import Skill

MOST_RESIDENTS = 10_000_000

NotNegative = Annotated[int, msgspec.Meta(ge=0)]
AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]
Size = Annotated[float, msgspec.Meta(ge=0, le=1e6)]  # in metres
Spread = Annotated[float, msgspec.Meta(ge=0, le=3)]  # beyond 3 one draw in twenty is hundreds of times the median
DayOfYear = Annotated[str, msgspec.Meta(pattern=r"^(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$")]
Weight = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


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
    RESUSCITATION = "resuscitation"
    OBSERVATION = "observation"
    WARD = "ward"
    INTENSIVE_CARE = "intensive care"
    THEATRE = "theatre"
    OTHER = "other"


WITH_BEDS = (AreaKind.OBSERVATION, AreaKind.WARD, AreaKind.INTENSIVE_CARE, AreaKind.THEATRE)
"""Where patients stay, the theatre for the time of an operation; later ones care for more than those before."""


class Area(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One area."""

    id: str  # unique in the hospital
    name: dict[str, str]  # in English and Chinese
    kind: AreaKind  # what it is for
    capacity: AtLeastOne = 1  # how many can be served in it at once (rooms, machines, counters)
    beds: int = 0  # of a place where patients stay; tables of a theatre
    departments: tuple[str, ...] = ()  # whose consultations are held here
    examinations: tuple[str, ...] = ()  # the kinds that are done here (`Examination.kind` of the knowledge)
    ways: dict[str, int] = {}  # a neighbouring area to the seconds of walking there; every way leads back
    at: tuple[float, float] = (0.0, 0.0)  # its middle on a map, (x, y), in metres from the entrance
    width: Size = 0.0  # on the map, in metres along x; 0 where that is not known
    height: Size = 0.0  # the same along y
    seats: NotNegative = 0  # for those who wait there; more of them stand


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
    """One member of the staff."""

    id: str  # unique in the hospital
    name: dict[str, str]  # in English and Chinese
    job: Job  # what it does
    area: str  # where it works
    departments: tuple[str, ...] = ()  # of a doctor: the one or more that it sees patients for
    shifts: tuple[Shift, ...] = ()  # when
    on_call: AtLeastOne | None = None  # comes outside its shifts when so many wait in a queue of its; None: never
    about: dict[str, str] = {}  # one line on the person
    skill: Skill = "specialist"  # of a doctor: how practised it is

    @property
    def week(self) -> list[tuple[int, int]]:
        """The beginning and end of each shift in order, in seconds since midnight of a Monday."""
        return sorted((day * DAY + shift.begin, day * DAY + shift.end) for shift in self.shifts for day in shift.days)


class Duration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long something takes: a log-normal draw, in seconds."""

    median: float  # half of the draws are shorter
    spread: Spread = 0.0  # of the logarithm; two thirds of the draws lie within a factor of exp(spread)

    def draw(self, rng: random.Random) -> int:
        """Draws one, in whole seconds, at least one."""
        return max(1, round(self.median * math.exp(self.spread * rng.gauss(0, 1))))


class Durations(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long things take."""

    triage: Duration  # at the triage station
    registration: Duration  # at the counter
    turn: Duration  # one turn of a consultation
    examination: dict[str, Duration]  # by kind of examination, result included
    dispensing: Duration  # at the pharmacy
    called_in: Duration = Duration(median=900.0)  # until somebody on call is there
    sampling: Duration = Duration(median=180.0)  # of all samples of a visit to the laboratory
    present: dict[str, Duration] = {}  # by kind: how long of it the patient is there; others: until the result
    patience: Duration | None = None  # of somebody with routine acuity who waits; None: without end


class Epidemic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A time of the year in which something is caught more often than the season says."""

    diseases: str  # as `Knowledge.select` takes them
    begins: DayOfYear  # month and day, such as 12-15
    ends: DayOfYear  # the last day; before `begins` it lies in the next year
    times: Annotated[float, msgspec.Meta(ge=1, le=1e6)]  # how many times as often

    def goes_on(self, month: int, day: int) -> bool:
        """Whether it goes on on a day of the year."""
        today = f"{month:02d}-{day:02d}"
        if self.begins <= self.ends:
            return self.begins <= today <= self.ends
        return today >= self.begins or today <= self.ends


class Illness(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the town falls ill."""

    per_day: Share  # chance that a healthy resident falls ill on a day, the year's mean
    diseases: str = "all"  # what can be caught: `all`, or a list as `Knowledge.select` takes it
    weights: dict[str, Weight] = {}  # how often over the year, by disease or else department; others have 1
    epidemics: tuple[Epidemic, ...] = ()  # when something is caught more often
    severities: tuple[Share, Share, Share] = (0.5, 0.35, 0.15)  # shares of mild, moderate and severe
    follow_up_days: AtLeastOne = 3  # days after a visit at which the patient reports back
    most_visits: AtLeastOne = 4  # visits for one illness at most; after that it takes its course at home


class Hospital(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A hospital and its town."""

    name: dict[str, str]  # in English and Chinese
    first_day: str  # the calendar day of day 0, which gives seasons and days of the week
    open: dict[int, tuple[int, int]]  # from when to when, by day of the week (0 is Monday); closed on others
    emergencies: dict[int, tuple[int, int]] = {}  # the same of the door for emergencies; empty: as `open`
    departments: dict[str, dict[str, str]]  # those that see patients here, id to name in English and Chinese
    areas: dict[str, Area]  # by id, the entrance among them
    staff: dict[str, Member]  # by id
    durations: Durations  # how long things take
    illness: Illness  # how the town falls ill
    residents: Annotated[int, msgspec.Meta(ge=1, le=MOST_RESIDENTS)] = 1000  # how many live in the town
    examinations: NotNegative | None = None  # a visit at most; None for as many as the doctor orders
    free_examinations: tuple[str, ...] = ()  # ids of those that do not count among them
    candidates: bool = False  # whether doctors are told the diseases that can be caught
    deaths: bool = True  # whether somebody can die of an illness; else the gravely ill stay gravely ill

    def of_kind(self, kind: AreaKind) -> list[str]:
        """Returns the areas of a kind, by id."""
        return [id for id, area in self.areas.items() if area.kind is kind]

    @property
    def home(self) -> Area | None:
        """Where the town lives; None if the hospital has no such area."""
        return next((self.areas[id] for id in self.of_kind(AreaKind.HOME)), None)

    def date(self, day: int) -> datetime.date:
        """Returns the calendar day of a day of a run, from 0."""
        return datetime.date.fromisoformat(self.first_day) + datetime.timedelta(days=day)
