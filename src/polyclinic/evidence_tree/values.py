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
MARKED_LOW = re.compile(r"↓|[(（](?:L|low|低)[)）]|(?<=\d)\s*L$")
MARKED_HIGH = re.compile(r"↑|[(（](?:H|high|高)[)）]|(?<=\d)\s*H$")


_POWER = r"(?:[×xX*·]\s*)?10\s*(?:[*^]\s*\d{1,2}|[⁰¹²³⁴-⁹]+)"
_UNIT = (
    rf"(?:{_POWER}\s*)?(?:[%‰％]|°\s*[CF]\b|[℃℉°]|(?:[A-Za-zμµ\[\]]{{0,8}}|次)\s*(?:/|\bper\b)\s*"
    r"(?:\d*\s*[A-Za-zμµ]+[³²]?|分钟?|升)|mm\s?\[?Hg\]?|(?:kPa|fL|pg|cm|mm|mL|kg|bpm|percent|mg|g|L|U|IU)(?![A-Za-z]))"
)
_TIME = (
    r"[\s-]*(?:(?:second|minute|min|hour|hr|day|week|month|year|yr|time|pack)s?\b"
    r"|个?(?:秒|分钟|小时|天|日|周|星期|月|年|岁|次(?!/)|支|包))"
)
_BELOW_SIGN = r"[<≤＜]|less than|lower than|fewer than|below|under|小于|低于|不足|不到"
_ABOVE_SIGN = r"[>≥＞]|greater than|higher than|more than|above|over|exceed(?:s|ing)|大于|高于|超过"
_FIGURE = re.compile(
    rf"(?:(?P<below>{_BELOW_SIGN})|(?P<above>{_ABOVE_SIGN}))?\s*=?\s*(?<![A-Za-z\d_.])(?P<number>[-−]?\d+(?:\.\d+)?)"
    rf"(?!\d|\.\d|[A-Za-z]\d)(?:(?P<time>{_TIME})|\s*[(（]?(?P<unit>{_UNIT}))?",
    re.IGNORECASE,
)
_THOUSANDS = re.compile(r"(?<=\d)[,，](?=\d{3}(?!\d))")
_RANGE_SAID = re.compile(
    r"[(（\[][^()（）\[\]]*[)）\]]|[,，;；]?\s*\b(?:reference|ref|normal)\b[.\s]*(?:range|interval|values?|limits?)?\s*"
    r"(?:is|was|of|:)?\s*(?:[<>≤≥]\s*\d+(?:\.\d+)?|\d+(?:\.\d+)?\s*(?:-|–|—|~|to)\s*\d+(?:\.\d+)?)"
    r"|(?:参考|正常)(?:值|范围|区间)*\s*(?:为|是|[:：])?\s*(?:[<>≤≥]\s*\d+(?:\.\d+)?|\d+(?:\.\d+)?\s*[-–—~～至]\s*\d+(?:\.\d+)?)",
    re.IGNORECASE,
)

_OF_SOMETHING = re.compile(
    r"[(（\[](?!\s*(?:n|nl|ref|reference|normal|range|interval|limits?|values?|lab(?:oratory)?|for|adults?|m|f|male|female|men|women)\b"
    r"|\s*(?:参考|正常|成人|男|女|范围|区间|up to|below|under|above|over|小于|低于|大于|高于))[\s,;，；]*[^\W\d_]",
    re.IGNORECASE,
)

Limits = tuple[float | None, float | None]


class Figure(NamedTuple):
    """A number of a text: whether below or above it is meant, its unit as written, and where it stands."""

    number: float
    sign: Literal["", "<", ">"]
    unit: str
    start: int
    end: int


def without_thousands(text: str) -> str:
    """Returns a text whose numbers have no commas in them."""
    return _THOUSANDS.sub("", text)


def figures(text: str) -> list[Figure]:
    """Returns the numbers of a text in order, those of times and durations left out."""
    return [
        Figure(
            number=float(m["number"].replace("−", "-")),
            sign="<" if m["below"] else ">" if m["above"] else "",
            unit=(m["unit"] or "").strip(),
            start=m.start(),
            end=m.end(),
        )
        for m in _FIGURE.finditer(text)
        if not m["time"]
    ]


def ranges_said(text: str) -> tuple[str, list[Limits]]:
    """Returns a text without the reference ranges that are written in it as such, and their limits."""
    said: list[Limits] = []

    def taken(found: re.Match[str]) -> str:
        limits = _reference(found[0])
        # "(SBP < 90)" is said of a result, and is no range of one.
        if limits is None or _OF_SOMETHING.match(found[0]):
            return found[0]
        said.append(limits)
        return " " * len(found[0])

    return _RANGE_SAID.sub(taken, text), said


def limits_of(finding: Finding) -> Limits | None:
    """Returns the reference range that a finding is written with; None where it has none."""
    return _reference(_reference_text(finding))


def _reference_text(finding: Finding) -> str:
    return finding.reference or (" ".join(_BRACKET.findall(finding.value)) if isinstance(finding.value, str) else "")


def unit_of(finding: Finding) -> str:
    """Returns the unit that a finding's number is in; empty where none is written."""
    if finding.unit or not isinstance(finding.value, str):
        return finding.unit
    found = figures(finding.value)
    return found[0].unit if found else ""


class Measured(NamedTuple):
    """A number, as it was written, and where it lies; None where nothing says where it should."""

    value: float
    written: str
    standing: Standing | None


def numbers_in(text: str) -> list[float]:
    """Returns the numbers of a text that are values, not those of a range in brackets or of a unit's power of ten."""
    bare = _BRACKET.sub(lambda found: " " if _RANGE.search(found[0]) or _reference(found[0]) else found[0], text)
    return [float(number.replace("−", "-")) for number in _NUMBER.findall(re.sub(_POWER, " ", bare))]


def measured(finding: Finding) -> Measured | None:
    """Returns the number that a finding gives; None where it gives none, or several."""
    if not isinstance(finding.value, str):
        return Measured(finding.value, finding.value_text, _standing(finding.value, finding.reference))
    numbers = numbers_in(finding.value)
    if len(numbers) != 1 or not re.match(r"\s*[<>≤≥]?\s*[-−]?\d", finding.value):
        return None
    standing = _standing(numbers[0], _reference_text(finding))
    if standing is None:
        marked = (("low", MARKED_LOW), ("high", MARKED_HIGH))
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
