"""What a log says, as figures: how visits ended, waits, work, how right triage, diagnosis and treatment were.

Nearly all are queries over the table of visits (`polyclinic.hospital.record.attendances`): rows are grouped, and each
figure is a share, a mean or a quantile of a group. `polyclinic.hospital.record.account` reads the log and puts them
together. Failed visits are counted and are in no share. Figures are plain values by name, as `--json` prints them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

import msgspec

from polyclinic.hospital.record.attendances import DIED, FAILED, LEFT, SEEN, Attendance, Call
from polyclinic.hospital.record.happenings import DAY, HOUR, Acuity, FollowUpOutcome, Happening, HarmCause
from polyclinic.knowledge.acuity import LEVELS, TARGETS
from polyclinic.statistics.agreement import weighted_kappa, weighted_kappa_error
from polyclinic.statistics.uncertainty import share

_MINUTE = 60
T = TypeVar("T")
Figures = dict[str, Any]


def grouped(rows: Iterable[T], key: Callable[[T], Any], *always: str) -> dict[str, list[T]]:
    """Groups rows by a key, sorted after the keys that are `always` there; rows with None or "" are left out."""
    found: dict[str, list[T]] = defaultdict(list)
    for row in rows:
        name = key(row)
        if name not in (None, ""):
            found[str(name)].append(row)
    return {name: found.get(name, []) for name in dict.fromkeys([*always, *sorted(found)])}


def proportion(right: int, n: int) -> Figures:
    """Returns so many of so many in percent, with Wilson's 95 % interval; None where there is none to count.

    Visits of one resident are not independent, so the interval is a little too narrow where many come back.
    """
    percent, low, high = share(right, n)
    return {"right": right, "n": n, "percent": percent, "low": low, "high": high}


def proportion_of(found: Iterable[bool | None]) -> Figures:
    """Returns the share that is true; None is not counted."""
    known = [one for one in found if one is not None]
    return proportion(sum(known), len(known))


def waits_of(seconds: Iterable[int]) -> Figures:
    """Returns the mean and quantiles of waits in seconds, at least one; nine in ten waited no longer than `p90`."""
    ordered = sorted(seconds)
    n = len(ordered)
    median, p90, p99 = (ordered[math.ceil(q * n) - 1] for q in (0.5, 0.9, 0.99))
    return {"n": n, "mean": sum(ordered) / n, "median": median, "p90": p90, "p99": p99, "longest": ordered[-1]}


def waits_by_queue(calls: Iterable[Call]) -> dict[str, Figures]:
    """Returns the waits of calls by the queue they were out of."""
    queues = grouped(calls, lambda call: call.queue)
    return {queue: waits_of(call.waited for call in part) for queue, part in queues.items()}


def until_doctor(rows: Iterable[Attendance]) -> Figures:
    """Returns minutes from arrival to the first doctor's call, of those who were called; None where nobody was."""
    seconds = [row.waited for row in rows if row.waited is not None]
    found = waits_of(seconds) if seconds else {}
    names = ("mean", "median", "p90")
    return {name: round(found[name] / _MINUTE, 2) if found else None for name in names} | {"n": len(seconds)}


SHARES: dict[str, tuple[str, Callable[[Attendance], bool | None]]] = {
    "triage": ("sent to the right department", lambda row: row.right_department),
    "acuity": ("judged as urgent as it was", lambda row: row.judged_right),
    "over_triage": ("judged more urgent", lambda row: None if row.misjudged is None else row.misjudged < 0),
    "under_triage": ("judged less urgent", lambda row: None if row.misjudged is None else row.misjudged > 0),
    "examination": ("a right examination done", lambda row: row.right_examination),
    "diagnosis": ("right diagnosis", lambda row: row.right_diagnosis),
    "treatment": ("right plan", lambda row: row.right_treatment),
}
"""Shares of the visits: what they are called in tables, and whether it is so of a visit; None is not counted."""


def share_of(name: str, rows: Iterable[Attendance]) -> Figures:
    """Returns one of `SHARES` among some visits."""
    return proportion_of(map(SHARES[name][1], rows))


def counts_of(kinds: type[StrEnum], found: Iterable[StrEnum | None]) -> dict[str, int]:
    """Returns how often each member is among some, in the order of the members."""
    counts = Counter(found)
    return {one.value: counts[one] for one in kinds}


SUBTOTAL: dict[str, Callable[[Sequence[Attendance]], Any]] = {
    "visits": len,
    "seen": lambda rows: sum(row.ended == SEEN for row in rows),
    "left": lambda rows: sum(row.ended == LEFT for row in rows),
    "failed": lambda rows: sum(row.ended == FAILED for row in rows),
    "admitted": lambda rows: sum(bool(row.admitted) for row in rows),
    "died": lambda rows: sum(row.died for row in rows),  # in the hospital or later
    "worse": lambda rows: sum(row.got_worse for row in rows),  # in a bed or by the first follow-up
    "waiting": until_doctor,
    "department": partial(share_of, "triage"),
    "acuity": partial(share_of, "acuity"),
    "diagnosis": partial(share_of, "diagnosis"),
    "treatment": partial(share_of, "treatment"),
    "outcomes": lambda rows: counts_of(FollowUpOutcome, (row.outcome for row in rows)),  # at the first follow-up
}
"""The figures of a group of visits."""

GROUPS: dict[str, tuple[Callable[[Attendance], Any], tuple[str, ...]]] = {
    "by_disease": (lambda row: row.disease, ()),
    "by_department": (lambda row: row.department, ()),  # where the nurse sent the patient
    "by_acuity": (lambda row: row.acuity, tuple(Acuity)),  # as the nurse judged it first
    "by_level": (lambda row: row.level, ()),
    "by_hour": (lambda row: f"{max(0, row.arrived) % DAY // HOUR:02}", ()),  # of arrival, "00" to "23"
}
"""How visits are grouped: the key of a visit, and the keys that are always there."""


def groups_of(rows: Sequence[Attendance]) -> Figures:
    """Returns the figures of visits by disease, department, acuity, level and hour, and of all.

    Visits without a key are in none of its groups.
    """
    parts = {name: grouped(rows, key, *always) for name, (key, always) in GROUPS.items()}
    found: Figures = {name: {one: _subtotal(part) for one, part in by.items()} for name, by in parts.items()}
    return found | {"all": _subtotal(rows)}


def _subtotal(rows: Sequence[Attendance]) -> Figures:
    return {name: of(rows) for name, of in SUBTOTAL.items()}


def agreement(levels: Counter[tuple[int, int]]) -> Figures:
    """Returns how well the nurse's levels agree, from counts of visits by right and by given level.

    Kappa is Cohen's with quadratic weights and its 95 % interval; None where chance alone agrees on everything.
    """
    # Right levels as rows and given ones as columns, from 1 to 5.
    confusion = tuple(tuple(levels[right, given] for given in LEVELS) for right in LEVELS)
    n = levels.total()
    over = sum(count for (right, given), count in levels.items() if given < right)
    under = sum(count for (right, given), count in levels.items() if given > right)
    kappa = weighted_kappa(confusion) if n else None
    error = None if kappa is None else weighted_kappa_error(confusion)
    return {
        "n": n,
        "right": proportion(n - over - under, n),
        "over": proportion(over, n),
        "under": proportion(under, n),
        "kappa": kappa,
        "low": None if kappa is None or error is None else max(-1.0, kappa - 1.96 * error),
        "high": None if kappa is None or error is None else min(1.0, kappa + 1.96 * error),
        "confusion": confusion,
    }


_AT_ONCE = 5
"""Minutes that count as at once: who comes in is triaged, and walks to a room."""


def level_waits(rows: Iterable[Attendance]) -> dict[str, Figures]:
    """Returns by level how long patients waited from arrival to the first doctor, against the scale's targets.

    `target` is in minutes; `within` is the share that was seen by then, `wanted` the percentage that should be.
    """
    found = {}
    for level, part in grouped([row for row in rows if row.waited is not None], lambda row: row.level).items():
        target = TARGETS[int(level)]  # type: ignore[index]
        seconds = [row.waited for row in part if row.waited is not None]
        found[level] = {
            "waits": waits_of(seconds),
            "target": target.minutes,
            "within": proportion_of(wait <= max(target.minutes, _AT_ONCE) * _MINUTE for wait in seconds),
            "wanted": target.share,
        }
    return found


def days_of(rows: Iterable[Attendance], first: int) -> tuple[Figures, ...]:
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
        {
            "day": day + 1,
            "arrived": came[day],
            **{end: ends[day, end] for end in (SEEN, LEFT, FAILED, DIED)},
            "diagnosis": proportion_of(told[day]),
        }
        for day in range(first, last + 1)
    )


def learnt_of(rows: Iterable[Attendance], published: Iterable[Happening]) -> Figures:
    """Returns what doctors learnt by day and week, from all visits and the publications of memories.

    `version` names the memories at the end, "" where nobody learnt anything. Records, experience and questions are
    what all memories together hold at the end of a day; shares are of what was decided on it.
    """
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

    def by(length: int) -> tuple[Figures, ...]:
        found, so_far = [], Counter[str]()
        for number in range(max(days, default=-1) // length + 1):
            counts = sum((of_day for day, of_day in days.items() if day // length == number), Counter[str]())
            so_far += counts
            found.append(
                {
                    "number": number,
                    **{name: so_far[name] for name in ("records", "experience", "questions")},
                    "examination": proportion(counts["examination"], counts["diagnosed"]),
                    "diagnosis": proportion(counts["diagnosis"], counts["diagnosed"]),
                    "treatment": proportion(counts["treatment"], counts["prescribed"]),
                }
            )
        return tuple(found)

    total = sum(days.values(), Counter[str]())
    return {"version": version, **{name: total[name] for name in learnt}, "days": by(1), "weeks": by(7)}


def utilisation(work: Mapping[str, Figures], jobs: Mapping[str, str]) -> dict[str, float]:
    """Returns how much of its time at work each job's staff spent with somebody, in percent; jobs in their order."""
    busy: dict[str, int] = defaultdict(int)
    at_work: dict[str, int] = defaultdict(int)
    for who, job in jobs.items():
        if who in work:
            busy[job] += work[who]["busy"]
            at_work[job] += work[who]["at_work"]
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


def occupancy(stays: Iterable[Stay], window: Span) -> dict[str, Figures]:
    """Returns how full the beds of each area were, from the beginning of a window on; the mean is over the window."""
    begin, end = window
    found = {}
    for area, part in grouped(stays, lambda stay: stay.area).items():
        came = [stay for stay in part if stay.since >= begin]
        lying = sum(stay.since < begin and (stay.until is None or stay.until >= begin) for stay in part)
        filled = overlap(((stay.since, end if stay.until is None else stay.until) for stay in part), window)
        stayed = sorted(stay.stayed for stay in part if stay.until is not None and stay.until >= begin)
        waits = [stay.waited for stay in came if stay.waited]
        found[area] = {
            "patients": len(came),
            "mean": round(filled / max(1, end - begin), 3),
            "most": max([lying, *(stay.most for stay in came)]),
            "stays": len(stayed),  # that have ended
            "mean_days": round(sum(stayed) / len(stayed) / DAY, 3) if stayed else None,
            "median_days": round(stayed[(len(stayed) - 1) // 2] / DAY, 3) if stayed else None,
            "waited": len(waits),
            "mean_wait": round(sum(waits) / len(waits) / 60, 1) if waits else 0.0,  # minutes, of those who waited
        }
    return found


def hours_of(hours: Iterable[tuple[int, Counter[str]]]) -> tuple[Figures, ...]:
    """Returns the mean day from counts at full hours; days on which nobody was there do not count."""
    hours = list(hours)
    n = max(1, len({t // DAY for t, counts in hours if counts}))
    found = []
    for hour in range(24):
        counts = [there for t, there in hours if t // HOUR % 24 == hour]
        total = sum(counts, Counter[str]())
        mean = {doing: total[doing] / n for doing in ("waiting", "served", "lying", "other")}
        found.append({"hour": hour, **mean, "most": max((there.total() for there in counts), default=0)})
    return tuple(found)


def by_cause(causes: Iterable[HarmCause]) -> dict[str, int]:
    """Returns how often each cause is among some, in the order of the causes."""
    return {cause: n for cause, n in counts_of(HarmCause, causes).items() if n}
