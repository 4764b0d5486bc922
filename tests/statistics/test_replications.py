"""How many replications are needed, against tables of Student's t and sequences worked by hand."""

import random

import pytest

from polyclinic.statistics.uncertainty import needed, precision, student


def test_student_against_the_tables():
    # 97.5 % quantiles as printed in every table.
    table = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 10: 2.228, 29: 2.045, 30: 2.042, 120: 1.980}
    assert {df: round(student(df), 3) for df in table} == table
    assert student(10, share=0.99) == pytest.approx(3.1693, abs=1e-4)


def test_an_interval_is_that_of_student():
    found = precision([10.0, 12.0, 14.0], within=5)
    assert (found.mean, found.n, found.needed) == (12.0, 3, None)
    assert found.half_width == pytest.approx(4.303 * 2 / 3**0.5, abs=0.001)
    assert found.percent == pytest.approx(100 * found.half_width / 12)
    assert (found.low + found.high) / 2 == pytest.approx(12)


def test_it_has_to_stay_narrow_for_five_more():
    steady = [100.0, 101.0, 100.0, 101.0, 100.0, 101.0, 100.0, 101.0]
    assert needed(steady, within=5) == 3  # with the five that were looked at beyond it
    assert needed(steady[:7], within=5) is None
    assert needed(steady[:3], within=5, look_ahead=0) == 3
    # Narrow by chance at first, then a value far off: the first three do not count.
    broken = [100.0, 100.1, 99.9, 180.0, *([100.0] * 200)]
    assert needed(broken, within=5) > 30
    assert needed(broken, within=5, look_ahead=0) == 3


def test_beyond_a_hundred_it_looks_further_ahead():
    rng = random.Random(3)
    values = [100 + rng.gauss(0, 30) for _ in range(300)]
    found = needed(values, within=5)
    assert 100 < found < 250
    further = 5 * found // 100
    assert needed(values[: found + further], within=5) == found
    assert needed(values[: found + further - 1], within=5) is None


def test_means_of_nothing_and_of_zeros():
    assert precision([], within=5).mean is None
    assert precision([3.0], within=5).half_width is None
    zeros = precision([0.0] * 8, within=5)
    assert (zeros.percent, zeros.needed) == (0.0, 3)
    around = precision([-1.0, 1.0] * 4, within=5)
    assert (around.percent, around.needed) == (None, None)
