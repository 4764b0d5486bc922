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
_NUMBER = re.compile(r"x?\d+(?:\.\d+)?")
_END = re.compile(r" (?:at day (\d{1,5})(?: (\d{1,2}):(\d{2}))?|for (\S+ ?\S*))$")
"""The time of an event, or how long it lasts."""


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
    found = []
    for text in texts:
        said = " ".join(text.split())
        try:
            found.append(_read(said, hospital, knowledge))
        except BadInput as error:
            raise BadInput(f"event {said!r}: {error.problem}") from None
    return tuple(found)


def _read(said: str, hospital: Hospital, knowledge: Knowledge) -> Incident:  # noqa: PLR0912 - a branch for each kind
    rest, begin, lasts = said, DAY + 10 * HOUR, 0
    while match := _END.search(rest):
        rest = rest[: match.start()]
        if match[4]:
            lasts = round(read_seconds(match[4], ""))
            continue
        day, hour, minute = int(match[1]), int(match[2] or 10), int(match[3] or 0)
        if day < 1 or hour > 23 or minute > 59:
            raise BadInput("days are counted from 1, and times go from 00:00 to 23:59")
        begin = (day - 1) * DAY + hour * HOUR + minute * 60
    if " at " in rest:
        raise BadInput("write the time as 'at day 3' or 'at day 3 10:00'")
    kind = next((kind for kind in IncidentKind if rest.startswith(f"{kind} ")), None)
    if kind is None:
        raise BadInput(f"it is none; write {FORMS}")
    words = rest.removeprefix(f"{kind} ")
    if lasts and kind in (IncidentKind.MASS_ARRIVAL, IncidentKind.OUTAGE):
        raise BadInput(f"a {kind} is not 'for' a time; write {FORMS}")
    many, what = 0.0, tuple[str, ...]()
    if kind is IncidentKind.MASS_ARRIVAL:
        people, _, of = words.partition(" of ")
        many, what = (
            float(round(_number(people, "number of people"))),
            tuple(knowledge.select(of).diseases) if of else (),
        )
        end = begin + AFTER_A_MASS_ARRIVAL
    elif kind is IncidentKind.OUTAGE:
        area, _, lasting = words.partition(" ")
        worked = sorted({member.area for member in hospital.staff.values()})
        if area not in worked:
            problem = "nobody works there" if area in hospital.areas else "no such area"
            raise BadInput(f"{problem}: {area!r}{meant(area, worked)}; there are {', '.join(worked)}")
        if not lasting:
            raise BadInput(f"for how long? Write 'outage {area} 4 h'")
        what, end = (area,), begin + round(read_seconds(lasting, ""))
    else:
        if kind is IncidentKind.ABSENT:
            what = _absent(words.removeprefix("doctor "), hospital)
        else:
            disease, _, times = words.rpartition(" ")
            many, what = _number(times, "number of times as often"), tuple(knowledge.select(disease).diseases)
        begin = begin // DAY * DAY
        end = begin + max(1, round((lasts or DAY) / DAY)) * DAY
    return Incident(said=said, kind=kind, begin=begin, end=end, what=what, many=many)


def _number(text: str, what: str) -> float:
    number = float(text.removeprefix("x")) if _NUMBER.fullmatch(text) else 0.0
    if not 1 <= number <= _MOST:
        raise BadInput(f"{text!r} is no {what} from 1 to {_MOST:,}")
    return number


def _absent(who: str, hospital: Hospital) -> tuple[str, ...]:
    """Returns a member of the staff, or the doctors of a department."""
    staff = hospital.staff
    if who in staff:
        return (who,)
    # Those whose own department it is; where it is nobody's own, all who see its patients.
    sees = [member for member in staff.values() if who in member.departments]
    absent = tuple(m.id for m in sees if m.departments[0] == who) or tuple(m.id for m in sees)
    if not absent:
        departments = sorted({d for member in staff.values() for d in member.departments})
        known = f"{', '.join(staff)}, or a doctor of {', '.join(departments)}"
        raise BadInput(f"nobody {who!r} is on the staff; there are {known}")
    return absent


def absences(events: Iterable[Incident]) -> Mapping[str, frozenset[int]]:
    """Returns the days on which members of the staff do not come, by id."""
    days: dict[str, set[int]] = {}
    for event in events:
        if event.kind is IncidentKind.ABSENT:
            for who in event.what:
                days.setdefault(who, set()).update(range(event.begin // DAY, event.end // DAY))
    return {who: frozenset(on) for who, on in days.items()}
