"""Who is at work and when the doors are open, against a slow and plain reading of the shifts."""

import datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.plan.plan import Job, Shift
from polyclinic.hospital.plan.rota import WEEK, Rota
from polyclinic.hospital.record.happenings import DAY
from polyclinic.knowledge.knowledge import read_knowledge

HOSPITAL = read_hospital(None, read_knowledge())
SPANS = st.tuples(st.integers(0, DAY), st.integers(0, DAY)).filter(lambda s: s[0] < s[1])
SHIFTS = st.lists(
    st.builds(
        lambda days, span: Shift(days=tuple(sorted(days)), begin=span[0], end=span[1]),
        st.sets(st.integers(0, 6), min_size=1),
        SPANS,
    ),
    max_size=3,
)
TIMES = st.integers(0, 60 * DAY)


@st.composite
def hospitals(draw):
    """A few doctors and a nurse with any shifts, any hours, any first day."""
    staff = {
        key: msgspec.structs.replace(HOSPITAL.staff[key], shifts=tuple(draw(SHIFTS)))
        for key in ("d01", "d03", "d09", "n01")
    }
    first = datetime.date(2026, 1, 1) + datetime.timedelta(days=draw(st.integers(0, 400)))
    hours = draw(st.dictionaries(st.integers(0, 6), SPANS, min_size=1))
    return msgspec.structs.replace(HOSPITAL, staff=staff, open=hours, first_day=first.isoformat())


def place(hospital, t):
    """Day of the week and time of day."""
    day = datetime.date.fromisoformat(hospital.first_day) + datetime.timedelta(days=t // DAY)
    return day.weekday(), t % DAY


def there(hospital, job, department, t):
    weekday, time = place(hospital, t)
    return tuple(
        m
        for m in hospital.staff.values()
        if m.job is job
        and (department is None or department in m.departments)
        and any(weekday in s.days and s.begin <= time < s.end for s in m.shifts)
    )


def is_open(hospital, t):
    weekday, time = place(hospital, t)
    begin, end = hospital.open.get(weekday, (0, 0))
    return begin <= time < end


@given(hospitals(), TIMES, st.sampled_from(Job), st.sampled_from([None, "respiratory", "psychiatry", "magic"]))
def test_on_duty_is_what_the_shifts_say(hospital, t, job, department):
    assert Rota(hospital).on_duty(job, department, at=t) == there(hospital, job, department, t)


@given(hospitals(), TIMES, st.sampled_from([None, "respiratory"]))
def test_the_next_change_is_the_first_time_at_which_others_are_there(hospital, t, department):
    rota = Rota(hospital)
    now = there(hospital, Job.DOCTOR, department, t)
    change = rota.next_change(Job.DOCTOR, department, at=t)
    # A crew changes only where a shift begins or ends.
    edges = sorted(
        day * DAY + edge
        for day in range(t // DAY, t // DAY + 9)
        for m in hospital.staff.values()
        for s in m.shifts
        for edge in (s.begin, s.end)
    )
    changes = [e for e in edges if e > t and there(hospital, Job.DOCTOR, department, e) != now]
    assert change == (changes[0] if changes else None)
    assert change is None or t < change <= t + WEEK


@given(hospitals(), TIMES)
def test_the_doors(hospital, t):
    rota = Rota(hospital)
    assert rota.is_open(t) == is_open(hospital, t)
    opening, closing = rota.next_opening(t), rota.next_closing(t)
    assert t <= opening < closing
    assert opening == t or not is_open(hospital, t)
    assert is_open(hospital, opening)
    assert is_open(hospital, closing - 1)
    # Where a day's end is the next one's opening, the doors close and open at once.
    assert not is_open(hospital, closing) or closing % DAY == 0
    assert not any(is_open(hospital, day * DAY + hospital.open[d][0]) and t < day * DAY + hospital.open[d][0] < opening
                   for day in range(t // DAY, t // DAY + 8)
                   for d in [place(hospital, day * DAY)[0]] if d in hospital.open)  # fmt: skip


@given(hospitals(), st.integers(0, 60))
def test_duties_are_the_shifts_of_the_day(hospital, day):
    duties = Rota(hospital).duties(day)
    assert [d.begin for d in duties] == sorted(d.begin for d in duties)
    assert all(day * DAY <= d.begin < d.end <= (day + 1) * DAY for d in duties)
    weekday, _ = place(hospital, day * DAY)
    assert len(duties) == sum(weekday in s.days for m in hospital.staff.values() for s in m.shifts)


def test_a_shift_holds_until_just_before_its_end():
    rota = Rota(HOSPITAL)
    early, late = (rota.on_duty(Job.NURSE, at=t) for t in (14 * 3600 - 1, 14 * 3600))
    assert ([m.id for m in early], [m.id for m in late]) == (["n01", "n02"], ["n03", "n04"])
    assert rota.next_change(Job.NURSE, at=9 * 3600) == 14 * 3600


def test_the_departments_of_a_sunday():
    departments = Rota(HOSPITAL).departments(at=6 * DAY + 10 * 3600)
    assert {"respiratory", "general-surgery", "paediatrics"} <= set(departments)
    assert "neurology" not in departments


@pytest.mark.parametrize(("first", "weekday"), [("2026-01-05", 0), ("2026-01-11", 6)])
def test_the_first_day_gives_the_day_of_the_week(first, weekday):
    rota = Rota(msgspec.structs.replace(HOSPITAL, first_day=first))
    assert [rota.weekday(day) for day in range(8)] == [(weekday + day) % 7 for day in range(8)]
    assert rota.is_open(15 * 3600) == (weekday == 0)
