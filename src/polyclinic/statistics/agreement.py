"""How far two agree on labels: confusion, share, Cohen's kappa (Cohen 1960), and the weighted one (Cohen 1968)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from polyclinic.statistics.uncertainty import share


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """Two readings of the same things.

    Attributes:
        labels: in the order of the confusion's rows and columns.
        confusion: how often each reference label (row) was read as each label (column).
        unreadable: by reference label, how often the other gave none of the labels; it counts as disagreement.
        percent: of the n things, those read alike, with Wilson's 95 % interval; None where there is nothing.
        kappa: agreement beyond chance, at most 1; None where chance alone agrees on everything.
    """

    labels: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    unreadable: tuple[int, ...]
    n: int
    percent: float | None
    low: float | None
    high: float | None
    kappa: float | None


def agreement(reference: Sequence[str], other: Sequence[str | None], *, labels: Sequence[str]) -> Agreement:
    """Compares the labels that were read with a reference's, in the same order; None could not be read.

    Raises:
        ValueError: the two are not of one length, or a reference label is none of the labels.
    """
    if len(reference) != len(other):
        raise ValueError(f"{len(reference)} labels beside {len(other)}")
    if unknown := set(reference) - set(labels):
        raise ValueError(f"no such label: {', '.join(sorted(unknown))}")
    counts = Counter(zip(reference, other, strict=True))
    n = len(reference)
    alike = sum(counts[label, label] for label in labels)
    percent, low, high = share(alike, n)
    rows, columns = Counter(reference), Counter(other)
    by_chance = sum(rows[label] * columns[label] for label in labels)
    return Agreement(
        labels=tuple(labels),
        confusion=tuple(tuple(counts[row, column] for column in labels) for row in labels),
        unreadable=tuple(sum(c for (r, o), c in counts.items() if r == row and o not in labels) for row in labels),
        n=n,
        percent=percent,
        low=low,
        high=high,
        kappa=(n * alike - by_chance) / (n * n - by_chance) if n * n > by_chance else None,
    )


def weighted_kappa(confusion: Sequence[Sequence[int]]) -> float | None:
    """Returns Cohen's kappa with quadratic weights: being two grades apart is four times as wrong as one.

    It is at most 1, 0 for what chance would give, and None where chance alone agrees on everything. The labels of the
    confusion are in their order, and evenly spaced.
    """
    n = sum(map(sum, confusion))
    rows, columns = [sum(row) for row in confusion], [sum(column) for column in zip(*confusion, strict=True)]
    apart = sum((i - j) ** 2 * count for i, row in enumerate(confusion) for j, count in enumerate(row))
    by_chance = sum((i - j) ** 2 * a * b for i, a in enumerate(rows) for j, b in enumerate(columns))
    return 1 - n * apart / by_chance if by_chance else None
