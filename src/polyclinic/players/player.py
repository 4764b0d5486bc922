"""A player is a role with a mind.

A role (`doctor.py`, `patient.py`, `examiner.py`) says what is known to whoever plays it and what may be asked of it; a
mind (`mind_*.py`) answers. The loop sees neither: it calls `observe` with what the player may see and `act` with an
`Ask` that says which kind of answer is wanted, and checks it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

import msgspec

from polyclinic.cases.presentation import Question
from polyclinic.cases.record import Finding
from polyclinic.cases.report import Report
from polyclinic.errors import PlayFailure
from polyclinic.events import Event, State

T = TypeVar("T")


class DoctorTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the doctor says to the patient; `conclude` ends the dialogue with it."""

    say: str
    conclude: bool = False


class PatientTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the patient says, and to whom.

    Attributes:
        say: to the doctor, or the request to the examiner.
        to: whom it is said to; the examiner where the doctor asked for an examination.
        state: what the patient took the doctor's turn to be, where its mind tracks that.
        leave: the patient ends the visit with it.
    """

    say: str
    to: Literal["doctor", "examiner"] = "doctor"
    state: State | None = None
    leave: bool = False


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request for examinations, read into their names; none where it was vague."""

    items: tuple[str, ...]


class Results(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the examiner found: the findings word for word, and what was asked for and is not recorded."""

    findings: tuple[Finding, ...]
    not_recorded: tuple[str, ...]
    text: str


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to a multiple-choice question: the key of an option, or None for none of them."""

    answer: str | None


class Purpose(StrEnum):
    """What a player can be asked for."""

    OPEN = "open"
    REPLY = "reply"
    SPEAK = "speak"
    READ_REQUEST = "read request"
    EXAMINE = "examine"
    REPORT = "report"
    CHOOSE = "choose"


class WrongAnswer(PlayFailure):
    """A mind gave an answer of another kind than was asked for."""


class Ask(msgspec.Struct, Generic[T], frozen=True):
    """What is wanted of a player: for which purpose, as an answer of which type, and to which question if to one."""

    purpose: Purpose
    answer: type[T]
    question: Question | None = None

    def check(self, answer: object) -> T:
        """Returns the answer as the type that was asked for.

        Raises:
            WrongAnswer: it is not of that type and cannot be read as it, or it is no option of the question.
        """
        checked = answer
        if not isinstance(answer, self.answer):
            try:
                checked = msgspec.convert(answer, self.answer)
            except msgspec.ValidationError as error:
                problem = f"asked to {self.purpose}, got {type(answer).__name__}: {error}"
                raise WrongAnswer(problem) from None
        options = self.question.options if self.question is not None else {}
        if isinstance(checked, Choice) and checked.answer is not None and checked.answer not in options:
            raise WrongAnswer(f"asked to {self.purpose}, got {checked.answer!r}; the options are {', '.join(options)}")
        return cast(T, checked)


OPEN = Ask(Purpose.OPEN, PatientTurn)
REPLY = Ask(Purpose.REPLY, PatientTurn)
SPEAK = Ask(Purpose.SPEAK, DoctorTurn)
READ_REQUEST = Ask(Purpose.READ_REQUEST, Request)
EXAMINE = Ask(Purpose.EXAMINE, Results)
REPORT = Ask(Purpose.REPORT, Report)


def choose_from(question: Question) -> Ask[Choice]:
    """Returns the ask for an answer to a multiple-choice question."""
    return Ask(Purpose.CHOOSE, Choice, question)


class Player(Protocol):
    """Whoever takes part in a visit."""

    @property
    def name(self) -> str:
        """The mind that plays, such as `rules` or `direct/qwen3-8b`."""
        ...

    def observe(self, event: Event) -> None:
        """Takes note of something that happened and that this player may know."""
        ...

    async def act(self, ask: Ask[T]) -> T:
        """Answers.

        Raises:
            PlayFailure: no usable answer came.
        """
        ...


Role_contra = TypeVar("Role_contra", contravariant=True)


class Mind(Protocol[Role_contra]):
    """Answers for a role. `role` is the role itself: what it knows and has observed so far."""

    @property
    def name(self) -> str:
        """How the command line calls it."""
        ...

    async def answer(self, ask: Ask[Any], role: Role_contra) -> object:
        """Answers an ask; the role checks the answer's type."""
        ...
