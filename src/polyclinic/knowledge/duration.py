"""How long something has lasted, read out of text and put into words."""

from __future__ import annotations

from typing import Literal

import msgspec

from polyclinic.language.language import Language
from polyclinic.language.word_lists import WORDS, Pattern

Unit = Literal["day", "week", "month", "year"]


class _DurationWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Pattern
    numbers: dict[str, float]
    units: dict[str, float]
    said: dict[Unit, tuple[str, str]]


_durations = WORDS.section("durations", _DurationWords)


def read_days(text: str, language: Language) -> float | None:
    """Returns the first duration that a text names, in days, or None."""
    words = _durations(language)
    match = words.pattern.search(text)
    if match is None:
        return None
    number, unit = match[1].lower(), match[2].lower()
    return (words.numbers[number] if number in words.numbers else float(number)) * words.units[unit]


def rounded(days: float) -> tuple[int, Unit]:
    """Returns a duration as people say it: a whole number of days, weeks, months or years."""
    if days < 14:
        return max(1, round(days)), "day"
    if days < 60:
        return round(days / 7), "week"
    if days < 730:
        return round(days / 30.4), "month"
    return round(days / 365.25), "year"


def say_days(days: float, language: Language) -> str:
    """Returns a duration in words: `3 days`, `2 weeks`; `3天`, `2周`."""
    number, unit = rounded(days)
    return _durations(language).said[unit][number != 1].format(number)
