"""The body under the findings: quantities, each with one value in a visit, and what reads them.

Every item of an examination is a quantity of its own, but for those that `body.yaml` names: items and symptoms that
read another's quantity, quantities that no examination names, and what is made of several. Values of a disease are
written for an adult; `Carrying` takes them to another age and sex by the reference ranges of both.
"""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Generic, Literal, NamedTuple

import msgspec

from polyclinic.cases.presentation import Sex
from polyclinic.errors import BadInput
from polyclinic.knowledge.ages import MONTHS, Prevalence, usual_at
from polyclinic.knowledge.data import DATA, Data, Share, T
from polyclinic.knowledge.entries import Item, Source
from polyclinic.yaml_files import read_yaml

ELSE = "else"
"""Stands for the states that are not named."""

OTHER_WHITE_CELLS = 7.0
"""Per cent of the white cells that are neither neutrophils, lymphocytes nor eosinophils: monocytes and basophils."""

CARBON_DIOXIDE_SOLVED, CARBONIC_PK = 0.0307, 6.1
"""How much carbon dioxide plasma holds, in mmol/L a mmHg, and the pK of carbonic acid in it."""

PRESENT = "present"
"""The state of a symptom that is there."""

FEWEST_LYMPHOCYTES = 0.03
"""The share of the white cells that are lymphocytes at the least."""


class Reading(Data, Generic[T]):
    """What follows from a quantity: something `below` each value of it, or in each of its states."""

    of: str
    below: tuple[tuple[float | None, T], ...] = ()
    states: dict[str, T] = msgspec.field(default_factory=dict)

    @property
    def cuts(self) -> tuple[float, ...]:
        """The values at which the cells end."""
        return tuple(cut for cut, _ in self.below if cut is not None)

    def at(self, value: str | float) -> T:
        """Returns what follows in a state, or from a value on."""
        if isinstance(value, str):
            return self.states[value] if value in self.states else self.states[ELSE]
        return self.below[bisect.bisect_right(self.cuts, value)][1]


class SymptomReading(Reading[Share]):
    """A symptom that follows from a quantity: the share that has it, given its parent."""


class PanelReading(Reading[dict[str, Share]]):
    """An item that reads another's quantity: the shares of its texts, or, for a number, points of a curve."""

    curve: tuple[tuple[float, float], ...] = ()  # (quantity, item); none where it is the same number
    error: Annotated[float, msgspec.Meta(ge=0)] = 0  # the instrument's, one standard deviation


class ShownTogether(Data):
    """What an item can show beside another: in a state of the item or symptom `of` (`PRESENT`), one of these texts."""

    of: str
    states: dict[str, tuple[str, ...]]


class Derived(Data):
    """An item that is a function of quantities."""

    how: Literal["without_share", "other_cells", "bicarbonate"]
    of: tuple[str, ...]

    def value(self, values: Sequence[float]) -> float:
        """Returns its value from those that it is made of, in their order.

        `without_share`: diastolic from systolic pressure and the pulse pressure's share of it. `other_cells`:
        lymphocytes from white cells, per cent of neutrophils, and eosinophils; a few are always left. `bicarbonate`:
        from pH and the pressure of carbon dioxide in mmHg, by Henderson and Hasselbalch.
        """
        if self.how == "bicarbonate":
            return float(CARBON_DIOXIDE_SOLVED * values[1] * 10 ** (values[0] - CARBONIC_PK))
        if self.how == "without_share":
            return values[0] * (1 - values[1])
        left = values[0] * (1 - (values[1] + OTHER_WHITE_CELLS) / 100) - values[2]
        return max(left, values[0] * FEWEST_LYMPHOCYTES)

    def other(self, value: float, first: float) -> float | None:
        """Returns the second of two quantities from its value and the first; None where that does not follow."""
        if self.how == "without_share" and first > 0:
            return 1 - value / first
        if self.how == "bicarbonate":
            return float(value / (CARBON_DIOXIDE_SOLVED * 10 ** (first - CARBONIC_PK)))
        return None


class ShownAs(Data):
    """A `state` that is shown `as` another where the quantity `of` is at least so high (an adult's number)."""

    state: str
    as_: str = msgspec.field(name="as")
    of: str
    at_least: float


class Beside(Data):
    """What is so beside any illness, and which quantities it moves that the illness leaves alone.

    `prevalence` are rows of first year, last year, sex or "both", and the share; `numbers` are distributions by item,
    `texts` the id of a text by item. The examinations `without` are not done beside it, unless the illness shows in
    them.
    """

    prevalence: Prevalence
    numbers: dict[str, tuple[float, float]] = msgspec.field(default_factory=dict)
    texts: dict[str, str] = msgspec.field(default_factory=dict)
    without: tuple[str, ...] = ()

    def share(self, age: float | None, sex: Sex | None) -> float:
        """Returns how many people of an age and sex it is so with; 0 where these are not known."""
        return 0.0 if age is None or sex is None else usual_at(self.prevalence, age, sex)


class BodyRules(Data):
    """What `body.yaml` holds.

    `ranges` are rows of first year, last year, sex or "both", low and high; `infants`, which go before them, of first
    month, last month, low and high.
    `told` is the share of those with a symptom of this illness who tell of it. Nobody has both symptoms of a pair in
    `apart`; `together` says which texts two items show in one body. The texts of the items in `graded` are grades of
    one thing, in their order: of several the last is said.
    """

    sources: tuple[Source, ...]
    told: Share
    hidden: tuple[Item, ...]
    symptoms: dict[str, SymptomReading]
    items: dict[str, PanelReading]
    shown_as: dict[str, ShownAs]
    derived: dict[str, Derived]
    together: dict[str, ShownTogether] = msgspec.field(default_factory=dict)
    apart: tuple[tuple[str, str], ...] = ()
    graded: frozenset[str] = frozenset()
    beside: dict[str, Beside] = msgspec.field(default_factory=dict)
    infants: dict[str, tuple[tuple[int, int, float, float], ...]] = msgspec.field(default_factory=dict)
    ranges: dict[str, tuple[tuple[int, int, Sex | Literal["both"], float, float], ...]]


class Range(NamedTuple):
    """A reference range; None where it is open."""

    low: float | None
    high: float | None


@functools.cache
def read_body(path: Path = DATA / "body.yaml") -> BodyRules:
    """Reads the body."""
    body = read_yaml(path, BodyRules)
    for id, item in body.items.items():
        if item.curve and any(b[0] <= a[0] or b[1] <= a[1] for a, b in zip(item.curve, item.curve[1:], strict=False)):
            raise BadInput(f"the curve of {id} must rise from point to point", path=path, field=f"$.items.{id}.curve")
    return body


def range_of(item: Item, age: float | None, sex: Sex | None, body: BodyRules) -> Range:
    """Returns the reference range of an item at an age and sex; an adult's where they are not known."""
    if age is not None and age < 1:
        months = round(age * MONTHS)
        for first, last, low, high in body.infants.get(item.id, ()):
            if first <= months <= last:
                return Range(low, high)
    if age is not None:
        for first, last, whose, low, high in body.ranges.get(item.id, ()):
            if first <= age < last + 1 and whose in ("both", sex):
                return Range(low, high)
    return Range(item.low, item.high)


class Carrying:
    """Takes the numbers of an item from the adult that diseases are written for to somebody, and back."""

    def __init__(self, item: Item, there: Range) -> None:
        self._lognormal = item.lognormal
        here = Range(item.low, item.high)
        self.is_same = there == here or None in there or None in here
        if not self.is_same:
            (a, b), (c, d) = (tuple(self._scaled(x) for x in ends if x is not None) for ends in (here, there))
            self._ends = (a, b, c, d)

    def _scaled(self, x: float) -> float:
        return math.log(max(x, 1e-9)) if self._lognormal else x

    def there(self, x: float) -> float:
        """Returns what an adult's number is in this person."""
        if self.is_same:
            return x
        y = self._along(self._scaled(x), *self._ends)
        return math.exp(y) if self._lognormal else y

    def back(self, y: float) -> float:
        """Returns the adult's number that this person's stands for."""
        if self.is_same:
            return y
        a, b, c, d = self._ends
        x = self._along(self._scaled(y), c, d, a, b)
        return math.exp(x) if self._lognormal else x

    def _along(self, x: float, a: float, b: float, c: float, d: float) -> float:
        """Carries x from the range a to b to that from c to d: inside along the line, outside as many times its end."""
        if a <= x <= b:
            return c + (x - a) * (d - c) / (b - a)
        here, there = (a, c) if x < a else (b, d)
        if self._lognormal:
            return there + x - here
        return x * there / here if here > 0 and there > 0 else there + (x - here) * (d - c) / (b - a)


def along(curve: Sequence[tuple[float, float]], x: float) -> float:
    """Returns the value of a curve, which goes straight between its points and beyond its ends."""
    return _straight(curve, x, 0, 1)


def back_along(curve: Sequence[tuple[float, float]], y: float) -> float:
    """Returns where a curve has a value."""
    return _straight(curve, y, 1, 0)


def _straight(curve: Sequence[tuple[float, float]], x: float, given: int, wanted: int) -> float:
    place = min(max(bisect.bisect_right([point[given] for point in curve], x), 1), len(curve) - 1)
    a, b = curve[place - 1], curve[place]
    return a[wanted] + (x - a[given]) * (b[wanted] - a[wanted]) / (b[given] - a[given])
