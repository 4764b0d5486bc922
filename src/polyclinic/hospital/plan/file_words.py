"""How a hospital file puts days, times of day and durations, and what they are in seconds."""

from __future__ import annotations

import math
import re
from typing import Any

from polyclinic.errors import BadInput
from polyclinic.hospital.plan.plan import Duration
from polyclinic.hospital.record.happenings import DAY

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""Days of the week as a file names them; Monday is 0."""

MOST_SPREAD = 3.0
"""Beyond it one draw in twenty would be hundreds of times the median: a mistake in the file."""

_UNITS = {"s": 1, "min": 60, "h": 3600, "d": DAY}
_DURATION = re.compile(r"(-?\d+(?:\.\d+)?) ?(s|min|h|d)")
_HOURS = re.compile(r"(\d{1,2}):(\d{2}) ?[-–] ?(\d{1,2}):(\d{2})")


def read_days(text: str, field: str) -> tuple[int, ...]:
    """Reads days of the week: "mon", "mon-fri", "sat, sun".

    Raises:
        BadInput: it names no days, or one twice.
    """
    days: list[int] = []
    for part in text.lower().split(","):
        first, dash, last = (p.strip() for p in part.partition("-"))
        if first not in DAYS or (dash and last not in DAYS):
            raise BadInput(f"{text!r} names no days; write them as 'mon', 'mon-fri' or 'sat, sun'", field=field)
        begin, end = DAYS.index(first), DAYS.index(last if dash else first)
        if end < begin:
            raise BadInput(f"{part.strip()!r} runs backwards; the week begins on Monday", field=field)
        days += range(begin, end + 1)
    if len(set(days)) < len(days):
        raise BadInput(f"{text!r} names a day twice", field=field)
    return tuple(sorted(days))


def read_hours(text: str, field: str) -> tuple[int, int]:
    """Reads a time of day and a later one, "08:00-14:30", as seconds since midnight; the day ends at 24:00.

    Raises:
        BadInput: these are no hours, or they run backwards.
    """
    match = _HOURS.fullmatch(text.strip())
    if match is None or int(match[2]) > 59 or int(match[4]) > 59:
        raise BadInput(f"{text!r} are no hours; write them as '08:00-14:30'", field=field)
    begin, end = int(match[1]) * 3600 + int(match[2]) * 60, int(match[3]) * 3600 + int(match[4]) * 60
    if end > DAY:
        raise BadInput(f"{text!r} ends after 24:00", field=field)
    if end <= begin:
        raise BadInput(f"{text!r} ends before it begins; hours lie within one day", field=field)
    return begin, end


def read_seconds(value: Any, field: str) -> float:
    """Reads a duration: "12 min", "90 s", "2 h", or a number of seconds.

    Raises:
        BadInput: it is none, or not above 0.
    """
    seconds = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    elif isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())):
        seconds = float(match[1]) * _UNITS[match[2]]
    if not math.isfinite(seconds):
        raise BadInput(f"{value!r} is no duration; write it as '12 min', '90 s', '2 h' or in seconds", field=field)
    if seconds <= 0:
        raise BadInput(f"{value!r} is no time at all; a duration is above 0", field=field)
    return seconds


def read_duration(value: Any, field: str) -> Duration:
    """Reads how long something takes: `read_seconds`' forms, or {median: ..., spread: ...}.

    Raises:
        BadInput: it is none, or its spread is not within bounds.
    """
    if not isinstance(value, dict):
        return Duration(median=read_seconds(value, field))
    unknown = sorted(map(str, set(value) - {"median", "spread"}))
    if unknown or "median" not in value:
        what = f"an unknown field {unknown[0]!r}" if unknown else "no median"
        raise BadInput(f"{what}; write a duration, or {{median: 12 min, spread: 0.4}}", field=field)
    spread = value.get("spread", 0.0)
    if not isinstance(spread, int | float) or isinstance(spread, bool) or not 0 <= spread <= MOST_SPREAD:
        raise BadInput(f"{spread!r} is no spread; 0 to {MOST_SPREAD:g} is allowed", field=f"{field}.spread")
    return Duration(median=read_seconds(value["median"], f"{field}.median"), spread=float(spread))
