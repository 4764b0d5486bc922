"""What a log says, as figures: how visits ended, waits, work, how right triage, diagnosis and treatment were.

`polyclinic.hospital.record.account` counts them over the whole log. Here are also the visits one by one (`Attendance`),
the same figures by disease, department, acuity, level and hour (`Groups`), beds, deaths and their causes
(`Inpatients`), and what the doctors learnt (`Learnt`). Failed visits are counted and are in no share.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from polyclinic.cases.truth import Severity
from polyclinic.frames import Tabular
from polyclinic.hospital.record.happenings import (
    DAY,
    HOUR,
    Acuity,
    Admitted,
    CalledIn,
    Diagnosed,
    Died,
    Discharged,
    FellIll,
    FollowedUp,
    FollowUpOutcome,
    Happening,
    HarmCause,
    LeftUnseen,
    MemoriesPublished,
    Moved,
    Operated,
    Prescribed,
    Queued,
    Triaged,
    VisitFailed,
    WentHome,
    What,
    Worsened,
)
from polyclinic.statistics.uncertainty import share


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


class Occupancy(msgspec.Struct, frozen=True, kw_only=True):
    """The beds of an area."""

    patients: int  # who lay down there
    mean: float  # beds in use, over the time that is counted (`RunSummary.counted`)
    most: int  # beds in use at once
    stays: int  # that have ended
    mean_days: float | None  # of those; None where there are none
    median_days: float | None
    waited: int  # who waited for a bed there
    mean_wait: float  # minutes of those who did


class _AreaBeds:
    def __init__(self, window: Window, lying: int = 0) -> None:
        self.patients = 0
        self.now = self.most = lying
        self.since, self._filled = window.begin, TimeInWindow(window)
        self.stays: list[int] = []
        self.waits: list[int] = []

    @property
    def filled(self) -> int:
        """Seconds in which beds were in use, of all together."""
        return self._filled.so_far(self.since, self.now)

    def until(self, t: int) -> None:
        self._filled.add(self.since, max(0, t), self.now)
        self.since = max(0, t)

    def enter(self, t: int, waited: int) -> None:
        self.until(t)
        self.now += 1
        self.patients += 1
        self.most = max(self.most, self.now)
        if waited:
            self.waits.append(waited)

    def leave(self, t: int, stayed: int) -> None:
        self.until(t)
        self.now -= 1
        self.stays.append(stayed)


class Inpatients:
    """What a log says so far of beds, deaths, and why patients got worse.

    Args:
        window: from when to when it counts.
        before: who counted until then; who lies in a bed goes on lying there, and nothing else is taken over.
    """

    def __init__(self, window: Window, *, before: Inpatients | None = None) -> None:
        self._window = window
        self.operations = 0
        self.admitted: Counter[str] = Counter()  # by the kind of the first area
        self.died: Counter[str] = Counter()  # by cause
        self.died_of: Counter[str] = Counter()  # by disease
        self.worse: Counter[str] = Counter()  # by cause
        self._areas: dict[str, _AreaBeds] = defaultdict(lambda: _AreaBeds(window))
        self._lies: dict[str, str] = {} if before is None else before._lies
        if before is not None:
            for area, beds in before._areas.items():
                self._areas[area] = _AreaBeds(window, beds.now)

    def add(self, t: int, who: str, what: What) -> None:
        """Takes a happening that is one of `OF_BEDS`."""
        take: Any = OF_BEDS[type(what)]
        take(self, t, who, what)

    def _admit(self, t: int, who: str, what: Admitted) -> None:
        self.admitted[what.care] += 1
        self._areas[what.area].enter(t, what.waited)
        self._lies[who] = what.area

    def _move(self, t: int, who: str, what: Moved) -> None:
        self._areas[self._lies[who]].leave(t, what.stayed)
        self._areas[what.area].enter(t, what.waited)
        self._lies[who] = what.area

    def _operate(self, _: int, __: str, ___: Operated) -> None:
        self.operations += 1

    def _discharge(self, t: int, who: str, what: Discharged) -> None:
        self._areas[self._lies.pop(who)].leave(t, what.stayed)

    def _die(self, t: int, who: str, what: Died) -> None:
        self.died[what.cause.value] += 1
        self.died_of[what.disease] += 1
        if who in self._lies:
            self._areas[self._lies.pop(who)].leave(t, what.stayed)

    def _worsen(self, _: int, __: str, what: Worsened) -> None:
        self.worse[what.cause.value] += 1

    def _follow_up(self, _: int, __: str, what: FollowedUp) -> None:
        if what.outcome is FollowUpOutcome.WORSE and what.cause is not None:
            self.worse[what.cause.value] += 1

    def occupancy(self) -> dict[str, Occupancy]:
        """Returns how full the beds were, by area."""
        return {area: _occupancy(beds, self._window.seconds) for area, beds in sorted(self._areas.items())}


def _occupancy(beds: _AreaBeds, seconds: int) -> Occupancy:
    stays = sorted(beds.stays)
    return Occupancy(
        patients=beds.patients,
        mean=round(beds.filled / max(1, seconds), 3),
        most=beds.most,
        stays=len(stays),
        mean_days=round(sum(stays) / len(stays) / DAY, 3) if stays else None,
        median_days=round(stays[(len(stays) - 1) // 2] / DAY, 3) if stays else None,
        waited=len(beds.waits),
        mean_wait=round(sum(beds.waits) / len(beds.waits) / 60, 1) if beds.waits else 0.0,
    )


def by_cause(counts: Counter[str]) -> dict[str, int]:
    """Returns counts in the order of the causes."""
    return {cause.value: counts[cause.value] for cause in HarmCause if counts[cause.value]}


OF_BEDS: dict[type, Any] = {
    Admitted: Inpatients._admit,
    Moved: Inpatients._move,
    Operated: Inpatients._operate,
    Discharged: Inpatients._discharge,
    Died: Inpatients._die,
    Worsened: Inpatients._worsen,
    FollowedUp: Inpatients._follow_up,
}
"""What is counted here."""


class Proportion(msgspec.Struct, frozen=True, kw_only=True):
    """How many of how many, in percent, with Wilson's 95 % interval; None where there is none to count.

    Visits of one resident are not independent, so that the interval is a little too narrow where many come back.
    """

    right: int
    n: int
    percent: float | None
    low: float | None
    high: float | None


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """How long people waited before they were called. Who left uncalled is counted in `RunSummary.left`."""

    n: int  # calls
    mean: float  # in seconds, like the others
    median: int  # half waited no longer
    p90: int  # nine in ten waited no longer
    p99: int  # 99 in a hundred waited no longer
    longest: int  # of all


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What a member of the staff did."""

    at_work: int  # seconds of its shifts that are counted (`RunSummary.counted`), overtime included
    busy: int  # seconds of these with somebody, from the call to the end of the service
    called: int  # patients, once for each call


class LevelAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """Levels of the five-level index as the nurse judged them, beside those that were right.

    Attributes:
        confusion: visits, right levels as rows and given ones as columns, each from 1 to 5.
        right, over, under: judged right, more urgent, less urgent.
        kappa: Cohen's with quadratic weights; None where chance alone agrees on everything. `low` to `high` is its
            95 % interval.
    """

    n: int
    right: Proportion
    over: Proportion
    under: Proportion
    kappa: float | None
    low: float | None
    high: float | None
    confusion: tuple[tuple[int, ...], ...]


class LevelWaits(msgspec.Struct, frozen=True, kw_only=True):
    """How long people of a level, as the nurse judged it first, waited from coming in to the first doctor."""

    waits: Waits  # in seconds
    target: int  # minutes of the scale, see `polyclinic.knowledge.acuity.TARGETS`
    within: Proportion  # seen within that
    wanted: int  # per cent who should be


class RunSummary(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """What a log says."""

    fell_ill: int  # onsets
    # Work and beds are counted from the end of the warm-up until the last patient has been served, in seconds
    counted: tuple[int, int]
    arrived: int  # comings to the hospital: the sum of `seen`, `left`, `failed`, `died_inside` and `inside`
    came_again: int  # of these, who had been turned away and came once more for the same visit
    seen: int  # treated and gone home
    admitted: dict[str, int]  # who lay down in a bed, once a stay, by the kind of the first area
    operated: int  # operations
    died: int  # everywhere
    died_inside: int  # of those, in the hospital
    died_by_cause: dict[str, int]  # by what, done otherwise, would have kept the patient alive (`HarmCause`)
    died_by_disease: dict[str, int]  # by disease
    worse_by_cause: dict[str, int]  # who got worse, in the hospital or at home, by the same
    beds: dict[str, Occupancy]  # by area with beds
    left: dict[str, int]  # by reason, those who left before
    failed: dict[str, int]  # by the failure's name, visits that came to no report
    inside: int  # on the way to or in the hospital at the end of the log
    referred: int  # patients sent on to another department
    taken_over: int = 0  # consultations by another doctor than was expected
    follow_ups: dict[str, int]  # by outcome, or by what failed; somebody who is better is told again when recovered
    waits: dict[str, Waits]  # for the first talk with a doctor, by department
    area_waits: dict[str, Waits]  # by area; triage, registration, examinations, the pharmacy
    work: dict[str, Work]  # by member of the staff
    triage: Proportion  # sent to the right department
    acuity: Proportion  # judged as urgent as it was
    over_triage: Proportion  # judged more urgent
    under_triage: Proportion  # judged less urgent
    levels: LevelAgreement  # the same by the five levels
    level_waits: dict[str, LevelWaits]  # from coming in to the first doctor, by the level that the nurse judged
    worse_waiting: int  # patients who got worse while they waited; what the doctors did was launched anew
    triaged_again: int  # of these, those whom a nurse found worse before they were called
    examination: Proportion  # an examination that is right for the disease was done
    diagnosis: Proportion  # right
    treatment: Proportion  # the plan of the disease at its severity


class Treated(StrEnum):
    """How somebody was treated before a follow-up."""

    RIGHT = "right plan"
    WRONG = "wrong plan"
    NOT = "untreated"


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """One day."""

    day: int  # from 1
    arrived: int  # people who came to the hospital
    seen: int  # went home treated on that day
    left: int  # went home before
    failed: int  # visits that came to no report
    died: int  # in the hospital
    diagnosis: Proportion  # how many diagnoses of the day are right


class Hour(msgspec.Struct, frozen=True, kw_only=True):
    """People in the hospital at a full hour of the day, the mean over the days on which somebody was there."""

    hour: int  # from 0 to 23
    waiting: float  # in a queue
    served: float  # with staff, or at a counter without
    lying: float  # in a bed
    other: float  # on the way within the hospital, or none of these
    most: int  # all together, on the day on which they were most


class Series(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """The rows behind the pictures of a report."""

    days: tuple[Day, ...]  # every day up to the last on which somebody came to the hospital or left it
    hours: tuple[Hour, ...]  # every hour of the day
    diagnosis: dict[str, Proportion]  # right diagnoses, by the department that made them
    acuity: dict[str, dict[str, int]]  # visits by right acuity, then by acuity as judged
    # First follow-ups after a visit, or after one that did not come about, by how the patient was treated
    outcomes: dict[str, dict[str, int]]


def proportion(right: int, n: int) -> Proportion:
    """Returns so many of so many, with the interval."""
    percent, low, high = share(right, n)
    return Proportion(right=right, n=n, percent=percent, low=low, high=high)


def proportion_of(counts: Counter[bool]) -> Proportion:
    """Returns how many are right."""
    return proportion(counts[True], counts.total())


def waits_of(counts: Counter[int]) -> Waits:
    """Returns what waits come to, of which each has been counted, in seconds."""
    n, ordered = counts.total(), sorted(counts.items())

    def quantile(q: float) -> int:
        below = 0
        for waited, count in ordered:
            below += count
            if below >= q * n:
                return waited
        return ordered[-1][0]

    return Waits(
        n=n,
        mean=sum(waited * count for waited, count in ordered) / n,
        median=quantile(0.5),
        p90=quantile(0.9),
        p99=quantile(0.99),
        longest=ordered[-1][0],
    )


def utilisation(work: Mapping[str, Work], jobs: Mapping[str, str]) -> dict[str, float]:
    """Returns how much of its time at work each job's staff spent with somebody, in percent; jobs in their order."""
    busy: dict[str, int] = defaultdict(int)
    at_work: dict[str, int] = defaultdict(int)
    for who, job in jobs.items():
        if who in work:
            busy[job] += work[who].busy
            at_work[job] += work[who].at_work
    return {job: round(100 * busy[job] / seconds, 2) for job, seconds in at_work.items() if seconds}


SEEN, LEFT, FAILED, DIED = "seen", "left", "failed", "died"
"""How somebody's time in the hospital ends; "" while it is there."""


class Attendance(msgspec.Struct, kw_only=True):
    """One coming to the hospital; who was turned away and comes again comes twice. Times in seconds of the run."""

    who: str
    onset: int = -1  # when the illness began; -1 where the log does not say
    disease: str = ""  # "" where the log does not say
    severity: Severity | None = None  # at the onset
    number: int = 1  # of the comings with this illness
    arrived: int  # in the first queue
    department: str = ""  # where the nurse sent it
    acuity: Acuity | None = None  # as the nurse judged it first
    level: int | None = None  # of the five-level index, as she judged it
    right_acuity: Acuity | None = None
    right_department: bool | None = None
    waited: int | None = None  # until the first doctor's call; None where there was none
    right_examination: bool | None = None
    right_diagnosis: bool | None = None
    right_treatment: bool | None = None
    admitted: str = ""  # the kind of the first area with a bed
    worse: bool = False  # got worse in a bed
    ended: str = ""  # `SEEN`, `LEFT`, `FAILED` or `DIED`
    left: int | None = None  # when that was
    outcome: FollowUpOutcome | None = None  # at the first follow-up after it
    recovered: bool = False  # of this illness, after it
    died: bool = False  # of this illness, there or after it


class _Followed:
    """An illness: how it began, how often its patient has come, and the last time."""

    __slots__ = ("comings", "disease", "last", "onset", "severity")

    def __init__(self, onset: int = -1, disease: str = "", severity: Severity | None = None) -> None:
        self.onset, self.disease, self.severity = onset, disease, severity
        self.comings = 0
        self.last: Attendance | None = None


class Attendances:
    """Follows everybody who is ill through the log.

    Args:
        done: is told of each coming to which nothing more can be added.
    """

    def __init__(self, done: Callable[[Attendance], object]) -> None:
        self._done = done
        self._ill: dict[str, _Followed] = {}

    def add(self, happening: Happening) -> None:
        """Takes the next line of the log."""
        take = _TAKEN.get(type(happening.what))
        if take is not None:
            take(self, happening.t, happening.who, happening.what)

    def onto(self, done: Callable[[Attendance], object]) -> Attendances:
        """Returns the same people, followed on for somebody else."""
        other = Attendances(done)
        other._ill = self._ill
        return other

    def open(self) -> list[Attendance]:
        """Returns those to which something may still be added, as they are."""
        return [ill.last for ill in self._ill.values() if ill.last is not None]

    def _last(self, who: str) -> Attendance | None:
        ill = self._ill.get(who)
        return None if ill is None else ill.last

    def _tell(self, who: str) -> None:
        ill = self._ill.pop(who, None)
        if ill is not None and ill.last is not None:
            self._done(ill.last)

    def _fall_ill(self, t: int, who: str, what: FellIll) -> None:
        self._tell(who)
        self._ill[who] = _Followed(t, what.disease, what.severity)

    def _queue(self, t: int, who: str, _: Queued) -> None:
        ill = self._ill.get(who)
        if ill is None:
            ill = self._ill[who] = _Followed()
        if ill.last is not None:
            if not ill.last.ended:
                return
            self._done(ill.last)
        ill.comings += 1
        ill.last = Attendance(
            who=who, onset=ill.onset, disease=ill.disease, severity=ill.severity, number=ill.comings, arrived=t
        )

    def _triage(self, _: int, who: str, what: Triaged) -> None:
        last = self._last(who)
        if last is not None:
            last.department, last.acuity, last.level = what.department, what.acuity, what.level
            last.right_acuity = what.right_acuity
            last.right_department = what.department == what.right_department

    def _call(self, t: int, who: str, what: CalledIn) -> None:
        last = self._last(who)
        if last is not None and last.waited is None and what.queue == last.department:
            last.waited = t - last.arrived

    def _diagnose(self, _: int, who: str, what: Diagnosed) -> None:
        last = self._last(who)
        if last is not None:
            last.right_diagnosis, last.right_examination = what.right, what.right_examination

    def _prescribe(self, _: int, who: str, what: Prescribed) -> None:
        last = self._last(who)
        if last is not None:
            last.right_treatment = what.right

    def _admit(self, _: int, who: str, what: Admitted) -> None:
        last = self._last(who)
        if last is not None:
            last.admitted = what.care

    def _worsen(self, _: int, who: str, __: Worsened) -> None:
        last = self._last(who)
        if last is not None:
            last.worse = True

    def _end(self, t: int, who: str, what: WentHome | LeftUnseen | VisitFailed) -> None:
        last = self._last(who)
        if last is not None:
            last.ended, last.left = _ENDS[type(what)], t

    def _die(self, t: int, who: str, _: Died) -> None:
        last = self._last(who)
        if last is not None:
            last.died = True
            if not last.ended:
                last.ended, last.left = DIED, t
        self._tell(who)

    def _follow_up(self, _: int, who: str, what: FollowedUp) -> None:
        last = self._last(who)
        if last is not None and last.outcome is None:
            last.outcome = what.outcome
        if what.outcome is FollowUpOutcome.RECOVERED:
            if last is not None:
                last.recovered = True
            self._tell(who)


_ENDS: dict[type, str] = {WentHome: SEEN, LeftUnseen: LEFT, VisitFailed: FAILED}
_TAKEN: dict[type, Callable[[Attendances, int, str, Any], None]] = {
    FellIll: Attendances._fall_ill,
    Queued: Attendances._queue,
    Triaged: Attendances._triage,
    CalledIn: Attendances._call,
    Diagnosed: Attendances._diagnose,
    Prescribed: Attendances._prescribe,
    Admitted: Attendances._admit,
    Worsened: Attendances._worsen,
    WentHome: Attendances._end,
    LeftUnseen: Attendances._end,
    VisitFailed: Attendances._end,
    Died: Attendances._die,
    FollowedUp: Attendances._follow_up,
}


_MINUTE = 60


class UntilDoctor(msgspec.Struct, frozen=True, kw_only=True):
    """Minutes from arrival to the first doctor's call, of those who were called; None where nobody was."""

    mean: float | None
    median: float | None
    p90: float | None  # nine in ten waited no longer
    n: int


class Subtotal(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a part of those who came to the hospital."""

    visits: int  # comings
    seen: int  # treated and gone home
    left: int  # before
    failed: int  # visits that came to no report
    admitted: int  # lay down in a bed
    died: int  # of the illness, in the hospital or later
    worse: int  # got worse in a bed or by the first follow-up
    waiting: UntilDoctor
    department: Proportion  # sent to the right one
    acuity: Proportion  # judged as urgent as it was
    diagnosis: Proportion  # right
    treatment: Proportion  # the plan of the disease at its severity
    outcomes: dict[str, int]  # at the first follow-up


class Groups(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """The same figures of parts of those who came; whom a part cannot be said of is in none."""

    by_disease: dict[str, Subtotal]  # that they had
    by_department: dict[str, Subtotal]  # where the nurse sent them
    by_acuity: dict[str, Subtotal]  # as the nurse judged it first
    by_level: dict[str, Subtotal]  # of the five-level index, as she judged it
    by_hour: dict[str, Subtotal]  # of the day at which they arrived, "00" to "23"
    all: Subtotal  # everybody


class _GroupCount:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.waits: Counter[int] = Counter()
        self.right: dict[str, Counter[bool]] = defaultdict(Counter)
        self.outcomes: Counter[FollowUpOutcome] = Counter()

    def add(self, one: Attendance) -> None:
        counts = self.counts
        counts["visits"] += 1
        if one.ended:
            counts[one.ended] += 1
        counts["admitted"] += bool(one.admitted)
        counts["dead"] += one.died
        counts["worse"] += one.worse or one.outcome is FollowUpOutcome.WORSE
        if one.waited is not None:
            self.waits[one.waited] += 1
        if one.outcome is not None:
            self.outcomes[one.outcome] += 1
        acuity = None if one.acuity is None else one.acuity is one.right_acuity
        for name, right in (
            ("department", one.right_department),
            ("acuity", acuity),
            ("diagnosis", one.right_diagnosis),
            ("treatment", one.right_treatment),
        ):
            if right is not None:
                self.right[name][right] += 1

    def copy(self) -> _GroupCount:
        copied = _GroupCount()
        copied.counts, copied.waits = self.counts.copy(), self.waits.copy()
        copied.outcomes = self.outcomes.copy()
        copied.right = defaultdict(Counter, {name: counts.copy() for name, counts in self.right.items()})
        return copied

    def subtotal(self) -> Subtotal:
        counts = self.counts
        return Subtotal(
            visits=counts["visits"],
            seen=counts[SEEN],
            left=counts[LEFT],
            failed=counts[FAILED],
            admitted=counts["admitted"],
            died=counts["dead"],
            worse=counts["worse"],
            waiting=_minutes(self.waits),
            department=proportion_of(self.right["department"]),
            acuity=proportion_of(self.right["acuity"]),
            diagnosis=proportion_of(self.right["diagnosis"]),
            treatment=proportion_of(self.right["treatment"]),
            outcomes={outcome.value: self.outcomes[outcome] for outcome in FollowUpOutcome},
        )


def _minutes(waits: Counter[int]) -> UntilDoctor:
    if not waits:
        return UntilDoctor(mean=None, median=None, p90=None, n=0)
    found = waits_of(waits)
    mean, median, p90 = (round(seconds / _MINUTE, 2) for seconds in (found.mean, found.median, found.p90))
    return UntilDoctor(mean=mean, median=median, p90=p90, n=found.n)


def _places(one: Attendance) -> Iterable[tuple[str, str]]:
    """Yields the parts that somebody belongs to."""
    yield "all", ""
    yield "hour", f"{max(0, one.arrived) % DAY // HOUR:02}"
    if one.disease:
        yield "disease", one.disease
    if one.department:
        yield "department", one.department
    if one.acuity is not None:
        yield "acuity", one.acuity.value
    if one.level is not None:
        yield "level", str(one.level)


class GroupTally:
    """Counts comings by their parts.

    Args:
        begin: who arrived before this time of the run, in seconds, is left out.
    """

    def __init__(self, *, begin: int = 0) -> None:
        self._begin = begin
        self._parts: dict[tuple[str, str], _GroupCount] = defaultdict(_GroupCount)

    def add(self, one: Attendance) -> None:
        """Counts one."""
        if one.arrived >= self._begin:
            for place in _places(one):
                self._parts[place].add(one)

    def groups(self, open: Iterable[Attendance] = ()) -> Groups:
        """Returns what they come to, with those that are not counted yet."""
        whole = GroupTally(begin=self._begin)
        whole._parts.update({place: part.copy() for place, part in self._parts.items()})
        for one in open:
            whole.add(one)
        nobody = _GroupCount()

        def by(what: str, always: Iterable[str] = ()) -> dict[str, Subtotal]:
            names = sorted(name for kind, name in whole._parts if kind == what)
            return {
                name: whole._parts.get((what, name), nobody).subtotal() for name in dict.fromkeys([*always, *names])
            }

        return Groups(
            by_disease=by("disease"),
            by_department=by("department"),
            by_acuity=by("acuity", [acuity.value for acuity in Acuity]),
            by_level=by("level"),
            by_hour=by("hour"),
            all=whole._parts.get(("all", ""), nobody).subtotal(),
        )


WEEK = 7


class LearntBy(msgspec.Struct, frozen=True, kw_only=True):
    """A day, or a week.

    Attributes:
        number: which, from 0.
        records, experience: how much all memories hold together at its end, beside what doctors brought.
        questions: on what was read off shift, how many were answered rightly until then.
        examination, diagnosis, treatment: how much of what was decided in it was right.
    """

    number: int
    records: int
    experience: int
    questions: int
    examination: Proportion
    diagnosis: Proportion
    treatment: Proportion


class Learnt(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """What was learnt.

    Attributes:
        version: names the memories as they are at the end; "" where nobody learnt anything.
        cases: of so many patients.
        records, experience: as much.
        passages, questions: read off shift, and on them answered rightly.
        days, weeks: every one up to the last.
    """

    version: str
    cases: int
    records: int
    experience: int
    passages: int
    questions: int
    days: tuple[LearntBy, ...]
    weeks: tuple[LearntBy, ...]


class LearntTally:
    """Counts, happening by happening."""

    def __init__(self) -> None:
        self._version = ""
        self._days: dict[int, Counter[str]] = defaultdict(Counter)

    def add(self, happening: Happening) -> None:
        """Takes the next happening of the log."""
        what = happening.what
        if isinstance(what, MemoriesPublished):
            self._version = what.version
            # What is published at midnight was learnt on the day before.
            day = self._days[max(0, happening.t - 1) // DAY]
            day.update(cases=what.cases, records=what.records, experience=what.experience)
            day.update(passages=what.passages, questions=what.questions)
        elif isinstance(what, Diagnosed):
            day = self._days[max(0, happening.t) // DAY]
            day.update(diagnosed=1, examination=what.right_examination, diagnosis=what.right)
        elif isinstance(what, Prescribed):
            self._days[max(0, happening.t) // DAY].update(prescribed=1, treatment=what.right)

    def looking_on(self, happenings: Iterable[Happening]) -> Iterator[Happening]:
        """Passes happenings on to whoever reads them, and counts them."""
        for happening in happenings:
            self.add(happening)
            yield happening

    def learnt(self) -> Learnt:
        """Returns what it comes to so far."""
        total = sum(self._days.values(), Counter[str]())
        return Learnt(
            version=self._version,
            cases=total["cases"],
            records=total["records"],
            experience=total["experience"],
            passages=total["passages"],
            questions=total["questions"],
            days=self._by(1),
            weeks=self._by(WEEK),
        )

    def _by(self, days: int) -> tuple[LearntBy, ...]:
        last = max((day for day, counts in self._days.items() if counts), default=-1)
        found, so_far = [], Counter[str]()
        for number in range(last // days + 1):
            counts = sum((self._days[d] for d in range(number * days, (number + 1) * days)), Counter[str]())
            so_far += counts
            found.append(
                LearntBy(
                    number=number,
                    records=so_far["records"],
                    experience=so_far["experience"],
                    questions=so_far["questions"],
                    examination=proportion(counts["examination"], counts["diagnosed"]),
                    diagnosis=proportion(counts["diagnosis"], counts["diagnosed"]),
                    treatment=proportion(counts["treatment"], counts["prescribed"]),
                )
            )
        return tuple(found)
