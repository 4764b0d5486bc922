"""Whether a result lies outside the reference range that stands beside it."""

from __future__ import annotations

import re

from polyclinic.cases.record import Finding

_BETWEEN = re.compile(r"\s*(-?[\d.]+)\s*(?:-|–|~|to|至)\s*(-?[\d.]+)\s*")
_BELOW = re.compile(r"\s*[<≤＜]\s*=?\s*(-?[\d.]+)\s*")
_ABOVE = re.compile(r"\s*[>≥＞]\s*=?\s*(-?[\d.]+)\s*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def flag_of(finding: Finding) -> str:
    """Returns "H" or "L" where a number lies above or below the reference range that stands beside it, or ""."""
    if isinstance(finding.value, str):
        if not _NUMBER.fullmatch(finding.value.strip()):
            return ""
        value = float(finding.value)
    else:
        value = finding.value
    low, high = limits_of(finding)
    if low is not None and value < low:
        return "L"
    return "H" if high is not None and value > high else ""


def limits_of(finding: Finding) -> tuple[float | None, float | None]:
    """Returns the lower and the upper end of the reference range that stands beside a result, where it has them."""
    if match := _BETWEEN.fullmatch(finding.reference):
        return float(match[1]), float(match[2])
    if match := _BELOW.fullmatch(finding.reference):
        return None, float(match[1])
    if match := _ABOVE.fullmatch(finding.reference):
        return float(match[1]), None
    return None, None
