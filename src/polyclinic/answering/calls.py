"""The calls that a method makes for a question, each written down with the round trip that it belongs to.

Calls of one round trip depend only on those of earlier ones, so that the number of round trips is the critical path.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Unpack

import msgspec

from polyclinic.answering.outcome import Call, Outcome, OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import CutOff, ModelError, PlayFailure, PolyclinicError, Refused, UnreadableReply
from polyclinic.models.model import Answer, AskOptions, Messages, Model, Reply, Usage
from polyclinic.prompts import read_prompts
from polyclinic.questions.answers import read_answer
from polyclinic.questions.formats import show_form
from polyclinic.seeds import derive

PROMPTS = Path(__file__).with_suffix(".md")

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

        Raises:
            PlayFailure: no usable answer came.
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
        self,
        messages: Messages,
        question: Question,
        *,
        round_trip: int,
        purpose: str,
        seed: int | None = None,
        repair: bool = False,
    ) -> TextAnswer:
        """Asks the model and reads its free text as an answer to a question; see `ask` and `read_answer`.

        With `repair` a reply that cannot be read is shown to the model, which is asked once more, for the key alone, in
        the next round trip. The calls that a published method takes are counted without.

        Raises:
            PlayFailure: no answer came, or none that can be read; the trace names it like any other failure.
        """
        seq = len(self._made)
        reply = await self.ask(messages, round_trip=round_trip, purpose=purpose, seed=seed)
        try:
            return TextAnswer(reply.text, read_answer(reply.text, question))
        except UnreadableReply as failure:
            self._made[seq] = _failed(self._made[seq], failure)
            if not repair:
                raise
        form = show_form(language=question.language, several=question.several)
        more = [("assistant", reply.text), ("user", read_prompts(PROMPTS)[question.language]("repair", form=form))]
        said = [("user", messages)] if isinstance(messages, str) else list(messages)
        repaired = await self.answer(
            [*said, *more], question, round_trip=round_trip + 1, purpose=f"{purpose}, once more", seed=seed
        )
        return TextAnswer(f"{reply.text}\n\n{repaired.text}", repaired.keys)

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
