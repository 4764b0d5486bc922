"""When a woman had her last period, and whether the next is late: read out of what she can tell.

The next period is late when the last one is longer ago than her cycle, which is 28 days where the record has no other.
It is said to be so, or not so, only where the record tells how long ago that was: not of a date, of a period that was
no proper one since, in a known pregnancy, or where there are no periods any more.
"""

from __future__ import annotations

import re

import msgspec

from polyclinic.language.language import Language
from polyclinic.language.word_lists import Pattern
from polyclinic.players.rules.attributes import attributes_of
from polyclinic.players.rules.matching import essential
from polyclinic.players.rules.meaning import read
from polyclinic.players.rules.questions import is_open
from polyclinic.players.rules.story import Fact, Story
from polyclinic.players.rules.words import WORDS

_CYCLE = 28.0  # days
_PERIODS = frozenset({"periods", "missed_periods", "irregular_periods"})
_MISSED = "missed_period"


class _LastPeriodWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    last: Pattern
    since: Pattern
    joint: Pattern
    other: Pattern
    late: Pattern
    late_alone: Pattern
    span: Pattern
    numbers: dict[str, float]
    units: dict[str, float]
    apart: Pattern
    ago: Pattern
    cycle: Pattern
    unsure: Pattern


_words = WORDS.section("last_period", _LastPeriodWords)


class LastPeriod(msgspec.Struct, frozen=True):
    """What is told of a last period.

    Attributes:
        told: the facts that tell it.
        late: whether the next one is late, where that is asked and can be told; else None.
    """

    told: tuple[Fact, ...]
    late: bool | None = None


def last_period(text: str, story: Story) -> LastPeriod | None:
    """Returns what answers a question for the last period, the first or a late one, perhaps nothing; None: for else."""
    words = _words(story.language)
    if _is_of_periods(text, story.language) and words.other.search(text) and not words.unsure.search(text):
        return LastPeriod(tuple(fact for fact in story.facts if words.other.search(fact.text)))
    when, late = _asks_when(text, story.language), _asks_late(text, story.language)
    told = _told(story) if when or late else []
    if not told and not when:
        return None
    return LastPeriod(tuple(told[:2]), _is_late(told, story) if late and not when else None)


def _asks_when(text: str, language: Language) -> bool:
    words = _words(language)
    if not _is_of_periods(text, language):
        return False
    if words.since.search(text):
        return True
    how = {one.name for one in attributes_of(text, language, ())}
    return is_open(text, language) and words.last.search(text) is not None and "time" in how


def _asks_late(text: str, language: Language) -> bool:
    words = _words(language)
    if is_open(text, language) and not words.since.search(text):
        return _is_of_periods(text, language) and words.late.search(text) is not None
    return words.late_alone.search(text) is not None or (
        words.late.search(text) is not None and _is_of_periods(text, language)
    )


def _is_of_periods(text: str, language: Language) -> bool:
    """Whether a question speaks of periods as such, and of no pain or bleeding in them."""
    # What stands behind "since" or "when" would be no more than when something is.
    frames = read(_words(language).joint.sub(",", text), language)
    return any(_PERIODS & frame.wide for frame in frames) and all(_PERIODS.issuperset(essential(f)) for f in frames)


def _told(story: Story) -> list[Fact]:
    own = [fact for fact in story.facts if not fact.denied and not fact.of_family]
    last = [fact for fact in own if _is_of_last(fact)]
    return last or [fact for fact in own if _is_missed(fact)]


def _is_of_last(fact: Fact) -> bool:
    words = _words(fact.language)
    if words.other.search(fact.text):
        return False
    return words.last.search(fact.text) is not None or (
        _ago(fact) is not None and any(_PERIODS & frame.wide for frame in fact.frames)
    )


def _is_missed(fact: Fact) -> bool:
    """Whether a fact speaks of a period that was missed or is late, be it denied."""
    of_periods = any(_PERIODS & frame.wide for frame in fact.frames)
    return _MISSED in fact.direct or (of_periods and _words(fact.language).late.search(fact.text) is not None)


def _is_late(told: list[Fact], story: Story) -> bool | None:
    words = _words(story.language)
    if any(words.unsure.search(fact.text) for fact in told):
        return None
    missed = [fact.denied for fact in story.facts if _is_missed(fact) and not fact.of_family]
    if not all(missed):
        return True
    ago = next((days for fact in told if (days := _ago(fact)) is not None), None)
    if ago is None or missed:
        return None
    cycles = [days for fact in story.facts if (days := _cycle(fact)) is not None]
    return ago > max(cycles, default=_CYCLE)


def _ago(fact: Fact) -> float | None:
    """Returns how many days ago a fact says that it was, the fewest of a range."""
    words = _words(fact.language)
    for piece in words.apart.split(fact.text):
        told = words.ago.search(piece)
        if told is not None and (span := words.span.search(told[0])) is not None:
            return _days(span, words)[0]
    return None


def _cycle(fact: Fact) -> float | None:
    """Returns the days of the cycle that a fact tells, the most of a range."""
    words = _words(fact.language)
    pieces = [piece for piece in words.apart.split(fact.text) if words.cycle.search(piece)]
    lengths = [_days(span, words)[1] for piece in pieces for span in words.span.finditer(words.ago.sub(" ", piece))]
    return lengths[0] if lengths and any(_PERIODS & frame.wide for frame in fact.frames) else None


def _days(span: re.Match[str], words: _LastPeriodWords) -> tuple[float, float]:
    """Returns the fewest and the most days of a span of time."""
    unit = next(days for name, days in words.units.items() if span["unit"].casefold().startswith(name))
    few = _number(span["few"], words)
    return few * unit, (_number(span["many"], words) if span["many"] else few) * unit


def _number(text: str, words: _LastPeriodWords) -> float:
    """Reads digits, and words for numbers; of Chinese ones up to 99, "五十三"."""
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        return float(text)
    if text.casefold() in words.numbers:
        return words.numbers[text.casefold()]
    tens, _, ones = text.partition("十")
    return 10 * words.numbers.get(tens, 1.0) + words.numbers.get(ones, 0.0)
