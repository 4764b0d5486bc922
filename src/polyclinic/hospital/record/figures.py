"""What a log says, as figures: how visits ended, waits, work, how right triage, diagnosis and treatment were.

`polyclinic.hospital.record.account` counts them. What failed stands outside every share, with its counts.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

import msgspec

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
    """How long people waited before they were called. Who left uncalled is counted in `RunSummary.left`.

    Attributes:
        n: calls.
        mean: in seconds, like the others.
        median: half waited no longer.
        p90: nine in ten waited no longer.
        p99: 99 in a hundred waited no longer.
        longest: of all.
    """

    n: int
    mean: float
    median: int
    p90: int
    p99: int
    longest: int


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What a member of the staff did.

    Attributes:
        at_work: seconds between the beginnings and ends of its shifts, overtime included.
        busy: seconds of these with somebody, from the call to the end of the service.
        called: patients, once for each call.
    """

    at_work: int
    busy: int
    called: int


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What a log says.

    Attributes:
        fell_ill: onsets.
        arrived: comings to the hospital: the sum of `seen`, `left`, `failed` and `inside`.
        seen: treated and gone home.
        left: by reason, those who left before.
        failed: by the failure's name, visits that came to no report.
        inside: on the way to or in the hospital at the end of the log.
        referred: patients sent on to another department.
        follow_ups: by outcome, or by what failed; somebody who is better is told again when recovered.
        waits: for the first talk with a doctor, by department.
        area_waits: by area; triage, registration, examinations, the pharmacy.
        work: by member of the staff.
        triage: sent to the right department.
        acuity: judged as urgent as it was.
        over_triage: judged more urgent.
        under_triage: judged less urgent.
        examination: an examination that is right for the disease was done.
        diagnosis: right.
        treatment: the plan of the disease at its severity.
    """

    fell_ill: int
    arrived: int
    seen: int
    left: dict[str, int]
    failed: dict[str, int]
    inside: int
    referred: int
    follow_ups: dict[str, int]
    waits: dict[str, Waits]
    area_waits: dict[str, Waits]
    work: dict[str, Work]
    triage: Proportion
    acuity: Proportion
    over_triage: Proportion
    under_triage: Proportion
    examination: Proportion
    diagnosis: Proportion
    treatment: Proportion


class Treated(StrEnum):
    """How somebody was treated before a follow-up."""

    RIGHT = "right plan"
    WRONG = "wrong plan"
    NOT = "untreated"


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """One day.

    Attributes:
        day: from 0.
        arrived: people who came to the hospital.
        seen: went home treated on that day.
        left: went home before.
        failed: visits that came to no report.
        diagnosis: how many diagnoses of the day are right.
    """

    day: int
    arrived: int
    seen: int
    left: int
    failed: int
    diagnosis: Proportion


class Hour(msgspec.Struct, frozen=True, kw_only=True):
    """People in the hospital at a full hour of the day, the mean over the days on which somebody was there.

    Attributes:
        hour: from 0 to 23.
        waiting: in a queue.
        served: with staff, or at a counter without.
        other: on the way within the hospital, or neither.
        most: all together, on the day on which they were most.
    """

    hour: int
    waiting: float
    served: float
    other: float
    most: int


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """The rows behind the pictures of a report.

    Attributes:
        days: every day up to the last on which somebody came to the hospital or left it.
        hours: every hour of the day.
        diagnosis: right diagnoses, by the department that made them.
        acuity: visits by right acuity, then by acuity as judged.
        outcomes: first follow-ups after a visit, or after one that did not come about, by how the patient was treated.
    """

    days: tuple[Day, ...]
    hours: tuple[Hour, ...]
    diagnosis: dict[str, Proportion]
    acuity: dict[str, dict[str, int]]
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
