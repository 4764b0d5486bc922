"""Reads a hospital file and checks that it describes a hospital that can work.

Times of day are "08:00", hours "08:00-14:30", days "mon", "mon-fri" or "sat, sun", durations "12 min", "90 s", "2 h" or
a number of seconds. Whatever is wrong is one `BadInput` with the path and the field.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import split_place
from polyclinic.hospital.plan.check import problems
from polyclinic.hospital.plan.file_words import read_days, read_duration, read_hours, read_seconds
from polyclinic.hospital.plan.plan import Area, AreaKind, Durations, Hospital, Illness, Job, Member, Shift
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.players.roles.post import Skill
from polyclinic.yaml_files import read_yaml

DEFAULT = Path(__file__).parent / "data" / "default.yaml"
"""The hospital that comes with the package."""

Preset = Literal["agent-hospital"]
"""Hospitals of papers, by name: ours with what the file of that name beside it changes."""

PRESETS: tuple[str, ...] = get_args(Preset)

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


def read_hospital(path: str | Path | None, knowledge: Knowledge, *, preset: str = "") -> Hospital:
    """Reads a hospital.

    Args:
        path: its file; None for the one that comes with the package.
        knowledge: the diseases that its town can catch, and the kinds of examinations.
        preset: in place of a file, the name of one of `PRESETS`.

    Raises:
        BadInput: the file cannot be read, or describes a hospital that cannot work; says where and why.
    """
    path = Path(path or DEFAULT)
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
