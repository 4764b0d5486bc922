"""Two doctors on the same cases, metric by metric."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from polyclinic.metrics.conversation import ConversationSummary
from polyclinic.statistics.uncertainty import RESAMPLES, Difference, holm, mcnemar, paired_difference


class MetricDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of two doctors on the cases that both have seen.

    Attributes:
        first: the one doctor.
        second: the other.
        metric: its name; of AVG_LEN, the means of the cases are compared.
        difference: first less second; its p for DIAGNOSIS is McNemar's exact one, else the paired bootstrap's.
        p_holm: p, corrected for everything that was compared at once; None where there is no p.
    """

    first: str
    second: str
    metric: str
    difference: Difference
    p_holm: float | None = None


def compare(
    summaries: dict[str, ConversationSummary], *, resamples: int = RESAMPLES, seed: int = 0
) -> list[MetricDifference]:
    """Compares every two doctors on every metric, with Holm's correction over all of it.

    Repetitions of a case are averaged before they are compared.

    Args:
        summaries: by the doctor's name.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Returns:
        Pair by pair, metric by metric; nothing for two who share no case.
    """
    names = list(summaries)
    found = []
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            for metric in summaries[first].metrics:
                one, other = _by_case(summaries[first], metric), _by_case(summaries[second], metric)
                shared = [id for id in one if id in other]
                if shared:
                    difference = _difference(
                        [one[i] for i in shared], [other[i] for i in shared], metric, resamples, seed
                    )
                    found.append(MetricDifference(first=first, second=second, metric=metric, difference=difference))
    tested = [place for place, c in enumerate(found) if c.difference.p is not None]
    corrected = holm([p for c in found if (p := c.difference.p) is not None])
    for place, p in zip(tested, corrected, strict=True):
        found[place] = msgspec.structs.replace(found[place], p_holm=p)
    return found


def _by_case(summary: ConversationSummary, metric: str) -> dict[str | int, float]:
    values: dict[str | int, list[float]] = {}
    for score in summary.scores:
        if metric in score.values:
            values.setdefault(score.id, []).append(score.values[metric])
    return {id: sum(several) / len(several) for id, several in values.items()}


def _difference(first: Sequence[float], second: Sequence[float], metric: str, resamples: int, seed: int) -> Difference:
    difference = paired_difference(first, second, resamples=resamples, seed=seed)
    if metric == "DIAGNOSIS" and {*first, *second} <= {0.0, 100.0}:
        p = mcnemar([value > 0 for value in first], [value > 0 for value in second])
        return msgspec.structs.replace(difference, p=p)
    return difference
