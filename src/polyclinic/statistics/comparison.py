"""Entrants compared in pairs on the items of both, with Holm's correction over everything that is compared at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

import msgspec

from polyclinic.statistics.uncertainty import Difference, holm, paired_difference, share_difference


class Compared(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first entrant's values less the second's; a subclass may give the fields other names in documents."""

    first: str
    second: str
    measure: str = ""
    difference: Difference
    p_holm: float | None


class Against(Compared, frozen=True, kw_only=True, rename={"first": "method", "second": "baseline"}):
    """A method less a baseline, in percent points."""

    first: str
    second: str


C = TypeVar("C", bound=Compared)
Item = TypeVar("Item", bound=Hashable)
Test = Callable[[Sequence[float], Sequence[float]], Difference]


def of_means(seed: int) -> Test:
    """Returns the comparison of means, by the sign-flip test."""
    return partial(paired_difference, seed=seed)


def of_shares(seed: int) -> Test:
    """Returns the comparison of shares, whose values are 0 or more, by McNemar's exact test."""

    def test(first: Sequence[float], second: Sequence[float]) -> Difference:
        return share_difference(*([value > 0 for value in some] for some in (first, second)), seed=seed)

    return test


def compare_values(
    kind: type[C],
    values: Mapping[str, Mapping[Item, Mapping[str, float]]],
    measures: Sequence[str],
    pairs: Iterable[tuple[str, str]],
    test: Callable[[str], Test],
) -> tuple[C, ...]:
    """Compares pairs of entrants in every measure.

    Args:
        kind: the type of the comparisons.
        values: by entrant, item and measure.
        measures: in which they are compared.
        pairs: the entrants that are compared, each less the other.
        test: returns how a measure is compared.
    """
    found = []
    for first, second in pairs:
        ours, theirs = values[first], values[second]
        for one in measures:
            both = [item for item in ours if one in ours[item] and one in theirs.get(item, ())]
            difference = test(one)([ours[item][one] for item in both], [theirs[item][one] for item in both])
            found.append((first, second, one, difference))
    corrected = holm([difference.p for *_, difference in found])
    return tuple(
        kind(first=first, second=second, measure=measure, difference=difference, p_holm=p)
        for (first, second, measure, difference), p in zip(found, corrected, strict=True)
    )
