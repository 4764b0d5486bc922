"""What a log says, as figures: how visits ended, waits, work, how right triage, diagnosis and treatment were.

Nearly all are queries over the table of visits (`polyclinic.hospital.record.attendances`): rows are grouped, and each
figure is a share, a mean or a quantile of a group. `polyclinic.hospital.record.account` reads the log and puts them
together. Failed visits are counted and are in no share.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from polyclinic.frames import Tabular
from polyclinic.hospital.record.attendances import DIED, FAILED, LEFT, SEEN, Attendance, Call
from polyclinic.hospital.record.happenings import DAY, HOUR, Acuity, FollowUpOutcome, Happening, HarmCause
from polyclinic.knowledge.acuity import LEVELS, TARGETS
from polyclinic.statistics.agreement import weighted_kappa, weighted_kappa_error
from polyclinic.statistics.uncertainty import share

_MINUTE = 60
T = TypeVar("T")


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
    """Levels of the five-level index as the nurse judged them, compared with those that were right."""

    n: int
    right: Proportion
    over: Proportion  # judged more urgent
    under: Proportion  # judged less urgent
    kappa: float | None  # Cohen's with quadratic weights; None where chance alone agrees on everything
    low: float | None  # end of its 95 % interval
    high: float | None
    confusion: tuple[tuple[int, ...], ...]  # visits, right levels as rows and given ones as columns, from 1 to 5


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


class LearntBy(msgspec.Struct, frozen=True, kw_only=True):
    """What was learnt by the end of a day or a week, and how much of what was decided in it was right."""

    number: int  # which, from 0
    records: int  # in all memories together, not counting what doctors brought
    experience: int
    questions: int  # on what was read off shift, answered rightly until then
    examination: Proportion
    diagnosis: Proportion
    treatment: Proportion


class Learnt(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """What was learnt."""

    version: str  # names the memories as they are at the end; "" where nobody learnt anything
    cases: int  # patients it comes from
    records: int
    experience: int
    passages: int  # read off shift
    questions: int  # on these, answered rightly
    days: tuple[LearntBy, ...]  # every one up to the last
    weeks: tuple[LearntBy, ...]


# --- queries


def grouped(rows: Iterable[T], key: Callable[[T], Any], *always: str) -> dict[str, list[T]]:
    """Groups rows by a key, sorted after the keys that are `always` there; rows with None or "" are left out."""
    found: dict[str, list[T]] = defaultdict(list)
    for row in rows:
        name = key(row)
        if name not in (None, ""):
            found[str(name)].append(row)
    return {name: found.get(name, []) for name in dict.fromkeys([*always, *sorted(found)])}


def proportion(right: int, n: int) -> Proportion:
    """Returns so many of so many, with the interval."""
    percent, low, high = share(right, n)
    return Proportion(right=right, n=n, percent=percent, low=low, high=high)


def proportion_of(found: Iterable[bool | None]) -> Proportion:
    """Returns the share that is true; None is not counted."""
    known = [one for one in found if one is not None]
    return proportion(sum(known), len(known))


def waits_of(seconds: Iterable[int]) -> Waits:
    """Returns the mean and quantiles of waits; at least one is needed."""
    ordered = sorted(seconds)
    n = len(ordered)
    median, p90, p99 = (ordered[math.ceil(q * n) - 1] for q in (0.5, 0.9, 0.99))
    return Waits(n=n, mean=sum(ordered) / n, median=median, p90=p90, p99=p99, longest=ordered[-1])


def waits_by_queue(calls: Iterable[Call]) -> dict[str, Waits]:
    """Returns the waits of calls by the queue they were out of."""
    queues = grouped(calls, lambda call: call.queue)
    return {queue: waits_of(call.waited for call in part) for queue, part in queues.items()}


def minutes_of(seconds: Collection[int]) -> UntilDoctor:
    """Returns waits in minutes."""
    if not seconds:
        return UntilDoctor(mean=None, median=None, p90=None, n=0)
    found = waits_of(seconds)
    mean, median, p90 = (round(seconds / _MINUTE, 2) for seconds in (found.mean, found.median, found.p90))
    return UntilDoctor(mean=mean, median=median, p90=p90, n=found.n)


def subtotal(rows: Sequence[Attendance]) -> Subtotal:
    """Returns the figures of a group of visits."""
    ends, outcomes = Counter(row.ended for row in rows), Counter(row.outcome for row in rows)
    return Subtotal(
        visits=len(rows),
        seen=ends[SEEN],
        left=ends[LEFT],
        failed=ends[FAILED],
        admitted=sum(bool(row.admitted) for row in rows),
        died=sum(row.died for row in rows),
        worse=sum(row.got_worse for row in rows),
        waiting=minutes_of([row.waited for row in rows if row.waited is not None]),
        department=proportion_of(row.right_department for row in rows),
        acuity=proportion_of(row.judged_right for row in rows),
        diagnosis=proportion_of(row.right_diagnosis for row in rows),
        treatment=proportion_of(row.right_treatment for row in rows),
        outcomes={outcome.value: outcomes[outcome] for outcome in FollowUpOutcome},
    )


def groups_of(rows: Sequence[Attendance]) -> Groups:
    """Returns the figures of visits by disease, department, acuity, level and hour."""

    def by(key: Callable[[Attendance], Any], *always: str) -> dict[str, Subtotal]:
        return {name: subtotal(part) for name, part in grouped(rows, key, *always).items()}

    return Groups(
        by_disease=by(lambda row: row.disease),
        by_department=by(lambda row: row.department),
        by_acuity=by(lambda row: row.acuity, *Acuity),
        by_level=by(lambda row: row.level),
        by_hour=by(lambda row: f"{max(0, row.arrived) % DAY // HOUR:02}"),
        all=subtotal(rows),
    )


def agreement(levels: Counter[tuple[int, int]]) -> LevelAgreement:
    """Returns how well the nurse's levels agree, from counts of visits by right and by given level."""
    confusion = tuple(tuple(levels[right, given] for given in LEVELS) for right in LEVELS)
    n = levels.total()
    over = sum(count for (right, given), count in levels.items() if given < right)
    under = sum(count for (right, given), count in levels.items() if given > right)
    kappa = weighted_kappa(confusion) if n else None
    error = None if kappa is None else weighted_kappa_error(confusion)
    return LevelAgreement(
        n=n,
        right=proportion(n - over - under, n),
        over=proportion(over, n),
        under=proportion(under, n),
        kappa=kappa,
        low=None if kappa is None or error is None else max(-1.0, kappa - 1.96 * error),
        high=None if kappa is None or error is None else min(1.0, kappa + 1.96 * error),
        confusion=confusion,
    )


_AT_ONCE = 5
"""Minutes that count as at once: who comes in is triaged, and walks to a room."""


def level_waits(rows: Iterable[Attendance]) -> dict[str, LevelWaits]:
    """Returns the waits of the patients who were called, by level."""
    found = {}
    for level, part in grouped([row for row in rows if row.waited is not None], lambda row: row.level).items():
        target = TARGETS[int(level)]  # type: ignore[index]
        seconds = [row.waited for row in part if row.waited is not None]
        found[level] = LevelWaits(
            waits=waits_of(seconds),
            target=target.minutes,
            within=proportion_of(wait <= max(target.minutes, _AT_ONCE) * _MINUTE for wait in seconds),
            wanted=target.share,
        )
    return found


def days_of(rows: Iterable[Attendance], first: int) -> tuple[Day, ...]:
    """Returns the figures of each day, from `first` (counted from 0) to the last with an arrival, diagnosis or end."""
    came: Counter[int] = Counter()
    ends: Counter[tuple[int, str]] = Counter()
    told: dict[int, list[bool | None]] = defaultdict(list)
    for row in rows:
        came[max(0, row.arrived) // DAY] += 1
        if row.left is not None:
            ends[row.left // DAY, row.ended] += 1
        if row.diagnosed is not None:
            told[row.diagnosed // DAY].append(row.right_diagnosis)
    last = max([*came, *told, *(day for day, _ in ends)], default=-1)
    return tuple(
        Day(
            day=day + 1,
            arrived=came[day],
            seen=ends[day, SEEN],
            left=ends[day, LEFT],
            failed=ends[day, FAILED],
            died=ends[day, DIED],
            diagnosis=proportion_of(told[day]),
        )
        for day in range(first, last + 1)
    )


BEFORE, DURING, AFTER = "before", "during", "after"


def incident(rows: Sequence[Attendance], said: str, begin: int, end: int) -> dict[str, Any]:
    """Returns visits, waits and patients who left unseen before, during and after an event, as JSON.

    A visit belongs to the period of its arrival, a wait at an area to the period of the call. Waits are in minutes, by
    acuity and by area.
    """

    def period(t: int) -> str:
        return (BEFORE, DURING, AFTER)[(t >= begin) + (t >= end)]

    came = grouped(rows, lambda row: period(row.arrived))
    waits: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.acuity is not None and row.waited is not None:
            waits[period(row.arrived)][row.acuity].append(row.waited)
        for call in row.calls:
            if call.queue == call.area:
                waits[period(call.t)][call.area].append(call.waited)
    document: dict[str, Any] = {"event": said, "begins": begin, "ends": end}
    for name in (BEFORE, DURING, AFTER):
        waiting = {}
        for who, seconds in sorted(waits[name].items()):
            of_them = waits_of(seconds)
            mean, p90 = (round(value / _MINUTE, 1) for value in (of_them.mean, of_them.p90))
            waiting[str(who)] = {"mean": mean, "p90": p90, "n": of_them.n}
        here = came.get(name, [])
        document[name] = {"visits": len(here), "left": sum(row.ended == LEFT for row in here), "waiting": waiting}
    return document


def learnt_of(rows: Iterable[Attendance], published: Iterable[Happening]) -> Learnt:
    """Returns what doctors learnt, from all visits and the publications of memories."""
    days: dict[int, Counter[str]] = defaultdict(Counter)
    version = ""
    learnt = ("cases", "records", "experience", "passages", "questions")
    for happening in published:
        what: Any = happening.what
        version = what.version
        # What is published at midnight was learnt on the day before.
        days[max(0, happening.t - 1) // DAY].update({name: getattr(what, name) for name in learnt})
    for row in rows:
        if row.diagnosed is not None:
            right = {"examination": bool(row.right_examination), "diagnosis": bool(row.right_diagnosis)}
            days[row.diagnosed // DAY].update(diagnosed=1, **right)
        if row.prescribed is not None:
            days[row.prescribed // DAY].update(prescribed=1, treatment=bool(row.right_treatment))

    def by(length: int) -> tuple[LearntBy, ...]:
        found, so_far = [], Counter[str]()
        for number in range(max(days, default=-1) // length + 1):
            counts = sum((of_day for day, of_day in days.items() if day // length == number), Counter[str]())
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

    total = sum(days.values(), Counter[str]())
    return Learnt(version=version, days=by(1), weeks=by(7), **{name: total[name] for name in learnt})


def utilisation(work: Mapping[str, Work], jobs: Mapping[str, str]) -> dict[str, float]:
    """Returns how much of its time at work each job's staff spent with somebody, in percent; jobs in their order."""
    busy: dict[str, int] = defaultdict(int)
    at_work: dict[str, int] = defaultdict(int)
    for who, job in jobs.items():
        if who in work:
            busy[job] += work[who].busy
            at_work[job] += work[who].at_work
    return {job: round(100 * busy[job] / seconds, 2) for job, seconds in at_work.items() if seconds}


class Stay(msgspec.Struct, kw_only=True):
    """A row of the table of beds: a patient in a bed. Times in seconds of the run."""

    area: str
    care: str  # kind of the area
    first: bool  # the patient's first bed in this stay
    since: int
    waited: int
    most: int  # beds in use in the area from then on, this one included
    until: int | None = None  # None while the patient lies there
    stayed: int = 0


Span = tuple[int, int]
"""From when to when, in seconds of the run."""


def overlap(spans: Iterable[Span], window: Span) -> int:
    """Returns seconds of spans that lie in a window."""
    return sum(max(0, min(end, window[1]) - max(begin, window[0])) for begin, end in spans)


def occupancy(stays: Iterable[Stay], window: Span) -> dict[str, Occupancy]:
    """Returns how full the beds of each area were, from the beginning of a window on; the mean is over the window."""
    begin, end = window
    found = {}
    for area, part in grouped(stays, lambda stay: stay.area).items():
        came = [stay for stay in part if stay.since >= begin]
        lying = sum(stay.since < begin and (stay.until is None or stay.until >= begin) for stay in part)
        filled = overlap(((stay.since, end if stay.until is None else stay.until) for stay in part), window)
        stayed = sorted(stay.stayed for stay in part if stay.until is not None and stay.until >= begin)
        waits = [stay.waited for stay in came if stay.waited]
        found[area] = Occupancy(
            patients=len(came),
            mean=round(filled / max(1, end - begin), 3),
            most=max([lying, *(stay.most for stay in came)]),
            stays=len(stayed),
            mean_days=round(sum(stayed) / len(stayed) / DAY, 3) if stayed else None,
            median_days=round(stayed[(len(stayed) - 1) // 2] / DAY, 3) if stayed else None,
            waited=len(waits),
            mean_wait=round(sum(waits) / len(waits) / 60, 1) if waits else 0.0,
        )
    return found


def hours_of(hours: Iterable[tuple[int, Counter[str]]]) -> tuple[Hour, ...]:
    """Returns the mean day from counts at full hours; days on which nobody was there do not count."""
    hours = list(hours)
    n = max(1, len({t // DAY for t, counts in hours if counts}))
    found = []
    for hour in range(24):
        counts = [there for t, there in hours if t // HOUR % 24 == hour]
        total = sum(counts, Counter[str]())
        mean = {doing: total[doing] / n for doing in ("waiting", "served", "lying", "other")}
        found.append(Hour(hour=hour, most=max((there.total() for there in counts), default=0), **mean))
    return tuple(found)


def by_cause(causes: Iterable[HarmCause]) -> dict[str, int]:
    """Returns how often each cause is among some, in the order of the causes."""
    counts = Counter(causes)
    return {cause.value: counts[cause] for cause in HarmCause if counts[cause]}
