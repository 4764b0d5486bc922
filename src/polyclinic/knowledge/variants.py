"""What the criteria of a disease leave open: its variants, in each of which all quantities are independent.

Criteria such as "three of four" tie quantities together. A variant decides each condition that matters: one quantity
lies in this interval, that one in that state, a symptom is there. Variants exclude one another and together are all
that the criteria allow, so drawing one by its weight, and then each quantity by itself, draws exactly from the patients
who meet them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from polyclinic.knowledge.criteria import Criterion
from polyclinic.knowledge.entries import Distribution, Item

Interval = tuple[float, float]
"""From (included) to (excluded)."""

_MOST = 400  # variants; more is a criterion that nobody can read either


class Variant(NamedTuple):
    """What one way of meeting the criteria fixes.

    Attributes:
        weight: the share of the patients, before the criteria, that are so.
        numbers: the interval that a number lies in, by quantity.
        states: the states that a text can be in, by quantity.
        symptoms: whether a symptom is there.
    """

    weight: float = 1.0
    numbers: Mapping[str, Interval] = {}
    states: Mapping[str, frozenset[str]] = {}
    symptoms: Mapping[str, bool] = {}


_Cell = Interval | frozenset[str] | bool


def variants(
    criteria: Sequence[Criterion],
    items: Mapping[str, Item],
    distribution: Callable[[Item], Distribution],
    share: Callable[[str], float],
) -> tuple[Variant, ...]:
    """Returns the variants of a disease at a severity; one that fixes nothing where there are no criteria.

    Args:
        criteria: what must hold, all of it.
        items: the quantities, by id.
        distribution: that of a quantity in this disease at this severity.
        share: that of a symptom, given its parent.

    Raises:
        ValueError: no patient can meet the criteria, or there are too many ways to.
    """
    if not criteria:
        return (Variant(),)
    found = list(_Expansion(Criterion(all=tuple(criteria)), items, distribution, share).met({}, 1.0))
    if not found:
        raise ValueError("no patient can meet the criteria")
    if len(found) > _MOST:
        raise ValueError(f"the criteria can be met in {len(found)} ways; at most {_MOST}")
    return tuple(_variant(weight, fixed) for weight, fixed in found)


def meets(criterion: Criterion, items: Mapping[str, Item], values: Mapping[str, float | str | bool]) -> bool | None:
    """Returns whether somebody meets a criterion, by quantities (as an adult's) and symptoms; None where unknown."""
    if criterion.parts():
        return _counted(criterion, [meets(part, items, values) for part in criterion.parts()])
    value = values.get(criterion.quantity or criterion.symptom)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value in criterion.one_of
    low, high = interval_of(criterion, items[criterion.quantity])
    return low <= value < high


def _counted(criterion: Criterion, states: Sequence[bool | None]) -> bool | None:
    """Returns whether a criterion of several parts holds."""
    if criterion.at_most is not None:
        if states.count(True) > criterion.at_most:
            return False
        return True if states.count(True) + states.count(None) <= criterion.at_most else None
    needed = len(states) if criterion.all else 1 if criterion.any else criterion.count or 0
    if states.count(True) >= needed:
        return True
    return False if states.count(True) + states.count(None) < needed else None


def _variant(weight: float, fixed: Mapping[str, _Cell]) -> Variant:
    return Variant(
        weight,
        numbers={name: cell for name, cell in fixed.items() if isinstance(cell, tuple)},
        states={name: cell for name, cell in fixed.items() if isinstance(cell, frozenset)},
        symptoms={name: cell for name, cell in fixed.items() if isinstance(cell, bool)},
    )


def _names(whole: Criterion) -> list[str]:
    return list(dict.fromkeys(leaf.quantity or leaf.symptom for leaf in whole.leaves()))


def interval_of(leaf: Criterion, item: Item) -> Interval:
    """Returns the values of a number that meet a plain condition, as they are before they are rounded."""
    step = 10.0**-item.decimals
    low, high = leaf.at_least, leaf.below
    if leaf.abnormal == "low":
        high = item.low
    elif leaf.abnormal == "high":
        low = None if item.high is None else item.high + step
    return (
        -math.inf if low is None else low - step / 2,
        math.inf if high is None else high - step / 2,
    )


def _cells(name: str, whole: Criterion, items: Mapping[str, Item]) -> list[_Cell]:
    leaves = [leaf for leaf in whole.leaves() if name in (leaf.quantity, leaf.symptom)]
    if leaves[0].symptom:
        return [True, False]
    item = items[name]
    if item.numeric:
        ends = sorted({end for leaf in leaves for end in interval_of(leaf, item) if math.isfinite(end)})
        edges = [-math.inf, *ends, math.inf]
        return list(itertools.pairwise(edges))
    alike: dict[tuple[bool, ...], set[str]] = {}
    for state in item.values:
        alike.setdefault(tuple(state in leaf.one_of for leaf in leaves), set()).add(state)
    return [frozenset(states) for states in alike.values()]


def _chance(
    name: str,
    cell: _Cell,
    items: Mapping[str, Item],
    distribution: Callable[[Item], Distribution],
    share: Callable[[str], float],
) -> float:
    if isinstance(cell, bool):
        return share(name) if cell else 1 - share(name)
    item = items[name]
    if isinstance(cell, frozenset):
        shares = distribution(item)
        assert isinstance(shares, dict)  # noqa: S101
        return sum(shares.get(state, 0.0) for state in cell)
    return normal_share(item, distribution(item), cell)


def normal_share(item: Item, distribution: Distribution, interval: Interval) -> float:
    """Returns the share of a number's distribution that lies in an interval."""
    low, high = (below(item, distribution, end) for end in interval)
    return high - low


def below(item: Item, distribution: Distribution, value: float) -> float:
    """Returns the share of a number's distribution that lies below a value."""
    if math.isinf(value):
        return 0.0 if value < 0 else 1.0
    centre, spread = distribution
    assert isinstance(centre, float) and isinstance(spread, float)  # noqa: S101
    if item.lognormal:
        if value <= 0:
            return 0.0
        z = math.log(value / centre) / math.log(spread)
    else:
        z = (value - centre) / spread
    return 0.5 * math.erfc(-z / math.sqrt(2))


class _Expansion:
    """Decides what criteria are about, one thing after another, until they hold or cannot."""

    def __init__(
        self,
        whole: Criterion,
        items: Mapping[str, Item],
        distribution: Callable[[Item], Distribution],
        share: Callable[[str], float],
    ) -> None:
        self._whole, self._items = whole, items
        self._cells = {name: _cells(name, whole, items) for name in _names(whole)}
        self._chances = {
            name: [_chance(name, cell, items, distribution, share) for cell in cells]
            for name, cells in self._cells.items()
        }

    def met(self, fixed: dict[str, _Cell], weight: float) -> Iterator[tuple[float, dict[str, _Cell]]]:
        """Yields every way to meet the criteria that goes on from what is fixed, with its share."""
        holds = self._holds(self._whole, fixed)
        if holds is False or weight <= 0:
            return
        if holds:
            yield weight, fixed
            return
        name = self._open(self._whole, fixed)
        for cell, chance in zip(self._cells[name], self._chances[name], strict=True):
            yield from self.met({**fixed, name: cell}, weight * chance)

    def _open(self, criterion: Criterion, fixed: Mapping[str, _Cell]) -> str:
        """Returns what the first open condition of an open criterion is about."""
        for part in criterion.parts():
            if self._holds(part, fixed) is None:
                return self._open(part, fixed)
        return criterion.quantity or criterion.symptom

    def _holds(self, criterion: Criterion, fixed: Mapping[str, _Cell]) -> bool | None:
        """Returns whether a criterion holds; None where that is still open."""
        if criterion.parts():
            return _counted(criterion, [self._holds(part, fixed) for part in criterion.parts()])
        cell = fixed.get(criterion.quantity or criterion.symptom)
        if cell is None or isinstance(cell, bool):
            return cell
        if isinstance(cell, frozenset):
            return cell <= set(criterion.one_of)
        low, high = interval_of(criterion, self._items[criterion.quantity])
        return low <= cell[0] and cell[1] <= high
