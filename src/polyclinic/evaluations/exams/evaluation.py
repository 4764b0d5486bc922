"""Methods on the questions of an exam: accuracy, unreadable answers, failures, and cost.

Questions are independent and run at once. An unreadable answer or a refusal is not correct; a question that no endpoint
answered is failed, and outside the accuracy. A team is compared with self-consistency at the same number of calls
(`matched`), and shuffled options show how many answers stay the same (`Stability`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from polyclinic.answering.outcome import Outcome, OutcomeEnd
from polyclinic.cases.presentation import Question, ShownPassage
from polyclinic.evaluations.evaluation import QUESTIONS_AT_ONCE, Play, Plays
from polyclinic.evaluations.outcomes import compare_methods
from polyclinic.frames import Tabular
from polyclinic.memory.remembering import ExamMemory
from polyclinic.methods.self_consistency import self_consistency
from polyclinic.methods.table import Answering, ChosenMethod, ModelFor, answering, find_method
from polyclinic.models.model import Usage
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.examples import Example
from polyclinic.questions.layouts import shuffled
from polyclinic.questions.shuffle import shuffle_options
from polyclinic.retrieval.retriever import LookingUp, looked_up_once
from polyclinic.statistics.comparison import Against, of_shares
from polyclinic.statistics.uncertainty import Estimate, share_estimate


class Answered(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question and what a method made of it."""

    id: str
    subject: str
    key: tuple[str, ...]
    outcome: Outcome
    right: bool  # exactly the right options were chosen
    seconds: float  # from the question to its outcome, waiting for the endpoint included
    references: tuple[ShownPassage, ...] = ()  # looked up for it


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a method took, a question."""

    calls: float
    round_trips: float  # calls that had to wait for one another
    tokens_in: float
    tokens_out: float
    money: float | None  # in the currency of the prices, None where none are given
    seconds: float  # in which other questions ran, too


class Stability(msgspec.Struct, frozen=True, kw_only=True):
    """What shuffling the options does."""

    stays: Estimate  # percent whose answer is the same option in either order, of the questions answered in both
    accuracy: Estimate  # with the options shuffled, in percent


class MethodResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """How one method did, which is named with its settings."""

    name: str
    accuracy: Estimate  # in percent, over all questions that an endpoint answered
    readable_accuracy: Estimate  # among the answers that could be read
    ends: dict[OutcomeEnd, int]
    cost: Cost
    by_subject: dict[str, Estimate]  # accuracy for each subject, if there are several
    stability: Stability | None
    answered: tuple[Answered, ...]
    model: str = ""  # the model asked, "" where that is known

    @property
    def method(self) -> str:
        """The name without the model's, which it begins with if several models are asked."""
        return self.name.removeprefix(f"{self.model}: ")

    @property
    def n(self) -> int:
        """Questions that were put."""
        return len(self.answered)

    @property
    def unreadable(self) -> int:
        """Questions that the model answered without an answer: unreadable, refused, cut off."""
        return sum(one.outcome.unreadable for one in self.answered)

    @property
    def failed(self) -> int:
        """Questions that no endpoint answered; they are outside the accuracy."""
        return sum(one.outcome.failed for one in self.answered)

    @property
    def broken(self) -> list[Answered]:
        """Questions on which a method of the user's made a mistake; they count as not correct."""
        return [one for one in self.answered if one.outcome.broken]


@dataclass(frozen=True, kw_only=True)
class Entrant:
    """A method and what it is compared with.

    Attributes:
        label: names the method.
        puts: put a question, and, where that is wanted, the question with its options shuffled.
        matched: returns self-consistency that takes as much as an outcome did, for shuffled options or not.
        matched_with: names that.
        model: the model asked, "" where that is known.
    """

    label: str
    puts: Sequence[Answering]
    matched: Callable[[Outcome, bool], Answering] | None = None
    matched_with: str = ""
    model: str = ""


Timed = tuple[Outcome, float]
ExamPlays = Plays[ExamQuestion, Entrant, dict[str, list[Timed]], dict[str, list[Answered]], dict[str, MethodResult]]
"""What came of a question by the label of the method, or of what it is matched with: straight, and shuffled."""

ExamPlay = Play[ExamQuestion, Entrant, dict[str, list[Timed]], dict[str, list[Answered]]]


def exam(questions: Sequence[ExamQuestion], *, looking_up: LookingUp | None = None, seed: int = 0) -> ExamPlays:
    """Returns the evaluation: questions are put to methods, which do not see the keys.

    With `looking_up`, every method is shown the same passages with a question, looked up once. The seed is that of the
    shuffled options.
    """
    look_up = None if looking_up is None else looked_up_once(looking_up.question)

    async def shown(question: Question) -> Question:
        return question if look_up is None else await look_up(question)

    async def timed(method: Answering, question: Question) -> Timed:
        began = time.monotonic()
        outcome = await method(question)
        return outcome, time.monotonic() - began

    async def play(item: ExamQuestion, entrant: Entrant) -> dict[str, list[Timed]]:
        plain = await shown(item.question)
        asked = [plain, shuffle_options(plain, seed=seed)[0]][: len(entrant.puts)]
        came = {entrant.label: [await timed(put, question) for put, question in zip(entrant.puts, asked, strict=True)]}
        if entrant.matched is not None:
            (outcome, _), *_ = came[entrant.label]
            came[entrant.matched_with] = [
                await timed(entrant.matched(outcome, bool(turned)), question) for turned, question in enumerate(asked)
            ]
        return came

    async def score(item: ExamQuestion, _: Entrant, played: dict[str, list[Timed]]) -> dict[str, list[Answered]]:
        keys, references = (item.key, shuffled(item, seed=seed).question.key), (await shown(item.question)).references
        return {
            label: [
                Answered(
                    id=item.question.id,
                    subject=item.subject,
                    key=key,
                    outcome=outcome,
                    right=outcome.answers == frozenset(key),
                    seconds=seconds,
                    references=references,
                )
                for key, (outcome, seconds) in zip(keys, came, strict=False)
            ]
            for label, came in played.items()
        }

    async def summarise(plays: Mapping[str, Sequence[ExamPlay]]) -> dict[str, MethodResult]:
        results: dict[str, MethodResult] = {}
        for name, theirs in plays.items():
            for label in dict.fromkeys(label for one in theirs for label in one.scored):
                having = [one for one in theirs if label in one.scored]
                entrant = having[0].player
                called = name.removesuffix(entrant.label) + label
                straight, *again = zip(*(one.scored[label] for one in having), strict=True)
                came = result(called, straight, model=entrant.model)
                for turned in again:
                    back = {one.item.question.id: shuffled(one.item, seed=seed).original for one in having}
                    came = msgspec.structs.replace(came, stability=stability(straight, turned, back))
                results[called] = came
        return results

    return Plays(items=questions, play=play, score=score, summarise=summarise, at_once=QUESTIONS_AT_ONCE)


Episode = Callable[[str], ModelFor]
"""Returns, for the name of what is run, the model for each question, its answers kept under both names."""

Match = Literal["calls", "tokens", "none"]
"""What self-consistency may take beside a team, question by question: as many calls, as many tokens, or nothing."""

_SAMPLING = 0.7  # Samples of one temperature 0 would all be the same.


class Learning(msgspec.Struct, frozen=True, kw_only=True):
    """What methods are shown, and how they draw; see `methods.table.answering`."""

    examples: tuple[Example, ...] = ()
    training: tuple[Example, ...] = ()
    temperature: float | None = None
    memory: ExamMemory | None = None
    seed: int = 0


def entrant(
    chosen: ChosenMethod, models: Episode, learning: Learning, *, match: Match, shuffle: bool, model: str = ""
) -> Entrant:
    """Returns a method with its model, and for a team the self-consistency that it is compared with."""
    label = chosen.label
    matched_with = f"self_consistency (as many {match} as {label})"

    def episode(name: str, is_turned: bool) -> ModelFor:
        return models(f"{name}, options shuffled" if is_turned else name)

    def method(is_turned: bool) -> Answering:
        return answering(chosen, episode(label, is_turned), **msgspec.structs.asdict(learning))

    def matched(took: Outcome, is_turned: bool) -> Answering:
        tokens = took.usage.tokens_in + took.usage.tokens_out
        by_tokens = match == "tokens" and tokens > 0
        model_for = episode(matched_with, is_turned)

        async def put(question: Question) -> Outcome:
            return await self_consistency(
                question,
                model_for(question.id),
                budget_calls=None if by_tokens else max(took.calls, 1),
                budget_tokens=tokens if by_tokens else None,
                seed=learning.seed,
                temperature=_SAMPLING if learning.temperature is None else learning.temperature,
            )

        return put

    return Entrant(
        label=label,
        puts=[method(is_turned) for is_turned in ((False, True) if shuffle else (False,))],
        matched=matched if match != "none" and find_method(chosen.named).team else None,
        matched_with=matched_with,
        model=model,
    )


async def run_methods(
    questions: Sequence[ExamQuestion],
    chosen: Sequence[ChosenMethod],
    models: Episode,
    *,
    learning: Learning | None = None,
    match: Match = "calls",
    shuffle: bool = False,
    advance: Callable[[], None] = lambda: None,
    looking_up: LookingUp | None = None,
) -> list[MethodResult]:
    """Puts every question to every method, and again with the options shuffled where that is wanted.

    Calls `advance` after each question of a method. With `looking_up`, every method is shown the same passages with a
    question, looked up once.

    Returns:
        In the order of the methods, each team followed by what it is matched with.

    Raises:
        UserError: a method cannot be asked with its settings.
        EndpointError: vectors of a question are an endpoint's, and it gave no answer.
        WrongKey: the endpoint wants another key.
        StoppedEarly: the budget is spent, or somebody stopped the run; holds what was over by then.
    """
    learning = learning or Learning()
    players = {one.label: entrant(one, models, learning, match=match, shuffle=shuffle) for one in chosen}
    plays = exam(questions, looking_up=looking_up, seed=learning.seed)
    return list((await plays.hold(players, advance=advance)).values())


def result(name: str, answered: Sequence[Answered], *, model: str = "") -> MethodResult:
    """Sums up what a method made of the questions."""
    subjects = list(dict.fromkeys(one.subject for one in answered))
    n, outcomes = max(len(answered), 1), [one.outcome for one in answered]
    total = sum((one.usage for one in outcomes), Usage())
    cost = Cost(
        calls=sum(one.calls for one in outcomes) / n,
        round_trips=sum(one.round_trips for one in outcomes) / n,
        tokens_in=total.tokens_in / n,
        tokens_out=total.tokens_out / n,
        money=None if total.cost is None else total.cost / n,
        seconds=sum(one.seconds for one in answered) / n,
    )
    return MethodResult(
        name=name,
        accuracy=accuracy(answered),
        readable_accuracy=accuracy(one for one in answered if one.outcome.answers),
        ends=dict(Counter(one.end for one in outcomes)),
        cost=cost,
        by_subject={s: accuracy(one for one in answered if one.subject == s) for s in subjects if len(subjects) > 1},
        stability=None,
        answered=tuple(answered),
        model=model,
    )


def accuracy(answered: Iterable[Answered]) -> Estimate:
    """Returns the share of right answers, in percent, over the questions that an endpoint answered."""
    return share_estimate([100.0 * one.right for one in answered if not one.outcome.failed])


def stability(
    straight: Sequence[Answered], again: Sequence[Answered], back: Mapping[str, Mapping[str, str]]
) -> Stability:
    """Returns what shuffling the options did; `back` has, by question, for each new key the key that it had before."""
    before = {one.id: one for one in straight if one.outcome.answers}
    stays = [
        100.0 * (frozenset(back[one.id][key] for key in one.outcome.answers) == before[one.id].outcome.answers)
        for one in again
        if one.outcome.answers and one.id in before
    ]
    return Stability(stays=share_estimate(stays), accuracy=accuracy(again))


def compare(results: Sequence[MethodResult], *, baseline: str | None = None, seed: int = 0) -> tuple[Against, ...]:
    """Compares every two methods on the same questions, or each with its model's baseline; Holm corrects over all.

    Raises:
        KeyError: no method has the baseline's name.
    """
    pairs = None
    if baseline is not None:
        bases = {one.model: one.name for one in results if baseline in (one.name, one.method)}
        if results and not bases:
            raise KeyError(baseline)
        pairs = [(one.name, base) for one in results if (base := bases.get(one.model)) not in (None, one.name)]
    rights = {
        one.name: {each.id: 100.0 * each.right for each in one.answered if not each.outcome.failed} for one in results
    }
    return compare_methods(rights, of_shares(seed), pairs)
