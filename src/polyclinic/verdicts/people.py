"""How far people agree on each question, and what all of them together say of an item.

Agreement of the two who judged most: share and Cohen's kappa (weighted for grades). Of all: the share of equal pairs,
Fleiss' kappa over the items that the most people judged, Krippendorff's alpha over all. Where a third is asked only
where two differ (AI Hospital, appendix E), kappas and alpha are of the first two, as a third who sees nothing but
quarrels would spoil them.

An item's own answer is that of most of its people; a number on a scale is their mean. Where as many say the one as the
other it is undecided, and waits for one more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean

import msgspec

from polyclinic.statistics.agreement import Agreement, agreement, weighted_kappa
from polyclinic.statistics.raters import Alpha, fleiss_kappa, krippendorff_alpha, pairs_alike
from polyclinic.verdicts.forms import Answer, Answers, form_named
from polyclinic.verdicts.verdict import Item, PersonsVerdict

_TWO = 2


class QuestionAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How far people agree on one question of a form.

    Attributes:
        items: those on which anybody answered; `shared` are those that two or more did.
        people: who answered, those who answered most first.
        two: the first two of them, on the items of both; None on a scale, or of one person alone.
        kappa: Cohen's of these two; with quadratic weights for grades.
        alike: percent of all pairs of answers on an item that are equal.
        fleiss: Fleiss' kappa over the items that `raters` people answered, the most that any item has.
        decided: items with an answer of their own; `undecided` those on which as many say the one as the other.
    """

    form: str
    question: str
    items: int
    shared: int
    people: tuple[str, ...]
    two: Agreement | None
    kappa: float | None
    alike: float | None
    raters: int
    fleiss: float | None
    alpha: Alpha
    decided: int
    undecided: int


def by_item(verdicts: Sequence[PersonsVerdict], form: str, question: str) -> dict[Item, list[tuple[str, Answer]]]:
    """Returns who answered what to a question, by item, in the verdicts' order."""
    said: dict[Item, list[tuple[str, Answer]]] = {}
    for verdict in verdicts:
        if verdict.form == form and question in verdict.answers:
            said.setdefault(verdict.item, []).append((verdict.who, verdict.answers[question]))
    return said


def decided(answers: Sequence[Answer], kind: Answers) -> Answer | None:
    """Returns what people say together: their mean on a scale, else what most of them say; None where nothing is."""
    if kind.scale is not None:
        return fmean(float(answer) for answer in answers) if answers else None
    (first, most), *others = [*Counter(answers).most_common(_TWO), ("", 0)]
    return first if most > others[0][1] else None


def accepted(verdicts: Sequence[PersonsVerdict], form: str) -> dict[Item, dict[str, Answer]]:
    """Returns what people say together of each item, by question; without the questions that are undecided."""
    found: dict[Item, dict[str, Answer]] = {}
    for question, asked in form_named(form).questions.items():
        for item, said in by_item(verdicts, form, question).items():
            answer = decided([answer for _, answer in said], asked.answers)
            found.setdefault(item, {}).update({} if answer is None else {question: answer})
    return found


def disputed(verdicts: Sequence[PersonsVerdict], form: str) -> list[Item]:
    """Returns the items on which a question is undecided, for one more person to judge."""
    answered = {question: by_item(verdicts, form, question) for question in form_named(form).questions}
    return [
        item
        for item, answers in accepted(verdicts, form).items()
        if any(question not in answers and item in said for question, said in answered.items())
    ]


def agreed(verdicts: Sequence[PersonsVerdict], form: str, *, seed: int = 0) -> list[QuestionAgreement]:
    """Returns how far people agree, question by question; `seed` is of alpha's bootstrap."""
    third = form_named(form).third
    return [
        _on(form, question, by_item(verdicts, form, question), asked.answers, third=third, seed=seed)
        for question, asked in form_named(form).questions.items()
        if by_item(verdicts, form, question)
    ]


def _on(
    form: str, question: str, said: Mapping[Item, list[tuple[str, Answer]]], kind: Answers, *, third: bool, seed: int
) -> QuestionAgreement:
    counts = Counter(who for answers in said.values() for who, _ in answers)
    people = tuple(who for who, _ in counts.most_common())
    two, kappa = _of_two(said, people[:_TWO], kind)
    units = [[answer for who, answer in answers if not third or who in people[:_TWO]] for answers in said.values()]
    several = [unit for unit in units if len(unit) > 1]
    most = max(map(len, several), default=0)
    alike = pairs_alike(several)
    own = [decided([answer for _, answer in answers], kind) for answers in said.values()]
    return QuestionAgreement(
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
        decided=sum(answer is not None for answer in own),
        undecided=sum(answer is None for answer in own),
    )


def _of_two(
    said: Mapping[Item, list[tuple[str, Answer]]], two: Sequence[str], kind: Answers
) -> tuple[Agreement | None, float | None]:
    """Returns how far two people agree on the items of both, and their kappa; nothing on a scale."""
    if len(two) < _TWO or kind.scale is not None:
        return None, None
    both = [dict(answers) for answers in said.values() if set(two) <= {who for who, _ in answers}]
    first, second = ([str(answers[who]) for answers in both] for who in two)
    found = agreement(first, second, labels=kind.order)
    return found, weighted_kappa(found.confusion) if kind.level == "ordinal" else found.kappa
