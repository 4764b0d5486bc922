"""How far indicators put things into one order: Spearman's rank correlation (AIE §2.4, Figure 5)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from polyclinic.metrics.statistics import Numbers


def spearman(columns: Sequence[Sequence[float | None]]) -> list[list[float | None]]:
    """Returns Spearman's rank correlation of every column with every other, ties sharing their mean rank.

    Args:
        columns: the indicators, each with one value a thing that is compared; None where it has none, and then that
            thing is left out for the pairs of that indicator.

    Returns:
        A symmetric matrix; None where fewer than two things are shared or an indicator does not vary.
    """
    table = np.array([[math.nan if v is None else v for v in column] for column in columns], dtype=np.float64)
    matrix: list[list[float | None]] = [[None] * len(columns) for _ in columns]
    for row in range(len(columns)):
        for column in range(row + 1):
            both = ~np.isnan(table[row]) & ~np.isnan(table[column])
            value = _correlation(_ranks(table[row][both]), _ranks(table[column][both]))
            matrix[row][column] = matrix[column][row] = value
    return matrix


def _ranks(values: Numbers) -> Numbers:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: Numbers = (ends - (counts - 1) / 2)[inverse]
    return ranks


def _correlation(first: Numbers, second: Numbers) -> float | None:
    if not len(first):
        return None
    a, b = first - first.mean(), second - second.mean()
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return min(1.0, max(-1.0, float(a @ b) / scale)) if scale > 0 else None


class PairedRow(msgspec.Struct, frozen=True, kw_only=True):
    """How much one doctor is above another on one case, indicator by indicator.

    Attributes:
        first: a doctor.
        second: the other.
        case: the case's id.
        differences: first less second; indicators that only one of them has are missing.
    """

    first: str
    second: str
    case: str | int
    differences: dict[str, float]


class Correlations(msgspec.Struct, frozen=True, kw_only=True):
    """Spearman's correlation of every indicator with every other.

    Attributes:
        indicators: in the order of rows and columns.
        matrix: None where it cannot be computed.
        n: comparisons of two doctors on a case.
    """

    indicators: tuple[str, ...]
    matrix: tuple[tuple[float | None, ...], ...]
    n: int


def paired_rows(values: Mapping[str, Mapping[str | int, Mapping[str, float]]]) -> list[PairedRow]:
    """Returns the differences of every two doctors on every case that both have.

    Args:
        values: by doctor, case and indicator; a comparison's verdict is an indicator too (1 for a win, 0 for a loss).
    """
    doctors = list(values)
    return [
        PairedRow(
            first=first,
            second=second,
            case=case,
            differences={name: one[name] - other[name] for name in one if name in other},
        )
        for place, first in enumerate(doctors)
        for second in doctors[place + 1 :]
        for case, one in values[first].items()
        if (other := values[second].get(case)) is not None
    ]


def correlations(
    rows: Sequence[PairedRow], indicators: Sequence[str], *, groups: Mapping[str, str] | None = None
) -> dict[str, Correlations]:
    """Correlates indicators over comparisons of two doctors, all of them and by the groups of the two.

    Each comparison stands for both orders of its doctors, so that who is named first changes nothing.

    Args:
        rows: of `paired_rows`.
        indicators: which, in the order of the matrix.
        groups: each doctor's, such as "open" and "closed".

    Returns:
        Under "all", and under "closed, closed", "closed, open" and so on.
    """
    by_group = {"all": list(rows)}
    if groups is not None:
        for row in rows:
            by_group.setdefault(", ".join(sorted((groups[row.first], groups[row.second]))), []).append(row)
    found = {}
    for name, chosen in by_group.items():
        columns = []
        for indicator in indicators:
            column = [row.differences.get(indicator) for row in chosen]
            columns.append([*column, *(None if v is None else -v for v in column)])
        matrix = tuple(map(tuple, spearman(columns)))
        found[name] = Correlations(indicators=tuple(indicators), matrix=matrix, n=len(chosen))
    return found
