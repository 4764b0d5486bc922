"""Two doctors on the same cases, metric by metric."""

from __future__ import annotations

from itertools import combinations

import msgspec

from polyclinic.metrics.conversation import ConversationSummary
from polyclinic.statistics.uncertainty import Difference, holm, mcnemar, paired_difference


class MetricDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of two doctors on the cases that both have seen.

    Attributes:
        metric: its name; of AVG_LEN, the means of the cases are compared.
        difference: first less second; its p for DIAGNOSIS is McNemar's exact one, else `sign_flip`'s.
        p_holm: p, corrected for everything that was compared at once; None where there is no p.
    """

    first: str
    second: str
    metric: str
    difference: Difference
    p_holm: float | None = None


def compare(summaries: dict[str, ConversationSummary], *, seed: int = 0) -> list[MetricDifference]:
    """Compares every two doctors, by name, on every metric, with Holm's correction over all of it.

    Repetitions of a case are averaged before they are compared. Nothing comes of two who share no case.
    """
    found = []
    for first, second in combinations(summaries, 2):
        for metric in summaries[first].metrics:
            one, other = by_case(summaries[first], metric), by_case(summaries[second], metric)
            shared = [id for id in one if id in other]
            if shared:
                difference = _difference([one[id] for id in shared], [other[id] for id in shared], metric, seed)
                found.append(MetricDifference(first=first, second=second, metric=metric, difference=difference))
    corrected = holm([one.difference.p for one in found])
    return [msgspec.structs.replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True)]


def by_case(summary: ConversationSummary, metric: str) -> dict[str | int, float]:
    """Returns a metric by case, the mean where there are several visits to one."""
    values: dict[str | int, list[float]] = {}
    for score in summary.scores:
        if metric in score.values:
            values.setdefault(score.id, []).append(score.values[metric])
    return {id: sum(several) / len(several) for id, several in values.items()}


def _difference(first: list[float], second: list[float], metric: str, seed: int) -> Difference:
    difference = paired_difference(first, second, seed=seed)
    if metric == "DIAGNOSIS" and {*first, *second} <= {0.0, 100.0}:
        p = mcnemar([value > 0 for value in first], [value > 0 for value in second])
        return msgspec.structs.replace(difference, p=p)
    return difference
