"""Several seeds of a case are no further cases: what is said of how sure a figure is must not count them as that."""

import msgspec
import pytest
from tests.results.test_results import written

from polyclinic.results.folder import ItemRow, read_results
from polyclinic.results.joining import compare_results, join
from polyclinic.results.printed import printed
from polyclinic.statistics.uncertainty import estimate, paired_difference, share_estimate, wilson

CASES, SEEDS = 24, 4


def value(case, model):
    """Cases differ, seeds of a case do not: of the second model all values are a little higher."""
    return float(case % 7) + (0.5 if case % 3 else -0.25) * (model == "b")


def rows_of(measure, of, seeds=SEEDS):
    return [
        ItemRow(item=f"p{case}", set="s", model=model, seed=seed, values={measure: of(case, model)})
        for seed in range(seeds)
        for model in ("a", "b")
        for case in range(CASES)
    ]


def joined(folder, rows, measure):
    return join(read_results(written(folder, rows, measures=(measure,))))


def width(one):
    return one.high - one.low


def test_a_mean_over_seeds_is_as_sure_as_over_its_cases(tmp_path):
    pooled = joined(tmp_path / "a", rows_of("grade", value), "grade").rows[0].measures["grade"]
    once = joined(tmp_path / "b", rows_of("grade", value, seeds=1), "grade").rows[0].measures["grade"]
    naive = estimate([value(case, "a") for _ in range(SEEDS) for case in range(CASES)])
    assert (pooled.mean, pooled.n, once.n) == (once.mean, SEEDS * CASES, CASES)
    assert width(pooled) == pytest.approx(width(once), rel=0.02)
    assert width(naive) < 0.6 * width(pooled)


def test_a_share_over_seeds_is_as_sure_as_over_its_cases(tmp_path):
    def right(case, _):
        return 100.0 * (case % 3 == 0)

    pooled = joined(tmp_path / "a", rows_of("right", right), "right").rows[0].measures["right"]
    naive = share_estimate([right(case, "a") for _ in range(SEEDS) for case in range(CASES)])
    assert width(naive) < 0.6 * width(pooled)
    # Where seeds of a case do differ, they tell more than one, and less than as many cases.
    mixed = [
        ItemRow(item=f"p{case}", set="s", model="a", seed=seed, values={"right": 100.0 * (n % 3 == 0)})
        for seed in range(SEEDS)
        for case in range(CASES)
        for n in [case + seed * (case % 2)]
    ]  # fmt: skip
    some = joined(tmp_path / "b", mixed, "right").rows[0].measures["right"]
    low, high = wilson(some.mean / 100 * SEEDS * CASES, SEEDS * CASES)
    assert high - low < width(some) < width(pooled)


def test_a_difference_over_seeds_is_as_sure_as_over_its_cases(tmp_path):
    (pooled,) = compare_results(read_results(written(tmp_path / "a", rows_of("grade", value)))).rows
    (once,) = compare_results(read_results(written(tmp_path / "b", rows_of("grade", value, seeds=1)))).rows
    both = [[value(case, model) for _ in range(SEEDS) for case in range(CASES)] for model in ("b", "a")]
    naive = paired_difference(*both)
    assert pooled.difference.p == pytest.approx(once.difference.p, rel=0.1) and naive.p < once.difference.p / 3
    assert width(pooled.difference) == pytest.approx(width(once.difference), rel=0.05)
    assert width(naive) < 0.6 * width(pooled.difference)


def test_that_seeds_are_pooled_stands_in_the_table(tmp_path):
    (table,) = printed(joined(tmp_path / "a", rows_of("grade", value), "grade"))
    assert table.columns[:3] == ("set", "model", "seeds") and table.rows[0][:3] == ("s", "a", "0 1 2 3")
    (table,) = printed(joined(tmp_path / "b", rows_of("grade", value, seeds=1), "grade"))
    assert table.columns[: table.left] == ("set", "model")


def test_what_a_price_is_not_known_of_is_not_free(tmp_path):
    rows = [
        ItemRow(item=f"p{case}", set="s", model="a", seed=seed, values={"right": 100.0}, calls=1, cost=cost)
        for seed, cost in enumerate([0.5, None, None])
        for case in range(4)
    ]  # fmt: skip
    table = joined(tmp_path / "a", rows, "right")
    assert table.rows[0].cost == 0.5
    assert "s, a: the cost is that of the 4 of 12 items with a price" in table.notes


def test_an_interval_over_cases_is_of_numbers_that_every_file_can_hold():
    one = share_estimate([100.0, 0.0, 100.0, 100.0, 0.0, 100.0], clusters=[1, 1, 2, 2, 3, 3])
    assert {type(value) for value in msgspec.structs.astuple(one)} == {float, int}
    assert msgspec.json.encode(one)
