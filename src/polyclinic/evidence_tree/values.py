"""Numbers of a record: what was measured, and where it lies in its reference range."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from polyclinic.cases.record import Finding

Standing = Literal["low", "normal", "high", "abnormal"]

_NUMBER = re.compile(r"(?<![\w.])[<>≤≥]?\s*([-−]?\d+(?:\.\d+)?)(?!\d|\.\d|[A-Za-z]\d)")
_RANGE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:-|–|—|~|～|to|至)\s*(\d+(?:\.\d+)?)")
_BELOW = re.compile(r"(?:<|≤|＜|up to|below|under|小于|低于)\s*(\d+(?:\.\d+)?)", re.IGNORECASE)
_ABOVE = re.compile(r"(?:>|≥|＞|above|over|大于|高于)\s*(\d+(?:\.\d+)?)", re.IGNORECASE)
_BRACKET = re.compile(r"[(（\[](?:[^()（）\[\]]*?)[)）\]]")
_MARKED_LOW = re.compile(r"↓|[(（](?:L|low|低)[)）]|(?<=\d)\s*L$")
_MARKED_HIGH = re.compile(r"↑|[(（](?:H|high|高)[)）]|(?<=\d)\s*H$")


class Measured(NamedTuple):
    """A number, as it was written, and where it lies; None where nothing says where it should."""

    value: float
    written: str
    standing: Standing | None

    def is_said_by(self, number: float) -> bool:
        """Whether somebody who says this number means the value, perhaps rounded."""
        digits = len(f"{number:g}".partition(".")[2])
        return abs(self.value - number) <= 0.5 * 0.1**digits + 1e-9


def numbers_in(text: str) -> list[float]:
    """Returns the numbers of a text that are values, those of a reference range in brackets left out."""
    bare = _BRACKET.sub(lambda found: " " if _RANGE.search(found[0]) or _reference(found[0]) else found[0], text)
    return [float(number.replace("−", "-")) for number in _NUMBER.findall(bare)]


def measured(finding: Finding) -> Measured | None:
    """Returns the number that a finding gives; None where it gives none, or several."""
    if not isinstance(finding.value, str):
        return Measured(finding.value, finding.value_text, _standing(finding.value, finding.reference))
    numbers = numbers_in(finding.value)
    if len(numbers) != 1 or not re.match(r"\s*[<>≤≥]?\s*[-−]?\d", finding.value):
        return None
    reference = finding.reference or " ".join(_BRACKET.findall(finding.value))
    standing = _standing(numbers[0], reference)
    if standing is None:
        marked = (("low", _MARKED_LOW), ("high", _MARKED_HIGH))
        standing = next((name for name, mark in marked if mark.search(finding.value)), None)  # type: ignore[misc]
    return Measured(numbers[0], f"{numbers[0]:g}", standing)


def _standing(value: float, reference: str) -> Standing | None:
    limits = _reference(reference)
    if limits is None:
        return None
    low, high = limits
    if low is not None and value < low:
        return "low"
    return "high" if high is not None and value > high else "normal"


def _reference(text: str) -> tuple[float | None, float | None] | None:
    """Returns the lower and the upper limit of a reference range; None where there is none."""
    if match := _RANGE.search(text):
        return float(match[1]), float(match[2])
    if match := _BELOW.search(text):
        return None, float(match[1])
    if match := _ABOVE.search(text):
        return float(match[1]), None
    return None
