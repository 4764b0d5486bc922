"""Several methods on the same questions, and beside every team what asking one model as often would have brought."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Self

import msgspec

from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question
from polyclinic.errors import AccessLost, RunStopped, StoppedEarly, UnknownModel, WrongKey
from polyclinic.evaluations.evaluation import Elsewhere, part_of
from polyclinic.evaluations.exams.errors import wrong_answers
from polyclinic.evaluations.exams.evaluation import AT_ONCE, Answered, MethodResult, exam, stability
from polyclinic.judging.error_categories import Categories, ErrorCategory, find_categories
from polyclinic.judging.sorting import Words
from polyclinic.memory.remembering import ExamMemory
from polyclinic.methods.self_consistency import self_consistency
from polyclinic.methods.table import Answering, ChosenMethod, ModelFor, answering, find_method
from polyclinic.models.model import Model
from polyclinic.models.pipeline import Asker, Tuning, with_hooks
from polyclinic.models.session import Session
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.examples import Example
from polyclinic.questions.layouts import shuffled
from polyclinic.results.output import Output
from polyclinic.retrieval.retriever import LookingUp
from polyclinic.stopping import is_stopped
from polyclinic.tasks import run_all
from polyclinic.terminal.screen import note

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


class Budget(NamedTuple):
    """What self-consistency may take on a question, as a team took it."""

    calls: int
    tokens: int


class ExamItem(NamedTuple):
    """One question for one method: a name that another process understands.

    Attributes:
        label: the method's.
        number: the question's place.
        is_turned: whether its options are shuffled.
        budget: of self-consistency in the method's place.
    """

    label: str
    number: int
    is_turned: bool = False
    budget: Budget | None = None


@dataclass(frozen=True, kw_only=True)
class MethodsOnQuestions:
    """Methods on the questions of an exam, for one model; see `run_methods`."""

    questions: Sequence[ExamQuestion]
    chosen: Sequence[ChosenMethod]
    models: Episode
    learning: Learning = field(default_factory=Learning)
    match: Match = "calls"
    shuffle: bool = False
    looking_up: LookingUp | None = None
    at_once: int = AT_ONCE
    _shown: dict[int, ExamQuestion] = field(default_factory=dict, init=False)
    _methods: dict[tuple[str, bool], Answering] = field(default_factory=dict, init=False)

    async def hold(
        self,
        kept: list[MethodResult],
        *,
        advance: Callable[[], None] = lambda: None,
        elsewhere: Callable[[ExamItem], Awaitable[tuple[tuple[Outcome, float], Answered]]] | None = None,
    ) -> None:
        """Puts all questions to one method after the other, and adds to `kept` what came of each."""
        compute = elsewhere or self.compute
        for one in self.chosen:
            items = [ExamItem(one.label, number) for number in range(len(self.questions))]
            await self._hold(one.label, items, kept, advance, compute)
            if find_method(one.named).team and self.match != "none":
                took = [answered.outcome for answered in kept[-1].answered]
                budgets = [Budget(max(of.calls, 1), of.usage.tokens_in + of.usage.tokens_out) for of in took]
                items = [item._replace(budget=budget) for item, budget in zip(items, budgets, strict=True)]
                await self._hold(self._matched_with(one.label), items, kept, advance, compute)

    async def _hold(
        self,
        label: str,
        items: Sequence[ExamItem],
        kept: list[MethodResult],
        advance: Callable[[], None],
        compute: Callable[[ExamItem], Awaitable[tuple[tuple[Outcome, float], Answered]]],
    ) -> None:
        """Puts the questions to a method, and again with the options shuffled where that is wanted."""

        async def held(items: Sequence[ExamItem]) -> MethodResult:
            players: dict[str, Any] = {label: None}  # an item is put to its method by `compute`
            plays = replace(exam(self.questions, seed=self.learning.seed, at_once=self.at_once), players=players)
            return (await plays.hold(advance=advance, elsewhere=lambda play: compute(items[play[1]])))[label]

        try:
            kept.append(await held(items))
        except StoppedEarly as stopped:
            if stopped.summary is not None and stopped.summary[label].answered:
                kept.append(stopped.summary[label])
            raise
        if self.shuffle:
            again = await held([item._replace(is_turned=True) for item in items])
            turned = (shuffled(question, seed=self.learning.seed) for question in self.questions)
            back = {one.question.question.id: one.original for one in turned}
            stays = stability(kept[-1].answered, again.answered, back, seed=self.learning.seed)
            kept[-1] = msgspec.structs.replace(kept[-1], stability=stays)

    async def compute(self, item: ExamItem) -> tuple[tuple[Outcome, float], Answered]:
        """Puts a question to a method; returns the outcome with its seconds, and the answer with its mark."""
        question = await self._question(item.number)
        if item.is_turned:
            question = shuffled(question, seed=self.learning.seed).question
        label = item.label if item.budget is None else self._matched_with(item.label)
        model_for = self.models(f"{label}, options shuffled" if item.is_turned else label)
        if item.budget is None:
            if (item.label, item.is_turned) not in self._methods:
                self._methods[item.label, item.is_turned] = self._method(item.label, model_for)
            method = self._methods[item.label, item.is_turned]
        else:
            method = self._matched(item.budget, model_for)
        play = replace(exam([question], seed=self.learning.seed), players={label: method})
        return await play.compute((label, 0))

    async def _question(self, number: int) -> ExamQuestion:
        """Returns a question, with the passages that were looked up for it once."""
        if self.looking_up is None:
            return self.questions[number]
        if number not in self._shown:
            asked = self.questions[number]
            shown = msgspec.structs.replace(asked, question=await self.looking_up.question(asked.question))
            self._shown[number] = shown
        return self._shown[number]

    def _method(self, label: str, model_for: ModelFor) -> Answering:
        return answering(
            next(one for one in self.chosen if one.label == label),
            model_for,
            examples=self.learning.examples,
            training=self.learning.training,
            temperature=self.learning.temperature,
            memory=self.learning.memory,
            seed=self.learning.seed,
        )

    def _matched_with(self, label: str) -> str:
        return f"self_consistency (as many {self.match} as {label})"

    def _matched(self, budget: Budget, model_for: ModelFor) -> Answering:
        """Returns self-consistency that takes as much as a team took."""
        temperature = self.learning.temperature
        by_tokens = self.match == "tokens" and budget.tokens > 0

        async def put(question: Question) -> Outcome:
            return await self_consistency(
                question,
                model_for(question.id),
                budget_calls=None if by_tokens else budget.calls,
                budget_tokens=budget.tokens if by_tokens else None,
                seed=self.learning.seed,
                temperature=_SAMPLING if temperature is None else temperature,
            )

        return put


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
    results: list[MethodResult] = [] if kept is None else kept
    methods = MethodsOnQuestions(
        questions=questions,
        chosen=chosen,
        models=models,
        learning=learning or Learning(),
        match=match,
        shuffle=shuffle,
        looking_up=looking_up,
        at_once=at_once,
    )
    await methods.hold(results, advance=advance)
    return results


def asked(questions: int, chosen: Sequence[ChosenMethod], *, match: Match = "calls", shuffle: bool = False) -> int:
    """Returns how many questions will be put, over all methods."""
    runs = sum(1 + (find_method(one.named).team and match != "none") for one in chosen)
    return questions * runs * (2 if shuffle else 1)


class ExamResult(NamedTuple):
    """The results of every model's methods, and the categories of the wrong answers where they were sorted."""

    methods: list[MethodResult]
    categories: Categories | None = None


@dataclass(frozen=True, kw_only=True)
class ExamWork:
    """The questions of an exam, put to every method of every model, and then the wrong answers to a judge.

    Attributes:
        models: their names.
        answer_tokens: the longest answer to a call; None leaves it to the server.
        sorts: whether wrong answers are sorted: by the judge, and by what people said of them.
        most: so many wrong answers of each method are sorted at most.
        report: returns the output of the result.
    """

    questions: Sequence[ExamQuestion]
    models: Sequence[str]
    methods: Sequence[ChosenMethod]
    session: Session
    report: Callable[[ExamResult], Output]
    learning: Learning = field(default_factory=Learning)
    match: Match = "calls"
    shuffle: bool = False
    looking_up: LookingUp | None = None
    answer_tokens: int | None = None
    sorts: bool = False
    judge: Model | None = None
    words: Words[ErrorCategory] = field(default_factory=dict)
    most: int | None = None
    at_once: int = AT_ONCE
    _of_models: dict[str, MethodsOnQuestions] = field(default_factory=dict, init=False)

    @property
    def total(self) -> int:
        """The number of questions that will be put, over all methods and models."""
        return asked(len(self.questions), self.methods, match=self.match, shuffle=self.shuffle) * len(self.models)

    @property
    def entrants(self) -> int:
        """The number of methods, of all models."""
        return len(self.methods) * len(self.models)

    def at_most(self, plays: int) -> Self:
        """Returns the same with at most so many questions at a time."""
        return replace(self, at_once=min(self.at_once, plays))

    def times(self, workers: int) -> Self:
        """Returns the same with so many times as many questions at a time."""
        return replace(self, at_once=self.at_once * workers)

    def output(self, result: ExamResult) -> Output:
        """Returns the output of the result."""
        return self.report(result)

    async def compute(self, item: tuple[str, ExamItem]) -> tuple[tuple[Outcome, float], Answered]:
        """Puts a question to a method of a model."""
        model, of_model = item
        return await self._methods(model).compute(of_model)

    async def hold(self, *, advance: Callable[[], None], elsewhere: Elsewhere | None = None) -> ExamResult:
        """Puts the questions to all models at once, to the methods of each one after the other.

        Raises:
            StoppedEarly: it was stopped; its summary is what was over by then.
        """
        kept: dict[str, list[MethodResult]] = {name: [] for name in self.models}

        def make(name: str) -> Awaitable[None]:
            return self._methods(name).hold(kept[name], advance=advance, elsewhere=part_of(elsewhere, name))

        try:
            await _until_stopped([partial(make, name) for name in kept], kept)
        except RunStopped as stopped:
            why = stopped.why if isinstance(stopped, StoppedEarly) else stopped
            raise StoppedEarly(why, f"missing: {self._missing(kept)}", summary=ExamResult(_named(kept))) from None
        results = _named(kept)
        if not self.sorts:
            return ExamResult(results)
        wrong = wrong_answers(results, self.questions, most=self.most, seed=self.learning.seed)
        return ExamResult(results, await find_categories(wrong, judge=self.judge, words=self.words))

    def _methods(self, model: str) -> MethodsOnQuestions:
        if model not in self._of_models:
            self._of_models[model] = MethodsOnQuestions(
                questions=self.questions,
                chosen=self.methods,
                models=partial(self._asked, model),
                learning=self.learning,
                match=self.match,
                shuffle=self.shuffle,
                looking_up=self.looking_up,
                at_once=self.at_once,
            )
        return self._of_models[model]

    def _asked(self, name: str, label: str) -> ModelFor:
        """Returns the model for each question, its answers kept under method and question."""

        def model_for(question: str) -> Model:
            model = self.session.model(name, Asker(label, f"{label} {question}", item=question, player=label))
            return model if self.answer_tokens is None else with_hooks(model, Tuning(max_tokens=self.answer_tokens))

        return model_for

    def _missing(self, kept: Mapping[str, Sequence[MethodResult]]) -> str:
        """Returns how many questions each method has not answered."""
        wanted = {(name, one.label): 0 for name in self.models for one in self.methods}
        done = wanted | {(name, one.name): len(one.answered) for name, results in kept.items() for one in results}
        n = len(self.questions)
        several = len(self.models) > 1
        left = [
            f"{f'{name}: ' if several else ''}{method} {n - count} of {n}"
            for (name, method), count in done.items()
            if count < n
        ]
        return ", ".join(left) or "what is asked beside the methods"


def _named(kept: Mapping[str, Sequence[MethodResult]]) -> list[MethodResult]:
    """Returns the results of models; of several, each method's name begins with its model's."""
    several = len(kept) > 1
    return [
        msgspec.structs.replace(one, model=model, name=f"{model}: {one.name}" if several else one.name)
        for model, results in kept.items()
        for one in results
    ]


async def _until_stopped(makes: Iterable[Callable[[], Awaitable[None]]], kept: Mapping[str, Sequence[object]]) -> None:
    """Runs all at once; of several models, those that can be asked go on without one that cannot.

    Raises:
        RunStopped: one was stopped, or a model cannot be asked.
    """
    makes = list(makes)

    async def one(make: Callable[[], Awaitable[None]]) -> RunStopped | None:
        try:
            await make()
        except RunStopped as stopped:
            return stopped
        except (WrongKey, UnknownModel) as refused:
            if len(makes) > 1:
                note(f"{refused}; the other models are asked meanwhile")
            elif not any(kept.values()):
                raise
            return AccessLost(str(refused))
        return None

    for stopped in filter(None, await run_all([partial(one, make) for make in makes], is_stopped=is_stopped)):
        raise stopped
