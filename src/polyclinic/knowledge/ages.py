"""Ages: the bands of the diseases' epidemiology, and who speaks for whom."""

from __future__ import annotations

import math
import re
from typing import Literal

from polyclinic.cases.presentation import Sex
from polyclinic.knowledge.data import Data, Share

Season = Literal["winter", "spring", "summer", "autumn"]

Prevalence = tuple[tuple[int, int, Sex | Literal["both"], Share], ...]
"""How usual something is: rows of first year, last year, sex or "both", and the share."""


def usual_at(prevalence: Prevalence, age: float, sex: Sex | None, otherwise: float = 0.0) -> float:
    """Returns how usual something is at an age and sex: the share of the first row that holds for it."""
    rows = (share for first, last, whose, share in prevalence if first <= age < last + 1 and whose in ("both", sex))
    return next(rows, otherwise)


AGE_BANDS: dict[str, tuple[int, int]] = {
    "0-5": (1, 5),
    "6-14": (6, 14),
    "15-44": (15, 44),
    "45-64": (45, 64),
    "65-90": (65, 90),
}
"""Age bands of the diseases' epidemiology, first and last year of age; older people belong to the last.

Infants, in their first year, are a share of the first band: `Epidemiology.infants`.
"""

MONTHS = 12
SPEAKS_FROM = 6
"""Years of age from which on a patient speaks for itself; before, a parent does."""
YOUNGEST_ADOLESCENT = 12
OF_ITSELF = re.compile(r"\b(?:I|my|me|myself)\b|我|自己")
"""What only those say who speak of themselves."""
_FIRST_BAND = next(iter(AGE_BANDS))


def band_of(age: float) -> str:
    """Returns the band that an age in years belongs to."""
    return next((band for band, (_, last) in AGE_BANDS.items() if age < last + 1), list(AGE_BANDS)[-1])


class Epidemiology(Data):
    """Who has it and when; each sums to 1.

    `ages` are the first and last age in years at which anybody has it, where its bands are too wide for that, and
    `infants` the share of those in the first band who are under one year old.
    """

    age: dict[str, Share]
    ages: tuple[float, float] = (0.0, 150.0)
    infants: Share = 0.0
    female: Share
    season: dict[Season, Share]

    @property
    def first_month(self) -> int:
        """The first month of age at which an infant has it; the newborn are not drawn."""
        return min(max(1, math.ceil(self.ages[0] * MONTHS)), MONTHS - 1)

    def years(self, band: str) -> tuple[int, int]:
        """Returns the first and last whole year of age of a band at which anybody has it."""
        (first, last), (least, most) = AGE_BANDS[band], self.ages
        return min(max(first, math.ceil(least)), last), max(min(last, int(most)), first)

    def share_at(self, age: float) -> float:
        """Returns which share of its patients is of an age (years), as if its whole band had that age's rate."""
        band = band_of(age)
        share = self.age.get(band, 0.0)
        if age < 1:
            is_so_young = age * MONTHS > self.first_month - 0.5
            return share * self.infants * MONTHS / (MONTHS - self.first_month) if is_so_young else 0.0
        first, last = self.years(band)
        if not first <= age < last + 1 and age <= AGE_BANDS[band][1]:
            return 0.0
        whole = AGE_BANDS[band][1] - AGE_BANDS[band][0] + 1
        return share * (1 - self.infants if band == _FIRST_BAND else 1.0) * whole / (last - first + 1)
