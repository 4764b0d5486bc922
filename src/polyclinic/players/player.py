"""A player is a role with a mind.

A role says what is known to whoever plays it and what may be asked of it; a mind answers. The loop sees neither: it
calls `observe` with what the player may see and `act` with an `Ask` that says which kind of answer is wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Generic, Literal, NamedTuple, Protocol, Self, TypeVar, get_args

import msgspec

from polyclinic.cases.patient_record import Step
from polyclinic.cases.presentation import Question
from polyclinic.cases.record import Finding
from polyclinic.cases.report import Report
from polyclinic.errors import ModelError, PlayFailure
from polyclinic.events import Event, Failed, Role, Said, State
from polyclinic.files import split_place
from polyclinic.knowledge.acuity import Level
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.entries import Disease
from polyclinic.language.language import Language


class NextStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a doctor does with a patient after the report, and why, in one sentence."""

    reason: str
    # `conclude` treats the patient here, `refer` sends it on to another department, `admit` to a bed.
    step: Step = "conclude"
    department: str = ""  # where it is sent on to; beside another step it says nothing, as forms make models fill it in

    @property
    def plain(self) -> NextStep:
        """The step without what says nothing."""
        return self if self.step == "refer" else NextStep(self.reason, self.step)

    def problem(self, allowed: Sequence[str]) -> str:
        """Returns what is wrong with it where a referral is possible to some departments; "" where nothing is."""
        if self.step != "refer" or self.department in allowed:
            return ""
        options = f"the options are {', '.join(allowed) or 'none'}"
        return f"{self.department!r}; {options}" if self.department else f"'refer' without a department; {options}"


T = TypeVar("T")


class DoctorTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the doctor says to the patient; `conclude` ends the dialogue with it."""

    say: str
    conclude: bool = False


class PatientTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the patient says, and to whom.

    Attributes:
        to: the examiner where the doctor asked for an examination, which `say` then requests.
        state: what the patient took the doctor's turn to be, where its mind tracks that.
        leave: the patient ends the visit with it.
        recalled: the passages of what it knows that a mind with a tracker took for the answer, counted.
    """

    say: str
    to: Literal["doctor", "examiner"] = "doctor"
    state: State | None = None
    leave: bool = False
    recalled: int = 0
    near: int = 0  # of them, those that were given in other words than they stand in


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A request for examinations, as it was read; nothing where it was vague.

    Attributes:
        items: the names that it asks for.
        numbers: the lines that it asks for of the examiner's list of what is recorded (`Examiner.listed`), from 1; None
            from who reads names only.
    """

    items: tuple[str, ...] = ()
    numbers: tuple[int, ...] | None = None


class Results(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the examiner found: the findings word for word, and what was asked for and is not recorded."""

    findings: tuple[Finding, ...]
    not_recorded: tuple[str, ...]
    text: str
    told_as_normal: tuple[str, ...] = ()  # names of `not_recorded` of which it was said that they are normal


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to a multiple-choice question: the key of an option, or None for none of them."""

    answer: str | None


class Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the director takes to be so, and what is still to be asked where the doctors contradict one another.

    Attributes:
        symptoms: what the patient has and does not have, short items.
        examinations: with their results, short items.
        ask_patient: questions, each of which stands alone.
        ask_examiner: examinations to be read out again, by name.
    """

    symptoms: tuple[str, ...]
    examinations: tuple[str, ...]
    ask_patient: tuple[str, ...] = ()
    ask_examiner: tuple[str, ...] = ()


MOST_POINTS = 3  # Points of dispute that a director may name at a time (ai-hospital, table 16)


class Disputes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Points of dispute, the most important first; none where the doctors agree. A fourth makes it unreadable."""

    points: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_POINTS)]


Urgency = Literal["emergency", "urgent", "routine"]  # How soon somebody must be seen, the soonest first


URGENCY: dict[Level, Urgency] = {1: "emergency", 2: "emergency", 3: "urgent", 4: "routine", 5: "routine"}
"""How urgent each level of the five-level index is."""

_USUAL: dict[Urgency, Level] = {"emergency": 2, "urgent": 3, "routine": 4}


class Triage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where the nurse sends a patient, how soon the patient must be seen, and why, in one sentence.

    Attributes:
        level: of the five-level index, 1 (at once) to 5; None from who judges in three steps.
        ask: what the nurse asks the patient first. What it judges beside that stands where it may ask no more.
    """

    department: str
    acuity: Urgency
    reason: str
    level: Level | None = None
    ask: str = ""

    def __post_init__(self) -> None:
        if self.level is not None and self.acuity != URGENCY[self.level]:
            raise ValueError(f"level {self.level} is {URGENCY[self.level]}, and not {self.acuity}")

    @property
    def judged(self) -> Level:
        """The level; that of most who are as urgent where the nurse gives none."""
        return _USUAL[self.acuity] if self.level is None else self.level

    @classmethod
    def at(cls, level: Level, department: str, reason: str, ask: str = "") -> Self:
        """Returns the judgement of a level."""
        return cls(department, URGENCY[level], reason, level, ask)


class Withheld(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A drug that the pharmacist does not hand out, and why."""

    drug: str
    reason: str


class Dispensing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the pharmacist withholds of a prescription, each drug at most once; the rest is handed out."""

    withheld: tuple[Withheld, ...] = ()


class Purpose(StrEnum):
    """What a player can be asked for."""

    OPEN = "open"  # the patient: what it says first
    REPLY = "reply"  # the patient: what it says to the doctor's turn, or in a discussion to a question of the director
    SPEAK = "speak"  # the doctor: its next turn
    READ_REQUEST = "read request"  # the examiner: which examinations a request names
    EXAMINE = "examine"  # the examiner's role alone: what the record holds of them; no mind is asked
    REPORT = "report"  # the doctor: its report
    CHOOSE = "choose"  # the doctor: an option of `ask.question`
    MERGE = "merge"  # the director: the facts that the doctors brought
    DISPUTE = "dispute"  # the director: the points of dispute; none ends the discussion
    REVISE = "revise"  # a doctor of a team: its report after what the others said
    CONCLUDE = "conclude"  # the director: the team's report
    TRIAGE = "triage"  # the nurse: a department of `ask.among` and how soon; or, first, a question to the patient
    PLAN = "plan"  # the hospital's doctor: the plan that fits, an option of `ask.question`
    NEXT_STEP = "next step"  # the hospital's doctor: to conclude, refer to a department of `ask.among`, or admit
    DISPENSE = "dispense"  # the pharmacist: which drugs of `ask.among` it withholds


class WrongAnswer(PlayFailure):
    """A mind gave an answer of another kind than was asked for."""


class BrokenMind(PlayFailure):
    """A mind that the user brought raised an exception; says in which line of its file."""


class Ask(msgspec.Struct, Generic[T], frozen=True):
    """What is wanted of a player: for which purpose, of which type, and to which question, if to one.

    The answer may name only what it is `among`: departments, or prescribed drugs.
    """

    purpose: Purpose
    answer: type[T]
    question: Question | None = None
    among: tuple[str, ...] = ()

    def check(self, answer: object) -> T:
        """Returns the answer as the type that was asked for.

        Raises:
            WrongAnswer: it cannot be read as that type, is no option of the question, or names what cannot be named.
        """
        checked = answer if isinstance(answer, self.answer) else self.read(answer)
        allowed = self.among if self.question is None else tuple(self.question.options)
        named: tuple[str, ...] = ()
        match checked:
            case NextStep():
                if problem := checked.problem(self.among):
                    raise WrongAnswer(f"asked to say the {self.purpose}, got {problem}")
            case Choice(answer=str(key)):
                named = (key,)
            case Triage():
                named = (checked.department,)
            case Dispensing():
                named = tuple(withheld.drug for withheld in checked.withheld)
        if unknown := [name for name in named if name not in allowed]:
            raise WrongAnswer(f"asked to {self.purpose}, got {unknown[0]!r}; the options are {', '.join(allowed)}")
        if len(set(named)) < len(named):
            raise WrongAnswer(f"asked to {self.purpose}, got one name twice: {', '.join(named)}")
        return checked

    def read(self, answer: object) -> T:
        """Returns the answer of a mind that is not our own as the type that was asked for; reads it to the bottom.

        Raises:
            WrongAnswer: it cannot be read as that type, or not be written to a file.
        """
        got = f"asked to {self.purpose}, got {'None' if answer is None else type(answer).__name__}"
        allowed = f"; allowed: {_ALLOWED.get(self.answer, self.answer.__name__)}"
        try:
            # Our own types take anything when they are made, and a trace must be readable.
            checked: T = msgspec.convert(msgspec.to_builtins(answer, enc_hook=_plain), self.answer)
            written = msgspec.json.decode(msgspec.json.encode(checked), type=self.answer)
        except msgspec.ValidationError as error:
            problem, place = split_place(str(error))
            for theirs, ours in (("`object`", "a dict"), ("`array`", "a list"), ("`null`", "None")):
                problem = problem.replace(theirs, ours)
            told = f" ({place}: {problem})" if place else "" if problem.startswith("Expected") else f" ({problem})"
            raise WrongAnswer(f"{got}{told}{allowed}") from None
        except UnicodeEncodeError:
            raise WrongAnswer(f"{got} with half a character (a lone surrogate) in it, which no file can hold") from None
        except (TypeError, ValueError, RecursionError) as error:
            told = "" if f" {type(answer).__name__} " in str(error) else f" ({error})"
            raise WrongAnswer(f"{got}{told}{allowed}") from None
        if written != checked:
            raise WrongAnswer(f"{got} with a number in it that no file can hold, such as NaN")
        return answer if isinstance(answer, self.answer) and answer == checked else checked


def _plain(number: Any) -> object:
    """Returns a number or a text of numpy's as Python's own."""
    if not hasattr(number, "item"):
        raise TypeError(f"what is of type {type(number).__name__} cannot be written down")
    return number.item()


_ALLOWED: dict[type, str] = {
    DoctorTurn: "text, or a DoctorTurn",
    PatientTurn: "text, or a PatientTurn",
    Request: "names of examinations in a list, or a Request",
    Report: "names of diagnoses in a list, the likeliest first, or a Report",
    Choice: "the key or the text of an option, or a Choice",
    Facts: "Facts, or a dict with 'symptoms' and 'examinations', each a list of texts",
    Disputes: f"at most {MOST_POINTS} texts in a list, none where the doctors agree, or Disputes",
    Triage: f"a Triage, or a dict with 'department', 'acuity' ({', '.join(get_args(Urgency))}) and 'reason'; "
    "also 'level' (1 to 5), and 'ask', a question to the patient first",
    NextStep: "a NextStep, or a dict with 'reason', 'step' (conclude, refer, admit) and, to refer, 'department'",
    Dispensing: "a Dispensing, or a dict with 'withheld', a list of dicts with 'drug' and 'reason'",
}


OPEN = Ask(Purpose.OPEN, PatientTurn)
REPLY = Ask(Purpose.REPLY, PatientTurn)
SPEAK = Ask(Purpose.SPEAK, DoctorTurn)
READ_REQUEST = Ask(Purpose.READ_REQUEST, Request)
EXAMINE = Ask(Purpose.EXAMINE, Results)
REPORT = Ask(Purpose.REPORT, Report)
MERGE = Ask(Purpose.MERGE, Facts)
DISPUTE = Ask(Purpose.DISPUTE, Disputes)
REVISE = Ask(Purpose.REVISE, Report)
CONCLUDE = Ask(Purpose.CONCLUDE, Report)


def choose_from(question: Question) -> Ask[Choice]:
    """Returns the ask for an answer to a multiple-choice question."""
    return Ask(Purpose.CHOOSE, Choice, question)


def send_to(departments: Iterable[str]) -> Ask[Triage]:
    """Returns the ask for where a patient is to be seen: in one of these departments."""
    return Ask(Purpose.TRIAGE, Triage, among=tuple(departments))


def choose_plan(disease: Disease, language: Language) -> Ask[Choice]:
    """Returns the ask for the plan that fits somebody with a disease: mild, moderate, severe (agent-hospital §4.1)."""
    options: dict[str, str] = {s: "; ".join(disease.plan(s).get(language)) for s in SEVERITIES}
    question = Question(id=disease.id, stem=disease.name.get(language), options=options, language=language)
    return Ask(Purpose.PLAN, Choice, question)


def dispense(drugs: Iterable[str]) -> Ask[Dispensing]:
    """Returns the ask for what is withheld of these drugs."""
    return Ask(Purpose.DISPENSE, Dispensing, among=tuple(drugs))


def failure_event(seq: int, who: Role, failure: PlayFailure, *, doctor: int = 0) -> Failed:
    """Returns the event of a player's failure; what is the player's fault is told apart from what is its endpoint's."""
    answered = isinstance(failure, ModelError | WrongAnswer | BrokenMind)
    return Failed(
        seq=seq, who=who, error=type(failure).__name__, problem=str(failure), answered=answered, doctor=doctor
    )


class Player(Protocol):
    """Whoever takes part in a visit."""

    @property
    def name(self) -> str:
        """The mind that plays, such as `rules` or `direct/qwen3-8b`."""

    def observe(self, event: Event) -> None:
        """Takes note of something that happened and that this player may know."""

    async def act(self, ask: Ask[T]) -> T:
        """Answers.

        Raises:
            PlayFailure: no usable answer came.
        """


Role_contra = TypeVar("Role_contra", contravariant=True)


class Mind(Protocol[Role_contra]):
    """Answers for a role. `role` is the role itself: what it knows and has observed so far.

    A mind may say of itself that it `sees` pictures, `reads` what a library or a memory holds (by default it does),
    `reminds_itself` of patients of its own, or, as a patient, `tracks` the states of AIE.
    """

    @property
    def name(self) -> str:
        """How the command line calls it."""

    async def answer(self, ask: Ask[Any], role: Role_contra) -> object:
        """Answers; the role checks the answer's type."""


@dataclass(eq=False)
class PlayedRole:
    """A mind that answers for a role, and `seen`, what happened in its hearing."""

    mind: Mind[Any]
    seen: list[Event] = field(init=False, default_factory=list)

    @property
    def name(self) -> str:
        """The mind that plays."""
        return self.mind.name

    def observe(self, event: Event) -> None:
        """Takes note of something that happened in its hearing."""
        self.seen.append(event)

    def last_said(self, *, who: Role | None = None, to: Role | None = None) -> str:
        """Returns what was last said in its hearing by and to somebody; "" where nothing was."""
        said = (e for e in reversed(self.seen) if isinstance(e, Said))
        return next((e.text for e in said if who in (None, e.who) and to in (None, e.to)), "")

    async def act(self, ask: Ask[T]) -> T:
        """Answers; see `Player.act`."""
        return ask.check(await self.mind.answer(ask, self))


class Seat(NamedTuple):
    """A doctor's place in a team, from 1; 0 is none. Each seat of each team has answers in a journal of its own.

    The team is named differently from every other that sees the same case in a run. Calls are put down to the team, or
    to whom they are `put_down_to`, as where one doctor sees a patient again.
    """

    number: int = 0
    team: str = ""
    put_down_to: str = ""


ALONE = Seat()
