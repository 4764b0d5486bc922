"""Reads a hospital file and checks that it describes a hospital that can work.

Times of day are "08:00", hours "08:00-14:30", days "mon", "mon-fri" or "sat, sun", durations "12 min", "90 s", "2 h" or
a number of seconds. Whatever is wrong is one `BadInput` with the path and the field.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import split_place
from polyclinic.hospital.plan.plan import (
    WITH_BEDS,
    Area,
    AreaKind,
    Duration,
    Hospital,
    Job,
    Member,
)
from polyclinic.hospital.record.happenings import DAY
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.yaml_files import read_yaml

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""Days of the week as a file names them; Monday is 0."""

_UNITS = {"s": 1, "min": 60, "h": 3600, "d": DAY}
_DURATION = re.compile(r"(-?\d+(?:\.\d+)?) ?(s|min|h|d)")
_HOURS = re.compile(r"(\d{1,2}):(\d{2}) ?[-–] ?(\d{1,2}):(\d{2})")


def read_days(text: str, field: str) -> tuple[int, ...]:
    """Reads days of the week: "mon", "mon-fri", "sat, sun"."""
    days: list[int] = []
    for part in text.lower().split(","):
        first, dash, last = (p.strip() for p in part.partition("-"))
        if first not in DAYS or (dash and last not in DAYS):
            raise BadInput(f"{text!r} names no days; write them as 'mon', 'mon-fri' or 'sat, sun'", field=field)
        begin, end = DAYS.index(first), DAYS.index(last if dash else first)
        if end < begin:
            raise BadInput(f"{part.strip()!r} runs backwards; the week begins on Monday", field=field)
        days += range(begin, end + 1)
    return tuple(sorted(days))


def read_hours(text: str, field: str) -> tuple[int, int]:
    """Reads a time of day and a later one, "08:00-14:30", as seconds since midnight; the day ends at 24:00."""
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
    """Reads a duration: "12 min", "90 s", "2 h", or a number of seconds."""
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


LANGUAGES = ("en", "zh")

_EPSILON = 1e-6
_WHERE_WORKED = {
    AreaKind.TRIAGE: Job.NURSE,
    AreaKind.REGISTRATION: Job.CLERK,
    AreaKind.PHARMACY: Job.PHARMACIST,
}


def problems(hospital: Hospital, knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    """Yields what is wrong with a hospital, in one line each, and the field of its file.

    Only the first counts: what follows it may be a consequence.
    """
    yield from _wrong_head(hospital, knowledge)
    yield from _wrong_areas(hospital, knowledge)
    yield from _wrong_staff(hospital)
    yield from _wrong_illness(hospital, knowledge)
    yield from _wrong_examinations(hospital, knowledge)


def _wrong_head(hospital: Hospital, knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    yield from _unnamed(hospital.name, "$.name")
    try:
        hospital.date(0)
    except ValueError:
        yield f"{hospital.first_day!r} is no day; write it as 2026-01-05", "$.first_day"
    if not hospital.open:
        yield "the hospital is never open; name a day and its hours", "$.open"
    for key, name in hospital.departments.items():
        yield from _unnamed(name, f"$.departments.{key}")
    yield from _unknown("examination", hospital.free_examinations, knowledge.examinations, "$.free_examinations")


def _unnamed(name: Mapping[str, str], field: str) -> Iterator[tuple[str, str]]:
    if set(name) != set(LANGUAGES) or not all(text.strip() for text in name.values()):
        yield f"needs a text for each of {' and '.join(LANGUAGES)}; has {', '.join(name) or 'none'}", field


def _wrong_areas(hospital: Hospital, knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    kinds = {examination.kind for examination in knowledge.examinations.values()}
    entrances = hospital.of_kind(AreaKind.ENTRANCE)
    if len(entrances) != 1:
        yield f"{len(entrances)} areas of the kind 'entrance'; exactly one is needed", "$.areas"
    for kind in (AreaKind.TRIAGE, AreaKind.REGISTRATION, AreaKind.WAITING, AreaKind.PHARMACY):
        if not hospital.of_kind(kind):
            yield f"no area of the kind {kind.value!r}; at least one is needed", "$.areas"
    reached = [entrances[0]]
    for id in reached:
        reached += [to for to in hospital.areas[id].ways if to not in reached]
    for key, area in hospital.areas.items():
        field = f"$.areas.{key}"
        yield from _unnamed(area.name, f"{field}.name")
        if (area.kind in WITH_BEDS and area.beds < 1) or (area.kind not in WITH_BEDS and area.beds):
            problem = f"{area.beds} beds in an area of the kind {area.kind.value!r}"
            yield f"{problem}; those of {', '.join(WITH_BEDS)} need beds, and no others", f"{field}.beds"
        yield from _unknown("department", area.departments, hospital.departments, f"{field}.departments")
        yield from _unknown("kind of examination", area.examinations, kinds, f"{field}.examinations")
        if key not in reached:
            yield f"no way leads here from the entrance; name one under `ways`, to any of {', '.join(reached)}", field


def _unknown(what: str, wanted: Iterable[str], known: Iterable[str], field: str) -> Iterator[tuple[str, str]]:
    known = sorted(known)
    for key in wanted:
        if key not in known:
            yield f"no {what} {key!r}; there are {', '.join(known)}", field


def _wrong_staff(hospital: Hospital) -> Iterator[tuple[str, str]]:
    for key, member in hospital.staff.items():
        field = f"$.staff.{key}"
        yield from _unnamed(member.name, f"{field}.name")
        if member.about:
            yield from _unnamed(member.about, f"{field}.about")
        yield from _unknown("area", [member.area], hospital.areas, f"{field}.area")
        yield from _unknown("department", member.departments, hospital.departments, f"{field}.departments")
        yield from _wrong_workplace(hospital, member, field)
        yield from _wrong_shifts(hospital, member, f"{field}.shifts")
    for kind, job in _WHERE_WORKED.items():
        if not any(m.job is job and hospital.areas[m.area].kind is kind for m in hospital.staff.values()):
            yield f"nobody with the job {job.value!r} works in an area of the kind {kind.value!r}", "$.staff"


def _wrong_workplace(hospital: Hospital, member: Member, field: str) -> Iterator[tuple[str, str]]:
    doctor = member.job is Job.DOCTOR
    if doctor != bool(member.departments):
        yield (
            "a doctor needs a department" if doctor else f"a {member.job.value} sees patients for no department",
            f"{field}.departments",
        )
    if doctor:
        area = hospital.areas[member.area]
        missing = [d for d in member.departments if d not in area.departments]
        if area.kind not in (AreaKind.CONSULTATION, AreaKind.RESUSCITATION) or missing:
            problem = f"the area {area.id!r} holds no consultations of {', '.join(missing or member.departments)}"
            yield problem, f"{field}.area"


def _wrong_shifts(hospital: Hospital, member: Member, field: str) -> Iterator[tuple[str, str]]:
    if not member.shifts and member.on_call is None:
        yield "no shift, and not on call; nobody is on the staff who never works", field
    spans = sorted((day, shift.begin, shift.end) for shift in member.shifts for day in shift.days)
    for (day, _, end), (next_day, begin, _) in itertools.pairwise(spans):
        if day == next_day and begin < end:
            yield f"two shifts overlap on {DAYS[day]}", field
    for day, begin, end in spans:
        opening, closing = hospital.open.get(day, (0, 0))
        doors = [(opening, closing), hospital.emergencies.get(day, (0, 0))]
        if all(min(end, closes) <= max(begin, opens) for opens, closes in doors):
            hours = f"open {_time(opening)}-{_time(closing)}" if closing else "closed"
            yield f"{_time(begin)}-{_time(end)} on {DAYS[day]}, when the hospital is {hours}", field


def _wrong_illness(hospital: Hospital, knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    illness = hospital.illness
    if not abs(sum(illness.severities) - 1) < _EPSILON:
        yield f"the shares {', '.join(f'{s:g}' for s in illness.severities)} must sum to 1", "$.illness.severities"
    known = {name for disease in knowledge.diseases.values() for name in (disease.id, disease.department)}
    for key in illness.weights:
        yield from _unknown("disease or department", [key], known, f"$.illness.weights.{key}")
    selections = {f"$.illness.epidemics[{n}].diseases": one.diseases for n, one in enumerate(illness.epidemics)}
    selections["$.illness.diseases"] = illness.diseases
    for field, names in selections.items():
        try:
            caught = knowledge.select(names).diseases.values()
        except BadInput as error:
            yield error.problem, field
            return
    seen = {d for member in hospital.staff.values() for d in member.departments}
    for disease in caught:
        if disease.department not in seen:
            problem = f"{disease.id!r} can be caught, and no doctor sees patients for {disease.department!r}"
            yield f"{problem}; add one to `staff`, or leave it out of `illness.diseases`", "$.illness.diseases"


def _wrong_examinations(hospital: Hospital, knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    kinds = sorted({examination.kind for examination in knowledge.examinations.values()})
    manned = {member.area for member in hospital.staff.values()}
    for kind in kinds:
        areas = [area.id for area in hospital.areas.values() if kind in area.examinations]
        if not areas:
            yield f"examinations of the kind {kind!r} are done in no area; name it in one's `examinations`", "$.areas"
        if not manned.intersection(areas):
            yield f"nobody works where {kind!r} is done ({', '.join(areas)})", "$.staff"
    yield from _unknown("kind of examination", hospital.durations.present, kinds, "$.durations.present")
    durations = hospital.durations.examination
    yield from _unknown("kind of examination", durations, kinds, "$.durations.examination")
    for kind in kinds:
        if kind not in durations:
            yield f"how long does {kind!r} take?", "$.durations.examination"


def _time(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}"


DEFAULT = Path(__file__).parent / "data" / "default.yaml"
"""The hospital that comes with the package."""

PRESETS = ("agent-hospital",)
"""Hospitals of papers, by name: ours with what the file of that name beside it changes."""

_BY_ENTRY = frozenset(("areas", "staff", "illness", "durations"))
"""Sections of which a preset changes single entries."""

T = TypeVar("T")


def read_hospital(path: str | Path | None, knowledge: Knowledge) -> Hospital:
    """Reads a hospital.

    Args:
        path: its file, or one of `PRESETS`; None for the one that comes with the package.
        knowledge: the diseases that its town can catch, and the kinds of examinations.

    Raises:
        BadInput: the file cannot be read, or describes a hospital that cannot work; says where and why.
    """
    preset = str(path) if str(path) in PRESETS else ""
    path = DEFAULT if preset else Path(path or DEFAULT)
    data: Any = read_yaml(path, object)
    if preset:
        path = DEFAULT.with_name(f"{preset}.yaml")
        changes = read_yaml(path, dict[str, Any])
        before, data = data, {**data, **changes}
        for section in _BY_ENTRY & changes.keys():
            data[section] = merged = dict(before[section])
            for key, value in changes[section].items():
                old = merged.pop(key, None)
                if value is not None:
                    merged[key] = {**old, **value} if isinstance(old, dict) and isinstance(value, dict) else value
    try:
        hospital = _typed(data)
        for problem, field in problems(hospital, knowledge):
            raise BadInput(problem, field=field)
    except BadInput as error:
        raise BadInput(error.problem, path=path, line=error.line, field=error.field) from None
    return hospital


def _typed(data: Any) -> Hospital:
    """Returns the hospital of a file; texts such as "12 min" or "mon-fri" are read first, the rest is as it is."""
    given = _convert(data, dict[str, Any], "$")
    made = {name: value for name, value in given.items() if name != "shifts"}
    for name in ("open", "emergencies"):
        if name in made:
            made[name] = opening = {}
            for days, hours, field in _entries(given, name):
                for day in read_days(days, field):
                    if day in opening:
                        raise BadInput("a day of it stands there already", field=field)
                    opening[day] = read_hours(hours, field)
    if "areas" in made:
        made["areas"] = _areas(given)
    if "staff" in made:
        named = {name: _shifts(given["shifts"], name, "$.shifts") for name, *_ in _entries(given, "shifts")}
        made["staff"] = {key: _member(key, value, field, named) for key, value, field in _entries(given, "staff")}
    if "durations" in made:
        durations: dict[str, Any] = {}
        made["durations"] = durations
        for name, value, field in _entries(given, "durations"):
            if name in ("examination", "present"):
                durations[name] = {k: _duration(one, at) for k, one, at in _entries({name: value}, name, "$.durations")}
            elif value is not None or name != "patience":
                durations[name] = _duration(value, field)
    return _convert(made, Hospital, "$")


def _convert(data: Any, kind: type[T], field: str) -> T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        problem, place = split_place(str(error))
        raise BadInput(problem, field=f"{field}{place.removeprefix('$')}") from None


def _entries(data: Mapping[str, Any], name: str, above: str = "$") -> Iterator[tuple[str, Any, str]]:
    """Yields the entries of a mapping in a file, each with its field; none if the mapping is missing."""
    field = f"{above}.{name}"
    for key, value in _convert(data.get(name, {}), dict[str, Any], field).items():
        yield key, value, f"{field}.{key}"


def _shifts(data: Mapping[str, Any], name: str, above: str) -> list[dict[str, Any]]:
    shifts = []
    for days, hours, field in _entries(data, name, above):
        begin, end = read_hours(hours, field)
        shifts.append({"days": read_days(days, field), "begin": begin, "end": end})
    return shifts


def _areas(given: Mapping[str, Any]) -> dict[str, Area]:
    """Returns the areas with each way in both directions; a file gives it once."""
    areas = {key: _convert(value, dict[str, Any], field) for key, value, field in _entries(given, "areas")}
    ways: dict[str, dict[str, int]] = {key: {} for key in areas}
    for key, area in areas.items():
        for to, way, field in _entries(area, "ways", f"$.areas.{key}"):
            seconds = math.ceil(read_seconds(way, field))
            if to == key:
                raise BadInput("the way leads to where it begins", field=field)
            if to not in areas:
                raise BadInput(f"no area {to!r}; there are {', '.join(areas)}", field=field)
            if ways[to].get(key, seconds) != seconds:
                problem = f"{seconds} s, and {ways[to][key]} s the other way; give it once, or twice the same"
                raise BadInput(problem, field=field)
            ways[key][to] = ways[to][key] = seconds
    return {k: _convert({**area, "id": k, "ways": ways[k]}, Area, f"$.areas.{k}") for k, area in areas.items()}


def _member(key: str, value: Any, field: str, named: Mapping[str, list[dict[str, Any]]]) -> Member:
    member = _convert(value, dict[str, Any], field)
    shifts: list[dict[str, Any]] = []
    if isinstance(member.get("shifts"), dict):
        shifts = _shifts(member, "shifts", field)
    else:
        for name in _convert(member.get("shifts", ()), tuple[str, ...], f"{field}.shifts"):
            if name not in named:
                problem = f"no shift {name!r}; there are {', '.join(named) or 'none'}"
                raise BadInput(problem, field=f"{field}.shifts")
            shifts += named[name]
    return _convert({**member, "id": key, "shifts": shifts}, Member, field)


def _duration(value: Any, field: str) -> Duration:
    """Reads how long something takes: `read_seconds`' forms, or {median: ..., spread: ...}."""
    if not isinstance(value, dict):
        return Duration(median=read_seconds(value, field))
    seconds = {"median": read_seconds(value["median"], f"{field}.median")} if "median" in value else {}
    return _convert({**value, **seconds}, Duration, field)
