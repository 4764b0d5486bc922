"""What came of a question that a method was given, and every call to a model that it took."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from polyclinic.errors import CutOff, ModelError, Refused, UnreadableReply
from polyclinic.frames import Tabular
from polyclinic.models.model import Usage


class OutcomeEnd(StrEnum):
    """How a question ended."""

    ANSWERED = "answered"
    TIE = "tie"
    UNREADABLE = "unreadable"
    REFUSED = "refused"
    CUT_OFF = "cut off"
    FAILED = "failed"
    BROKEN = "broken"


_UNUSABLE = frozenset(kind.__name__ for kind in (ModelError, UnreadableReply, CutOff, Refused))


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call to a model.

    Attributes:
        seq: from 0; by round trip, and within one by purpose, its numbers counted as numbers.
        round_trip: from 1; the call depends only on calls of earlier round trips.
        purpose: what it was for ("vote, expert 3").
        text: what the model said; "" where nothing came.
        thought: what it thought before, where it was told; nobody else is shown that.
        error: the name of the error, where the answer could not be used.
        problem: what it said.
    """

    seq: int
    round_trip: int
    purpose: str
    text: str = ""
    error: str = ""
    problem: str = ""
    usage: Usage = Usage()
    thought: str = ""

    @property
    def unusable(self) -> bool:
        """Whether the model replied, and the reply could not be used."""
        return self.error in _UNUSABLE


class Outcome(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """What a method made of a question.

    Attributes:
        answers: keys of the options chosen; one where one is asked for, empty where there is no answer.
        rationale: why, in the model's words.
        end: everything but `answered` and `tie` leaves `answers` empty. Broken: a method of the user's raised an
            error, or gave nothing that can be an answer; it is not correct.
    """

    question: str
    answers: frozenset[str] = frozenset()
    rationale: str = ""
    end: OutcomeEnd = OutcomeEnd.ANSWERED
    problem: str = ""
    trace: tuple[Call, ...] = ()

    @property
    def answer(self) -> str | None:
        """The key of the option chosen; None where there is none, or several."""
        return next(iter(self.answers)) if len(self.answers) == 1 else None

    @property
    def failed(self) -> bool:
        """No endpoint answered."""
        return self.end is OutcomeEnd.FAILED

    @property
    def broken(self) -> bool:
        """A method of the user's made a mistake."""
        return self.end is OutcomeEnd.BROKEN

    @property
    def unreadable(self) -> bool:
        """The model answered, but with no answer: unreadable, refused or cut off."""
        return not (self.answers or self.failed or self.broken)

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
        return sum((call.usage for call in self.trace), Usage())
