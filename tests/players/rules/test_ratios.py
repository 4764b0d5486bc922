"""A likelihood ratio is written as people write it."""

import pytest

from polyclinic.players.rules.belief import _in_two_figures


@pytest.mark.parametrize(
    ("ratio", "written"),
    [(1.72, "1.7"), (2.0, "2"), (9.96, "10"), (24.4, "24"), (104, "100"), (217.3, "220"), (999, "1000")],
)
def test_a_ratio_has_two_figures_and_no_power_of_ten(ratio, written):
    assert _in_two_figures(ratio) == written
