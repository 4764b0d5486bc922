"""Fits the scales of the rules judge to letters that a judge gave, and says how far the two agree.

Weights are those of a grid whose score orders the fitting reports most like the letters (Spearman); cuts are put where
the scores have the letters' shares of grades (equipercentile): means agree, and no cut is made for a single case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from polyclinic.judging.director import case_and_report
from polyclinic.judging.director_by_rules import RulesJudge
from polyclinic.metrics.grades import ONE_STEP, Aspect, Grade, Scale, Shares, grade_named
from polyclinic.metrics.recorded_reports import RecordedReport
from polyclinic.statistics.agreement import spearman

STEPS = 10
"""The grid's steps from no weight to all of it."""


def halves(reports: Sequence[RecordedReport]) -> tuple[list[RecordedReport], list[RecordedReport]]:
    """Returns the reports to fit to, whose ids are even numbers, and those to measure on, whose ids are odd ones."""
    even = [report for report in reports if int(report.id) % 2 == 0]
    return even, [report for report in reports if int(report.id) % 2]


def fitted(judge: RulesJudge, reports: Sequence[RecordedReport]) -> dict[Aspect, Scale]:
    """Returns the scales of diagnosis, rationale and treatment that fit the letters of reports best.

    The judge compares, and its own scales are not used. A report without a letter in an aspect is left out for that.
    """
    compared = [judge.compare(*case_and_report(report)) for report in reports]
    scales = {}
    for aspect in ONE_STEP:
        letters = [grade_named(report.letters.get(aspect.value)) for report in reports]
        both = zip((one[aspect].shares for one in compared), letters, strict=True)
        rated = [(shares, grade) for shares, grade in both if shares and grade is not None]
        scales[aspect] = _fit([shares for shares, _ in rated], [grade for _, grade in rated])
    return scales


def _fit(shares: Sequence[Shares], grades: Sequence[Grade]) -> Scale:
    names = list(shares[0])
    best, scale = -2.0, None
    for weights in _grid(len(names)):
        tried = Scale(weights=dict(zip(names, weights, strict=True)), cuts=(0, 0, 0))
        value = spearman([[tried.score(one) for one in shares], [float(grade) for grade in grades]])[0][1]
        if value is not None and value > best:
            best, scale = value, tried
    if scale is None:
        raise ValueError("letters or scores that are all alike fit nothing")
    scores = sorted(scale.score(one) for one in shares)
    below = [sum(grade < least for grade in grades) for least in (Grade.C, Grade.B, Grade.A)]
    cuts = tuple(round(_between(scores, count), 3) for count in below)
    return msgspec.structs.replace(scale, cuts=cuts)


def _grid(names: int, left: int = STEPS) -> Iterator[tuple[float, ...]]:
    """Yields all weights that sum to 1, in steps."""
    if names == 1:
        yield (left / STEPS,)
        return
    for first in range(left, -1, -1):
        for rest in _grid(names - 1, left - first):
            yield (first / STEPS, *rest)


def _between(scores: Sequence[float], below: int) -> float:
    """Returns a cut that leaves so many of the sorted scores below it."""
    if below == 0:
        return 0.0
    if below == len(scores):
        return 1.0
    return (scores[below - 1] + scores[below]) / 2
