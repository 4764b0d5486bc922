"""Methods on the questions of an exam: accuracy, what could not be read, what failed, and what it cost.

Questions do not depend on one another and run at once. An answer that cannot be read, or that the model refused, is
not correct: nobody gains by being unreadable. A question that no endpoint answered is failed, and outside the accuracy.

Beside a method stand two looks that a single accuracy hides: self-consistency with as many calls as the method made
(`matched`), as the gain of a team often is the gain of asking more often; and the share of answers that stay when the
options are shuffled (`Stability`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import msgspec

from polyclinic.answering.outcome import Outcome, OutcomeEnd
from polyclinic.cases.presentation import ShownPassage
from polyclinic.evaluations.evaluation import Play, Plays
from polyclinic.frames import Tabular
from polyclinic.methods.table import Answering
from polyclinic.models.model import Usage
from polyclinic.questions.exam import ExamQuestion
from polyclinic.statistics.uncertainty import Difference, Estimate, holm, share_difference, share_estimate

AT_ONCE = 1024
"""What has not begun can still be stopped; what is in flight is the model's limit to say."""


class Answered(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question and what a method made of it: `right` where exactly the right options were chosen.

    The seconds are those from the question to its outcome, waiting for the endpoint included; `references` what was
    looked up for it.
    """

    id: str
    subject: str
    key: tuple[str, ...]
    outcome: Outcome
    right: bool
    seconds: float
    references: tuple[ShownPassage, ...] = ()

    @property
    def failed(self) -> bool:
        """No endpoint answered: outside the accuracy."""
        return self.outcome.end is OutcomeEnd.FAILED

    @property
    def readable(self) -> bool:
        """There is an answer, right or wrong."""
        return bool(self.outcome.answers)


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a method took, a question; round trips are calls that had to wait for one another.

    Money is in the currency of the prices given, None where there are none; others ran beside it in those seconds.
    """

    calls: float
    round_trips: float
    tokens_in: float
    tokens_out: float
    money: float | None
    seconds: float


class Stability(msgspec.Struct, frozen=True, kw_only=True):
    """What shuffling the options does.

    Attributes:
        stays: share of questions, in percent, whose answer is the same option in either order; of those that were
            answered in both.
        accuracy: with the options shuffled, in percent.
    """

    stays: Estimate
    accuracy: Estimate


class MethodResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """How one method did, which is named with what was set.

    Attributes:
        accuracy: in percent, over all questions that an endpoint answered.
        readable: accuracy among the answers that could be read.
        by_subject: accuracy for each subject, where there is more than one.
        stability: where the options were shuffled too.
        model: who was asked, "" where that is known.
    """

    name: str
    accuracy: Estimate
    readable: Estimate
    ends: dict[OutcomeEnd, int]
    cost: Cost
    by_subject: dict[str, Estimate]
    stability: Stability | None
    answered: tuple[Answered, ...]
    model: str = ""

    @property
    def method(self) -> str:
        """The name without the model's, which it begins with where several models are asked."""
        return self.name.removeprefix(f"{self.model}: ")

    @property
    def unreadable(self) -> int:
        """Questions that the model answered without an answer: unreadable, refused, cut off."""
        return sum(not one.readable and not one.failed for one in self.answered) - len(self.broken)

    @property
    def failed(self) -> int:
        """Questions that no endpoint answered."""
        return self.ends.get(OutcomeEnd.FAILED, 0)

    @property
    def broken(self) -> list[Answered]:
        """Questions on which a method of the user's made a mistake; they count as not correct."""
        return [one for one in self.answered if one.outcome.end is OutcomeEnd.BROKEN]


class Against(msgspec.Struct, frozen=True, kw_only=True):
    """A method less another, in percent points of accuracy, on the questions that were answered for both.

    The p of the difference is McNemar's exact one; `p_holm` is corrected for all comparisons of the table.
    """

    method: str
    baseline: str
    difference: Difference
    p_holm: float | None


ExamBenchmark = Plays[ExamQuestion, Answering, tuple[Outcome, float], Answered, dict[str, "MethodResult"]]


def exam(questions: Sequence[ExamQuestion], *, seed: int = 0, at_once: int = AT_ONCE) -> ExamBenchmark:
    """Returns the evaluation: questions are put to methods, which do not see the keys; the seed is the bootstrap's."""

    async def put(question: ExamQuestion, method: Answering) -> tuple[Outcome, float]:
        began = time.monotonic()
        outcome = await method(question.question)
        return outcome, time.monotonic() - began

    async def mark(question: ExamQuestion, _: Answering, played: tuple[Outcome, float]) -> Answered:
        outcome, seconds = played
        return Answered(
            id=question.question.id,
            subject=question.subject,
            key=question.key,
            outcome=outcome,
            right=is_right(outcome, question.key),
            seconds=seconds,
            references=question.question.references,
        )

    async def summarise(plays: Mapping[str, Sequence[Play[Any, Any, Any, Answered]]]) -> dict[str, MethodResult]:
        return {name: result(name, [play.scored for play in theirs], seed=seed) for name, theirs in plays.items()}

    return Plays(items=questions, play=put, score=mark, summarise=summarise, at_once=at_once, sums_up_parts=True)


def is_right(outcome: Outcome, key: Iterable[str]) -> bool:
    """Whether exactly the right options were chosen."""
    return outcome.answers == frozenset(key)


def result(name: str, answered: Sequence[Answered], *, seed: int = 0) -> MethodResult:
    """Sums up what a method made of the questions."""
    subjects = list(dict.fromkeys(one.subject for one in answered))
    return MethodResult(
        name=name,
        accuracy=accuracy(answered, seed=seed),
        readable=accuracy([one for one in answered if one.readable], seed=seed),
        ends=dict(Counter(one.outcome.end for one in answered)),
        cost=_cost(answered),
        by_subject={s: accuracy([one for one in answered if one.subject == s], seed=seed) for s in subjects}
        if len(subjects) > 1
        else {},
        stability=None,
        answered=tuple(answered),
    )


def accuracy(answered: Iterable[Answered], *, seed: int = 0) -> Estimate:
    """Returns the share of right answers, in percent, over the questions that an endpoint answered."""
    del seed  # Wilson's interval draws nothing
    return share_estimate([100.0 * one.right for one in answered if not one.failed])


def stability(
    straight: Sequence[Answered], shuffled: Sequence[Answered], back: Mapping[str, Mapping[str, str]], *, seed: int = 0
) -> Stability:
    """Returns what shuffling the options did; `back` has, by question, for each new key the key that it had before."""
    before = {one.id: one for one in straight if one.readable}
    stays = [
        100.0 * (frozenset(back[one.id][key] for key in one.outcome.answers) == before[one.id].outcome.answers)
        for one in shuffled
        if one.readable and one.id in before
    ]
    return Stability(stays=share_estimate(stays), accuracy=accuracy(shuffled, seed=seed))


def compare(results: Sequence[MethodResult], *, baseline: str | None = None, seed: int = 0) -> tuple[Against, ...]:
    """Compares every two methods on the same questions, or each with its model's baseline; Holm corrects over all.

    Raises:
        KeyError: no method has the baseline's name.
    """
    by_name = {one.name: one for one in results}
    if baseline is None:
        pairs = [(second, first) for first, second in combinations(by_name, 2)]
    else:
        bases = {one.model: one.name for one in results if baseline in (one.name, one.method)}
        if results and not bases:
            raise KeyError(baseline)
        pairs = [(one.name, base) for one in results if (base := bases.get(one.model)) not in (None, one.name)]
    found = []
    for method, other in pairs:
        right = {one.id: one.right for one in by_name[other].answered if not one.failed}
        both = [one for one in by_name[method].answered if not one.failed and one.id in right]
        mine, theirs = [one.right for one in both], [right[one.id] for one in both]
        found.append((method, other, share_difference(mine, theirs, seed=seed)))
    corrected = iter(holm([d.p for _, _, d in found if d.p is not None]))
    return tuple(
        Against(method=m, baseline=o, difference=d, p_holm=None if d.p is None else next(corrected))
        for m, o, d in found
    )


def _cost(answered: Sequence[Answered]) -> Cost:
    n = max(len(answered), 1)
    total = sum((one.outcome.usage for one in answered), Usage())
    return Cost(
        calls=sum(one.outcome.calls for one in answered) / n,
        round_trips=sum(one.outcome.round_trips for one in answered) / n,
        tokens_in=total.tokens_in / n,
        tokens_out=total.tokens_out / n,
        money=None if total.cost is None else total.cost / n,
        seconds=sum(one.seconds for one in answered) / n,
    )
