"""Ages in words."""

import pytest

from polyclinic.language.ages import say_age


@pytest.mark.parametrize(
    ("years", "english", "chinese"),
    [(0, "0 months", "0个月"), (0.083, "1 month", "1个月"), (0.417, "5 months", "5个月"),
     (0.917, "11 months", "11个月"),
     (1, "1 year", "1岁"), (34, "34 years", "34岁"), (3.5, "3.5 years", "3.5岁")],
)  # fmt: skip
def test_infants_are_so_many_months_old(years, english, chinese):
    assert (say_age(years, "en"), say_age(years, "zh")) == (english, chinese)
