"""Several methods on the same questions, and beside every team what asking one model as often would have brought."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

import msgspec

from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question
from polyclinic.errors import StoppedEarly
from polyclinic.evaluations.exams.evaluation import AT_ONCE, MethodResult, exam, stability
from polyclinic.memory.remembering import ExamMemory
from polyclinic.methods.self_consistency import self_consistency
from polyclinic.methods.table import Answering, ChosenMethod, ModelFor, answering, find_method
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.examples import Example
from polyclinic.questions.layouts import shuffled
from polyclinic.retrieval.retriever import LookingUp
from polyclinic.tasks import run_all

Episode = Callable[[str], ModelFor]
"""Returns, for the name of what is run, the model for each question, its answers kept under both names."""


_SAMPLING = 0.7  # Samples of one temperature 0 would all be the same.

Match = Literal["calls", "tokens", "none"]
"""What self-consistency may take beside a team, question by question: as many calls, as many tokens, or nothing."""


class Learning(msgspec.Struct, frozen=True, kw_only=True):
    """What methods are shown, and how they draw; see `methods.table.answering`. The bootstrap has the same seed."""

    examples: tuple[Example, ...] = ()
    training: tuple[Example, ...] = ()
    temperature: float | None = None
    memory: ExamMemory | None = None
    seed: int = 0


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
    kept: list[MethodResult] | None = None,
    at_once: int = AT_ONCE,
) -> list[MethodResult]:
    """Puts all questions to one method after the other, and again with the options shuffled where that is wanted.

    Calls `advance` after each question; `asked` says how often that will be. With `looking_up`, every method is shown
    the same passages with a question, looked up once, and so is what a team is matched with. What came of each method
    is put into `kept` as it is over; of one that a budget ended, what came by then. So many questions are under way
    `at_once`, as far as the model's limit allows.

    Returns:
        In the order of the methods, each team followed by what it is matched with.

    Raises:
        UserError: a method cannot be asked with its settings.
        EndpointError: vectors of a question are an endpoint's, and it gave no answer.
        WrongKey: the endpoint wants another key.
        BudgetSpent: the run has cost what it may cost.
    """
    learning = learning or Learning()
    if looking_up is not None:
        questions = await run_all([partial(_with_references, question, looking_up) for question in questions])
    results: list[MethodResult] = [] if kept is None else kept
    run = _Run(questions, models, shuffle, learning.seed, advance, results, at_once)
    for one in chosen:
        await run.hold(one.label, _method(one, learning))
        if find_method(one.named).team and match != "none":
            budgets = {answered.id: answered.outcome for answered in results[-1].answered}
            label = f"self_consistency (as many {match} as {one.label})"
            await run.hold(label, _matched(match, budgets, learning))
    return results


async def _with_references(question: ExamQuestion, looking_up: LookingUp) -> ExamQuestion:
    return msgspec.structs.replace(question, question=await looking_up.question(question.question))


def asked(questions: int, chosen: Sequence[ChosenMethod], *, match: Match = "calls", shuffle: bool = False) -> int:
    """Returns how many questions will be put, over all methods."""
    runs = sum(1 + (find_method(one.named).team and match != "none") for one in chosen)
    return questions * runs * (2 if shuffle else 1)


_With = Callable[[ModelFor], Answering]


def _method(chosen: ChosenMethod, learning: Learning) -> _With:
    return lambda model_for: answering(
        chosen,
        model_for,
        examples=learning.examples,
        training=learning.training,
        temperature=learning.temperature,
        memory=learning.memory,
        seed=learning.seed,
    )


def _matched(match: Match, budgets: dict[str, Outcome], learning: Learning) -> _With:
    def made(model_for: ModelFor) -> Answering:
        async def put(question: Question) -> Outcome:
            # A question that failed before its first call has no budget; one sample is the least.
            usage, calls = budgets[question.id].usage, max(budgets[question.id].calls, 1)
            tokens = usage.tokens_in + usage.tokens_out
            return await self_consistency(
                question,
                model_for(question.id),
                budget_calls=calls if match == "calls" or not tokens else None,
                budget_tokens=tokens if match == "tokens" and tokens else None,
                seed=learning.seed,
                temperature=_SAMPLING if learning.temperature is None else learning.temperature,
            )

        return put

    return made


class _Run(NamedTuple):
    """What is the same for all methods."""

    questions: Sequence[ExamQuestion]
    models: Episode
    shuffle: bool
    seed: int
    advance: Callable[[], None]
    results: list[MethodResult]
    at_once: int

    async def hold(self, label: str, method: _With) -> None:
        """Puts the questions to a method, and again with the options shuffled where that is wanted; keeps what came."""
        try:
            self.results.append(await self._held(self.questions, label, method(self.models(label))))
        except StoppedEarly as stopped:
            if stopped.summary is not None and stopped.summary[label].answered:
                self.results.append(stopped.summary[label])
            raise
        if self.shuffle:
            self.results[-1] = await self._turned(self.results[-1], label, method)

    async def _turned(self, straight: MethodResult, label: str, method: _With) -> MethodResult:
        turned = [shuffled(question, seed=self.seed) for question in self.questions]
        back = {one.question.question.id: one.original for one in turned}
        model_for = self.models(f"{label}, options shuffled")
        again = await self._held([one.question for one in turned], label, method(model_for))
        kept = stability(straight.answered, again.answered, back, seed=self.seed)
        return msgspec.structs.replace(straight, stability=kept)

    async def _held(self, questions: Sequence[ExamQuestion], label: str, method: Answering) -> MethodResult:
        return (
            await exam(questions, seed=self.seed, at_once=self.at_once).hold({label: method}, advance=self.advance)
        )[label]
