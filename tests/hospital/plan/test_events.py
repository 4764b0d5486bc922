"""What befalls a hospital, as it is written; and one clear line where it cannot be."""

import pytest

from polyclinic.errors import BadInput
from polyclinic.hospital.plan.events import IncidentKind, absences, read_events
from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.record.happenings import DAY
from polyclinic.knowledge.knowledge import read_knowledge

HOUR = 3600


@pytest.fixture(scope="module")
def read():
    knowledge = read_knowledge()
    hospital = read_hospital(None, knowledge)
    return lambda *texts: read_events(texts, hospital, knowledge)


READ = [
    ("mass arrival 40 at day 3 10:00", IncidentKind.MASS_ARRIVAL, 2 * DAY + 10 * HOUR, 2 * DAY + 14 * HOUR, 0, 40),
    (
        "mass  arrival 7 of influenza-a",
        IncidentKind.MASS_ARRIVAL,
        DAY + 10 * HOUR,
        DAY + 14 * HOUR,
        ("influenza-a",),
        7,
    ),
    ("outage laboratory 4 h", IncidentKind.OUTAGE, DAY + 10 * HOUR, DAY + 14 * HOUR, ("laboratory",), 0),
    ("outage radiology 90 min at day 1 09:30", IncidentKind.OUTAGE, 9.5 * HOUR, 11 * HOUR, ("radiology",), 0),
    ("absent doctor neurology", IncidentKind.ABSENT, DAY, 2 * DAY, ("d09",), 0),
    ("absent n01 at day 4 for 2 d", IncidentKind.ABSENT, 3 * DAY, 5 * DAY, ("n01",), 0),
    ("epidemic influenza-a 5 at day 2 for 14 d", IncidentKind.EPIDEMIC, DAY, 15 * DAY, ("influenza-a",), 5),
]


def test_events_as_they_are_written(read):
    for text, kind, begin, end, what, many in READ:
        (event,) = read(text)
        assert (event.kind, event.begin, event.end, event.many) == (kind, begin, end, many), text
        assert event.what == (what or ()), text


WRONG = [
    ("outage sauna 4 h", "no such area: 'sauna'; there are endoscopy"),
    ("outage waiting-hall 4 h", "nobody works there: 'waiting-hall'"),
    ("outage laboratory", "for how long"),
    ("outage laboratory soon", "'soon' is no duration"),
    ("absent doctor surgery", "nobody 'surgery' is on the staff; there are d01"),
    ("mass arrival many", "'many' is no number of people from 1 to 1,000"),
    ("mass arrival 5 of plague", "plague"),
    ("epidemic influenza-a", "'influenza-a' is no number of times as often"),
    ("epidemic influenza-a 0.5", "'0.5' is no number of times as often from 1 to 1,000"),
    ("outage laboratory 4 h at noon", "write the time as 'at day 3' or 'at day 3 10:00'"),
    ("outage laboratory 4 h at day 0 10:00", "days are counted from 1"),
    ("flood", "it is none; write 'mass arrival 40 at day 3 10:00'"),
]


def test_what_cannot_be_is_one_line(read):
    for text, says in WRONG:
        with pytest.raises(BadInput) as error:
            read(text)
        assert text in str(error.value) and says in str(error.value), (text, str(error.value))
        assert "\n" not in str(error.value)


def test_absences_by_day(read):
    events = read("absent doctor neurology at day 2", "absent d09 at day 3 for 2 d", "outage laboratory 1 h")
    assert absences(events) == {"d09": {1, 2, 3}}
