"""The calls that a method makes for a question, each recorded with its round trip; typed decisions; parallel calls.

Calls of one round trip depend only on those of earlier ones, so that the number of round trips is the critical path.
"""

from __future__ import annotations

import asyncio
import functools
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Unpack

import msgspec

from polyclinic.answering.outcome import Call, Outcome, OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import (
    BudgetSpent,
    CutOff,
    ModelError,
    PlayFailure,
    PolyclinicError,
    Refused,
    UnreadableReply,
    UserError,
)
from polyclinic.models.model import Answer, AskOptions, Message, Messages, Model, Reply, Usage
from polyclinic.prompts import read_prompts
from polyclinic.questions.answers import read_answer
from polyclinic.questions.examples import Example, turns
from polyclinic.questions.shown import show, show_form
from polyclinic.seeds import derive

_ABANDONED = "Abandoned"
_NUMBER = re.compile(r"(\d+)")


class TextAnswer(NamedTuple):
    """What a model said, and the keys of the options that it takes."""

    text: str
    keys: frozenset[str]


class Calls:
    """The calls of one question. To a method of the user's it is the model itself.

    The options are those of every call that does not say otherwise.

    Attributes:
        unanswered: an endpoint gave no answer to one of them.
        ended_by: what ends the whole run, where the model raised that.
    """

    def __init__(self, model: Model, **options: Unpack[AskOptions]) -> None:
        self._model, self._options = model, options
        self._made: list[Call] = []
        self.unanswered = False
        self.ended_by: PolyclinicError | None = None

    @property
    def name(self) -> str:
        """Names the model behind."""
        return self._model.name

    async def ask(
        self, messages: Messages, *, answer: Answer = None, round_trip: int | None = None, **options: Unpack[AskOptions]
    ) -> Reply:
        """Asks the model, and writes the call down whatever comes; see `Model.ask`.

        The `round_trip` is that of `Call`; by default the call depends on all that have ended. The purpose names the
        call; it is different for every call of a question.
        """
        seq = len(self._made)
        purpose = str(options.get("purpose") or f"call {seq + 1}")
        call = Call(seq=seq, round_trip=round_trip or self.round_trips + 1, purpose=purpose)
        self._made.append(msgspec.structs.replace(call, error=_ABANDONED, problem="nobody waited for its answer"))
        if round_trip is None:
            # Calls that are made at once must not wait for one another, however fast a model answers.
            await asyncio.sleep(0)
        together: AskOptions = {**self._options, **options, "purpose": purpose}
        try:
            reply = await self._model.ask(messages, answer=answer, **together)
        except PlayFailure as failure:
            usage, text = getattr(failure, "usage", None), getattr(failure, "text", "") or ""
            failed = _failed(call, failure)
            self._made[seq] = msgspec.structs.replace(failed, text=text, usage=usage or Usage())
            self.unanswered |= not isinstance(failure, ModelError)
            raise
        except PolyclinicError as error:
            self.ended_by = error
            raise
        self._made[seq] = msgspec.structs.replace(call, text=reply.text, usage=reply.usage, thought=reply.thought)
        return reply

    async def answer(
        self, messages: Messages, question: Question, *, round_trip: int, purpose: str, seed: int | None = None
    ) -> TextAnswer:
        """Asks the model and reads its free text as an answer to a question; see `ask` and `read_answer`."""
        seq = len(self._made)
        reply = await self.ask(messages, round_trip=round_trip, purpose=purpose, seed=seed)
        try:
            return TextAnswer(reply.text, read_answer(reply.text, question))
        except UnreadableReply as failure:
            self._made[seq] = _failed(self._made[seq], failure)
            raise

    def unusable(self, purpose: str, failure: ModelError) -> None:
        """Writes down of the call with this purpose that whoever read its reply could not use it."""
        seq = next(call.seq for call in self._made if call.purpose == purpose)
        self._made[seq] = _failed(self._made[seq], failure)

    @property
    def trace(self) -> tuple[Call, ...]:
        """The calls made so far, by round trip and then by purpose; those that have not ended are left out.

        When a call was made may depend on how long others took, where several chains of calls go on at once.
        """
        return _in_order(self._ended)

    @property
    def asked(self) -> tuple[Call, ...]:
        """The calls made so far, those among them that were not waited for."""
        return _in_order(self._made)

    @property
    def _ended(self) -> list[Call]:
        return [call for call in self._made if call.error != _ABANDONED]

    @property
    def round_trips(self) -> int:
        """The last round trip of the calls made so far; 0 before the first."""
        return max((call.round_trip for call in self._ended), default=0)

    def outcome(self, question: str, answers: Iterable[str], *, rationale: str = "", tie: bool = False) -> Outcome:
        """Returns the outcome of a question that was answered; a tie's answers were picked among equals."""
        end = OutcomeEnd.TIE if tie else OutcomeEnd.ANSWERED
        return Outcome(question=question, answers=frozenset(answers), rationale=rationale, end=end, trace=self.trace)

    def majority(self, question: str, voters: Sequence[TextAnswer], *, seed: int) -> Outcome:
        """Returns the answer that most voters take, in the words of the first of them; the seed draws among equals."""
        votes = Counter(voter.keys for voter in voters)
        most = max(votes.values())
        equals = sorted((keys for keys, number in votes.items() if number == most), key=sorted)
        chosen = derive(seed, question, "tie").choice(equals)
        rationale = next(voter.text for voter in voters if voter.keys == chosen)
        return self.outcome(question, chosen, rationale=rationale, tie=len(equals) > 1)

    def failed(self, question: str, failure: PlayFailure) -> Outcome:
        """Returns the outcome of a question that got no answer."""
        ends = {Refused: OutcomeEnd.REFUSED, CutOff: OutcomeEnd.CUT_OFF, ModelError: OutcomeEnd.UNREADABLE}
        end = next((end for kind, end in ends.items() if isinstance(failure, kind)), OutcomeEnd.FAILED)
        return Outcome(question=question, end=end, problem=str(failure), trace=self.trace)


def _in_order(calls: Iterable[Call]) -> tuple[Call, ...]:
    return tuple(msgspec.structs.replace(call, seq=seq) for seq, call in enumerate(sorted(calls, key=_place)))


def _failed(call: Call, failure: PlayFailure) -> Call:
    return msgspec.structs.replace(call, error=type(failure).__name__, problem=str(failure))


def _place(call: Call) -> tuple[int, list[tuple[int, str]]]:
    parts = _NUMBER.split(call.purpose)
    return call.round_trip, [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def conversation(
    prompts: Path,
    question: Question,
    examples: Iterable[Example] = (),
    *,
    section: str = "instructions",
    reasoning: bool = True,
) -> list[Message]:
    """Returns the instructions with the form of the answer, the examples as turns, and the question."""
    form = show_form(language=question.language, several=question.several)
    instructions = read_prompts(prompts)[question.language](section, form=form)
    return [("system", instructions), *turns(examples, reasoning=reasoning), ("user", show(question))]


async def ask_once(
    messages: list[Message],
    question: Question,
    model: Model,
    *,
    purpose: str = "answer",
    temperature: float | None,
) -> Outcome:
    """Asks for the answer in one call; raises no PlayFailure."""
    calls = Calls(model, temperature=temperature)
    try:
        said = await calls.answer(messages, question, round_trip=1, purpose=purpose)
    except PlayFailure as failure:
        return calls.failed(question.id, failure)
    return calls.outcome(question.id, said.keys, rationale=said.text)


class Asker:
    """Asks about a question with the sections of prompts; `trip` is the round trip that the next calls belong to."""

    def __init__(
        self,
        prompts: Path,
        question: Question,
        model: Model,
        *,
        why: tuple[str, Any] = ("rationale", str),
        **options: Unpack[AskOptions],
    ) -> None:
        self.calls, self.trip = Calls(model, **options), 0
        self.question, self.decision = question, decision_on(question, why)
        self._prompts = read_prompts(prompts)[question.language]
        self._stem, self._question = show(question, options=False), show(question)

    async def ask(
        self,
        section: str,
        purpose: str,
        *told: str,
        answer: Answer = None,
        options: bool = True,
        trip: int | None = None,
        temperature: float | None = None,
        **blanks: object,
    ) -> Any:
        """Asks with a section, the question, and what else is told, the most changing last.

        The temperature is that of all calls unless another is given.
        """
        said = "\n\n".join(part for part in (self._question if options else self._stem, *told) if part)
        messages: list[Message] = [("system", self._prompts(section, **blanks)), ("user", said)]
        own: AskOptions = {"purpose": purpose}
        if temperature is not None:
            own["temperature"] = temperature
        return (await self.calls.ask(messages, round_trip=trip or self.trip, answer=answer, **own)).value

    async def ask_each(
        self, section: str, purpose: str, told: Iterable[Sequence[str]], *, trip: int | None = None, **options: Any
    ) -> list[Any]:
        """Asks once for each, numbered from 1, in one further round trip; see `ask` and `together`."""
        self.trip += trip is None
        asked = (
            self.ask(section, f"{purpose} {number}", *parts, trip=trip, **options)
            for number, parts in enumerate(told, start=1)
        )
        return await together(*asked)

    async def decide(
        self,
        *told: str,
        section: str = "decision",
        rationale: Callable[[Any], str] = attrgetter("rationale"),
        temperature: float | None = None,
    ) -> Outcome:
        """Asks for the decision in one further round trip, and returns the outcome."""
        self.trip += 1
        decided = await self.ask(section, "decision", *told, answer=self.decision, temperature=temperature)
        return self.calls.outcome(self.question.id, keys_of(decided), rationale=rationale(decided))


def exactly(number: int) -> Any:
    """Returns the type of so many texts."""
    return Annotated[tuple[str, ...], msgspec.Meta(min_length=number, max_length=number)]


def at_least(least: int, **numbers: int | None) -> None:
    """Refuses settings that are below a number, with a UserError; None is no number."""
    for name, number in numbers.items():
        if number is not None and number < least:
            raise UserError(f"{name} is {number}; it is at least {least}")


def decision_on(question: Question, why: tuple[str, Any] = ("rationale", str)) -> Any:
    """Returns the type of a decision on a question: `rationale`, and `answer`, a key of its options.

    `why` names another field in the rationale's place, and its type. Where several options are asked for, `answer` is
    a tuple of at least one key. `keys_of` reads both.
    """
    if not question.options:
        raise UserError(f"question {question.id!r} has no options; a question needs at least one")
    return _decision(tuple(question.options), question.several, why)


@functools.lru_cache(maxsize=256)
def _decision(keys: tuple[str, ...], several: bool, why: tuple[str, Any]) -> Any:
    key: Any = Literal.__getitem__(keys)
    most = msgspec.Meta(min_length=1, max_length=len(keys))
    answer = Annotated[tuple[key, ...], most] if several else key
    # The rationale comes first: a model writes from left to right, and must not decide before it has reasoned.
    return msgspec.defstruct("Decision", [why, ("answer", answer)], frozen=True, module=__name__)


def keys_of(decision: Any) -> frozenset[str]:
    """Returns the keys that a decision chose."""
    return frozenset((decision.answer,) if isinstance(decision.answer, str) else decision.answer)


T = TypeVar("T")


async def together(*asked: Awaitable[T]) -> list[T | ModelError]:
    """Waits for calls that do not depend on one another, and returns their results in order.

    A ModelError is a result; a PlayFailure of another kind is raised after the other calls are stopped. Where the
    budget is spent, calls that have begun are waited for, and kept.
    """
    tasks = [asyncio.ensure_future(_or_model_error(one)) for one in asked]
    try:
        if tasks:
            over, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            if others and any(isinstance(task.exception(), BudgetSpent) for task in over):
                await asyncio.wait(others)
        for task in tasks:
            if task.done():
                task.result()
        return [task.result() for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _or_model_error(asked: Awaitable[T]) -> T | ModelError:
    try:
        return await asked
    except ModelError as failure:
        return failure


def needed(came: T | ModelError) -> T:
    """Returns the result of a call that `together` waited for, or raises its ModelError."""
    if isinstance(came, ModelError):
        raise came
    return came


def usable(came: Iterable[T | ModelError]) -> list[T]:
    """Returns the results that can be used; raises the first ModelError if there are none."""
    came = list(came)
    good = [one for one in came if not isinstance(one, ModelError)]
    if came and not good:
        needed(came[0])
    return good
