"""Which indicators go together: Spearman's correlations of metrics, MCQE, a judge and people (aie-saps §2.6, §2.7).

Across doctors each indicator has one value a doctor: the metric's mean, MCQE, the judge's or the people's win rate.

Over pairs (Figure 5a) two doctors are compared on one case: a metric's value is the one doctor's minus the other's, a
judge's is 1, 0 (a tie) or -1. Each pair counts in both directions, so that no coefficient depends on the order of the
doctors. Figures 5c to 5e are the same within groups and between two. MCQE is not in these tables.

With people's verdicts there is the paper's study of 28 indicators: ten of people, ten of the judge, and the eight
metrics that are not counts of turns and words, each with its mean coefficient with those of people (Figure 5b).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec
import numpy as np
from rich.console import Console

from polyclinic.evaluations.aie.evaluation import DoctorResult
from polyclinic.judging.pairs import CRITERIA, Judgements
from polyclinic.judging.people import comparisons
from polyclinic.judging.verdicts import PersonsVerdict
from polyclinic.metrics.conversation import MCQE, METRICS, by_case
from polyclinic.statistics.agreement import spearman
from polyclinic.statistics.pairwise import Comparison, win_rates
from polyclinic.terminal.figures import number
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import crossed, table

JUDGED = {f"{view}.{criterion}": (view, criterion) for view, criteria in CRITERIA.items() for criterion in criteria}
"""A judge's indicators."""

PEOPLE = {f"people {name}": place for name, place in JUDGED.items()}
"""People's indicators."""

FEWEST = 4
"""Below four, ranks agree by chance too often: of three, one order in six is perfect by itself."""

Column = Sequence[float | None]


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """Every indicator against every other."""

    over: str  # what is compared, such as "doctors"
    indicators: tuple[str, ...]  # the names of rows and columns; a judge's are "view.criterion"
    matrix: tuple[tuple[float | None, ...], ...]  # Spearman's; None of too few things, or if one does not vary
    n: tuple[tuple[int, ...], ...]  # over how many things each coefficient is, or would be
    with_judge: dict[str, float | None]  # each indicator's mean coefficient with the judge's, itself aside
    note: str  # which coefficients are missing and why; "" where all are there
    with_people: dict[str, float | None] = {}  # the same with the people's (Figure 5b)


class Correlations(msgspec.Struct, frozen=True, kw_only=True):
    """The tables: across doctors; over pairs on a case (Figures 5a, 5b); by group, or "one - other" (Figures 5c to 5e).

    `study` is the paper's of 28 indicators, over all pairs; None without people's verdicts.
    """

    doctors: Matrix
    pairs: Matrix
    groups: dict[str, Matrix]
    study: Matrix | None = None


def correlate(
    doctors: Sequence[DoctorResult],
    judgements: Judgements | None = None,
    *,
    groups: Mapping[str, str] | None = None,
    people: Sequence[PersonsVerdict] = (),
) -> Correlations:
    """Correlates all indicators of an evaluation: a judge's where it judged the same visits, and people's.

    `groups` has each doctor's, such as open and closed models; None makes no tables of groups.
    """
    names = [doctor.name for doctor in doctors]
    among: dict[str, list[tuple[str, str]]] = {}
    if groups is not None:
        order = list(dict.fromkeys(groups[name] for name in names))
        for pair in combinations(names, 2):
            both = sorted({groups[name] for name in pair}, key=order.index)
            among.setdefault(" - ".join(both), []).append(pair)
    # Who won against whom, by indicator of the judge and of people; only of doctors that are here.
    compared = {} if judgements is None else {name: judgements.comparisons(*place) for name, place in JUDGED.items()}
    compared |= {name: comparisons(people, f"pairs {view}", one) for name, (view, one) in PEOPLE.items()}
    compared = {name: [c for c in some if {c.first, c.second} <= {*names}] for name, some in compared.items()}
    compared = {name: some for name, some in compared.items() if some or name not in PEOPLE}
    metrics = list(doctors[0].summary.metrics if doctors else METRICS)
    across: dict[str, Column] = {name: [one.summary.metrics[name].mean for one in doctors] for name in metrics}
    across[MCQE] = [one.mcqe.mean for one in doctors]
    for name, some in compared.items():
        rates = win_rates(some)
        across[name] = [rates[one].percent if one in rates else None for one in names]
    differences = _differences(doctors, compared)
    indicators = [name for name in across if name != MCQE]

    def over(what: str, of: Sequence[str], some: Sequence[tuple[str, str]] | None = None) -> Matrix:
        rows = [values for (a, b, _), values in differences.items() if some is None or (a, b) in some]
        forth = {name: [values.get(name) for values in rows] for name in of}
        # Each pair in both directions.
        both = {name: [*column, *(None if x is None else -x for x in column)] for name, column in forth.items()}
        return _matrix(what, both, each=2)

    pairs = "pairs of doctors on a case"
    metrics_studied = (name for name, metric in METRICS.items() if metric.studied)
    studied = [name for name in (*PEOPLE, *JUDGED, *metrics_studied) if name in across]
    return Correlations(
        doctors=_matrix("doctors", across),
        pairs=over(pairs, indicators),
        groups={name: over(f"{name}: pairs on a case", indicators, some) for name, some in among.items()},
        study=over(pairs, studied) if PEOPLE.keys() & compared.keys() else None,
    )


def _differences(
    doctors: Sequence[DoctorResult], compared: Mapping[str, Sequence[Comparison]]
) -> dict[tuple[str, str, str], dict[str, float]]:
    """Returns by two doctors and a case how much the one is above the other, by indicator."""
    found: defaultdict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    for first, second in combinations(doctors, 2):
        ours, theirs = by_case(first.summary), by_case(second.summary)
        for metric in first.summary.metrics:
            for case in (case for case in ours if metric in ours[case] and metric in theirs.get(case, ())):
                found[first.name, second.name, str(case)][metric] = ours[case][metric] - theirs[case][metric]
    place = {one.name: number for number, one in enumerate(doctors)}
    for indicator, some in compared.items():
        won: defaultdict[tuple[str, str, str], list[float]] = defaultdict(list)
        for one in some:
            a, b = sorted((one.first, one.second), key=place.__getitem__)
            won[a, b, one.case].append(0.0 if one.winner is None else 1.0 if one.winner == a else -1.0)
        for key, several in won.items():
            found[key][indicator] = sum(several) / len(several)
    return found


def _matrix(over: str, columns: Mapping[str, Column], *, each: int = 1) -> Matrix:
    """Correlates columns in which every thing stands `each` times."""
    names = tuple(columns)
    there = np.array([[x is not None for x in column] for column in columns.values()], dtype=int)
    n = (there @ there.T // each).tolist()
    matrix = tuple(
        tuple(value if count >= FEWEST else None for value, count in zip(*line, strict=True))
        for line in zip(spearman(list(columns.values())), n, strict=True)
    )

    def mean_with(others: Mapping[str, object]) -> dict[str, float | None]:
        found: dict[str, float | None] = {}
        for name, row in zip(names, matrix, strict=True):
            theirs = (value for other, value in zip(names, row, strict=True) if other in others and other != name)
            values = [value for value in theirs if value is not None]
            found[name] = sum(values) / len(values) if values else None
        return found

    cells = [(matrix[i][j], n[i][j]) for i in range(len(names)) for j in range(i)]
    few = sum(count < FEWEST for _, count in cells)
    flat = sum(value is None and count >= FEWEST for value, count in cells)
    notes = [f"{few} of {len(cells)} coefficients are left out: fewer than {FEWEST} {over}"] if few else []
    notes += [f"{flat} of {len(cells)} do not exist: an indicator does not vary"] if flat else []
    return Matrix(
        over=over,
        indicators=names,
        matrix=matrix,
        n=tuple(map(tuple, n)),
        with_judge=mean_with(JUDGED),
        with_people=mean_with(PEOPLE) if set(names) & PEOPLE.keys() else {},
        note="; ".join(notes),
    )


def show_correlations(screen: Console, correlations: Correlations) -> None:
    """Prints Spearman's coefficients over all pairs of doctors, in and between groups, and in the study with people."""

    def coefficient(value: float | None) -> str:
        return "·" if value is None else number(100 * value, "+.0f")

    matrices = {f"Spearman's coefficients x 100, {name}": one for name, one in correlations.groups.items()}
    matrices = {"Spearman's coefficients x 100, all pairs": correlations.pairs, **matrices}
    if (study := correlations.study) is not None:
        with_people = sorted(study.with_people.items(), key=lambda one: -math.inf if one[1] is None else -one[1])
        told = ((name, coefficient(value)) for name, value in with_people)
        screen.print(table("mean coefficient with people's indicators, x 100", ("indicator", "people"), told), "")
        matrices = {f"the study of {len(study.indicators)} indicators": study, **matrices}
    for title, one in matrices.items():
        if all(value is None for row in one.matrix for value in row):
            screen.print(plain(f"{title}: {one.note}"), "", style="dim")
            continue
        rows = zip(one.indicators, one.matrix, strict=True)
        numbered = {
            f"{place} {name}": {at: coefficient(value) for at, value in enumerate(row, start=1)}
            for place, (name, row) in enumerate(rows, start=1)
        }
        screen.print(crossed(title, numbered))
        screen.print(plain(one.note), "", style="dim")
