"""When a woman had her last period: of the illness, of a pregnancy, of her age.

An ectopic pregnancy is found five to nine weeks after the last period, half of the women having missed none that they
know of: some take the bleeding for one. A pregnancy is counted from the last period. Menarche and menopause by age.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection
from pathlib import Path

import msgspec

from polyclinic.cases.presentation import Sex
from polyclinic.knowledge.data import Severity
from polyclinic.language.language import MARKS, Language
from polyclinic.language.word_lists import Pattern, WordLists

_MENARCHE, _MENOPAUSE = 13, 52  # years: by then most girls have, and most women have no more, periods
_LAST_PERIODS = (47, 51)  # years of age
_CYCLE = 28
_WEEK = 7
_ECTOPIC: dict[Severity, tuple[int, int]] = {"mild": (5, 7), "moderate": (6, 8), "severe": (6, 9)}  # weeks
_LATE = (5, 8)  # weeks, of who has missed a period for another reason
_FREE_OF = (2, 26)  # days: nobody is asked for a period that she has now

ECTOPIC = "ectopic-pregnancy"


class _PeriodWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    regular: str
    pregnancy: str
    weeks: str
    light: str
    unsure: str
    stopped: str
    removed: str
    pregnant: Pattern
    without_womb: Pattern


_words = WordLists(Path(__file__).with_name("words")).section("periods", _PeriodWords)


class Woman(msgspec.Struct, frozen=True, kw_only=True):
    """Whose last period it is.

    Attributes:
        age: in years.
        present: ids of the symptoms and circumstances that she has, and of the disease.
        past: what was so before, in the language of the case.
        days: since the first visit of this illness.
    """

    age: float
    sex: Sex
    present: Collection[str]
    severity: Severity
    past: str
    days: float = 0


def last_period(who: Woman, rng: random.Random, language: Language) -> str:
    """Returns what somebody says of her last period as a sentence; "" of men and children."""
    if who.sex != "female" or who.age < _MENARCHE:
        return ""
    return _told(who, rng, _words(language)) + MARKS[language].stop


def _told(who: Woman, rng: random.Random, words: _PeriodWords) -> str:
    passed = int(who.days)
    if (weeks := words.pregnant.search(who.past)) is not None and (number := re.search(r"\d+", weeks[0])):
        return words.pregnancy.format(n=number[0])
    if words.without_womb.search(who.past):
        return words.removed
    if ECTOPIC in who.present:
        weeks_ago = rng.randint(*_ECTOPIC[who.severity]) + passed // _WEEK
        if "missed_period" in who.present:
            return words.weeks.format(n=weeks_ago)
        return (words.light if "vaginal_bleeding" in who.present else words.unsure).format(n=weeks_ago)
    if "missed_period" in who.present:
        return words.weeks.format(n=rng.randint(*_LATE) + passed // _WEEK)
    if who.age >= _MENOPAUSE and "heavy_periods" not in who.present:
        return words.stopped.format(age=rng.randint(*_LAST_PERIODS))
    first, last = _FREE_OF
    return words.regular.format(n=first + (rng.randint(0, last - first) + passed) % (_CYCLE - first))
