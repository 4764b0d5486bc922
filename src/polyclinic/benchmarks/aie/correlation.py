"""Which indicators go together: Spearman's rank correlations between metrics, MCQE and a judge (aie-saps §2.6, §2.7).

Across doctors each indicator has one value a doctor: the metric's mean, MCQE, the judge's win rate.

Over pairs (Figure 5a) what is compared is two doctors on one case, as the paper's ordinal judgements are: a metric's
value is the one doctor's minus the other's, a judge's is 1, 0 (a tie) or -1. Each pair counts in both directions, so
that no coefficient depends on the order of the doctors. Figures 5c to 5e are the same within groups: both doctors of
one group, or one of each. MCQE has no value of a case in an evaluation, and is not in these tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import msgspec

from polyclinic.benchmarks.aie.results import MCQE, DoctorResult
from polyclinic.errors import BadInput
from polyclinic.judges.pair_judgements import CRITERIA, Judgements
from polyclinic.metrics.conversation import METRICS
from polyclinic.statistics.correlation import spearman

JUDGED = frozenset(f"{view}.{criterion}" for view, criteria in CRITERIA.items() for criterion in criteria)
"""A judge's indicators."""

FEWEST = 4
"""Below four, ranks agree by chance too often: of three, one order in six is perfect by itself."""

Column = Sequence[float | None]


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """Every indicator against every other.

    Attributes:
        over: what is compared, such as "doctors".
        indicators: the names of rows and columns; a judge's are "view.criterion".
        matrix: Spearman's coefficients; None where there are too few things, or an indicator does not vary.
        n: over how many things each coefficient is, or would be.
        with_judge: each indicator's mean coefficient with the judge's, itself aside (Figure 5b); None without any.
        note: which coefficients are missing and why; "" where all are there.
    """

    over: str
    indicators: tuple[str, ...]
    matrix: tuple[tuple[float | None, ...], ...]
    n: tuple[tuple[int, ...], ...]
    with_judge: dict[str, float | None]
    note: str


class Correlations(msgspec.Struct, frozen=True, kw_only=True):
    """The tables.

    Attributes:
        doctors: across doctors.
        pairs: over all pairs of doctors on a case (Figure 5a, 5b).
        groups: over the pairs within a group, by its name, and between two, by "one - other" (Figures 5c to 5e).
    """

    doctors: Matrix
    pairs: Matrix
    groups: dict[str, Matrix]


def correlate(
    doctors: Sequence[DoctorResult], judgements: Judgements | None = None, *, groups: Mapping[str, str] | None = None
) -> Correlations:
    """Correlates all indicators of an evaluation.

    Args:
        doctors: of the evaluation.
        judgements: of the same visits; None leaves out the judge's indicators.
        groups: each doctor's group, such as open and closed models; None makes no tables of groups.

    Raises:
        BadInput: a doctor has no group.
    """
    names = [doctor.name for doctor in doctors]
    missing = [name for name in names if groups is not None and name not in groups]
    if missing:
        raise BadInput(f"no group is given for: {', '.join(missing)}")
    pairs = list(combinations(names, 2))
    compared = _compared(doctors, judgements)
    among: dict[str, list[tuple[str, str]]] = {}
    if groups is not None:
        order = list(dict.fromkeys(groups[name] for name in names))
        for a, b in pairs:
            both = sorted({groups[a], groups[b]}, key=order.index)
            among.setdefault(" - ".join(both), []).append((a, b))
    across = _across(doctors, judgements)
    indicators = [name for name in across if name != MCQE]
    return Correlations(
        doctors=_table("doctors", across),
        pairs=_over_pairs("pairs of doctors on a case", compared, pairs, indicators),
        groups={
            name: _over_pairs(f"{name}: pairs on a case", compared, some, indicators) for name, some in among.items()
        },
    )


def _across(doctors: Sequence[DoctorResult], judgements: Judgements | None) -> dict[str, Column]:
    metrics = doctors[0].summary.metrics if doctors else METRICS
    columns: dict[str, Column] = {name: [one.summary.metrics[name].mean for one in doctors] for name in metrics}
    columns[MCQE] = [one.mcqe.mean for one in doctors]
    if judgements is not None:
        for view, judged in judgements.views.items():
            for criterion, result in judged.items():
                rates = [result.win_rates.get(one.name) for one in doctors]
                columns[f"{view}.{criterion}"] = [rate.percent if rate is not None else None for rate in rates]
    return columns


Differences = dict[tuple[str, str, str], dict[str, float]]
"""By two doctors and a case: how much the one is above the other, by indicator."""


def _compared(doctors: Sequence[DoctorResult], judgements: Judgements | None) -> Differences:
    by_case = {one.name: _by_case(one) for one in doctors}
    compared = {
        (a, b, case): {
            name: value - by_case[b][case][name] for name, value in values.items() if name in by_case[b][case]
        }
        for a, b in combinations(by_case, 2)
        for case, values in by_case[a].items()
        if case in by_case[b]
    }
    if judgements is None:
        return compared
    place = {one.name: number for number, one in enumerate(doctors)}
    for view, criteria in CRITERIA.items():
        for criterion in criteria:
            verdicts: dict[tuple[str, str, str], list[float]] = {}
            for one in judgements.comparisons(view, criterion):
                if one.first in place and one.second in place:
                    a, b = sorted((one.first, one.second), key=place.__getitem__)
                    won = 0.0 if one.winner is None else 1.0 if one.winner == a else -1.0
                    verdicts.setdefault((a, b, one.case), []).append(won)
            for key, several in verdicts.items():
                compared.setdefault(key, {})[f"{view}.{criterion}"] = sum(several) / len(several)
    return compared


def _by_case(doctor: DoctorResult) -> dict[str, dict[str, float]]:
    """Returns a doctor's metrics by case, the mean where there are several visits to one."""
    values: dict[str, dict[str, list[float]]] = {}
    for one in doctor.summary.scores:
        for metric in doctor.summary.metrics:
            if metric in one.values:
                values.setdefault(str(one.id), {}).setdefault(metric, []).append(one.values[metric])
    return {case: {name: sum(x) / len(x) for name, x in of_case.items()} for case, of_case in values.items()}


def _over_pairs(over: str, compared: Differences, pairs: Sequence[tuple[str, str]], names: Sequence[str]) -> Matrix:
    wanted = set(pairs)
    rows = [values for (a, b, _), values in compared.items() if (a, b) in wanted]
    columns: dict[str, Column] = {}
    for name in names:
        forth = [values.get(name) for values in rows]
        columns[name] = [*forth, *(None if value is None else -value for value in forth)]
    return _table(over, columns, each=2)


def _table(over: str, columns: dict[str, Column], *, each: int = 1) -> Matrix:
    """Makes a table; every thing stands `each` times in the columns."""
    names, rows = tuple(columns), list(columns.values())
    n = [[sum(x is not None and y is not None for x, y in zip(a, b, strict=True)) // each for b in rows] for a in rows]
    matrix = tuple(
        tuple(value if count >= FEWEST else None for value, count in zip(*line, strict=True))
        for line in zip(spearman(rows), n, strict=True)
    )
    judges = [i for i, name in enumerate(names) if name in JUDGED]
    with_judge = {}
    for i, name in enumerate(names):
        theirs = [value for j in judges if j != i and (value := matrix[i][j]) is not None]
        with_judge[name] = sum(theirs) / len(theirs) if theirs else None
    return Matrix(
        over=over,
        indicators=names,
        matrix=matrix,
        n=tuple(map(tuple, n)),
        with_judge=with_judge,
        note=_note(over, names, lambda i, j: (matrix[i][j], n[i][j])),
    )


def _note(over: str, names: Sequence[str], cell: Callable[[int, int], tuple[float | None, int]]) -> str:
    cells = [cell(i, j) for i in range(len(names)) for j in range(i)]
    few = sum(n < FEWEST for _, n in cells)
    flat = sum(value is None and n >= FEWEST for value, n in cells)
    notes = [f"{few} of {len(cells)} coefficients are left out: fewer than {FEWEST} {over}"] if few else []
    notes += [f"{flat} of {len(cells)} do not exist: an indicator does not vary"] if flat else []
    return "; ".join(notes)
