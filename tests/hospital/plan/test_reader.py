"""Hospital files: the default is fit, and whatever is wrong has one line with its path and field."""

import copy
import datetime
import itertools
import re
from pathlib import Path

import msgspec
import pytest
import yaml
from tests.tables import each_row

from polyclinic.errors import BadInput
from polyclinic.hospital.plan.file import DEFAULT, read_hospital
from polyclinic.hospital.plan.opening_hours import OpeningHours
from polyclinic.hospital.plan.plan import WITH_BEDS, AreaKind, Job, Shift
from polyclinic.hospital.record.happenings import DAY
from polyclinic.hospital.town.town import home_of
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.yaml_files import parse_yaml

ROOT = Path(__file__).parents[3]
TEXT = DEFAULT.read_text("utf-8")
DATA = yaml.load(TEXT, Loader=yaml.CBaseLoader)  # every scalar a text


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


def read(tmp_path, knowledge, text):
    path = tmp_path / "hospital.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_hospital(path, knowledge)


def change(*steps):
    """The default hospital with things changed in it: (keys, new value), or (keys,) to take it out."""
    data = copy.deepcopy(DATA)
    for keys, *value in steps:
        *way, last = keys.split("/")
        place = data
        for key in way:
            place = place[key]
        if value:
            place[last] = value[0]
        else:
            del place[last]
    return yaml.dump(data, Dumper=yaml.CSafeDumper, allow_unicode=True, sort_keys=False)


def without(**said):
    """The steps that take out all of the staff of whom something is said."""
    return [(f"staff/{id}",) for id, one in DATA["staff"].items() if said.items() <= one.items()]


def numbers(text):
    # The loader that keeps every scalar a text has made texts of the numbers, too.
    return re.sub(r"'(-?[0-9.]+)'", r"\1", text)


def test_the_default_hospital_is_that_of_the_paper_with_a_resuscitation_room_and_places_to_stay(knowledge):
    hospital = read_hospital(None, knowledge)
    jobs = [member.job for member in hospital.staff.values()]
    assert (jobs.count(Job.DOCTOR), jobs.count(Job.NURSE)) == (20, 13)
    assert {Job.TECHNICIAN, Job.PHARMACIST, Job.CLERK} <= set(jobs)
    stays = [area for area in hospital.areas.values() if area.beds]
    assert {area.kind for area in stays} == set(WITH_BEDS)
    others = (AreaKind.HOME, AreaKind.RESUSCITATION, *WITH_BEDS[:1], *WITH_BEDS[2:])
    assert sum(area.kind not in others for area in hospital.areas.values()) == 16
    assert hospital.open[0] == (7 * 3600, 16.5 * 3600)
    assert hospital.durations.registration.median == 120
    assert hospital.areas["triage"].ways["entrance"] == hospital.areas["entrance"].ways["triage"] == 10
    assert datetime.date.fromisoformat(hospital.first_day).weekday() == 0


def at_work(hospital, t):
    """Who works at a time of the first week, which begins on a Monday."""
    day, time = divmod(t, DAY)
    staff = hospital.staff.values()
    return [m for m in staff if any(day in s.days and s.begin <= time < s.end for s in m.shifts)]


def test_every_department_has_a_doctor_on_every_weekday_and_every_job_is_there_whenever_the_doors_are_open(knowledge):
    hospital = read_hospital(None, knowledge)
    hours = OpeningHours(hospital)
    assert {d for m in hospital.staff.values() for d in m.departments} == set(hospital.departments)
    for t in range(0, 7 * DAY, 1800):
        if hours.is_open(t):
            staff = at_work(hospital, t)
            assert {m.job for m in staff} == set(Job), t
            if t < 5 * DAY and t % DAY >= 7.5 * 3600:
                assert {d for m in staff for d in m.departments} == set(hospital.departments), t
    doctors = [sum(m.job is Job.DOCTOR for m in at_work(hospital, day * DAY + 10 * 3600)) for day in range(7)]
    assert doctors == [13] * 5 + [8] * 2  # most where most come
    # Whoever is in danger finds somebody who sees emergencies of every department.
    opening = [any("emergency" in m.departments for m in at_work(hospital, day * DAY + 7 * 3600)) for day in range(7)]
    assert all(opening)


def test_ways_are_no_faster_than_a_brisk_walk_on_the_map(knowledge):
    areas = read_hospital(None, knowledge).areas
    for area in areas.values():
        for to, seconds in area.ways.items():
            (x, y), (u, v) = area.at, areas[to].at
            assert ((x - u) ** 2 + (y - v) ** 2) ** 0.5 / seconds <= 1.8, (area.id, to)


def test_a_file_reads_as_what_it_was_written_from(tmp_path, knowledge):
    assert read(tmp_path, knowledge, numbers(change())) == read_hospital(None, knowledge)


def test_times_and_durations_are_read_as_people_write_them(tmp_path, knowledge):
    text = numbers(
        change(
            ("staff/d01/shifts", {"mon, wed": "12:30 - 13:45"}),
            ("durations/triage", "1.5 min"),
            ("durations/turn", {"median": "90 s", "spread": "0.25"}),
            ("durations/registration", "75"),
        )
    )
    hospital = read(tmp_path, knowledge, text)
    assert hospital.staff["d01"].shifts == (Shift(days=(0, 2), begin=45000, end=49500),)
    assert hospital.durations.triage.median == 90
    assert (hospital.durations.turn.median, hospital.durations.turn.spread) == (90, 0.25)
    assert hospital.durations.registration.median == 75


def test_no_patience_and_no_limit_are_null(tmp_path, knowledge):
    hospital = read(tmp_path, knowledge, re.sub(r"patience: \{.*\}", "patience: null", TEXT) + "\nexaminations: null\n")
    assert hospital.durations.patience is None
    assert hospital.examinations is None


ENGLISH = {"en": "x", "zh": "甲"}
ALIASES = "a: &a [x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 8)}]\n" for old, new in itertools.pairwise("abcdefgh")
)
WRONG = [
    ([("areas/ward/name",)], "$.areas.ward", "missing required field `name`"),
    ([("areas/attic", {"name": ENGLISH, "kind": "other"})], "$.areas.attic", "no way leads here from the entrance"),
    ([("areas/ward/ways", {"attic": "10 s"})], "$.areas.ward.ways.attic", "no area 'attic'"),
    ([("areas/ward/ways", {"ward": "10 s"})], "$.areas.ward.ways.ward", "leads to where it begins"),
    ([("areas/ward/ways", {"radiology": "10 s"})], "$.areas.ward.ways.radiology", "the other way"),
    ([("areas/ward/ways", {"radiology": "-10 s"})], "$.areas.ward.ways.radiology", "above 0"),
    ([("areas/ward/capacity", "0")], "$.areas.ward.capacity", "Expected `int` >= 1"),
    ([("areas/ward/beds",)], "$.areas.ward.beds", "0 beds in an area of the kind 'ward'; those of"),
    ([("areas/theatre/beds", "-1")], "$.areas.theatre.beds", "-1 beds in an area of the kind 'theatre'; those of"),
    ([("areas/triage/beds", "3")], "$.areas.triage.beds", "3 beds in an area of the kind 'triage'; those of"),
    ([("deaths", "perhaps")], "$.deaths", "Expected `bool`"),
    ([("areas/ward/kind", "cellar")], "$.areas.ward.kind", "Invalid enum value 'cellar'"),
    ([("areas/ward/colour", "red")], "$.areas.ward", "unknown field `colour`"),
    ([("areas/ward/departments", ["magic"])], "$.areas.ward.departments", "no department 'magic'"),
    ([("areas/ward/examinations", ["magic"])], "$.areas.ward.examinations", "no kind of examination 'magic'"),
    ([("areas/endoscopy/examinations", [])], "$.areas", "'endoscopy' are done in no area"),
    ([("areas/entrance/kind", "other")], "$.areas", "0 areas of the kind 'entrance'"),
    ([("areas/pharmacy/kind", "other")], "$.areas", "no area of the kind 'pharmacy'"),
    ([("departments/respiratory",)], "$.areas.rooms-chest.departments", "no department 'respiratory'"),
    ([("departments/respiratory", {"en": "x"})], "$.departments.respiratory", "needs a text for each of en and zh"),
    (
        [
            ("staff/d01",),
            ("staff/d02",),
            ("staff/d03/departments", ["gastroenterology"]),
            ("staff/d04/departments", ["gastroenterology"]),
            ("staff/d15/departments", ["emergency"]),
            ("staff/d16/departments", ["emergency"]),
        ],
        "$.illness.diseases",
        "no doctor sees patients for 'respiratory'",
    ),
    ([("staff/d01/area", "attic")], "$.staff.d01.area", "no area 'attic'"),
    ([("staff/d01/area", "rooms-head")], "$.staff.d01.area", "holds no consultations of respiratory"),
    ([("staff/d01/departments", ["magic"])], "$.staff.d01.departments", "no department 'magic'"),
    ([("staff/d01/departments", [])], "$.staff.d01.departments", "a doctor needs a department"),
    ([("staff/n01/departments", ["respiratory"])], "$.staff.n01.departments", "for no department"),
    ([("staff/d01/job", "wizard")], "$.staff.d01.job", "Invalid enum value 'wizard'"),
    ([("staff/d01/shifts", ["night"])], "$.staff.d01.shifts", "no shift 'night'"),
    ([("staff/d01/shifts", [])], "$.staff.d01.shifts", "no shift"),
    (
        [("emergencies",), ("staff/d01/shifts", {"mon": "21:00-23:00"})],
        "$.staff.d01.shifts",
        "when the hospital is open 07:00-16:30",
    ),
    ([("staff/d01/shifts", {"mon": "08:00-12:00", "mon-tue": "11:00-13:00"})], "$.staff.d01.shifts", "overlap on mon"),
    ([("staff/d01/shifts", {"mon": "14:00-08:00"})], "$.staff.d01.shifts.mon", "ends before it begins"),
    ([("staff/d01/shifts", {"mon": "-8:00-12:00"})], "$.staff.d01.shifts.mon", "are no hours"),
    ([("staff/d01/shifts", {"mon": "08:00-24:30"})], "$.staff.d01.shifts.mon", "after 24:00"),
    ([("staff/d01/shifts", {"fri-mon": "08:00-12:00"})], "$.staff.d01.shifts.fri-mon", "runs backwards"),
    ([("staff/d01/shifts", {"someday": "08:00-12:00"})], "$.staff.d01.shifts.someday", "names no days"),
    ([("open", {"mon": "08:00-12:00", "mon-fri": "08:00-12:00"})], "$.open.mon-fri", "stands there already"),
    ([("open", {"mon": "20:00-08:00"})], "$.open.mon", "ends before it begins"),
    ([("open", {})], "$.open", "never open"),
    ([("emergencies",), ("open/sat, sun",)], "$.staff.d01.shifts", "when the hospital is closed"),
    ([("first_day", "2026-13-01")], "$.first_day", "is no day"),
    ([("residents", "0")], "$.residents", "Expected `int` >= 1"),
    ([("examinations", "-1")], "$.examinations", "Expected `int` >= 0"),
    ([("durations/triage", "soon")], "$.durations.triage", "'soon' is no duration"),
    ([("durations/triage", "0 min")], "$.durations.triage", "above 0"),
    (
        [("durations/triage", {"median": "3 min", "spread": "-1"})],
        "$.durations.triage.spread",
        "Expected `float` >= 0.0",
    ),
    ([("durations/triage", {"spread": "1"})], "$.durations.triage", "missing required field `median`"),
    ([("durations/triage", {"median": "3 min", "mean": "1"})], "$.durations.triage", "unknown field `mean`"),
    ([("durations/lunch", "3 min")], "$.durations", "unknown field `lunch`"),
    ([("durations/triage",)], "$.durations", "missing required field `triage`"),
    ([("durations/examination/magic", "3 min")], "$.durations.examination", "no kind of examination 'magic'"),
    ([("durations/examination/imaging",)], "$.durations.examination", "how long does 'imaging' take?"),
    ([("illness/per_day", "1.5")], "$.illness.per_day", "Expected `float` <= 1.0"),
    ([("illness/per_day", "-0.1")], "$.illness.per_day", "Expected `float` >= 0.0"),
    ([("illness/severities", ["0.5", "0.5", "0.5"])], "$.illness.severities", "sum to 1"),
    ([("illness/severities", ["1.5", "-0.5", "0"])], "$.illness.severities[0]", "Expected `float` <= 1.0"),
    ([("illness/diseases", "plague")], "$.illness.diseases", "no disease or department 'plague'"),
    ([("illness/weights", {"plague": "1"})], "$.illness.weights.plague", "no disease or department 'plague'"),
    ([("illness/weights", {"covid-19": "-1"})], "$.illness.weights[...]", "Expected `float` >= 0.0"),
    ([("illness/most_visits", "0")], "$.illness.most_visits", "Expected `int` >= 1"),
    ([("illness/follow_up_days", "0")], "$.illness.follow_up_days", "Expected `int` >= 1"),
    ([("illness/mood", "bad")], "$.illness", "unknown field `mood`"),
    ([("cellar", "deep")], "$", "unknown field `cellar`"),
    ([("staff",)], "$", "missing required field `staff`"),
    (without(job="nurse"), "$.staff", "nobody with the job 'nurse'"),
    (without(area="endoscopy"), "$.staff", "nobody works where 'endoscopy' is done"),
]


@pytest.mark.slow
@each_row(("steps", "field", "problem"), WRONG)
def test_what_is_wrong_has_one_line_with_path_and_field(tmp_path, knowledge, steps, field, problem):
    with pytest.raises(BadInput) as raised:
        read(tmp_path, knowledge, numbers(change(*steps)))
    assert (raised.value.field or "$") == field
    assert problem in raised.value.problem
    assert str(raised.value).startswith(f"{tmp_path / 'hospital.yaml'}, ")
    assert "\n" not in str(raised.value)


@each_row(("text", "problem"), [
        ("", "empty"),
        ("# nothing\n", "says nothing"),
        ("just words", "Expected `object`"),
        ("- a\n- b\n", "Expected `object`"),
        ("areas: [", "line 2: not YAML"),
        ("a: &a [*a]", "holding itself"),
        (ALIASES, "too large"),
        ("a: " + "[" * 5000, "not YAML"),
        ("a: " + "[" * 300 + "]" * 300, "too deep"),
        ("[a, b]: c", "a key must be a text"),
        ("a: 1\n---\nb: 2\n", "not YAML"),
        ("a: !!python/object:os.system x", "unknown field `a`"),
        (b"\xff\xfe", "not UTF-8"),
        (TEXT.replace("  d02:", "  d01:"), "$.staff: 'd01' stands twice"),
        (TEXT + "\nname: {en: x, zh: y}\n", "'name' stands twice"),
    ])  # fmt: skip
def test_what_is_no_hospital_at_all(tmp_path, knowledge, text, problem):
    with pytest.raises(BadInput) as raised:
        read(tmp_path, knowledge, text)
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_clock_is_no_number_and_a_date_stays_a_text():
    # YAML 1.1 reads 12:30 in base 60, and makes a date of the other.
    assert parse_yaml("{a: 12:30, b: 2026-01-05, c: 3, d: 0.5}") == {"a": "12:30", "b": "2026-01-05", "c": 3, "d": 0.5}


def test_a_file_that_is_not_there(tmp_path, knowledge):
    with pytest.raises(BadInput, match="no such file"):
        read_hospital(tmp_path / "none.yaml", knowledge)


def test_a_department_without_a_doctor_matters_only_where_its_diseases_can_be_caught(tmp_path, knowledge):
    cold = knowledge.diseases["acute-nasopharyngitis"]
    stray = msgspec.structs.replace(knowledge.diseases["covid-19"], department="psychiatry")
    wider = msgspec.structs.replace(knowledge, diseases={cold.id: cold, stray.id: stray})
    text = re.sub(r"\n  weights:\n(    .*\n)+", "\n", TEXT)
    text = text.replace("[neurology, psychiatry]\n    shifts", "[neurology]\n    shifts")
    text = text.replace("[psychiatry, neurology]\n    shifts", "[neurology]\n    shifts")
    with pytest.raises(BadInput, match="'covid-19' can be caught, and no doctor sees patients for 'psychiatry'"):
        read(tmp_path, wider, text)
    text = text.replace("diseases: all", "diseases: acute-nasopharyngitis")
    assert read(tmp_path, wider, text).illness.diseases == "acute-nasopharyngitis"


def test_the_page_on_hospital_files_names_every_field(knowledge):
    page = (ROOT / "docs" / "hospital-file.md").read_text("utf-8")
    hospital = msgspec.to_builtins(read_hospital(None, knowledge), str_keys=True)
    nested = [hospital, hospital["areas"]["ward"], hospital["staff"]["d01"], hospital["durations"], hospital["illness"]]
    for fields in nested:
        for field in set(fields) - {"id"}:
            assert f"`{field}`" in page, field


def test_every_area_of_the_default_hospital_has_a_room_on_the_map_and_none_lie_over_each_other(knowledge):
    areas = list(read_hospital(None, knowledge).areas.values())
    assert [area.id for area in areas if not (area.width and area.height)] == []
    touching = [
        (one.id, other.id)
        for one, other in itertools.combinations(areas, 2)
        if abs(one.at[0] - other.at[0]) < (one.width + other.width) / 2
        and abs(one.at[1] - other.at[1]) < (one.height + other.height) / 2
    ]
    assert touching == []


def test_everybody_s_home_is_on_the_map_and_stays_there(knowledge):
    hospital = read_hospital(None, knowledge)
    homes = hospital.areas["homes"]
    places = [home_of(hospital, 3, n) for n in range(300)]
    assert places == [home_of(hospital, 3, n) for n in range(300)]
    assert len(set(places)) > 200
    assert all(abs(x - homes.at[0]) <= homes.width / 2 for x, _ in places)
    assert all(abs(y - homes.at[1]) <= homes.height / 2 for _, y in places)
    # They use the room that there is.
    assert max(x for x, _ in places) - min(x for x, _ in places) > 0.9 * homes.width
    assert max(y for _, y in places) - min(y for _, y in places) > 0.9 * homes.height
