"""Reads a hospital file and checks that it describes a hospital that can work.

Times of day are "08:00", hours "08:00-14:30", days "mon", "mon-fri" or "sat, sun", durations "12 min", "90 s", "2 h" or
a number of seconds. Whatever is wrong is one `BadInput` with the path and the field.
"""

from __future__ import annotations

import datetime
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
    Durations,
    Epidemic,
    Hospital,
    Illness,
    Job,
    Member,
    Shift,
)
from polyclinic.hospital.record.happenings import DAY
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.players.roles.doctor import Skill
from polyclinic.yaml_files import read_yaml

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""Days of the week as a file names them; Monday is 0."""

MOST_SPREAD = 3.0
"""Beyond it one draw in twenty would be hundreds of times the median: a mistake in the file."""

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
    if len(set(days)) < len(days):
        raise BadInput(f"{text!r} names a day twice", field=field)
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


def read_duration(value: Any, field: str) -> Duration:
    """Reads how long something takes: `read_seconds`' forms, or {median: ..., spread: ...}."""
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


LANGUAGES = ("en", "zh")

MOST_RESIDENTS = 10_000_000
_LAST_YEAR = 2900  # a run may last for centuries
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
        if not 1900 <= datetime.date.fromisoformat(hospital.first_day).year <= _LAST_YEAR:
            yield f"{hospital.first_day} lies in no year from 1900 to {_LAST_YEAR}", "$.first_day"
    except ValueError:
        yield f"{hospital.first_day!r} is no day; write it as 2026-01-05", "$.first_day"
    if not hospital.open:
        yield "the hospital is never open; name a day and its hours", "$.open"
    if not 1 <= hospital.residents <= MOST_RESIDENTS:
        yield f"{hospital.residents} residents; 1 to {MOST_RESIDENTS:,} are allowed", "$.residents"
    if hospital.examinations is not None and hospital.examinations < 0:
        yield f"{hospital.examinations} examinations a visit; 0 or more are allowed, or null", "$.examinations"
    for key, name in hospital.departments.items():
        yield from _unnamed(name, f"$.departments.{key}")
    yield from _unknown("examination", hospital.free_examinations, knowledge.examinations, "$.free_examinations")


def _unnamed(name: Mapping[str, str], field: str) -> Iterator[tuple[str, str]]:
    if set(name) != set(LANGUAGES) or not all(text.strip() for text in name.values()):
        yield f"needs a text for each of {' and '.join(LANGUAGES)}; has {', '.join(name) or 'none'}", field


def _wrong_areas(hospital: Hospital, knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    kinds = {examination.kind for examination in knowledge.examinations.values()}
    entrances = [area.id for area in hospital.areas.values() if area.kind is AreaKind.ENTRANCE]
    if len(entrances) != 1:
        yield f"{len(entrances)} areas of the kind 'entrance'; exactly one is needed", "$.areas"
    for kind in (AreaKind.TRIAGE, AreaKind.REGISTRATION, AreaKind.WAITING, AreaKind.PHARMACY):
        if not any(area.kind is kind for area in hospital.areas.values()):
            yield f"no area of the kind {kind.value!r}; at least one is needed", "$.areas"
    reached = _reached(hospital.areas, entrances[0])
    for key, area in hospital.areas.items():
        field = f"$.areas.{key}"
        yield from _unnamed(area.name, f"{field}.name")
        if area.capacity < 1:
            yield f"the capacity is {area.capacity}; at least 1 is needed", f"{field}.capacity"
        yield from _wrong_beds(area, f"{field}.beds")
        yield from _unknown("department", area.departments, hospital.departments, f"{field}.departments")
        yield from _unknown("kind of examination", area.examinations, kinds, f"{field}.examinations")
        if not all(map(math.isfinite, area.at)):
            yield "a place on the map is two numbers", f"{field}.at"
        for side in ("width", "height", "seats"):
            value = getattr(area, side)
            if not (math.isfinite(value) and value >= 0):
                yield f"it is {value}; 0 or more is needed", f"{field}.{side}"
        if key not in reached:
            yield f"no way leads here from the entrance; name one under `ways`, to any of {', '.join(reached)}", field


def _wrong_beds(area: Area, field: str) -> Iterator[tuple[str, str]]:
    if area.kind in WITH_BEDS and area.beds < 1:
        yield f"an area of the kind {area.kind.value!r} needs beds; it has {area.beds}", field
    elif area.kind not in WITH_BEDS and area.beds:
        kinds = ", ".join(WITH_BEDS)
        yield f"{area.beds} beds in an area of the kind {area.kind.value!r}; only those of {kinds} have beds", field


def _reached(areas: Mapping[str, Area], start: str) -> list[str]:
    reached = [start]
    for key in reached:
        reached += [to for to in areas[key].ways if to not in reached]
    return reached


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
    if member.on_call is not None and member.on_call < 1:
        waiting = field.replace("shifts", "on_call")
        yield f"on call when {member.on_call} wait; at least 1 is needed", waiting
    if not member.shifts and member.on_call is None:
        yield "no shift, and not on call; nobody is on the staff who never works", field
    spans = sorted((day, shift.begin, shift.end) for shift in member.shifts for day in shift.days)
    for (day, _, end), (next_day, begin, _) in itertools.pairwise(spans):
        if day == next_day and begin < end:
            yield f"two shifts overlap on {_day(day)}", field
    for day, begin, end in spans:
        opening, closing = hospital.open.get(day, (0, 0))
        doors = [(opening, closing), hospital.emergencies.get(day, (0, 0))]
        if all(min(end, closes) <= max(begin, opens) for opens, closes in doors):
            hours = f"open {_time(opening)}-{_time(closing)}" if closing else "closed"
            yield f"{_time(begin)}-{_time(end)} on {_day(day)}, when the hospital is {hours}", field


def _wrong_illness(hospital: Hospital, knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    illness = hospital.illness
    if not 0 <= illness.per_day <= 1:
        yield f"{illness.per_day:g} is no chance; 0 to 1 is allowed", "$.illness.per_day"
    if any(not share >= 0 for share in illness.severities) or not abs(sum(illness.severities) - 1) < _EPSILON:
        problem = f"the shares {', '.join(f'{s:g}' for s in illness.severities)} must be 0 or more and sum to 1"
        yield problem, "$.illness.severities"
    for name in ("follow_up_days", "most_visits"):
        if getattr(illness, name) < 1:
            yield f"{getattr(illness, name)}; at least 1 is needed", f"$.illness.{name}"
    known = {name for disease in knowledge.diseases.values() for name in (disease.id, disease.department)}
    for key, weight in illness.weights.items():
        yield from _unknown("disease or department", [key], known, f"$.illness.weights.{key}")
        if not 0 <= weight < math.inf:
            yield f"the weight is {weight:g}; 0 or more is allowed", f"$.illness.weights.{key}"
    for number, epidemic in enumerate(illness.epidemics):
        yield from _wrong_epidemic(epidemic, knowledge, f"$.illness.epidemics[{number}]")
    try:
        caught = knowledge.select(illness.diseases).diseases.values()
    except BadInput as error:
        yield error.problem, "$.illness.diseases"
        return
    seen = {d for member in hospital.staff.values() for d in member.departments}
    for disease in caught:
        if disease.department not in seen:
            problem = f"{disease.id!r} can be caught, and no doctor sees patients for {disease.department!r}"
            yield f"{problem}; add one to `staff`, or leave it out of `illness.diseases`", "$.illness.diseases"


def _wrong_epidemic(epidemic: Epidemic, knowledge: Knowledge, field: str) -> Iterator[tuple[str, str]]:
    for name in ("begins", "ends"):
        day = getattr(epidemic, name)
        try:
            datetime.date.fromisoformat(f"2024-{day}")
        except ValueError:
            yield f"{day!r} is no day of the year; write it as 12-15", f"{field}.{name}"
    if not 1 <= epidemic.times < math.inf:
        yield f"{epidemic.times:g} times as often; 1 or more is allowed", f"{field}.times"
    try:
        knowledge.select(epidemic.diseases)
    except BadInput as error:
        yield error.problem, f"{field}.diseases"


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


def _day(day: int) -> str:
    return DAYS[day]


def _time(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}"


DEFAULT = Path(__file__).parent / "data" / "default.yaml"
"""The hospital that comes with the package."""

PRESETS = ("agent-hospital",)
"""Hospitals of papers, by name: ours with what the file of that name beside it changes."""

_BY_ENTRY = frozenset(("areas", "staff", "illness", "durations"))
"""Sections of which a preset changes single entries."""

T = TypeVar("T")


class _AreaText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: dict[str, str]
    kind: AreaKind
    capacity: int = 1
    beds: int = 0
    departments: tuple[str, ...] = ()
    examinations: tuple[str, ...] = ()
    ways: dict[str, str | int | float] = {}
    at: tuple[float, float] = (0.0, 0.0)
    width: float = 0.0
    height: float = 0.0
    seats: int = 0


class _MemberText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: dict[str, str]
    job: Job
    area: str
    departments: tuple[str, ...] = ()
    shifts: tuple[str, ...] | dict[str, str] = ()
    on_call: int | None = None
    about: dict[str, str] = {}
    skill: Skill = "specialist"


class _HospitalText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: dict[str, str]
    first_day: str
    open: dict[str, str]
    emergencies: dict[str, str] = {}
    departments: dict[str, dict[str, str]]
    areas: dict[str, Any]
    shifts: dict[str, dict[str, str]] = {}
    staff: dict[str, Any]
    durations: dict[str, Any]
    illness: Illness
    residents: int = 1000
    examinations: int | None = None
    free_examinations: tuple[str, ...] = ()
    candidates: bool = False
    deaths: bool = True


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
        data = _changed(data, read_yaml(path, dict[str, Any]))
    try:
        hospital = _typed(data)
        for problem, field in problems(hospital, knowledge):
            raise BadInput(problem, field=field)
    except BadInput as error:
        raise BadInput(error.problem, path=path, line=error.line, field=error.field) from None
    return hospital


def _changed(data: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the data of a hospital with what a preset changes."""
    changed = {**data, **changes}
    for section in _BY_ENTRY & changes.keys():
        changed[section] = merged = dict(data[section])
        for key, value in changes[section].items():
            before = merged.pop(key, None)
            if value is not None:
                merged[key] = {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value
    return changed


def _typed(data: Any) -> Hospital:
    text = _convert(data, _HospitalText, "$")
    shifts = {name: _shifts(hours, f"$.shifts.{name}") for name, hours in text.shifts.items()}
    return Hospital(
        name=text.name,
        first_day=text.first_day,
        open=_opening(text.open, "open"),
        emergencies=_opening(text.emergencies, "emergencies"),
        departments=text.departments,
        areas=_both_ways({key: _area(key, value) for key, value in text.areas.items()}),
        staff={key: _member(key, value, shifts) for key, value in text.staff.items()},
        durations=_durations(text.durations),
        illness=text.illness,
        residents=text.residents,
        examinations=text.examinations,
        free_examinations=text.free_examinations,
        candidates=text.candidates,
        deaths=text.deaths,
    )


def _convert(data: Any, kind: type[T], field: str) -> T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        problem, place = split_place(str(error))
        raise BadInput(problem, field=f"{field}{place.removeprefix('$')}") from None


def _opening(text: Mapping[str, str], name: str) -> dict[int, tuple[int, int]]:
    hours: dict[int, tuple[int, int]] = {}
    for days, span in text.items():
        field = f"$.{name}.{days}"
        for day in read_days(days, field):
            if day in hours:
                raise BadInput("a day of it stands there already", field=field)
            hours[day] = read_hours(span, field)
    return hours


def _shifts(text: Mapping[str, str], field: str) -> tuple[Shift, ...]:
    shifts = []
    for days, span in text.items():
        begin, end = read_hours(span, f"{field}.{days}")
        shifts.append(Shift(days=read_days(days, f"{field}.{days}"), begin=begin, end=end))
    return tuple(shifts)


def _area(key: str, value: Any) -> Area:
    field = f"$.areas.{key}"
    text = _convert(value, _AreaText, field)
    ways = {to: math.ceil(read_seconds(way, f"{field}.ways.{to}")) for to, way in text.ways.items()}
    return Area(id=key, ways=ways, **{k: v for k, v in msgspec.structs.asdict(text).items() if k != "ways"})


def _both_ways(areas: dict[str, Area]) -> dict[str, Area]:
    ways: dict[str, dict[str, int]] = {key: {} for key in areas}
    for area in areas.values():
        for to, seconds in area.ways.items():
            field = f"$.areas.{area.id}.ways.{to}"
            if to == area.id:
                raise BadInput("the way leads to where it begins", field=field)
            if to not in areas:
                raise BadInput(f"no area {to!r}; there are {', '.join(areas)}", field=field)
            if ways[to].get(area.id, seconds) != seconds:
                problem = f"{seconds} s, and {ways[to][area.id]} s the other way; give it once, or twice the same"
                raise BadInput(problem, field=field)
            ways[area.id][to] = ways[to][area.id] = seconds
    return {key: msgspec.structs.replace(area, ways=ways[key]) for key, area in areas.items()}


def _member(key: str, value: Any, named: Mapping[str, tuple[Shift, ...]]) -> Member:
    field = f"$.staff.{key}"
    text = _convert(value, _MemberText, field)
    if isinstance(text.shifts, dict):
        shifts = _shifts(text.shifts, f"{field}.shifts")
    else:
        for name in text.shifts:
            if name not in named:
                raise BadInput(f"no shift {name!r}; there are {', '.join(named) or 'none'}", field=f"{field}.shifts")
        shifts = tuple(shift for name in text.shifts for shift in named[name])
    rest = {k: v for k, v in msgspec.structs.asdict(text).items() if k != "shifts"}
    return Member(id=key, shifts=shifts, **rest)


def _durations(data: Mapping[str, Any]) -> Durations:
    built: dict[str, Any] = {}
    for key, value in data.items():
        field = f"$.durations.{key}"
        if key in ("examination", "present"):
            kinds = _convert(value, dict[str, Any], field)
            built[key] = {kind: read_duration(v, f"{field}.{kind}") for kind, v in kinds.items()}
        elif value is not None or key != "patience":
            built[key] = read_duration(value, field)
    # The durations are built, and so convertible as they are; what is left to find are fields too many or too few.
    return _convert(msgspec.to_builtins(built), Durations, "$.durations")
