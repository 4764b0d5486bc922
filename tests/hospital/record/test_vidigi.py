"""What vidigi 2 reads of a run: its readers want the columns, one arrival and one departure, and whole resources.

They raise for an entity that arrives twice (`vidigi.prep`), an `arrival_departure` that is named otherwise than
`arrival` or `depart`, and a use of resources without an integer for some (`vidigi.logging`, `vidigi.analysis`).
"""

import csv
import itertools
from collections import defaultdict

import pytest

from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.record.export import LogLayout, export
from polyclinic.hospital.record.happenings import Queued
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.hospital.record.vidigi import rows
from polyclinic.knowledge.knowledge import read_knowledge


@pytest.fixture(scope="module")
def made(lived):
    return list(rows(lived, 1))


@pytest.fixture(scope="module")
def entities(made):
    held = defaultdict(list)
    for row in made:
        held[row[0]].append(row)
    return held


def test_the_file_has_vidigi_s_columns(lived_run, tmp_path, made):
    with RecordedRun(lived_run) as run:
        n = export(run, tmp_path / "log.csv", LogLayout.VIDIGI)
    with (tmp_path / "log.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert list(read[0]) == ["entity_id", "event_type", "event", "time", "resource_id", "run_number"]
    assert n == len(read) == len(made)
    assert {row["run_number"] for row in read} == {"11"}  # the seed's
    assert all(float(row["time"]) == pytest.approx(one[3]) for row, one in zip(read, made, strict=True))
    uses = [row for row in read if row["event_type"].startswith("resource_use")]
    assert all(int(row["resource_id"]) >= 1 for row in uses)
    assert all(row["resource_id"] == "" for row in read if row["event_type"] == "queue")


def test_everybody_arrives_once_first_and_departs_once_last(entities, lived):
    assert len(entities) >= 250
    for who, some in entities.items():
        kinds = [(kind, event) for _, kind, event, *_ in some]
        assert kinds[0] == ("arrival_departure", "arrival"), who
        assert kinds[-1] == ("arrival_departure", "depart"), who
        assert sum(kind == "arrival_departure" for kind, _ in kinds) == 2, who
        assert [row[3] for row in some] == sorted(row[3] for row in some), who
    first = next(h for h in lived if isinstance(h.what, Queued))
    assert min(row[3] for some in entities.values() for row in some) == round(first.t / 60, 4)  # minutes


def test_a_place_is_used_by_one_at_a_time_and_given_back(made):
    taken, most = {}, defaultdict(int)
    for who, kind, event, _, place, _ in made:
        if kind == "resource_use":
            assert (event, place) not in taken, (who, event, place)
            taken[event, place] = who
            most[event] = max(most[event], place)
        elif kind == "resource_use_end":
            assert taken.pop((event.removesuffix(" ends"), place)) == who
    assert taken == {}
    areas = read_hospital(None, read_knowledge()).areas
    assert set(most) >= {"triage", "registration", "pharmacy", "laboratory", "radiology"}
    # One who was interrupted keeps its room while the doctor is elsewhere.
    assert {area: n for area, n in most.items() if n > max(areas[area].capacity, areas[area].beds)} == {}


def test_waits_end_with_a_use_or_a_departure(entities):
    for who, some in entities.items():
        for (_, kind, event, *_), (_, after, *_) in itertools.pairwise(some):
            if kind == "queue":
                assert after in ("resource_use", "arrival_departure"), (who, event, after)
