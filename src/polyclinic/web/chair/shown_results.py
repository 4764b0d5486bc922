"""Results as a page draws them: numbers within their reference range, each time that they were measured."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from polyclinic.cases.record import Finding
from polyclinic.events import Event, Examined

_BETWEEN = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*[-–~至]\s*(-?\d+(?:\.\d+)?)\s*")
_BEYOND = re.compile(r"\s*([<>≤≥＜＞])\s*=?\s*(-?\d+(?:\.\d+)?)\s*")

Side = Literal["low", "normal", "high"]


class ResultAt(msgspec.Struct, frozen=True, kw_only=True):
    """A value, and the doctor's turn in which it came."""

    turn: int
    value: str
    number: float | None = None
    side: Side | None = None


class ShownResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at, and every value of it; `low` and `high` are the ends of its reference range, where known."""

    examination: str
    item: str
    unit: str
    reference: str
    low: float | None
    high: float | None
    values: tuple[ResultAt, ...]


def shown_results(events: Iterable[Event]) -> list[ShownResult]:
    """Returns all results of a visit, in the order in which they were first measured."""
    found: dict[tuple[str, str, str], tuple[Finding, list[ResultAt]]] = {}
    for event in events:
        if isinstance(event, Examined):
            for finding in event.findings:
                _, values = found.setdefault((finding.examination, finding.item, finding.unit), (finding, []))
                values.append(_at(event.turn, finding))
    return [
        ShownResult(
            examination=first.examination,
            item=first.item,
            unit=first.printed_unit,
            reference=first.reference,
            low=reference_ends(first.reference)[0],
            high=reference_ends(first.reference)[1],
            values=tuple(values),
        )
        for first, values in found.values()
    ]


def _at(turn: int, finding: Finding) -> ResultAt:
    if isinstance(finding.value, str):
        return ResultAt(turn=turn, value=finding.value)
    number = finding.value
    low, high = reference_ends(finding.reference)
    side: Side | None = None
    if low is not None or high is not None:
        side = "low" if low is not None and number < low else "high" if high is not None and number > high else "normal"
    return ResultAt(turn=turn, value=finding.value_text, number=number, side=side)


def reference_ends(reference: str) -> tuple[float | None, float | None]:
    """Returns the ends of a reference range as it is written ("12-20", "< 5"); None where it is open or unread."""
    if between := _BETWEEN.fullmatch(reference):
        return float(between[1]), float(between[2])
    if beyond := _BEYOND.fullmatch(reference):
        end = float(beyond[2])
        return (None, end) if beyond[1] in "<≤＜" else (end, None)
    return None, None
