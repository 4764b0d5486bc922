"""Every two entrants of a set on the items of both: the difference, how sure it is, and what could have been found."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Any

import msgspec

from polyclinic.errors import UserError, meant
from polyclinic.frames import Tabular
from polyclinic.results.joining import Items, JoinedEntrant, chosen_measures, gathered, is_share, told_apart
from polyclinic.results.reading import RunResults
from polyclinic.statistics.uncertainty import Difference, holm, paired_difference, share_difference

_RESAMPLES = 2_000


class ResultsDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The first less the second in one measure; p is corrected by Holm for all comparisons of the table."""

    set: str
    measure: str
    first: str
    second: str
    difference: Difference
    p_holm: float | None = None


class ResultsComparison(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """All comparisons."""

    rows: tuple[ResultsDifference, ...]


def compare_results(
    results: Sequence[RunResults], *, measures: Sequence[str] = (), baseline: str | None = None, seed: int = 0
) -> ResultsComparison:
    """Compares every two entrants of each set, or each with the baseline, item by item and seed by seed.

    Args:
        results: as `read_results` reads them.
        measures: which, of sets that have them; by default the chief one of the runs of each set.
        baseline: a model, a method, or both as the table names them.
        seed: of the bootstrap.
    """
    results = told_apart(results)
    chosen_measures(results, measures)
    wanted = _wanted(results, measures)
    entrants, _ = gathered(results)
    pairs = [
        (first, second)
        for name in dict.fromkeys(one.set for one in entrants)
        for first, second in _pairs([one for one in entrants if one.set == name], baseline)
    ]
    if not pairs:
        if baseline is not None and len(entrants) > 1:
            there = list(dict.fromkeys(name for one in entrants for name in (one.model, one.method, one.label) if name))
            raise UserError(f"no baseline {baseline!r}{meant(baseline, there)}; there are: {'; '.join(there)}")
        raise UserError(f"nothing to compare: {len(entrants)} of one set; name folders with two of the same set")
    shares = {
        name: is_share(results, name) for name in dict.fromkeys(one for names in wanted.values() for one in names)
    }
    rows = [
        ResultsDifference(
            set=first.set,
            measure=name,
            first=first.label,
            second=second.label,
            difference=_difference(entrants[first], entrants[second], name, seed, share=shares[name]),
        )
        for first, second in pairs
        for name in wanted[first.set]
    ]
    corrected = holm([row.difference.p for row in rows])
    return ResultsComparison(
        rows=tuple(msgspec.structs.replace(row, p_holm=p) for row, p in zip(rows, corrected, strict=True))
    )


def _wanted(results: Sequence[RunResults], measures: Sequence[str]) -> dict[str, list[str]]:
    """Returns the measures in which a set's entrants are compared: those named that it has, else its chief ones."""
    found: dict[str, dict[str, None]] = {}
    for one in results:
        having: dict[str, set[str]] = {}
        for row in one.rows:
            having.setdefault(row.set, set()).update(row.values)
        for name, there in having.items():
            named = [measure for measure in measures or one.measures if measure in there]
            found.setdefault(name, {}).update(dict.fromkeys(named if measures else named[:1]))
    return {name: [*these] for name, these in found.items()}


def difference_rows(compared: ResultsComparison) -> list[dict[str, Any]]:
    """Returns comparisons as plain rows."""
    rows = []
    for row in compared.rows:
        flat = msgspec.structs.asdict(row)
        difference = flat.pop("difference")
        rows.append(flat | msgspec.structs.asdict(difference))
    return rows


def _pairs(entrants: Sequence[JoinedEntrant], baseline: str | None) -> list[tuple[JoinedEntrant, JoinedEntrant]]:
    if baseline is None:
        return [(second, first) for first, second in combinations(entrants, 2)]
    against = [one for one in entrants if baseline in (one.model, one.method, one.label)]
    # Named by its method alone, each model is held against its own.
    return [
        (one, base)
        for base in against
        for one in entrants
        if one not in against and (len(against) == 1 or one.model == base.model or one.method == base.method)
    ]


def _difference(first: Items, second: Items, name: str, seed: int, *, share: bool) -> Difference:
    both = [key for key, row in first.items() if name in row.values and key in second and name in second[key].values]
    mine, theirs = [first[key].values[name] for key in both], [second[key].values[name] for key in both]
    cases: list[Hashable] = [first[key].cluster for key in both]
    clusters = None if len(set(cases)) == len(cases) else cases
    if share and len(both) > 1:
        rights = [[one > 0 for one in some] for some in (mine, theirs)]
        return share_difference(*rights, clusters=clusters, seed=seed)
    return paired_difference(mine, theirs, clusters=clusters, resamples=_RESAMPLES, seed=seed)
