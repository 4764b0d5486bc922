"""Seals of rows."""

from polyclinic.seals import row_seal


def test_rows_that_differ_in_anything_have_other_seals():
    rows = [("a", "b"), ("ab",), ("a", b"b"), ("b", "a"), (1, "1"), ("1", 1)]
    assert len({row_seal(*row) for row in rows}) == len(rows)
