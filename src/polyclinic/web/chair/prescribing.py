"""What was prescribed beside what is due: named, and dosed, which a short report seldom does.

A record writes each drug with its dose, its way and why; a doctor who writes "salbutamol" has named it. So the grade of
the treatment goes by what is named, and whether the dose stands there too is told beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from polyclinic.cases.case import Case
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.overlap import coverage

HALF = 0.5
"""From which share of its words on something counts as named."""

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
    whole = "\n".join(given)
    return tuple(_beside(text, given, whole, knowledge) for text in due)


def by_name(case: Case, knowledge: Knowledge) -> Case:
    """Returns a case whose treatment is due by its names alone: drugs by theirs, without doses, ways and reasons."""
    place = 1 if case.presentation.language == "zh" else 0
    treatment = tuple(
        ", ".join(dict.fromkeys(pair[place] or pair[0] for pair in _drugs(_head(text), knowledge))) or _head(text)
        for text in case.truth.treatment
    )
    return msgspec.structs.replace(case, truth=msgspec.structs.replace(case.truth, treatment=treatment))


def _beside(text: str, given: Sequence[str], whole: str, knowledge: Knowledge) -> DuePoint:
    names = [name for pair in _drugs(_head(text), knowledge) for name in pair if name]
    lines = [line for line in given if any(_mentions(line, name) for name in names)]
    named = bool(lines) or coverage(_head(text), whole) >= HALF
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
