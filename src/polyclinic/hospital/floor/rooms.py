"""Which area of a hospital is meant, where several could be."""

from __future__ import annotations

from polyclinic.hospital.plan.plan import AreaKind, Hospital
from polyclinic.hospital.plan.ways import Ways


def first_of(hospital: Hospital, kind: AreaKind) -> str:
    """Returns the first area of a kind."""
    return next(id for id, area in hospital.areas.items() if area.kind is kind)


def desk_of(hospital: Hospital, ways: Ways, kind: AreaKind) -> str:
    """Returns the area of a kind nearest to the entrance that is not empty of staff, where there is such a one."""
    there = [id for id, area in hospital.areas.items() if area.kind is kind]
    worked = {member.area for member in hospital.staff.values()}
    entrance = first_of(hospital, AreaKind.ENTRANCE)
    return min(there, key=lambda id: (id not in worked, ways.find(entrance, id).seconds))


def examined_in(hospital: Hospital, ways: Ways, kind: str, room: str) -> str:
    """Returns where an examination is done: by the doctor where the room is for it, or no other place is."""
    areas = hospital.areas
    if not kind or kind in areas[room].examinations:
        return room
    there = [id for id, a in areas.items() if a.kind is AreaKind.EXAMINATION and kind in a.examinations]
    return min(there, key=lambda id: ways.find(room, id).seconds, default=room)
