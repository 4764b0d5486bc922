"""The sign-flip test: exact against all ways to give signs, bounded at small n, seeded above."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyclinic.statistics.uncertainty import (
    EXACT,
    _counted,
    _in_steps,
    exact_interval,
    mcnemar,
    paired_difference,
    sign_flip,
)


def by_brute_force(values):
    sums = [
        abs(sum(s * v for s, v in zip(signs, values, strict=True))) for signs in product((1, -1), repeat=len(values))
    ]
    return sum(one >= abs(sum(values)) for one in sums) / len(sums)


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=8))
def test_it_is_the_share_of_all_ways_to_give_signs(values):
    assert sign_flip([float(one) for one in values]) == pytest.approx(by_brute_force(values))


@given(st.lists(st.floats(-1000, 1000), min_size=2, max_size=EXACT))
def test_few_cases_cannot_prove_anything(values):
    assert 2 / 2 ** len(values) <= sign_flip(values) <= 1


def test_three_cases_that_all_say_the_same_are_a_quarter():
    assert sign_flip([3.0, 4.0, 5.0]) == 0.25
    assert paired_difference([90.0, 91.0, 92.0], [10.0, 12.0, 11.0]).p == 0.25
    assert sign_flip([1.0]) is None
    assert sign_flip([0.0, 0.0]) == 1


def test_cases_without_a_difference_say_nothing():
    assert sign_flip([3.0, 4.0, 5.0, *[0.0] * 100]) == 0.25


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=12), st.sampled_from([1.0, 1 / 3, 100 / 7, 1e-3]))
def test_whole_numbers_of_one_step_are_counted_and_not_drawn(values, step):
    some = [step * one for one in values]
    if any(some):
        assert _counted(_in_steps(np.array([one for one in some if one]))) == pytest.approx(by_brute_force(values))


def test_of_many_shares_it_is_mcnemars():
    draw = np.random.default_rng(1)
    for n in (25, 200, 2_000):
        first, second = ((draw.random(n) < share).tolist() for share in (0.55, 0.5))
        turned = sign_flip([100.0 * (a - b) for a, b in zip(first, second, strict=True)])
        assert turned == pytest.approx(mcnemar(first, second), rel=1e-9)


@pytest.mark.slow
def test_many_scores_have_the_p_that_drawing_comes_near_to():
    draw = np.random.default_rng(2)
    scores = draw.integers(-4, 6, 60) / 3
    turned = draw.choice([-1.0, 1.0], (200_000, 60)) @ scores
    drawn = np.mean(np.abs(turned) >= abs(scores.sum()) - 1e-9)
    assert sign_flip(scores.tolist(), flips=1) == pytest.approx(drawn, abs=0.002)
    assert _in_steps(scores + 1e-6 * draw.normal(size=60)) is None


def test_of_other_numbers_of_many_cases_ways_are_drawn_by_the_seed():
    values = [math.sin(n) + 0.3 for n in range(30)]
    assert sign_flip(values, seed=1) == sign_flip(values, seed=1) != sign_flip(values, seed=2)
    # Drawn ways come near to all of them: the same fifteen with one that counts for nothing, and without.
    fifteen = [float(n) for n in range(-3, 13) if n]
    exact = by_brute_force(fifteen)
    assert sign_flip(fifteen, flips=40_000) == pytest.approx(exact, abs=0.003)
    assert sign_flip([1.0 + math.sqrt(n) for n in range(40)], flips=999) == 1 / 1000
    assert sign_flip([1.0] * 40) == 2 / 2**40


def test_a_case_that_stands_several_times_is_one():
    first, second = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0] * 6
    assert paired_difference(first, second, clusters=["a", "a", "b", "b", "c", "c"]).p == 0.25


def test_the_exact_interval_is_the_test_turned_round():
    assert exact_interval([1, 2, 3, 4, 5]) is None  # of five values no interval is 95 %
    assert exact_interval([3, 1, 2, 6, 5, 4]) == (1, 6)  # one of 64 parts beyond each end
    rng = np.random.default_rng(1)
    for n in (6, 9, 14):
        values = rng.normal(1, 1, n)
        low, high = exact_interval(values.tolist())
        assert low < values.mean() < high
        for end, inside in ((low, 1e-6), (high, -1e-6)):
            # Just inside the interval no difference can be told; just outside it can.
            assert sign_flip((values - end - inside).tolist()) > 0.05 - 2 / 2**n
            assert sign_flip((values - end + inside).tolist()) <= 0.05 + 2 / 2**n


def test_no_p_from_few_cases_is_small():
    for n in range(2, 20):
        assert sign_flip([1.0] * n) == 2 / 2**n
