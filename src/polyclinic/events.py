"""What happens in a visit, as typed events, and the trace that holds them.

A trace is a file of JSON lines, one event a line, numbered from 0. Events hold no wall times, paths or attempts, so
that the same seed gives the same trace, byte for byte.

Doctors, their turns and the rounds of a discussion count from 1. Turn 0 is the patient's opening; round 0 the
pre-diagnosis, made from the facts and before the others' reports are seen; doctor 0 one who works alone. The `name` of
a player is its mind's. Results stand in `findings` word for word as the record has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from polyclinic.cases.presentation import Presentation, Question, ShownPassage, ShownPicture
from polyclinic.cases.record import Finding
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.errors import BadInput
from polyclinic.files import json_lines, read_records, write_text
from polyclinic.frames import Tabular, flat
from polyclinic.seals import seal

TRACE_FORMAT = 1


class Role(StrEnum):
    """Who plays."""

    DOCTOR = "doctor"
    PATIENT = "patient"
    EXAMINER = "examiner"
    DIRECTOR = "director"
    NURSE = "nurse"
    PHARMACIST = "pharmacist"


class State(StrEnum):
    """What the doctor's turn was to the patient: the ten states of AIE (aie-saps §4.1) under their published codes."""

    OPENING = "O"
    EFFECTIVE_INQUIRY = "A-A-A"
    INEFFECTIVE_INQUIRY = "A-A-B"
    AMBIGUOUS_INQUIRY = "A-B"
    EFFECTIVE_ADVICE = "B-A-A"
    INEFFECTIVE_ADVICE = "B-A-B"
    AMBIGUOUS_ADVICE = "B-B"
    DEMAND = "C"
    OTHER_TOPIC = "D"
    CONCLUSION = "E"


INQUIRY = (State.EFFECTIVE_INQUIRY, State.INEFFECTIVE_INQUIRY, State.AMBIGUOUS_INQUIRY)
ADVICE = (State.EFFECTIVE_ADVICE, State.INEFFECTIVE_ADVICE, State.AMBIGUOUS_ADVICE)
EFFECTIVE, INEFFECTIVE, AMBIGUOUS = zip(INQUIRY, ADVICE, strict=True)


class End(StrEnum):
    """Why a visit ended; `consensus` and `round limit` are the ends of a discussion."""

    CONCLUDED = "concluded"
    TURN_LIMIT = "turn limit"
    PATIENT_LEFT = "patient left"
    CONSENSUS = "consensus"
    ROUND_LIMIT = "round limit"
    FAILED = "failed"


class Order(StrEnum):
    """How the doctors of a discussion speak: all at once in a round, or one after another (Algorithm 1)."""

    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag=str.lower, omit_defaults=True):
    seq: int


class Opened(_Event, frozen=True, kw_only=True):
    """A visit begins: what the doctor knows and is shown, who plays, under which seed.

    `sum` stands in files alone: what tells whether the trace is the one that was written.
    """

    format: int
    case: str
    presentation: Presentation
    minds: dict[Role, str]
    seed: int
    max_turns: int
    one_step: bool = False
    doctor: int = 0
    pictures: tuple[ShownPicture, ...] = ()
    sum: str = ""


class Convened(_Event, frozen=True, kw_only=True):
    """A discussion begins: doctors who have each seen the patient alone meet under a director."""

    format: int
    case: str
    presentation: Presentation
    doctors: tuple[str, ...]  # their minds, doctor 1 first; also of those who cannot take part
    director: str
    seed: int
    order: Order
    max_rounds: int
    dispute_resolution: bool = True  # the doctors are shown the points of dispute
    sum: str = ""  # as of `Opened`


class Shared(_Event, frozen=True, kw_only=True):
    """A doctor tells the director the facts that it has learnt, and no diagnosis."""

    doctor: int
    name: str
    symptoms: tuple[str, ...] = ()
    examinations: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


class Established(_Event, frozen=True, kw_only=True):
    """The director's summary of the facts, in its own words, and everybody's results; every doctor gets it."""

    symptoms: tuple[str, ...] = ()
    examinations: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


class Revised(_Event, frozen=True, kw_only=True):
    """A doctor speaks in the discussion: its report as it stands now.

    `kept` means that the doctor gave no usable answer, and its last report stands.
    """

    doctor: int
    name: str
    round: int
    report: Report
    kept: bool = False


class Disputed(_Event, frozen=True, kw_only=True):
    """The director says what is in dispute after a round, the most important first; no point is a consensus."""

    round: int
    points: tuple[str, ...] = ()


class Said(_Event, frozen=True, kw_only=True):
    """Somebody says something to somebody, the patient with the state that it took the doctor's turn to be."""

    turn: int
    who: Role
    to: Role
    text: str
    state: State | None = None
    recalled: int = 0  # how many passages of what the patient knows its tracker took for the answer
    near: int = 0  # how many of them the tracker gave in other words, and were matched to the nearest


class Retrieved(_Event, frozen=True, kw_only=True):
    """The doctor was given passages of a library, for what it is asked next; none where nothing fitted."""

    turn: int
    references: tuple[ShownPassage, ...]


class Examined(_Event, frozen=True, kw_only=True):
    """The examiner has looked up what was asked for; doctor and patient learn it."""

    turn: int
    findings: tuple[Finding, ...]
    not_recorded: tuple[str, ...]  # items that were asked for and of which the record says nothing
    text: str  # the same as it is read out
    told_as_normal: tuple[str, ...] = ()  # those of `not_recorded` of which it was said that they are normal


class Reported(_Event, frozen=True, kw_only=True):
    """The doctor hands in the report; in a discussion the director does."""

    report: Report


class Chosen(_Event, frozen=True, kw_only=True):
    """The doctor answers the case's multiple-choice question; None where it commits to no option."""

    answer: str | None


class Failed(_Event, frozen=True, kw_only=True):
    """A player gave no usable answer."""

    who: Role
    error: str  # the name of the error, such as `UnreadableReply`
    problem: str
    answered: bool = False  # an answer came, and could not be used: the fault is the player's and not its endpoint's
    doctor: int = 0  # in a discussion, whose visit or report it concerns


class Ended(_Event, frozen=True, kw_only=True):
    """The consultation is over. `turns` counts what the doctor said; in a discussion, its rounds."""

    reason: End
    turns: int


class Revealed(_Event, frozen=True, kw_only=True):
    """The truth becomes known, after the end of the visit."""

    diagnoses: tuple[Diagnosis, ...]
    rationale: tuple[str, ...] = ()
    treatment: tuple[str, ...] = ()
    severity: str | None = None
    acuity: int | None = None
    complications: tuple[str, ...] = ()
    differential: tuple[str, ...] = ()
    prevention: tuple[str, ...] = ()
    question: Question | None = None
    answers: tuple[str, ...] = ()
    probabilities: tuple[tuple[str, float], ...] | msgspec.UnsetType = msgspec.UNSET


Discussed = Convened | Shared | Established | Revised | Disputed
Event = Opened | Said | Retrieved | Examined | Reported | Chosen | Discussed | Failed | Ended | Revealed

E = TypeVar("E", bound=Event)


def _unfit(event: Event, due: int | None) -> str:
    """Returns why an event does not come here, "" where it does; `due` is the number that should, None of a trace's."""
    if isinstance(event, Opened | Convened):
        if event.format != TRACE_FORMAT:
            return f"trace format {event.format}; this version of polyclinic reads format {TRACE_FORMAT}"
        due = 0
    elif due is None:
        return "a trace begins with an 'opened' or 'convened' event"
    return "" if event.seq == due else f"event {event.seq} where event {due} was due; a line is missing or moved"


class Trace(Tabular, list[Event]):
    """The events of one visit, or of one discussion, in order.

    `trace.lines()` and `Trace.read(path)` are the way out and the way back in; `watch` is called with each event that
    is added.
    """

    def __init__(self, events: Iterable[Event] = (), *, watch: Callable[[Event], None] | None = None) -> None:
        super().__init__(events)
        self._watch = watch

    @property
    def next(self) -> int:
        """The number of the next event."""
        return len(self)

    def add(self, event: E) -> E:
        """Keeps the next event, and returns it."""
        if event.seq != self.next:
            raise ValueError(f"event {event.seq} where event {self.next} was due")
        self.append(event)
        if self._watch is not None:
            self._watch(event)
        return event

    def __repr__(self) -> str:
        ended = self.last(Ended)
        return f"<Trace of {len(self)} events{'' if ended is None else f', {ended.reason}'}>"

    def as_rows(self) -> list[dict[str, Any]]:
        """Returns the events as rows."""
        return [{"event": event.__struct_config__.tag, **flat(event)} for event in self]

    def last(self, kind: type[E]) -> E | None:
        """Returns the last event of a kind, or None."""
        return next((e for e in reversed(self) if isinstance(e, kind)), None)

    def lines(self) -> str:
        """Returns the trace as JSON lines."""
        return json_lines(self)

    def sealed(self) -> str:
        """Returns the trace as JSON lines that tell whether they are all there, and as they were written."""
        if not self or not isinstance(first := self[0], Opened | Convened):
            return self.lines()
        return json_lines([msgspec.structs.replace(first, sum=_sum(self)), *self[1:]])

    def write(self, path: str | Path) -> None:
        """Writes the trace as JSON lines, sealed, whole or not at all."""
        write_text(Path(path), self.sealed())

    @classmethod
    def read(cls, path: str | Path, *, bad: list[BadInput] | None = None) -> list[Trace]:
        """Reads the traces of a file: each `opened` or `convened` event begins one.

        With a list for what is `bad`, a line that is no event goes there, and what follows of its trace is left out
        with it; a trace that lacks its middle is left out as a whole.
        """
        path = Path(path)
        traces: list[tuple[int, Trace]] = []
        broken = False
        for number, event in read_records(path, cast(type[Event], Event), "an event of a trace", bad=bad):
            begins = isinstance(event, Opened | Convened)
            if broken and not begins:
                continue
            if problem := _unfit(event, None if begins or not traces else len(traces[-1][1])):
                told = BadInput(problem, path=path, line=number)
                if bad is None:
                    raise told
                bad.append(told)
                if not begins and traces and event.seq > len(traces[-1][1]):
                    traces.pop()
                broken = True
                continue
            if begins:
                traces.append((number, cls()))
                broken = False
            traces[-1][1].append(event)
        return [trace for number, trace in traces if trace._is_whole(path, number, bad)]

    def _is_whole(self, path: Path, number: int, bad: list[BadInput] | None) -> bool:
        """Whether it is as it was written, or was not sealed; what it begins with then holds no sum any more."""
        first = cast(Opened | Convened, self[0])
        if not first.sum:
            return True
        self[0] = msgspec.structs.replace(first, sum="")
        if first.sum == _sum(self):
            return True
        problem = "not the trace that was written: a line is missing, or says something else"
        told = BadInput(f"{problem}; take its 'sum' away to read it as it is", path=path, line=number)
        if bad is None:
            raise told
        bad.append(told)
        return False


def _sum(trace: Trace) -> str:
    # Of what will be read: an age of 40 is read as 40.0.
    read = [msgspec.json.decode(line, type=cast(type[Event], Event)) for line in json_lines(trace).splitlines()]
    return seal(json_lines(read).encode()).hex()
