"""What was prescribed beside what is due: named, and dosed, which a short report seldom does.

A record writes each drug with its dose, its way and why; a doctor who writes "salbutamol" has named it. So the grade of
the treatment goes by what is named, and whether the dose stands there too is told beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from polyclinic.judges.director_by_rules import QUARTERS, AspectMatch, Scale, analysis
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import Language
from polyclinic.language.overlap import pieces
from polyclinic.metrics.grades import Grade
from polyclinic.web.chair.named_measures import (
    affirmed_and_denied,
    names_measure,
    says,
    without_condition,
    without_qualifiers,
)

_BY_POINT = Scale(weights={"named": 1.0}, cuts=QUARTERS)

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
    "单位": 1.0,
    "%": 1.0,
}
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_NUMBER = r"(\d+(?:\.\d+)?)"
_AMOUNT = re.compile(rf"{_NUMBER}(?:\s*(?:-|–|~|to|至|到|/)\s*{_NUMBER})?\s*({_UNIT})(?![a-z])", re.IGNORECASE)
_BEHIND = re.compile(r"[,，;；(（]")
_FORM = re.compile(
    r"(?: (?:by|for the vagina|inhalation|inhaler|nasal|spray|eye|ear|drops|cream|ointment|gel|lotion|tablets?|"
    r"capsules?|injection|infusion|patch|syrup|suspension|lozenges?|mouthwash|solution|powder))+$|"
    r"(?:吸入气雾剂|吸入剂|吸入|滴眼液|滴耳液|鼻喷雾剂|鼻喷剂|喷雾剂|乳膏|软膏|凝胶|片|胶囊|注射液|贴剂|糖浆|溶液)$",
    re.IGNORECASE,
)
_LONG = 3  # words of a name from which on not all are asked for
_NEAR = 1.02  # of an amount, by which another may differ


class DuePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One point of what is due.

    Attributes:
        text: as the record has it.
        named: whether the report names it.
        dosed: whether it says the dose; None where the record has none, or it is not named.
    """

    text: str
    named: bool
    dosed: bool | None = None


def due_points(due: Sequence[str], given: Sequence[str], knowledge: Knowledge) -> tuple[DuePoint, ...]:
    """Returns each point of what is due, beside a report's treatment."""
    return tuple(_beside(text, given, knowledge) for text in due)


def graded(points: Sequence[DuePoint], language: Language) -> tuple[Grade, str]:
    """Returns the grade of a treatment, by the share of its points that are named, and which those are."""
    named = tuple(point.text for point in points if point.named)
    missed = tuple(point.text for point in points if not point.named)
    shares = {"named": len(named) / len(points)}
    return _BY_POINT.grade(shares), analysis(AspectMatch(shares, matched=named, missed=missed), language)


def _beside(text: str, given: Sequence[str], knowledge: Knowledge) -> DuePoint:
    head = _head(without_condition(text))
    due, _ = affirmed_and_denied(without_qualifiers(head))
    names = [name for pair in _drugs(due, knowledge) for name in pair if name]
    lines = [line for line in given if any(_prescribes(line, name) for name in names)]
    # Another drug for the same reason shares every word but the one that counts.
    named = bool(lines) if names else names_measure(head, given, text)
    wanted = _AMOUNT.search(text)
    if wanted is None or not named:
        return DuePoint(text=text, named=named)
    least, most = _range(wanted)
    found = (_range(one) for line in lines or given for one in _AMOUNT.finditer(line))
    return DuePoint(
        text=text, named=True, dosed=any(low <= most * _NEAR and high >= least / _NEAR for low, high in found)
    )


def _head(text: str) -> str:
    """Returns what a point names, where a dose or a reason stands behind it; a text of another kind as it is."""
    if _AMOUNT.search(text) is None and not text.rstrip(" .。").endswith((")", "）")):
        return text
    return _BEHIND.split(text, maxsplit=1)[0].strip() or text


def _drugs(text: str, knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    """Yields the English and the Chinese name of each drug that a text names."""
    for drug in knowledge.drugs.values():
        # The form is told with the dose: who writes "salbutamol" has named the inhalation.
        names = (_FORM.sub("", drug.name.en), _FORM.sub("", drug.name.zh))
        if any(name and _mentions(text, name) for name in names):
            yield names


def _prescribes(line: str, name: str) -> bool:
    done, _ = affirmed_and_denied(line)
    # Of a long name two of three words will do ("sodium chloride"); of a short one each tells drugs apart.
    return _mentions(done, name) or (len(pieces(name)) >= _LONG and says(name, done))


def _mentions(text: str, name: str) -> bool:
    if name.isascii():
        return re.search(rf"(?<![a-z]){re.escape(name.casefold())}(?![a-z])", text.casefold()) is not None
    return name in text


def _range(amount: re.Match[str]) -> tuple[float, float]:
    """Returns the least and the most of an amount, in milligrams where it is a weight."""
    times = _UNITS[amount[3].casefold()]
    first = float(amount[1])
    last = float(amount[2] or first)
    return min(first, last) * times, max(first, last) * times
