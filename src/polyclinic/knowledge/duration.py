"""How long something has lasted, read out of text and put into words."""

from __future__ import annotations

import re

from polyclinic.language.language import Language

_DAYS = {"day": 1.0, "week": 7.0, "month": 30.4, "year": 365.25}
_UNITS_ZH = {"天": 1.0, "日": 1.0, "周": 7.0, "星期": 7.0, "月": 30.4, "年": 365.25}
_WORDS = ["a", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_NUMBERS = {word: max(1, number) for number, word in enumerate(_WORDS)} | {"an": 1, "few": 3, "couple": 2, "several": 4}
_NUMBERS_ZH = {c: n for n, c in enumerate("零一二三四五六七八九十")} | {"两": 2, "半": 0.5, "几": 3, "数": 4}

_ENGLISH = re.compile(
    rf"\b(\d+(?:\.\d+)?|{'|'.join(_NUMBERS)})(?:\s+of)?[\s-]+(day|week|month|year)s?\b(?![\s-]old)", re.IGNORECASE
)
_CHINESE = re.compile(r"(\d+(?:\.\d+)?|[一二三四五六七八九十两半几数])\s*个?余?(天|日|周|星期|月|年)(?!前)")


def read_days(text: str, language: Language) -> float | None:
    """Returns the first duration that a text names, in days, or None."""
    match = (_ENGLISH if language == "en" else _CHINESE).search(text)
    if match is None:
        return None
    number, unit = match[1].lower(), match[2].lower()
    if language == "en":
        return (_NUMBERS[number] if number in _NUMBERS else float(number)) * _DAYS[unit]
    return (_NUMBERS_ZH[number] if number in _NUMBERS_ZH else float(number)) * _UNITS_ZH[unit]


def rounded(days: float) -> tuple[int, str]:
    """Returns a duration as people say it: a whole number of days, weeks, months or years."""
    if days < 14:
        return max(1, round(days)), "day"
    if days < 60:
        return round(days / 7), "week"
    if days < 730:
        return round(days / _DAYS["month"]), "month"
    return round(days / _DAYS["year"]), "year"


def say_days(days: float, language: Language) -> str:
    """Returns a duration in words: `3 days`, `2 weeks`; `3天`, `2周`."""
    number, unit = rounded(days)
    if language == "en":
        return f"{number} {unit}{'s' if number != 1 else ''}"
    return f"{number}{ {'day': '天', 'week': '周', 'month': '个月', 'year': '年'}[unit] }"
