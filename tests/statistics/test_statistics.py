"""Statistics against values by hand and what must hold for any numbers."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyclinic.statistics.agreement import spearman, weighted_kappa, weighted_kappa_error
from polyclinic.statistics.uncertainty import (
    estimate,
    holm,
    mcnemar,
    paired_difference,
    ratio,
    resampled,
    share,
    share_difference,
    share_estimate,
    standard_error,
    wilson,
)

numbers = st.floats(-1000, 1000)
samples = st.lists(numbers, min_size=2, max_size=30)


def test_a_mean_by_hand():
    e = estimate([1, 2, 3, 4])
    assert e.mean == 2.5
    assert e.stderr == pytest.approx(math.sqrt((2.25 + 0.25) * 2 / 3 / 4))
    assert (e.low, e.high) == (None, None)  # of so few
    assert e.n == 4


def test_the_interval_of_a_share_is_the_binomial_s():
    # Of 50 draws with 58 % the 2.5th and 97.5th percentiles are 22 and 36: 44 % and 72 %.
    e = estimate([100.0] * 29 + [0.0] * 21)
    assert (e.low, e.high) == (44.0, 72.0)


@given(st.integers(0, 60), st.integers(0, 60))
def test_a_share_lies_in_its_interval(a, b):
    percent, low, high = share(min(a, b), max(a, b))
    assert percent is None or 0 <= low <= percent <= high <= 100
    assert (percent is None) == (max(a, b) == 0)


def test_nothing_and_one():
    nothing = estimate([])
    assert (nothing.mean, nothing.stderr, nothing.low, nothing.high, nothing.n) == (None, None, None, None, 0)
    one = estimate([7.0])
    assert (one.mean, one.stderr, one.low, one.high, one.n) == (7.0, None, None, None, 1)
    assert standard_error([1.0]) is None


@given(samples)
def test_the_standard_error_is_the_textbook_s(values):
    e = estimate(values, resamples=50)
    assert e.mean == pytest.approx(statistics.fmean(values), abs=1e-9)
    assert (e.stderr or 0) == pytest.approx(statistics.stdev(values) / math.sqrt(len(values)), abs=1e-9)
    assert standard_error(values) == pytest.approx(e.stderr or 0, abs=1e-9)


@given(samples, st.integers(0, 5))
def test_an_interval_holds_the_mean_and_stays_within_the_values(values, seed):
    e = estimate(values, resamples=200, seed=seed)
    # Equal values are no sign of being sure, and of few there is no interval of 95 %.
    assert (e.low is None) == (len(values) < 6 or e.stderr is None)
    assert e.low is None or min(values) - 1e-9 <= e.low <= e.mean <= e.high <= max(values) + 1e-9
    assert e == estimate(values, resamples=200, seed=seed)


@given(samples, st.floats(-100, 100), st.floats(0.1, 10))
def test_shifting_and_scaling_carry_over(values, shift, scale):
    plain = estimate(values, resamples=100)
    moved = estimate([scale * v + shift for v in values], resamples=100)
    assert moved.mean == pytest.approx(scale * plain.mean + shift, abs=1e-6)
    assert (moved.stderr or 0) == pytest.approx(scale * (plain.stderr or 0), abs=1e-6)
    if plain.low is not None and moved.low is not None:
        assert moved.low == pytest.approx(scale * plain.low + shift, abs=1e-6)


@given(samples)
def test_repetitions_of_a_case_add_nothing(values):
    """Each value three times under its case is as sure as once."""
    once = estimate(values, resamples=100)
    thrice = estimate([v for v in values for _ in range(3)], clusters=[i for i in range(len(values)) for _ in range(3)])
    assert thrice.mean == pytest.approx(once.mean, abs=1e-9)
    assert (thrice.stderr or 0) == pytest.approx(once.stderr or 0, abs=1e-9)
    assert thrice.n == 3 * len(values)


def test_a_ratio_by_hand():
    e = ratio([1, 0], [1, 3])
    assert e.mean == 0.25
    # Residuals 0.75 and -0.75: sqrt(2 * 2 * 0.75²) / 4.
    assert e.stderr == pytest.approx(0.375)
    assert (e.low, e.high) == (None, None)
    many = ratio([1, 0] * 3, [1, 3] * 3)
    # Of six drawn, all are of one kind once in 64 times, which is more than the ends of an interval of six leave out.
    assert (many.low, many.high) == (0, 1)
    assert ratio([0, 0], [0, 0]).mean is None


def test_clusters_must_fit():
    with pytest.raises(ValueError, match="same length"):
        estimate([1, 2], clusters=["a"])


def test_resamples_come_in_blocks_of_bounded_size():
    blocks = list(resampled(300_000, 10, seed=1))
    assert sum(len(block) for block in blocks) == 10
    assert max(block.size for block in blocks) <= 2**20


def test_a_paired_difference():
    d = paired_difference([5, 6, 7, 8, 9, 10], [1, 2, 2, 4, 5, 5])
    assert d.mean == pytest.approx(26 / 6)
    assert d.p == 2 / 64
    assert d.low > 0
    assert d.n == 6
    assert paired_difference([1], [2]).p is None
    assert paired_difference([], []).mean is None
    with pytest.raises(ValueError, match="zip"):
        paired_difference([1], [2, 3])


@given(samples)
def test_no_difference_is_none(values):
    d = paired_difference(values, values, resamples=100)
    assert (d.mean, d.low, d.high, d.p, d.detectable) == (0, None, None, 1, None)


def test_fewer_than_six_cases_can_show_no_difference_and_so_none_is_detectable():
    """Two-sided p of five is never below 0.0625."""
    for n in (2, 5):
        apart = paired_difference(range(n), [one / 2 for one in range(n)])
        alike = share_difference([True] * n, [True] * n)
        assert apart.p > 0.05 and {one.detectable for one in (apart, alike)} == {None}
        assert {apart.low, alike.low, alike.high} == {None}
    assert paired_difference(range(6), [one / 2 for one in range(6)]).detectable > 0


@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=20))
def test_a_difference_turns_round(pairs):
    first, second = zip(*pairs, strict=True)
    one, other = paired_difference(first, second, resamples=200), paired_difference(second, first, resamples=200)
    assert one.mean == pytest.approx(-other.mean, abs=1e-9)
    if one.low is None:
        return
    assert one.low == pytest.approx(-other.high, abs=1e-6)
    assert one.p == pytest.approx(other.p, abs=0.02)
    assert 0 < one.p <= 1


def test_mcnemar_by_hand():
    # Five against one: twice (1 + 6) / 64.
    first = [True] * 5 + [False] + [True, False]
    second = [False] * 5 + [True] + [True, False]
    assert mcnemar(first, second) == pytest.approx(14 / 64)
    assert mcnemar(second, first) == pytest.approx(14 / 64)
    assert mcnemar([True, False], [True, False]) == 1
    assert mcnemar([True] * 1100 + [False] * 900, [False] * 1100 + [True] * 900) == pytest.approx(8.5e-6, rel=0.1)
    with pytest.raises(ValueError, match="zip"):
        mcnemar([True], [])


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_keeps_the_order_and_never_flatters(p_values):
    adjusted = holm(p_values)
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    assert all(
        a <= b
        for p, a in zip(p_values, adjusted, strict=True)
        for q, b in zip(p_values, adjusted, strict=True)
        if p < q
    )


def test_spearman_by_hand():
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5).
    matrix = spearman([[10, 20, 20, 40], [1, 2, 3, 4], [4, 3, 2, 1], [5, 5, 5, 5], [1, None, 2, 3]])
    assert matrix[0][0] == pytest.approx(1)
    assert matrix[0][1] == matrix[1][0] == pytest.approx(4.5 / math.sqrt(22.5))
    assert matrix[1][2] == pytest.approx(-1)
    assert matrix[1][3] is None
    assert matrix[1][4] == pytest.approx(1)
    assert spearman([[None], [1.0]])[0][1] is None


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=3, max_size=20))
def test_ranks_care_for_order_only(pairs):
    first, second = zip(*pairs, strict=True)
    matrix = spearman([first, second, [v**3 + 2 * v for v in first]])
    assert matrix[0][1] == matrix[1][0]
    if matrix[0][1] is not None:
        assert -1 <= matrix[0][1] <= 1
        assert matrix[2][1] == pytest.approx(matrix[0][1])


def test_the_error_of_weighted_kappa_is_that_of_drawing_again():
    table = np.array([[6, 0, 0], [2, 60, 12], [0, 15, 55]])
    rng = np.random.default_rng(1)
    drawn = [weighted_kappa(rng.multinomial(150, (table / 150).ravel()).reshape(3, 3).tolist()) for _ in range(1500)]
    assert weighted_kappa_error(table.tolist()) == pytest.approx(float(np.std(drawn)), rel=0.12)
    assert weighted_kappa_error([[5, 0], [0, 0]]) is None


def test_the_interval_of_a_share_is_wilson_s_over_cases():
    none = share_estimate([0.0] * 12)
    assert (none.mean, none.stderr, none.low, none.n) == (0, None, 0, 12)
    assert none.high == pytest.approx(24.25, abs=0.01)
    half = share_estimate([100.0, 0.0] * 10)
    assert (half.low, half.high) == pytest.approx((29.9, 70.1), abs=0.1)
    # The same answer in five seeds is no more than one answer; five that differ are nearly five.
    assert share_estimate([100.0, 0.0] * 50, clusters=["a", "b"] * 50).low < share_estimate([100.0, 0.0]).low + 0.1
    split = share_estimate([100.0, 0.0] * 10, clusters=[n // 2 for n in range(20)])
    assert split.high - split.low <= half.high - half.low + 1e-9
    assert share_estimate([]).mean is None


def test_two_that_no_case_tells_apart_may_differ_all_the_same():
    same = share_difference([True] * 30, [True] * 30)
    assert (same.mean, same.p, same.low, same.high) == pytest.approx((0, 1, -11.35, 11.35), abs=0.01)
    assert 15 < same.detectable < 20
    one = share_difference([True] * 30, [True] * 29 + [False])
    assert one.mean == pytest.approx(100 / 30) and one.p == 1 and one.detectable > 5
    assert share_difference([True, False], [False, True]).detectable is None  # beyond 100
    assert share_difference([], []).mean is None
    # Two values of each of 30 cases say of what was not found what one of each says, and no more.
    twice = share_difference([True] * 60, [True] * 60, clusters=[n // 2 for n in range(60)])
    assert (twice.low, twice.high, twice.detectable) == (same.low, same.high, same.detectable)
    halves = share_difference([True] * 8, [True, False] * 4, clusters=[n // 2 for n in range(8)])
    assert halves.p == 2 / 2**4
    assert (
        share_difference([True, False] * 8, [False, True] * 8, clusters=[n // 2 for n in range(16)]).detectable is None
    )


def test_cases_that_stand_unequally_often_count_for_less_than_there_are():
    """38 questions of which 12 stand twice, alike both times: by Kish 50² ÷ (12·4 + 26) = 33.8 of them."""
    clusters = [*range(38), *range(12)]
    right = [100.0 * (n % 5 > 0) for n in clusters]
    found = share_estimate(right, clusters=clusters)
    effective = max(2500 / 74, found.mean * (100 - found.mean) / found.stderr**2)
    assert effective < 38
    assert (found.low, found.high) == pytest.approx(wilson(found.mean / 100 * effective, effective))
