"""A run's log for other tools holds what the log holds, all of it."""

import csv
import hashlib
from typing import get_args

import msgspec
import pytest

from polyclinic.errors import BadInput
from polyclinic.hospital.record.export import columns, export
from polyclinic.hospital.record.happenings import Happening, What
from polyclinic.hospital.record.recorded import RecordedRun


def write(run, path, layout):
    with RecordedRun(run) as recorded:
        n = export(recorded, path, layout)
        summary = recorded.summary
    assert [p.name for p in path.parent.iterdir()] == [path.name]  # nothing half-written beside it
    return n, summary


@pytest.mark.slow
def test_json_lines_are_the_log_and_their_hash_is_the_run_s(lived, lived_run, tmp_path):
    n, summary = write(lived_run, tmp_path / "log.jsonl", "jsonl")
    whole = (tmp_path / "log.jsonl").read_bytes()
    assert n == len(lived)
    assert [msgspec.json.decode(line, type=Happening) for line in whole.splitlines()] == lived
    assert hashlib.blake2b(whole, digest_size=16).hexdigest() == summary["log_hash"]


@pytest.mark.slow
def test_csv_has_the_same_columns(lived, lived_run, tmp_path):
    write(lived_run, tmp_path / "log.csv", "csv")
    with (tmp_path / "log.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(lived)
    walk = next(h for h in lived if type(h.what).__name__ == "Walked")
    row = rows[walk.seq]
    assert (row["what"], msgspec.json.decode(row["path"]), row["staff"]) == ("walked", list(walk.what.path), "")


def test_no_two_fields_share_a_column_with_another_type():
    kinds = {}
    for kind in get_args(What):
        for field in msgspec.structs.fields(kind):
            name = f"what_{field.name}" if field.name in ("seq", "t", "who", "what") else field.name
            bare = "list" if str(field.type).startswith("tuple") else "bool" if field.type is bool else str(field.type)
            bare = "int" if field.type is int else bare if bare in ("list", "bool") else "text"
            assert kinds.setdefault(name, bare) == bare, (kind, field.name)
    assert set(kinds) | {"seq", "t", "who", "what"} == set(columns())


@pytest.mark.slow
def test_a_place_that_cannot_be_written_is_named(lived_run, tmp_path):
    with RecordedRun(lived_run) as recorded, pytest.raises(BadInput, match="there is no folder"):
        export(recorded, tmp_path / "nowhere" / "log.csv", "csv")
