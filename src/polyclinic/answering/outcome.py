"""What came of a question that a method was given, and every call to a model that it took.

A method asks through `Calls`, which writes each call down with the round trip it belongs to: calls of one round trip
depend only on those of earlier ones, so that the number of round trips is the critical path.
"""

from __future__ import annotations

import asyncio
import functools
import re
from collections import Counter
from collections.abc import Awaitable, Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec

from polyclinic.cases.presentation import Question
from polyclinic.errors import CutOff, ModelError, PlayFailure, Refused, UnreadableReply, UserError
from polyclinic.models.model import Answer, Messages, Model, Reply, Usage
from polyclinic.questions.answers import read_answer
from polyclinic.seeds import derive

T = TypeVar("T")

_NUMBER = re.compile(r"(\d+)")


class OutcomeEnd(StrEnum):
    """How a question ended."""

    ANSWERED = "answered"
    TIE = "tie"
    UNREADABLE = "unreadable"
    REFUSED = "refused"
    CUT_OFF = "cut off"
    FAILED = "failed"


class Called(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call to a model.

    Attributes:
        seq: from 0; by round trip, and within one by purpose, its numbers counted as numbers.
        round_trip: from 1; the call depends only on calls of earlier round trips.
        purpose: what it was for ("vote, expert 3").
        text: what the model said; "" where nothing came.
        error: the name of the error, where the answer could not be used.
        problem: what it said.
        usage: what it cost.
    """

    seq: int
    round_trip: int
    purpose: str
    text: str = ""
    error: str = ""
    problem: str = ""
    usage: Usage = Usage()


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a method made of a question.

    Attributes:
        question: its id.
        answers: keys of the options chosen; one where one is asked for, empty where there is no answer.
        rationale: why, in the model's words.
        end: how it ended; everything but `answered` and `tie` leaves `answers` empty.
        problem: what went wrong, where it did.
        trace: every call, in order.
    """

    question: str
    answers: frozenset[str] = frozenset()
    rationale: str = ""
    end: OutcomeEnd = OutcomeEnd.ANSWERED
    problem: str = ""
    trace: tuple[Called, ...] = ()

    @property
    def answer(self) -> str | None:
        """The key of the option chosen; None where there is none, or several."""
        return next(iter(self.answers)) if len(self.answers) == 1 else None

    @property
    def calls(self) -> int:
        """How many calls it took."""
        return len(self.trace)

    @property
    def round_trips(self) -> int:
        """How many calls had to wait for one another: the critical path."""
        return max((call.round_trip for call in self.trace), default=0)

    @property
    def usage(self) -> Usage:
        """What the calls cost."""
        total = Usage()
        for number, call in enumerate(self.trace):
            total = call.usage if number == 0 else total + call.usage
        return total


def _place(call: Called) -> tuple[int, list[tuple[int, str]]]:
    parts = _NUMBER.split(call.purpose)
    return call.round_trip, [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


class Said(NamedTuple):
    """What a model said, and the keys of the options that it takes."""

    text: str
    keys: frozenset[str]


class Calls:
    """The calls of one question.

    Args:
        model: any door.
        temperature: of every call that names none; None leaves it to the server.
        top_p: likewise.
    """

    def __init__(self, model: Model, *, temperature: float | None = None, top_p: float | None = None) -> None:
        self._model, self._temperature, self._top_p = model, temperature, top_p
        self._made: list[Called | None] = []

    async def ask(
        self,
        messages: Messages,
        *,
        round_trip: int,
        purpose: str,
        answer: Answer = None,
        temperature: float | None = None,
        seed: int | None = None,
        max_tokens: int | None = None,
    ) -> Reply:
        """Asks the model, and writes the call down whatever comes; see `Model.ask`.

        Args:
            messages: as in `Model.ask`.
            round_trip: from 1; see `Called`.
            purpose: names the call; different for every call of a question.
            answer: as in `Model.ask`.
            temperature: as in `Model.ask`.
            seed: as in `Model.ask`.
            max_tokens: as in `Model.ask`.

        Raises:
            PlayFailure: no usable answer came.
        """
        seq = len(self._made)
        self._made.append(None)
        try:
            reply = await self._model.ask(
                messages,
                answer=answer,
                temperature=self._temperature if temperature is None else temperature,
                top_p=self._top_p,
                max_tokens=max_tokens,
                seed=seed,
                purpose=purpose,
            )
        except PlayFailure as failure:
            usage = getattr(failure, "usage", None)
            self._made[seq] = Called(
                seq=seq,
                round_trip=round_trip,
                purpose=purpose,
                text=getattr(failure, "text", "") or "",
                error=type(failure).__name__,
                problem=str(failure),
                usage=usage if isinstance(usage, Usage) else Usage(),
            )
            raise
        self._made[seq] = Called(seq=seq, round_trip=round_trip, purpose=purpose, text=reply.text, usage=reply.usage)
        return reply

    async def answer(
        self, messages: Messages, question: Question, *, round_trip: int, purpose: str, seed: int | None = None
    ) -> Said:
        """Asks the model and reads its free text as an answer to a question; see `ask` and `read_answer`.

        Raises:
            PlayFailure: no answer came, or none that can be read; the trace names it like any other failure.
        """
        seq = len(self._made)
        reply = await self.ask(messages, round_trip=round_trip, purpose=purpose, seed=seed)
        try:
            return Said(reply.text, read_answer(reply.text, question))
        except UnreadableReply as failure:
            made = self._made[seq]
            assert made is not None  # noqa: S101
            self._made[seq] = msgspec.structs.replace(made, error=type(failure).__name__, problem=str(failure))
            raise

    @property
    def trace(self) -> tuple[Called, ...]:
        """The calls made so far, by round trip and then by purpose; those that have not ended are left out.

        When a call was made may depend on how long others took, where several chains of calls go on at once.
        """
        ended = sorted((call for call in self._made if call is not None), key=_place)
        return tuple(msgspec.structs.replace(call, seq=seq) for seq, call in enumerate(ended))

    @property
    def round_trips(self) -> int:
        """The last round trip of the calls made so far; 0 before the first."""
        return max((call.round_trip for call in self.trace), default=0)

    def outcome(self, question: str, answers: Iterable[str], *, rationale: str = "", tie: bool = False) -> Outcome:
        """Returns the outcome of a question that was answered; a tie's answers were picked among equals."""
        return Outcome(
            question=question,
            answers=frozenset(answers),
            rationale=rationale,
            end=OutcomeEnd.TIE if tie else OutcomeEnd.ANSWERED,
            trace=self.trace,
        )

    def majority(self, question: str, voters: Sequence[Said], *, seed: int) -> Outcome:
        """Returns the answer that most voters take, with the words of the first of them; equals are drawn by the seed.

        Whole answers are counted, also where several options are asked for.
        """
        votes = Counter(voter.keys for voter in voters)
        most = max(votes.values())
        equals = sorted((keys for keys, number in votes.items() if number == most), key=sorted)
        chosen = derive(seed, question, "tie").choice(equals)
        rationale = next(voter.text for voter in voters if voter.keys == chosen)
        return self.outcome(question, chosen, rationale=rationale, tie=len(equals) > 1)

    def failed(self, question: str, failure: PlayFailure) -> Outcome:
        """Returns the outcome of a question that got no answer."""
        end = OutcomeEnd.FAILED
        if isinstance(failure, ModelError):
            end = OutcomeEnd.UNREADABLE
            if isinstance(failure, Refused):
                end = OutcomeEnd.REFUSED
            elif isinstance(failure, CutOff):
                end = OutcomeEnd.CUT_OFF
        return Outcome(question=question, end=end, problem=str(failure), trace=self.trace)


async def together(*asked: Awaitable[T]) -> list[T | ModelError]:
    """Waits for calls that do not depend on one another.

    Returns:
        In the order given, what came, or the model's failure where the answer cannot be used.

    Raises:
        PlayFailure: an endpoint gave no answer; the other calls are stopped first.
    """
    tasks = [asyncio.ensure_future(_or_model_error(one)) for one in asked]
    try:
        if tasks:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
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
    """Returns what came of one of the calls that `together` waited for, where the question cannot go on without it.

    Raises:
        ModelError: the answer cannot be used.
    """
    if isinstance(came, ModelError):
        raise came
    return came


def usable(came: Iterable[T | ModelError]) -> list[T]:
    """Returns what can be used of what came of calls of which one is enough.

    Raises:
        ModelError: nothing can be used; the first failure.
    """
    came = list(came)
    good = [one for one in came if not isinstance(one, ModelError)]
    if came and not good:
        needed(came[0])
    return good


def decision_on(question: Question) -> Any:
    """Returns the type of a decision on a question: `rationale`, and `answer`, a key of its options.

    Where several options are asked for, `answer` is a tuple of at least one key. `keys_of` reads both.

    Raises:
        UserError: the question has no options to choose from.
    """
    if not question.options:
        raise UserError(f"question {question.id!r} has no options; a question needs at least one")
    return _decision(tuple(question.options), question.several)


@functools.lru_cache(maxsize=256)
def _decision(keys: tuple[str, ...], several: bool) -> Any:
    key: Any = Literal.__getitem__(keys)
    most = msgspec.Meta(min_length=1, max_length=len(keys))
    answer = Annotated[tuple[key, ...], most] if several else key
    # The rationale comes first: a model writes from left to right, and must not decide before it has reasoned.
    return msgspec.defstruct("Decision", [("rationale", str), ("answer", answer)], frozen=True, module=__name__)


def keys_of(decision: Any) -> frozenset[str]:
    """Returns the keys that a decision chose."""
    return frozenset((decision.answer,) if isinstance(decision.answer, str) else decision.answer)
