"""What people's verdicts come to: the figures that a paper prints of them, and that stand beside a judge's.

Every figure is over items that people have decided; see `people.accepted`. Items are clustered by case.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

import msgspec

from polyclinic.metrics.grades import Grade
from polyclinic.statistics.pairwise import Comparison, Strength, WinRate, strengths, win_rates
from polyclinic.statistics.uncertainty import Estimate, estimate, share
from polyclinic.verdicts.forms import Answer, forms
from polyclinic.verdicts.people import accepted, by_item, decided
from polyclinic.verdicts.verdict import Item, PersonsVerdict


class Percent(msgspec.Struct, frozen=True, kw_only=True):
    """A share of n in percent, with Wilson's 95 % interval; None of nothing."""

    percent: float | None
    low: float | None
    high: float | None
    n: int


class RoundsByPeople(msgspec.Struct, frozen=True, kw_only=True):
    """Patient and examiner with one doctor, as people see them (AI Hospital, Table 4).

    Attributes:
        qa: rounds; `tests`: those in which an examination was carried out.
        arrived: of the rounds in which the doctor asks for an examination (question 3 is yes), the share in which one
            was carried out.
        as_printed: of the rounds in which the doctor asks for none (question 3 is "No", as the paper's appendix E has
            it), the share in which none was.
    """

    qa: int
    relevance: Percent
    consistency: Percent
    tests: int
    arrived: Percent
    as_printed: Percent


class RecordsByPeople(msgspec.Struct, frozen=True, kw_only=True):
    """How many records are right in all three parts (AI Hospital §3.3, Table 6), and each part by itself."""

    right: Percent
    parts: dict[str, Percent]


class CriterionByPeople(msgspec.Struct, frozen=True, kw_only=True):
    """Who is better by one criterion: win rates without ties and Bradley-Terry strengths (AIE, Figure 4)."""

    n: int
    ties: int
    win_rates: dict[str, WinRate]
    strengths: dict[str, Strength]


class PairsByPeople(msgspec.Struct, frozen=True, kw_only=True):
    """Who is better, by criterion."""

    criteria: dict[str, CriterionByPeople]


class MeansByPeople(msgspec.Struct, frozen=True, kw_only=True):
    """Mean grades from 1 to 4, or marks, by question; of an item's several people, their mean."""

    means: dict[str, Estimate]


class CountsByPeople(msgspec.Struct, frozen=True, kw_only=True):
    """How often each category was found (AI Hospital, Table 5; MedAgents, Figure 5)."""

    n: int
    counts: dict[str, int]


PeopleFigures = RoundsByPeople | RecordsByPeople | PairsByPeople | MeansByPeople | CountsByPeople


def figures(verdicts: Sequence[PersonsVerdict], form: str, *, seed: int = 0) -> dict[str, PeopleFigures]:
    """Returns what the verdicts of a form come to, by doctor or method; "" where a form knows none."""
    place = next((at for at, key in enumerate(forms()[form].keys) if key in ("doctor", "method")), None)
    whose: dict[str, list[PersonsVerdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.form == form:
            whose["" if place is None else verdict.item[place]].append(verdict)
    return {name: _made(theirs, form, seed) for name, theirs in whose.items()}


def _made(verdicts: Sequence[PersonsVerdict], form: str, seed: int) -> PeopleFigures:
    match form:
        case "rounds":
            return rounds_by_people(verdicts)
        case "records":
            return records_by_people(verdicts)
        case "grades" | "explanations":
            return means_by_people(verdicts, form, seed=seed)
        case "failures" | "errors":
            return counts_by_people(verdicts, form)
        case _:
            return pairs_by_people(verdicts, form, seed=seed)


def rounds_by_people(verdicts: Sequence[PersonsVerdict]) -> RoundsByPeople:
    """Returns what people say of one doctor's rounds."""
    rounds = accepted(verdicts, "rounds").values()

    def yes(question: str, among: Sequence[Mapping[str, Answer]], wanted: str = "yes") -> Percent:
        said = [one[question] for one in among if question in one]
        return _percent(said.count(wanted), len(said))

    every = list(rounds)
    return RoundsByPeople(
        qa=len(every),
        relevance=yes("relevant", every),
        consistency=yes("consistent", every),
        tests=sum(one.get("examined") == "yes" for one in every),
        arrived=yes("examined", [one for one in every if one.get("suggested") == "yes"]),
        as_printed=yes("examined", [one for one in every if one.get("suggested") == "no"], "no"),
    )


def records_by_people(verdicts: Sequence[PersonsVerdict]) -> RecordsByPeople:
    """Returns what people say of records; one of which a part is undecided is neither right nor wrong, and left out."""
    questions = tuple(forms()["records"].questions)
    records = list(accepted(verdicts, "records").values())
    whole = [one for one in records if "no" in one.values() or len(one) == len(questions)]
    parts = {question: [one[question] for one in records if question in one] for question in questions}
    return RecordsByPeople(
        right=_percent(sum("no" not in one.values() for one in whole), len(whole)),
        parts={question: _percent(said.count("yes"), len(said)) for question, said in parts.items()},
    )


def pairs_by_people(verdicts: Sequence[PersonsVerdict], form: str, *, seed: int = 0) -> PairsByPeople:
    """Returns by criterion who is better."""
    found = {}
    for question in forms()[form].questions:
        compared = comparisons(verdicts, form, question)
        if compared:
            found[question] = CriterionByPeople(
                n=len(compared),
                ties=sum(one.winner is None for one in compared),
                win_rates=win_rates(compared),
                strengths=strengths(compared, seed=seed),
            )
    return PairsByPeople(criteria=found)


def comparisons(verdicts: Sequence[PersonsVerdict], form: str, question: str) -> list[Comparison]:
    """Returns people's votes on two doctors of a case by one criterion, a comparison each case and pair.

    What most say wins; where as many say something else it is a tie.
    """
    found = []
    for (case, first, second), said in by_item(verdicts, form, question).items():
        answer = decided([answer for _, answer in said], forms()[form].questions[question].answers)
        found.append(Comparison(first, second, {"first": first, "second": second}.get(str(answer)), case))
    return found


def means_by_people(verdicts: Sequence[PersonsVerdict], form: str, *, seed: int = 0) -> MeansByPeople:
    """Returns one doctor's mean grades, or one method's mean marks, by question."""
    found = {}
    for question in forms()[form].questions:
        said = by_item(verdicts, form, question)
        means = [fmean(_worth(answer) for _, answer in answers) for answers in said.values()]
        found[question] = estimate(means, clusters=[item[0] for item in said], seed=seed)
    return MeansByPeople(means=found)


def marks_by_item(verdicts: Sequence[PersonsVerdict]) -> dict[Item, dict[str, float]]:
    """Returns people's grades of reports and marks of explanations: of each case and doctor or method, by question.

    Of several people it is their mean.
    """
    found: dict[Item, dict[str, float]] = defaultdict(dict)
    for form in ("grades", "explanations"):
        for question in forms()[form].questions:
            for item, answers in by_item(verdicts, form, question).items():
                found[item][question] = fmean(_worth(answer) for _, answer in answers)
    return dict(found)


def _worth(answer: Answer) -> float:
    return float(Grade[answer]) if isinstance(answer, str) else answer


def counts_by_people(verdicts: Sequence[PersonsVerdict], form: str) -> CountsByPeople:
    """Returns how often each category is what most people say."""
    ((question, asked),) = forms()[form].questions.items()
    said = Counter(answers[question] for answers in accepted(verdicts, form).values() if question in answers)
    return CountsByPeople(n=said.total(), counts={category: said[category] for category in asked.answers.order})


def _percent(successes: int, n: int) -> Percent:
    percent, low, high = share(successes, n)
    return Percent(percent=percent, low=low, high=high, n=n)
