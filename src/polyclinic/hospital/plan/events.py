"""What befalls a hospital in a run: many at once, an area out of order, somebody absent, an epidemic.

    mass arrival 40 [of DISEASE or DEPARTMENT] [at day 3 10:00]
    outage laboratory 4 h [at day 2 09:00]
    absent doctor neurology [at day 2] [for 3 d]
    epidemic influenza-a 5 [at day 2] [for 14 d]

Days are counted from 1. What is not said is the second day, at 10:00 where a time matters, and one day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from polyclinic.errors import BadInput, meant
from polyclinic.hospital.plan.file import read_seconds
from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.record.happenings import DAY, HOUR
from polyclinic.knowledge.knowledge import Knowledge

FORMS = (
    "'mass arrival 40 at day 3 10:00', 'outage laboratory 4 h at day 2 09:00', 'absent doctor neurology at day 2' or "
    "'epidemic influenza-a 5 at day 2 for 14 d'"
)

AFTER_A_MASS_ARRIVAL = 4 * HOUR
"""How long after it the results speak of a mass arrival as going on."""

_MOST = 1000  # arrivals at once; more would be another town
_WHEN = re.compile(r"\s+at\s+day\s+(\d{1,5})(?:\s+(\d{1,2}):(\d{2}))?$")
_LASTS = re.compile(r"\s+for\s+(\S+ ?\S*)$")


class IncidentKind(StrEnum):
    """What an event is."""

    MASS_ARRIVAL = "mass arrival"
    OUTAGE = "outage"
    ABSENT = "absent"
    EPIDEMIC = "epidemic"


class Incident(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One event."""

    said: str  # as it was given
    kind: IncidentKind  # what it is
    begin: int  # in seconds since midnight of the first day
    end: int  # when it is over
    what: tuple[str, ...] = ()  # the area that is out, who is absent, the diseases that are caught; all where empty
    many: float = 0.0  # how many arrive, or how many times as often a disease is caught


def read_events(texts: Iterable[str], hospital: Hospital, knowledge: Knowledge) -> tuple[Incident, ...]:
    """Reads events."""
    return tuple(_read(text, hospital, knowledge) for text in texts)


def _read(text: str, hospital: Hospital, knowledge: Knowledge) -> Incident:
    said = " ".join(text.split())
    rest, lasts = _lasts(said, said)
    rest, begin = _when(rest, said)
    if lasts is None:
        rest, lasts = _lasts(rest, said)
    kind = next((kind for kind in IncidentKind if rest.startswith(f"{kind} ")), None)
    if kind is None:
        raise BadInput(f"event {said!r} is none; write {FORMS}")
    words = rest.removeprefix(f"{kind} ").strip()
    if kind is IncidentKind.MASS_ARRIVAL:
        event = _mass_arrival(said, words, begin, knowledge)
    elif kind is IncidentKind.OUTAGE:
        event = _outage(said, words, begin, hospital)
    elif kind is IncidentKind.ABSENT:
        event = _absent(said, words, begin, lasts or DAY, hospital)
    else:
        event = _epidemic(said, words, begin, lasts or DAY, knowledge)
    if lasts is not None and kind in (IncidentKind.MASS_ARRIVAL, IncidentKind.OUTAGE):
        raise BadInput(f"event {said!r}: a {kind} is not 'for' a time; write {FORMS}")
    return event


def _when(text: str, said: str) -> tuple[str, int | None]:
    """Takes the time off the end of an event."""
    match = _WHEN.search(text)
    if match is None:
        if re.search(r"\sat\s", text):
            raise BadInput(f"event {said!r}: write the time as 'at day 3' or 'at day 3 10:00'")
        return text, None
    day, hour, minute = int(match[1]), int(match[2] or 10), int(match[3] or 0)
    if day < 1 or hour > 23 or minute > 59:
        raise BadInput(f"event {said!r}: days are counted from 1, and times go from 00:00 to 23:59")
    return text[: match.start()], (day - 1) * DAY + hour * HOUR + minute * 60


def _lasts(text: str, said: str) -> tuple[str, int | None]:
    match = _LASTS.search(text)
    if match is None:
        return text, None
    return text[: match.start()], round(read_seconds(match[1], f"event {said!r}"))


def _begins(begin: int | None) -> int:
    return DAY + 10 * HOUR if begin is None else begin


def _mass_arrival(said: str, words: str, begin: int | None, knowledge: Knowledge) -> Incident:
    many, _, of = words.partition(" of ")
    if not many.isdecimal() or not 1 <= int(many) <= _MOST:
        raise BadInput(f"event {said!r}: {many!r} is no number of people from 1 to {_MOST:,}")
    begin = _begins(begin)
    what = _diseases(said, of, knowledge) if of else ()
    return Incident(
        said=said,
        kind=IncidentKind.MASS_ARRIVAL,
        begin=begin,
        end=begin + AFTER_A_MASS_ARRIVAL,
        what=what,
        many=float(many),
    )


def _outage(said: str, words: str, begin: int | None, hospital: Hospital) -> Incident:
    area, _, lasts = words.partition(" ")
    worked = sorted({member.area for member in hospital.staff.values()})
    if area not in worked:
        problem = "nobody works there" if area in hospital.areas else "no such area"
        raise BadInput(f"event {said!r}: {problem}: {area!r}{meant(area, worked)}; there are {', '.join(worked)}")
    if not lasts:
        raise BadInput(f"event {said!r}: for how long? Write 'outage {area} 4 h'")
    begin = _begins(begin)
    end = begin + round(read_seconds(lasts, f"event {said!r}"))
    return Incident(said=said, kind=IncidentKind.OUTAGE, begin=begin, end=end, what=(area,))


def _absent(said: str, words: str, begin: int | None, lasts: int, hospital: Hospital) -> Incident:
    staff = hospital.staff
    who = words.removeprefix("doctor ").strip()
    if who in staff:
        absent: tuple[str, ...] = (who,)
    else:
        # Those whose own department it is; where it is nobody's own, all who see its patients.
        sees = [member for member in staff.values() if who in member.departments]
        absent = tuple(m.id for m in sees if m.departments[0] == who) or tuple(m.id for m in sees)
    if not absent:
        departments = sorted({d for member in staff.values() for d in member.departments})
        known = f"{', '.join(staff)}, or a doctor of {', '.join(departments)}"
        raise BadInput(f"event {said!r}: nobody {who!r} is on the staff; there are {known}")
    begin = _begins(begin) // DAY * DAY
    end = begin + max(1, round(lasts / DAY)) * DAY
    return Incident(said=said, kind=IncidentKind.ABSENT, begin=begin, end=end, what=absent)


def _epidemic(said: str, words: str, begin: int | None, lasts: int, knowledge: Knowledge) -> Incident:
    disease, _, times = words.rpartition(" ")
    try:
        many = float(times.removeprefix("x"))
    except ValueError:
        raise BadInput(f"event {said!r}: how many times as often? Write 'epidemic influenza-a 5'") from None
    if not 1 <= many <= _MOST:
        raise BadInput(f"event {said!r}: {times} times as often; 1 to {_MOST:,} is allowed")
    begin = _begins(begin) // DAY * DAY
    end = begin + max(1, round(lasts / DAY)) * DAY
    what = _diseases(said, disease, knowledge)
    return Incident(said=said, kind=IncidentKind.EPIDEMIC, begin=begin, end=end, what=what, many=many)


def _diseases(said: str, names: str, knowledge: Knowledge) -> tuple[str, ...]:
    try:
        return tuple(knowledge.select(names).diseases)
    except BadInput as error:
        raise BadInput(f"event {said!r}: {error.problem}") from None


def absences(events: Iterable[Incident]) -> Mapping[str, frozenset[int]]:
    """Returns the days on which members of the staff do not come, by id."""
    days: dict[str, set[int]] = {}
    for event in events:
        if event.kind is IncidentKind.ABSENT:
            for who in event.what:
                days.setdefault(who, set()).update(range(event.begin // DAY, event.end // DAY))
    return {who: frozenset(on) for who, on in days.items()}
