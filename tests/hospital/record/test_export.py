"""A run's log for other tools holds what the log holds, all of it."""

import csv
import hashlib
import sys
from typing import get_args

import msgspec
import pytest

from polyclinic.errors import BadInput, MissingExtra
from polyclinic.hospital.record.export import LogLayout, columns, export
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
    n, summary = write(lived_run, tmp_path / "log.jsonl", LogLayout.JSONL)
    whole = (tmp_path / "log.jsonl").read_bytes()
    assert n == len(lived)
    assert [msgspec.json.decode(line, type=Happening) for line in whole.splitlines()] == lived
    assert hashlib.blake2b(whole, digest_size=16).hexdigest() == summary["log_hash"]


def as_written(happening):
    """Every field there is, under its column's name."""
    fields = {name: getattr(happening.what, name) for name in happening.what.__struct_fields__}
    return {f"what_{name}" if name in ("seq", "t", "who", "what") else name: value for name, value in fields.items()}


@pytest.mark.slow
def test_parquet_has_a_column_for_every_field(lived, lived_run, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    n, _ = write(lived_run, tmp_path / "log.parquet", LogLayout.PARQUET)
    table = pq.read_table(tmp_path / "log.parquet")
    assert table.num_rows == n == len(lived)
    assert table.column_names == list(columns())
    for happening, row in zip(lived, table.to_pylist(), strict=True):
        assert (row.pop("seq"), row.pop("t"), row.pop("who")) == (happening.seq, happening.t, happening.who)
        assert row.pop("what") == type(happening.what).__struct_config__.tag
        fields = as_written(happening)
        there = {name: tuple(v) if isinstance(v, list) else v for name, v in row.items() if v is not None}
        assert there == {name: value for name, value in fields.items() if value is not None}


@pytest.mark.slow
def test_csv_has_the_same_columns(lived, lived_run, tmp_path):
    write(lived_run, tmp_path / "log.csv", LogLayout.CSV)
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


def test_without_pyarrow_the_line_says_what_to_do(lived_run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with RecordedRun(lived_run) as recorded, pytest.raises(MissingExtra, match=r"pip install 'polyclinic\[parquet\]'"):
        export(recorded, tmp_path / "log.parquet", LogLayout.PARQUET)
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_named(lived_run, tmp_path):
    with RecordedRun(lived_run) as recorded, pytest.raises(BadInput, match="there is no folder"):
        export(recorded, tmp_path / "nowhere" / "log.csv", LogLayout.CSV)
