"""The statistics that are printed, against other ways to come to them: definitions, enumeration and draws."""

import math
from fractions import Fraction
from itertools import combinations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyclinic.statistics.uncertainty import (
    detectable_errors,
    ends,
    estimate,
    holm,
    mcnemar,
    paired_difference,
    share_estimate,
    student,
    wilson,
)

measurements = pytest.importorskip("bench.statistics", reason="the measurements are not part of the package")

Z = 1.959964


@given(st.integers(1, 200), st.data())
def test_wilsons_ends_are_those_that_the_score_test_just_allows(n, data):
    right = data.draw(st.integers(0, n))
    for end in wilson(right, n):
        share = min(max(end / 100, 0.0), 1.0)
        assert abs(right / n - share) == pytest.approx(Z * math.sqrt(share * (1 - share) / n), abs=1e-7)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_mcnemars_p_is_the_binomials_two_tails(pairs):
    first, second = zip(*pairs, strict=True)
    ways = [a for a, b in pairs if a != b]
    tail = sum(math.comb(len(ways), k) for k in range(min(sum(ways), len(ways) - sum(ways)) + 1))
    assert mcnemar(first, second) == pytest.approx(min(1.0, float(Fraction(2 * tail, 2 ** len(ways)))))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holms_p_is_that_of_all_sets_of_hypotheses_by_bonferroni(p_values):
    """Marcus, Peritz and Gabriel's closed test: the least sure of all sets that a hypothesis is in."""
    every = [one for size in range(1, len(p_values) + 1) for one in combinations(range(len(p_values)), size)]
    closed = [
        max(min(1.0, len(one) * min(p_values[i] for i in one)) for one in every if place in one)
        for place in range(len(p_values))
    ]
    assert holm(p_values) == pytest.approx(closed)


def test_the_clustered_error_is_that_of_leaving_one_case_out():
    """The jackknife over cases of equal size comes to the same formula."""
    rng = np.random.default_rng(4)
    values, cases = rng.normal(size=60), [n // 3 for n in range(60)]
    left = [float(np.mean([v for v, c in zip(values, cases, strict=True) if c != out])) for out in range(20)]
    jackknife = math.sqrt(19 / 20 * sum((one - np.mean(left)) ** 2 for one in left))
    assert estimate(values.tolist(), clusters=cases, resamples=10).stderr == pytest.approx(jackknife)


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_values_of_a_case_count_for_no_more_than_they_are(seeds):
    """And for no less than one: between Wilson's interval of all values and that of the cases."""
    values, cases = [100.0, 0.0] * 30, [n // seeds for n in range(60)]
    found = share_estimate(values, clusters=cases)
    every, one_each = wilson(len(values) / 2, len(values)), wilson(len(set(cases)) / 2, len(set(cases)))
    width = found.high - found.low
    assert every[1] - every[0] <= width + 1e-9 and width <= one_each[1] - one_each[0] + 1e-9


def test_the_ends_of_what_is_drawn_again_are_as_far_out_as_students():
    """Of normal values the interval of a mean is Student's, of few and of many."""
    for n in (6, 12, 40):
        middles = []
        for seed in range(60):
            values = np.random.default_rng(seed).normal(size=n)
            one = estimate(values.tolist(), resamples=4_000)
            student_half = student(n - 1) * values.std(ddof=1) / math.sqrt(n)
            middles.append((one.high - one.low) / 2 / student_half)
        assert np.mean(middles) == pytest.approx(1, abs=0.09)
    assert ends(10**6) == pytest.approx((2.5, 97.5), abs=0.03)


def test_a_detectable_difference_of_many_is_two_point_eight_errors_and_of_few_is_more():
    assert detectable_errors(10**6) == pytest.approx(1.959964 + 0.841621, abs=0.005)
    # Of six cases p is 0.031 or at least 0.0625: the first is as far as Student's t at that level.
    assert detectable_errors(6) == pytest.approx(student(5, share=1 - 2 / 64) + student(5, share=0.6))
    assert sorted(map(detectable_errors, (6, 8, 20, 100)), reverse=True) == [*map(detectable_errors, (6, 8, 20, 100))]


@pytest.mark.slow
@pytest.mark.parametrize("part", ["shares", "means", "nothing_there", "found"])
def test_what_is_said_of_drawn_data_is_so(part):
    """A small draw of `python -m bench statistics`: what is far off is seen in it, what is a little off is not."""
    rng = np.random.default_rng(11)
    assert [str(one) for one in getattr(measurements, part)(rng, 60) if not one.met] == []


def test_the_measurement_would_see_an_interval_of_too_few(monkeypatch):
    """Percentiles of the plain bootstrap hold the mean of six in some 85 of 100 intervals."""
    monkeypatch.setattr("polyclinic.statistics.uncertainty.ends", lambda count: (2.5, 97.5))
    rng = np.random.default_rng(11)
    name, draw, mean = measurements.DRAWN[2]
    narrow = measurements.holding(name, lambda: estimate(draw(rng, 6).tolist(), resamples=200), mean, 500)
    assert not narrow.met
    assert paired_difference([1.0] * 6, [0.0] * 6).p == 2 / 64


def test_what_is_estimated_of_seeds_can_be_written():
    """A number of numpy is none that JSON takes."""
    cases = [n // 3 for n in range(60)]
    one = share_estimate([100.0 * (n % 4 > 0) for n in range(60)], clusters=cases)
    other = paired_difference([float(n % 5) for n in range(60)], [1.0] * 60, clusters=cases, resamples=50)
    assert one.low < one.mean < one.high and other.detectable > 0
    assert msgspec.json.decode(msgspec.json.encode([one, other]))[0]["low"] == one.low
