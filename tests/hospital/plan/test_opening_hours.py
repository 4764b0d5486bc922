"""When the doors are open, against a slow and plain reading of the hours."""

import datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.plan.opening_hours import OpeningHours
from polyclinic.hospital.record.happenings import DAY
from polyclinic.knowledge.knowledge import read_knowledge

HOSPITAL = msgspec.structs.replace(
    read_hospital(None, read_knowledge()), open={day: (8 * 3600, (20 if day < 6 else 13) * 3600) for day in range(7)}
)
SPANS = st.lists(st.integers(0, DAY), min_size=2, max_size=2, unique=True).map(lambda span: tuple(sorted(span)))
TIMES = st.integers(0, 60 * DAY)


@st.composite
def hospitals(draw):
    """Any hours, any first day."""
    first = datetime.date(2026, 1, 1) + datetime.timedelta(days=draw(st.integers(0, 400)))
    hours = draw(st.dictionaries(st.integers(0, 6), SPANS, min_size=1))
    return msgspec.structs.replace(HOSPITAL, open=hours, first_day=first.isoformat())


def place(hospital, t):
    """Day of the week and time of day."""
    day = datetime.date.fromisoformat(hospital.first_day) + datetime.timedelta(days=t // DAY)
    return day.weekday(), t % DAY


def is_open(hospital, t):
    weekday, time = place(hospital, t)
    begin, end = hospital.open.get(weekday, (0, 0))
    return begin <= time < end


@given(hospitals(), TIMES)
def test_the_doors(hospital, t):
    hours = OpeningHours(hospital)
    assert hours.is_open(t) == is_open(hospital, t)
    opening, closing = hours.next_opening(t), hours.next_closing(t)
    assert t <= opening < closing
    assert opening == t or not is_open(hospital, t)
    assert is_open(hospital, opening)
    assert is_open(hospital, closing - 1)
    # Where a day's end is the next one's opening, the doors close and open at once.
    assert not is_open(hospital, closing) or closing % DAY == 0
    assert not any(is_open(hospital, day * DAY + hospital.open[d][0]) and t < day * DAY + hospital.open[d][0] < opening
                   for day in range(t // DAY, t // DAY + 8)
                   for d in [place(hospital, day * DAY)[0]] if d in hospital.open)  # fmt: skip


@pytest.mark.parametrize(("first", "weekday"), [("2026-01-05", 0), ("2026-01-11", 6)])
def test_the_first_day_gives_the_day_of_the_week(first, weekday):
    hours = OpeningHours(msgspec.structs.replace(HOSPITAL, first_day=first))
    assert [hours.weekday(day) for day in range(8)] == [(weekday + day) % 7 for day in range(8)]
    assert hours.is_open(15 * 3600) == (weekday == 0)
