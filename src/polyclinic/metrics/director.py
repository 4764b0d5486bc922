"""What a director's grades come to: means by aspect, ties between doctors, length, two judges (ai-hospital §3.2).

A mean is over the grades that were given. `paper` counts a missing grade as 1, as the published code did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Literal, TypeVar

import msgspec

from polyclinic.errors import BadInput
from polyclinic.language.language import length
from polyclinic.metrics.grades import LETTERS, NO_GRADE, Aspect, Grade, Judgement, aspects_of, grade_named, why_no_grade
from polyclinic.metrics.recorded_reports import RecordedReport
from polyclinic.statistics.agreement import Agreement, agreement, spearman, weighted_kappa
from polyclinic.statistics.uncertainty import Estimate, estimate, percentile_half, share

MissingGrade = Literal["left out", "counts 1"]
Key = TypeVar("Key")
Pairs = Sequence[tuple[Judgement, Judgement]]
RECORDED = "recorded"
"""The judge of letters that were recorded elsewhere."""


class AspectMean(Estimate, frozen=True, kw_only=True):
    """The mean grade of one aspect over many reports, 1 to 4; to those that are unreadable the judge gave none.

    Attributes:
        bracket: what the paper prints behind a mean: half its bootstrap interval, some 1.96 standard errors (§5.1).
    """

    unreadable: int
    bracket: float | None = None


def brackets(metrics: Mapping[Aspect, AspectMean]) -> dict[Aspect, float | None]:
    """Returns what the paper prints behind each mean."""
    return {aspect: mean.bracket for aspect, mean in metrics.items()}


class Unreadable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An aspect of a report that has no grade, and why."""

    case: str
    doctor: str = ""
    aspect: Aspect
    problem: str


class GradeSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What the grades of one doctor, or of several together, come to, by aspect.

    Attributes:
        grades: how often each letter was given.
        length: Spearman's correlation of the grade with the length of that part of the report; None where one of them
            does not vary or is not known.
        failed: judgements that did not come, by the name of the failure; they are outside everything.
    """

    metrics: dict[Aspect, AspectMean]
    grades: dict[Aspect, dict[str, int]]
    length: dict[Aspect, float | None]
    failed: dict[str, int]


class Ties(msgspec.Struct, frozen=True, kw_only=True):
    """How often a judge gives two doctors one grade on one case: what it cannot tell apart.

    Attributes:
        n: cases on which both have a grade.
        percent: of n, with Wilson's 95 % interval; None where that is 0.
    """

    first: str
    second: str
    aspect: Aspect
    n: int
    ties: int
    percent: float | None
    low: float | None
    high: float | None


class TwoJudges(msgspec.Struct, frozen=True, kw_only=True):
    """How far two judges agree in one aspect, on the reports that both graded.

    Attributes:
        exact: the first judge's grades as rows, the second's as columns; `kappa` is Cohen's.
        within_one: percent of the reports whose grades are at most one apart.
        means: of the first and of the second, on these reports.
        ungraded: reports that one of them, or both, gave no grade.
    """

    exact: Agreement
    weighted_kappa: float | None
    within_one: float | None
    spearman: float | None
    means: tuple[float, float] | None
    ungraded: int


def summarise(
    judgements: Sequence[Judgement], *, missing_grade: MissingGrade = "left out", seed: int = 0
) -> GradeSummary:
    """Returns the means of one judge's grades; several judgements of one case are resampled together.

    A missing grade that counts 1 is counted as unreadable all the same.
    """
    came = [one for one in judgements if not one.failed]
    metrics, grades, lengths = {}, {}, {}
    for aspect in Aspect:
        asked = [one for one in came if aspect in one.grades]
        graded = [(one, grade) for one in asked if (grade := one.grades[aspect]) is not None]
        counted = [(one.case, float(grade)) for one, grade in graded]
        if missing_grade == "counts 1":
            counted += [(one.case, float(Grade.D)) for one in asked if one.grades[aspect] is None]
        values, cases = [v for _, v in counted], [case for case, _ in counted]
        mean = estimate(values, clusters=cases, seed=seed)
        metrics[aspect] = AspectMean(
            **msgspec.structs.asdict(mean),
            unreadable=len(asked) - len(graded),
            bracket=None if mean.low is None else percentile_half(values, clusters=cases, seed=seed),
        )
        counts = Counter(grade.name for _, grade in graded)
        grades[aspect] = {letter: counts[letter] for letter in LETTERS}
        lengths[aspect] = spearman([[one.lengths.get(aspect) for one, _ in graded], [g for _, g in graded]])[0][1]
    failed = dict(Counter(one.failed for one in judgements if one.failed))
    return GradeSummary(metrics=metrics, grades=grades, length=lengths, failed=failed)


def unreadable(judgements: Sequence[Judgement]) -> list[Unreadable]:
    """Returns every aspect that a judge was asked about and did not grade, with the reason."""
    return [
        Unreadable(case=one.case, doctor=one.doctor, aspect=aspect, problem=one.unreadable.get(aspect, NO_GRADE))
        for one in judgements
        for aspect, grade in one.grades.items()
        if grade is None
    ]


def by_doctor(judgements: Sequence[Judgement]) -> dict[str, list[Judgement]]:
    """Returns the judgements of each doctor, in the order in which they first come."""
    return _grouped(judgements, lambda one: one.doctor)


def ties(judgements: Sequence[Judgement]) -> list[Ties]:
    """Returns how often every two doctors got the same grade on a case, by aspect."""
    return [
        _ties(first, second, aspect, _graded_by_both(_paired(ours, theirs, same_doctor=False), aspect))
        for (first, ours), (second, theirs) in combinations(by_doctor(judgements).items(), 2)
        for aspect in Aspect
    ]


def _ties(first: str, second: str, aspect: Aspect, grades: Sequence[tuple[Grade, Grade]]) -> Ties:
    n, same = len(grades), sum(one == other for one, other in grades)
    percent, low, high = share(same, n)
    return Ties(first=first, second=second, aspect=aspect, n=n, ties=same, percent=percent, low=low, high=high)


def compare_judges(first: Sequence[Judgement], second: Sequence[Judgement]) -> dict[Aspect, TwoJudges]:
    """Returns how far two judges agree on the reports of both, by aspect.

    Reports go together by case and doctor; where one side names no doctor, by case. Of several of one doctor on one
    case the first meets the first, and so on, failed ones too.

    Raises:
        BadInput: no report stands in both.
    """
    named = all(one.doctor for one in (*first, *second))
    pairs = _paired(first, second, same_doctor=named)
    if not pairs:
        doctors = [", ".join(by_doctor(judgements)) or "nobody" for judgements in (first, second)]
        problem = "no report was judged in both files: a report is the same where case and doctor are"
        raise BadInput(f"{problem}; the doctors are {doctors[0]}, and {doctors[1]}")
    return {aspect: _two_judges(pairs, aspect) for aspect in Aspect}


def _two_judges(pairs: Pairs, aspect: Aspect) -> TwoJudges:
    asked = sum(aspect in a.grades and aspect in b.grades for a, b in pairs)
    both = _graded_by_both(pairs, aspect)
    ours, theirs = [a for a, _ in both], [b for _, b in both]
    exact = agreement([a.name for a in ours], [b.name for b in theirs], labels=LETTERS)
    return TwoJudges(
        exact=exact,
        weighted_kappa=weighted_kappa(exact.confusion),
        within_one=100 * sum(abs(a - b) <= 1 for a, b in both) / len(both) if both else None,
        spearman=spearman([ours, theirs])[0][1],
        means=(sum(ours) / len(both), sum(theirs) / len(both)) if both else None,
        ungraded=asked - len(both),
    )


def _graded_by_both(pairs: Pairs, aspect: Aspect) -> list[tuple[Grade, Grade]]:
    both = [(one.grades.get(aspect), other.grades.get(aspect)) for one, other in pairs]
    return [(one, other) for one, other in both if one is not None and other is not None]


def _paired(first: Sequence[Judgement], second: Sequence[Judgement], *, same_doctor: bool) -> Pairs:
    def keyed(judgements: Sequence[Judgement]) -> dict[tuple[str, str], list[Judgement]]:
        return _grouped(judgements, lambda one: (one.case, one.doctor if same_doctor else ""))

    others = keyed(second)
    return [pair for key, ours in keyed(first).items() for pair in zip(ours, others.get(key, []), strict=False)]


def _grouped(judgements: Sequence[Judgement], by: Callable[[Judgement], Key]) -> dict[Key, list[Judgement]]:
    groups: dict[Key, list[Judgement]] = {}
    for one in judgements:
        groups.setdefault(by(one), []).append(one)
    return groups


def recorded_judgements(reports: Sequence[RecordedReport]) -> list[Judgement]:
    """Returns the letters of recorded reports as judgements; in one step where symptoms were not asked about.

    Raises:
        BadInput: not one of the reports has a letter.
    """
    judgements = []
    for report in reports:
        one_step = Aspect.SYMPTOMS.value not in report.letters
        letters = {aspect: report.letters.get(aspect.value) for aspect in aspects_of(one_step=one_step)}
        grades = {aspect: grade_named(letter) for aspect, letter in letters.items()}
        judgements.append(
            Judgement(
                case=report.id,
                doctor=report.doctor,
                judge=RECORDED,
                version=1,
                one_step=one_step,
                grades=grades,
                unreadable={aspect: why_no_grade(letters[aspect]) for aspect in grades if grades[aspect] is None},
                lengths={aspect: length(getattr(report.given, aspect.value)) for aspect in grades},
            )
        )
    if reports and not any(grade for one in judgements for grade in one.grades.values()):
        raise BadInput(f"none of the {len(reports)} reports has a letter: they were not judged, or in another layout")
    return judgements
