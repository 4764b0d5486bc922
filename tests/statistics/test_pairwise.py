"""Win rates and strengths."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyclinic.statistics.pairwise import Comparison, strengths, win_rates

players = st.sampled_from("abcd")
games = st.lists(
    st.tuples(players, players, st.sampled_from([0, 1, None]))
    .filter(lambda g: g[0] != g[1])
    .map(lambda g: Comparison(g[0], g[1], None if g[2] is None else g[g[2]])),
    min_size=1,
    max_size=25,
)


def test_win_rates_leave_ties_out():
    rates = win_rates([Comparison("a", "b", "a"), Comparison("b", "a", "a"), Comparison("a", "b", None)])
    assert (rates["a"].percent, rates["a"].wins, rates["a"].losses, rates["a"].ties) == (100, 2, 0, 1)
    assert rates["b"].percent == 0
    assert win_rates([Comparison("a", "b", None)])["a"].percent is None


def test_two_players_by_hand():
    """Without a prior worth naming, 3 wins to 1 are odds of 3."""
    found = strengths([Comparison("a", "b", "a")] * 3 + [Comparison("a", "b", "b")], prior=1e-6)
    assert found["a"].strength - found["b"].strength == pytest.approx(math.log(3), abs=1e-4)
    assert found["a"].n == 4


def test_known_strengths_come_back():
    truth = {"a": 1.0, "b": 0.0, "c": -1.0}
    played = []
    for one, other in itertools.combinations(truth, 2):
        wins = round(1000 / (1 + math.exp(truth[other] - truth[one])))
        played += [Comparison(one, other, one)] * wins + [Comparison(other, one, other)] * (1000 - wins)
    found = strengths(played, resamples=200)
    for player, strength in truth.items():
        assert found[player].strength == pytest.approx(strength, abs=0.02)
        assert found[player].low < strength < found[player].high
        assert found[player].high - found[player].low < 0.3


def test_who_never_lost_stays_finite():
    found = strengths([Comparison("a", "b", "a", case=str(i)) for i in range(30)], resamples=100)
    assert 1 < found["a"].strength < 10
    assert math.isfinite(found["a"].high)


def test_more_comparisons_of_one_case_make_nothing_surer():
    once = [Comparison("a", "b", "ab"[i % 3 == 0], case=str(i)) for i in range(30)]
    single, repeated = strengths(once, resamples=500, prior=1e-3), strengths(once * 4, resamples=500, prior=4e-3)
    assert repeated["a"].strength == pytest.approx(single["a"].strength)
    assert repeated["a"].high == pytest.approx(single["a"].high)


def test_nobody_has_no_strength():
    assert strengths([]) == {}


@given(games)
def test_strengths_are_centred_finite_and_care_not_who_is_named_first(played):
    found = strengths(played, resamples=30)
    assert sum(s.strength for s in found.values()) == pytest.approx(0, abs=1e-6)
    assert all(s.low <= s.strength <= s.high for s in found.values())
    turned = strengths([Comparison(c.second, c.first, c.winner, c.case) for c in played], resamples=30)
    for player, s in found.items():
        assert turned[player].strength == pytest.approx(s.strength, abs=1e-6)


@given(games)
def test_wins_are_losses_of_others(played):
    rates = win_rates(played).values()
    assert sum(r.wins for r in rates) == sum(r.losses for r in rates)
    assert sum(r.wins + r.losses + r.ties for r in rates) == 2 * len(played)
