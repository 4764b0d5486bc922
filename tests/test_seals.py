"""Files that were sealed are known again, and named where they are others."""

import pytest

from polyclinic.errors import BadInput
from polyclinic.files import read_lines
from polyclinic.seals import SUMS, row_seal, sums_of


def test_a_file_that_is_not_what_was_written_is_named(tmp_path):
    for name in ("a.jsonl", "b.jsonl", "new.jsonl"):
        (tmp_path / name).write_text(f'"{name}"\n')
    sums = sums_of(tmp_path, ["b.jsonl", "a.jsonl", "none.jsonl"])
    assert [line.partition("  ")[2] for line in sums.splitlines()] == ["a.jsonl", "b.jsonl"]
    (tmp_path / SUMS).write_text(sums)
    assert sums_of(tmp_path, ["a.jsonl"]) == sums
    (tmp_path / "b.jsonl").write_text('"B"\n')
    (tmp_path / "new.jsonl").write_text('"another"\n')
    for name, problem in (("a.jsonl", ""), ("new.jsonl", ""), ("b.jsonl", f"is not what was written.*{SUMS} away")):
        if not problem:
            assert len(list(read_lines(tmp_path / name))) == 1, name
            continue
        with pytest.raises(BadInput, match=problem):
            list(read_lines(tmp_path / name))
    (tmp_path / SUMS).write_bytes(b"\xff" + sums.encode()[1:])
    with pytest.raises(BadInput, match=f"{SUMS}, line 1: not a sum"):
        list(read_lines(tmp_path / "a.jsonl"))


def test_rows_that_differ_in_anything_have_other_seals():
    rows = [("a", "b"), ("ab",), ("a", b"b"), ("b", "a"), (1, "1"), ("1", 1)]
    assert len({row_seal(*row) for row in rows}) == len(rows)
