"""What a log says, as figures: how visits ended, waits, work, how right triage, diagnosis and treatment were.

`polyclinic.hospital.record.account` counts them. What failed stands outside every share, with its counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from polyclinic.frames import Tabular
from polyclinic.hospital.record.beds import Occupancy
from polyclinic.statistics.uncertainty import share


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
