"""Agreement of several raters: worked examples of the literature."""

import pytest

from polyclinic.statistics.agreement import agreement, fleiss_kappa, krippendorff_alpha, pairs_alike

# Krippendorff (2011), example C: four observers, twelve units, some of them not seen by all.
RELIABILITY = [
    [1, 1, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [5, 5, 5],
    [1, 1],
    [3],
]
# Three coders, fifteen units, many left out: the example that introduces alpha in most textbooks.
THREE = [
    [],
    [],
    [2, 2],
    [1, 1],
    [3, 3],
    [3, 3, 4],
    [4, 4, 4],
    [1, 3],
    [2, 2],
    [1, 1],
    [1, 1],
    [3, 3],
    [3, 3],
    [],
    [3, 4],
]
# Fourteen raters, ten subjects, five categories: how many chose each.
FOURTEEN = [
    (0, 0, 0, 0, 14),
    (0, 2, 6, 4, 2),
    (0, 0, 3, 5, 6),
    (0, 3, 9, 2, 0),
    (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0),
    (3, 2, 6, 3, 0),
    (2, 5, 3, 2, 2),
    (6, 5, 2, 1, 0),
    (0, 2, 2, 3, 7),
]


def test_krippendorffs_examples():
    for units, level, expected in [
        (RELIABILITY, "nominal", 0.743),
        (RELIABILITY, "ordinal", 0.815),
        (RELIABILITY, "interval", 0.849),
        (THREE, "nominal", 0.691),
        (THREE, "interval", 0.811),
    ]:
        found = krippendorff_alpha(units, level=level)
        assert found.alpha == pytest.approx(expected, abs=5e-4), (level, expected)
        assert found.low <= found.alpha <= found.high


def test_the_example_of_fleiss_kappa():
    units = [[kind for kind, count in enumerate(row) for _ in range(count)] for row in FOURTEEN]
    assert pairs_alike(units) == pytest.approx(0.378, abs=5e-4)
    assert fleiss_kappa(units) == pytest.approx(0.210, abs=5e-4)


def test_the_example_of_cohens_kappa():
    """Two readers of fifty proposals: 20 both say yes, 15 both no, 5 and 10 apart."""
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    found = agreement(first, second, labels=("yes", "no"))
    assert (found.percent, found.kappa) == (70.0, pytest.approx(0.4))


def test_where_nothing_varies_nothing_is_said():
    assert krippendorff_alpha([["yes", "yes"]] * 5).alpha is None
    assert fleiss_kappa([["yes", "yes"]] * 5) is None
    assert krippendorff_alpha([["yes"]]).n == 0
    with pytest.raises(KeyError):
        krippendorff_alpha([["A", "E"]], level="ordinal", order="ABCD")
