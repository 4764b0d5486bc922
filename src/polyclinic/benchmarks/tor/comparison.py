"""Methods beside one another on the same records: how much the F1 of a record differs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import msgspec

from polyclinic.benchmarks.tor.evaluation import RecordScores
from polyclinic.statistics.uncertainty import Difference, holm, paired_difference


class RecordsAgainst(msgspec.Struct, frozen=True, kw_only=True):
    """A method less another, in percent points of the F1 of a record, on the records that were answered for both.

    The p of the difference is that of turning signs; `p_holm` is corrected for all comparisons of the table.
    """

    method: str
    baseline: str
    difference: Difference
    p_holm: float | None


def compare_on_records(results: Iterable[RecordScores], *, seed: int = 0) -> tuple[RecordsAgainst, ...]:
    """Compares every two methods, the later less the earlier; Holm's correction is over all."""
    found = []
    for first, second in combinations(results, 2):
        before = {one.id: one.f1 for one in first.chosen if not one.failed}
        both = [one for one in second.chosen if not one.failed and one.id in before]
        mine, theirs = [100.0 * one.f1 for one in both], [100.0 * before[one.id] for one in both]
        found.append((second.name, first.name, paired_difference(mine, theirs, seed=seed)))
    corrected = holm([difference.p for _, _, difference in found])
    return tuple(
        RecordsAgainst(method=method, baseline=baseline, difference=difference, p_holm=p)
        for (method, baseline, difference), p in zip(found, corrected, strict=True)
    )
