"""Doses as they are written, and whether one is beyond what can be lived with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from polyclinic.knowledge.prescribed import DrugInUse

_UNITS = {
    "micrograms": 0.001,
    "microgram": 0.001,
    "mcg": 0.001,
    "µg": 0.001,
    "μg": 0.001,
    "ug": 0.001,
    "微克": 0.001,
    "mg": 1.0,
    "毫克": 1.0,
    "grams": 1_000.0,
    "gram": 1_000.0,
    "g": 1_000.0,
    "克": 1_000.0,
    "ml": 1.0,
    "毫升": 1.0,
    "units": 1.0,
    "unit": 1.0,
    "iu": 1.0,
    "u": 1.0,
    "单位": 1.0,
    "%": 1.0,
}
_OF_UNITS = frozenset({"units", "unit", "iu", "u", "单位"})
_OF_WEIGHT = frozenset(_UNITS) - _OF_UNITS - {"ml", "毫升", "%"}
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_NUMBER = r"(\d+(?:\.\d+)?)"
AMOUNT = re.compile(rf"{_NUMBER}(?:\s*(?:-|–|~|to|至|到|/)\s*{_NUMBER})?\s*({_UNIT})(?![a-z])", re.IGNORECASE)
_PER = re.compile(r"^\s*(?:/|per |每)\s*(?:kg|m2|m²|㎡|公斤|千克|h\b|hour|min|小时|分钟)", re.IGNORECASE)
_WORDS = {
    "once": 1,
    "twice": 2,
    "three times": 3,
    "four times": 4,
    "一": 1,
    "两": 2,
    "二": 2,
    "三": 3,
    "四": 4,
    "六": 6,
}
_SHORT = {"od": 1, "qd": 1, "bd": 2, "bid": 2, "tds": 3, "tid": 3, "qds": 4, "qid": 4}
_EVERY = re.compile(r"(?:every|each|q)\s*(\d+)\s*(?:h\b|hours?|hourly)|每\s*(\d+)\s*个?小时", re.IGNORECASE)
_TIMES = re.compile(
    rf"({'|'.join(_WORDS)}|\d+)\s*(?:times|次)?\s*(?:a day|daily|per day|/d|/日|/天)|"
    rf"每[日天]\s*({'|'.join(_WORDS)}|\d+)\s*次|一[日天]\s*({'|'.join(_WORDS)}|\d+)\s*次|日\s*(\d+)\s*次|"
    rf"\b({'|'.join(_SHORT)})\b",
    re.IGNORECASE,
)
_HOURS = 24


class Amount(NamedTuple):
    """An amount in milligrams where it is a weight, else in units, millilitres or per cent."""

    least: float
    most: float
    unit: str


def amounts(text: str) -> Iterator[Amount]:
    """Yields the amounts of a text, but for those of a kilogram, a square metre or an hour."""
    for match in AMOUNT.finditer(text):
        if not _PER.match(text[match.end() :]):
            least, most = amount_of(match)
            yield Amount(least, most, match[3].casefold())


def amount_of(match: re.Match[str]) -> tuple[float, float]:
    """Returns the least and the most of an amount, in milligrams where it is a weight."""
    times = _UNITS[match[3].casefold()]
    first = float(match[1])
    last = float(match[2] or first)
    return min(first, last) * times, max(first, last) * times


def is_beyond_living(text: str, usual: DrugInUse) -> bool:
    """Whether a dose of a drug, as it is written behind its name, is beyond what can be lived with.

    The least that is written counts, and an amount in another kind of unit than the drug's does not.
    """
    kind = _OF_UNITS if usual.unit == "units" else _OF_WEIGHT
    times = _times_a_day(text)
    return any(usual.too_much(one.least, times) for one in amounts(text) if one.unit in kind)


def _times_a_day(text: str) -> float:
    """Returns how often a day something is taken; 0 where it is not told."""
    if every := _EVERY.search(text):
        hours = int(every[1] or every[2])
        return _HOURS / hours if hours else 0.0
    if told := _TIMES.search(text):
        word = next(group for group in told.groups() if group).casefold()
        return float(_WORDS.get(word) or _SHORT.get(word) or (int(word) if word.isdigit() else 0))
    return 0.0
