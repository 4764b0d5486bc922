"""Numbers as they stand in a table for people, which still know what they were before they were rounded."""

from __future__ import annotations

import math
from collections.abc import Mapping

NOTHING = "–"
"""Stands where nothing was measured."""

AT_LEAST = "\N{GREATER-THAN OR EQUAL TO}"
"""Stands before a sum of which parts are not known."""

Value = float | int | str | None


class ShownFigure(str):
    """The text of one or several numbers, with each of them by its part's name; that of the first may be "".

    It is a text like others; where tables are written for programs, its parts stand there as they are, a column each.
    """

    __slots__ = ("parts",)

    parts: Mapping[str, Value]

    def __new__(cls, text: str, parts: Mapping[str, Value]) -> ShownFigure:
        """Returns the text with its parts."""
        made = super().__new__(cls, text)
        made.parts = parts
        return made

    def __reduce__(self) -> tuple[type[ShownFigure], tuple[str, Mapping[str, Value]]]:
        return ShownFigure, (str(self), self.parts)


def number(value: float | None, form: str = ".2f", unit: str = "") -> str:
    """Returns a number, or a dash where there is none."""
    return NOTHING if value is None else ShownFigure(f"{value:{form}}{unit}", {"": value})


def money(value: float | None, unpriced: int = 0) -> str:
    """Returns a cost with at least two digits that are not 0, marked as the least if some calls have no price."""
    if value is None:
        return NOTHING
    places = 4 if not value else max(4, 1 - math.floor(math.log10(abs(value))))
    if not unpriced:
        return number(value, f".{places}f")
    return ShownFigure(f"{AT_LEAST} {value:.{places}f}", {"": value, "lacks": unpriced})


def with_ends(value: float | None, low: float | None, high: float | None, form: str = ".2f") -> str:
    """Returns `number [low, high]`, the number alone where it has no interval, or a dash where there is none."""
    if value is None or low is None or high is None:
        return number(value, form)
    return ShownFigure(f"{value:{form}} [{low:{form}}, {high:{form}}]", {"": value, "low": low, "high": high})


def part_of(part: int, whole: int) -> str:
    """Returns `part of whole`."""
    return ShownFigure(f"{part} of {whole}", {"": part, "of": whole})


def low_to_high(low: float | None, high: float | None, form: str = ".2f", between: str = "-") -> str:
    """Returns the two ends of an interval, or a dash where there is none."""
    if low is None or high is None:
        return NOTHING
    return ShownFigure(f"{low:{form}}{between}{high:{form}}", {"low": low, "high": high})
