"""Who is on duty when, against looking through all shifts."""

import random

import msgspec
import pytest

from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.plan.opening_hours import Roster
from polyclinic.hospital.plan.plan import Job
from polyclinic.knowledge.knowledge import read_knowledge

DAY = 86_400


@pytest.mark.parametrize("first_day", ["2026-01-05", "2026-01-08"])
def test_who_is_on_duty_or_comes_later_on_that_day(first_day):
    hospital = msgspec.structs.replace(read_hospital(None, read_knowledge()), first_day=first_day)
    roster, rng, monday = Roster(hospital), random.Random(1), {"2026-01-05": 0, "2026-01-08": 3}[first_day]
    later = 0
    for _ in range(1500):
        t, department = rng.randrange(3 * 7 * 48) * 1800 + rng.choice((-1, 0, 1)), rng.choice([*hospital.departments])
        day, time = divmod(t, DAY)
        today = [
            (one.id, shift)
            for one in hospital.staff.values()
            if one.job is Job.DOCTOR and department in one.departments
            for shift in one.shifts
            if (monday + day) % 7 in shift.days
        ]
        present = [id for id, shift in today if shift.begin <= time < shift.end]
        comes = list(dict.fromkeys(id for id, shift in today if shift.begin >= time))
        assert roster.doctors(department, t) == (present or comes), (department, t)
        later += not present and bool(comes)
    assert later > 50
