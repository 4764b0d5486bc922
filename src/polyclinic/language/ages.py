"""How an age is said: years, and months of those who are not one year old."""

from __future__ import annotations

from polyclinic.language.language import Language
from polyclinic.language.word_lists import WORDS

_MONTHS = 12


_ages = WORDS.section("ages", dict[str, str])


def say_age(years: float, language: Language) -> str:
    """Returns an age in words: "5 months", "1 year", "34 years"; a newborn is "0 months"."""
    words = _ages(language)
    if years < 1:
        months = round(years * _MONTHS)
        return (words["month"] if months == 1 else words["months"]).format(months)
    return (words["year"] if years == 1 else words["years"]).format(f"{years:g}")
