"""How an age is said: years, and months of those who are not one year old."""

from __future__ import annotations

import msgspec

from polyclinic.language.language import Language
from polyclinic.language.word_lists import WORDS

_MONTHS = 12


class _Ages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    month: str
    months: str
    year: str
    years: str


_ages = WORDS.section("ages", _Ages)


def say_age(years: float, language: Language) -> str:
    """Returns an age in words: "5 months", "1 year", "34 years"; a newborn is "0 months"."""
    words = _ages(language)
    if years < 1:
        months = round(years * _MONTHS)
        return (words.month if months == 1 else words.months).format(months)
    return (words.year if years == 1 else words.years).format(f"{years:g}")
