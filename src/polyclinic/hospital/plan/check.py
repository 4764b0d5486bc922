"""What can be wrong with a hospital whose file could be read: somebody in it would get lost, or wait for ever."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping

from polyclinic.errors import BadInput
from polyclinic.hospital.plan.file_words import DAYS
from polyclinic.hospital.plan.plan import WITH_BEDS, Area, AreaKind, Epidemic, Hospital, Job, Member
from polyclinic.knowledge.knowledge import Knowledge

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

    Args:
        hospital: as it is read.
        knowledge: the diseases that its town can catch, and the kinds of examinations.
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
