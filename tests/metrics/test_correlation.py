"""Correlations of indicators over comparisons of two doctors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyclinic.metrics.correlation import correlations, paired_rows

VALUES = {
    "a": {1: {"x": 3.0, "y": 30.0, "z": 1.0}, 2: {"x": 5.0, "y": 50.0, "z": 9.0}},
    "b": {1: {"x": 1.0, "y": 10.0, "z": 4.0}, 2: {"x": 1.0, "y": 10.0}},
    "c": {2: {"x": 0.0, "y": 1.0, "z": 2.0}, 3: {"x": 0.0}},
}


def test_rows_are_the_cases_of_both():
    rows = paired_rows(VALUES)
    assert [(r.first, r.second, r.case) for r in rows] == [("a", "b", 1), ("a", "b", 2), ("a", "c", 2), ("b", "c", 2)]
    assert rows[0].differences == {"x": 2, "y": 20, "z": -3}
    assert rows[1].differences == {"x": 4, "y": 40}


def test_all_and_within_groups():
    found = correlations(paired_rows(VALUES), ["x", "y", "z"], groups={"a": "open", "b": "open", "c": "closed"})
    assert {name: c.n for name, c in found.items()} == {"all": 4, "open, open": 2, "closed, open": 2}
    # Differences of x are 2, 4, 5, 1 and of y 20, 40, 49, 9: one order, in both directions.
    assert found["all"].matrix[0][1] == pytest.approx(1)
    assert found["open, open"].matrix[0][2] == pytest.approx(-1)
    assert set(correlations([], ["x", "y"])) == {"all"}
    assert correlations([], ["x", "y"])["all"].matrix[0][1] is None


@given(st.permutations(list(VALUES)))
def test_who_is_named_first_changes_nothing(order):
    one = correlations(paired_rows(VALUES), ["x", "y", "z"])["all"].matrix
    other = correlations(paired_rows({name: VALUES[name] for name in order}), ["x", "y", "z"])["all"].matrix
    for row, turned in zip(one, other, strict=True):
        assert row == pytest.approx(turned)
