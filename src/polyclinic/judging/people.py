"""How far people agree on each question, and their common answers.

For the two who judged most: percentage and Cohen's kappa (weighted for grades). For all: the share of equal pairs,
Fleiss' kappa over the items that the most people judged, and Krippendorff's alpha. If a third person judges only what
two disagree on (AI Hospital, appendix E), these are of the first two, because disputed items would bias them.

The common answer is the majority's, or the mean on a scale. Without a majority an item is undecided, and needs another
person.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from statistics import fmean

import msgspec

from polyclinic.judging.sorting import Category, Word
from polyclinic.judging.verdicts import Answer, Answers, Item, PersonsVerdict, form_named, forms
from polyclinic.metrics.grades import ONE_STEP, Aspect, Grade, Judgement
from polyclinic.statistics.agreement import (
    Agreement,
    Alpha,
    agreement,
    fleiss_kappa,
    krippendorff_alpha,
    pairs_alike,
    weighted_kappa,
)
from polyclinic.statistics.pairwise import Comparison, Standings, standings
from polyclinic.statistics.uncertainty import Estimate, estimate, share

_TWO = 2


class QuestionAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How far people agree on one question of a form."""

    form: str
    question: str
    items: int  # those on which anybody answered; `shared` are those that two or more did
    shared: int
    people: tuple[str, ...]  # who answered, those who answered most first
    two: Agreement | None  # the first two of them, on the items of both; None on a scale, or of one person alone
    kappa: float | None  # Cohen's of these two; with quadratic weights for grades
    alike: float | None  # percent of all pairs of answers on an item that are equal
    raters: int
    fleiss: float | None  # Fleiss' kappa over the items that `raters` people answered, the most that any item has
    alpha: Alpha
    decided: int  # items with an answer of their own; `undecided` those on which as many say the one as the other
    undecided: int


def by_item(verdicts: Sequence[PersonsVerdict], form: str, question: str) -> dict[Item, list[tuple[str, Answer]]]:
    """Returns who answered what to a question, by item, in the verdicts' order."""
    said: dict[Item, list[tuple[str, Answer]]] = {}
    for verdict in verdicts:
        if verdict.form == form and question in verdict.answers:
            said.setdefault(verdict.item, []).append((verdict.who, verdict.answers[question]))
    return said


def decided(said: Sequence[tuple[str, Answer]], kind: Answers) -> Answer | None:
    """Returns the common answer of people: their mean on a scale, else that of most of them; None if there is none."""
    answers = [answer for _, answer in said]
    if kind.scale is not None:
        return fmean(map(float, answers)) if answers else None
    (first, most), *others = [*Counter(answers).most_common(_TWO), ("", 0)]
    return first if most > others[0][1] else None


def accepted(verdicts: Sequence[PersonsVerdict], form: str) -> dict[Item, dict[str, Answer]]:
    """Returns the common answers on each item, by question; without the questions that are undecided."""
    found: dict[Item, dict[str, Answer]] = {}
    for question, asked in form_named(form).questions.items():
        for item, said in by_item(verdicts, form, question).items():
            answer = decided(said, asked.answers)
            found.setdefault(item, {}).update({} if answer is None else {question: answer})
    return found


def disputed(verdicts: Sequence[PersonsVerdict], form: str) -> list[Item]:
    """Returns the items on which a question is undecided, for one more person to judge."""
    found: dict[Item, None] = {}
    for question, asked in form_named(form).questions.items():
        said = by_item(verdicts, form, question)
        found |= dict.fromkeys(item for item, answers in said.items() if decided(answers, asked.answers) is None)
    return list(found)


def agreed(
    verdicts: Sequence[PersonsVerdict], form: str, *, seed: int = 0, thirds: Collection[str] = ()
) -> list[QuestionAgreement]:
    """Returns how far people agree, question by question; `seed` is of alpha's bootstrap.

    The `thirds`, who see nothing but disputed items, help to decide them, and are in no agreement.
    """
    found = []
    for question, asked in form_named(form).questions.items():
        kind, every = asked.answers, by_item(verdicts, form, question)
        said = by_item([one for one in verdicts if one.who not in thirds], form, question)
        if not said:
            continue
        counts = Counter(who for answers in said.values() for who, _ in answers)
        people = tuple(who for who, _ in counts.most_common())
        first, two, kappa = people[:_TWO], None, None
        if len(first) == _TWO and kind.scale is None:
            both = [dict(answers) for answers in said.values() if set(first) <= {who for who, _ in answers}]
            two = agreement(*([str(answers[who]) for answers in both] for who in first), labels=kind.order)
            kappa = weighted_kappa(two.confusion) if kind.level == "ordinal" else two.kappa
        counted = first if form_named(form).third else people
        units = [[answer for who, answer in answers if who in counted] for answers in said.values()]
        several = [unit for unit in units if len(unit) > 1]
        most, alike = max(map(len, several), default=0), pairs_alike(several)
        undecided = sum(decided(answers, kind) is None for answers in every.values())
        found.append(
            QuestionAgreement(
                form=form,
                question=question,
                items=len(said),
                shared=len(several),
                people=people,
                two=two,
                kappa=kappa,
                alike=None if alike is None else 100 * alike,
                raters=most,
                fleiss=fleiss_kappa([unit for unit in several if len(unit) == most]) if kind.scale is None else None,
                alpha=krippendorff_alpha(several, level=kind.level, order=kind.order, seed=seed),
                decided=len(every) - undecided,
                undecided=undecided,
            )
        )
    return found


PEOPLE = "people"  # the judge of what most people say


def people_judgements(verdicts: Sequence[PersonsVerdict]) -> list[Judgement]:
    """Returns what most people grade of each report; an aspect that is undecided has no grade."""
    judgements = []
    for (case, doctor), answers in accepted(verdicts, "grades").items():
        grades = {aspect: Grade[str(answers[aspect])] for aspect in Aspect if aspect in answers}
        one_step = not set(grades) - set(ONE_STEP)
        asked = ONE_STEP if one_step else tuple(Aspect)
        judgements.append(
            Judgement(
                case=case,
                doctor=doctor,
                judge=PEOPLE,
                version=1,
                one_step=one_step,
                grades={aspect: grades.get(aspect) for aspect in asked},
            )
        )
    return judgements


def people_words(
    verdicts: Sequence[PersonsVerdict], form: str, categories: type[Category]
) -> dict[tuple[str, str], Word[Category]]:
    """Returns the category that most people name, by item, of a form that asks for nothing else."""
    (question,) = forms()[form].questions
    words = {}
    for item, answers in accepted(verdicts, form).items():
        if question in answers:
            people = {one.who for one in verdicts if (one.form, one.item) == (form, item)}
            who = PEOPLE if len(people) > 1 else "".join(people)
            words[item[0], item[1]] = Word(categories(str(answers[question])), who)
    return words


class Percent(msgspec.Struct, frozen=True, kw_only=True):
    """A share of n in percent, with Wilson's 95 % interval; None of nothing."""

    percent: float | None
    low: float | None
    high: float | None
    n: int


class PeopleFigures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the verdicts of a form on one doctor, or one method, come to."""

    n: int  # items that have an answer
    shares: dict[str, Percent] = {}  # as the form has them (AI Hospital, Tables 6 and 7)
    counts: dict[str, int] = {}  # also how often each category was found (AI Hospital, Table 5; MedAgents, Figure 5)
    means: dict[
        str, Estimate
    ] = {}  # of grades from 1 to 4, or marks, by question; of an item's several people, the mean
    criteria: dict[str, Standings] = {}  # who is better, by criterion (AIE, Figure 4)


def figures(verdicts: Sequence[PersonsVerdict], form: str, *, seed: int = 0) -> dict[str, PeopleFigures]:
    """Returns the figures of the verdicts of a form, by doctor or method; under "" for a form without either."""
    place = next((at for at, key in enumerate(forms()[form].keys) if key in ("doctor", "method")), None)
    whose: dict[str, list[PersonsVerdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.form == form:
            whose["" if place is None else verdict.item[place]].append(verdict)
    return {name: _figures(theirs, form, seed) for name, theirs in whose.items()}


def _figures(verdicts: Sequence[PersonsVerdict], form: str, seed: int) -> PeopleFigures:
    asked = forms()[form]
    items = [one for one in accepted(verdicts, form).values() if one]
    shares = {name: _percent(share.of(items)) for name, share in asked.shares.items()}
    if asked.whole:
        # An item with an undecided part is neither right nor wrong, unless another part is wrong.
        whole = [one for one in items if "no" in one.values() or len(one) == len(asked.questions)]
        shares = {asked.whole: _percent(["no" not in one.values() for one in whole])} | shares
    counts = {name: sum(count.of(items)) for name, count in asked.counts.items()}
    means = {}
    for question, one in asked.questions.items():
        if one.answers.counted:
            said = Counter(item.get(question) for item in items)
            counts |= {word: said[word] for word in one.answers.order}
        if one.answers.level != "nominal":
            marks = _means(verdicts, form, question)
            means[question] = estimate(list(marks.values()), clusters=[item[0] for item in marks], seed=seed)
    criteria = criteria_by_people(verdicts, form, seed=seed) if asked.is_pair else {}
    return PeopleFigures(n=len(items), shares=shares, counts=counts, means=means, criteria=criteria)


def _percent(successes: Sequence[bool]) -> Percent:
    percent, low, high = share(sum(successes), len(successes))
    return Percent(percent=percent, low=low, high=high, n=len(successes))


def criteria_by_people(verdicts: Sequence[PersonsVerdict], form: str, *, seed: int = 0) -> dict[str, Standings]:
    """Returns by criterion who is better."""
    compared = {question: comparisons(verdicts, form, question) for question in forms()[form].questions}
    return {name: standings(some, seed=seed) for name, some in compared.items() if some}


def comparisons(verdicts: Sequence[PersonsVerdict], form: str, question: str) -> list[Comparison]:
    """Returns people's votes on two doctors by one criterion, by case and pair; without a majority it is a tie."""
    found = []
    for (case, first, second), said in by_item(verdicts, form, question).items():
        answer = decided(said, forms()[form].questions[question].answers)
        found.append(Comparison(first, second, {"first": first, "second": second}.get(str(answer)), case))
    return found


def marks_by_item(verdicts: Sequence[PersonsVerdict]) -> dict[Item, dict[str, float]]:
    """Returns people's grades and marks by item and question, the mean of several people."""
    found: dict[Item, dict[str, float]] = defaultdict(dict)
    for form in ("grades", "explanations"):
        for question in forms()[form].questions:
            for item, mark in _means(verdicts, form, question).items():
                found[item][question] = mark
    return dict(found)


def _means(verdicts: Sequence[PersonsVerdict], form: str, question: str) -> dict[Item, float]:
    return {
        item: fmean(float(Grade[answer]) if isinstance(answer, str) else answer for _, answer in answers)
        for item, answers in by_item(verdicts, form, question).items()
    }
