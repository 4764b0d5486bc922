"""A consultation as the conversation metrics read it: what was said, each turn with its state.

Made from a trace of ours here; `transcripts` reads it from files, also in the layout that aie-saps published.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.record import read_out
from polyclinic.events import Chosen, End, Ended, Examined, Failed, Opened, Reported, Revealed, Role, Said, State, Trace
from polyclinic.language.language import Language
from polyclinic.metrics.accuracy import chosen_by_name

STATES = ", ".join(State)
"""The ten codes, for saying which there are."""


class Turn(msgspec.Struct, frozen=True):
    """What the doctor said, what that was to the patient, and what came of it.

    Attributes:
        doctor: empty in an opening that is the patient's alone.
        patient: the patient's reply, and the examiner's where the patient went there; empty without one.
    """

    doctor: str
    state: State
    patient: str = ""


class Dialogue(msgspec.Struct, frozen=True, kw_only=True):
    """One consultation, ready to be scored.

    Attributes:
        id: the case's id, as its file has it; dialogues of one id are repetitions of one case.
        turns: at least one, the opening first.
        information: all that is known of the patient; None where it is not at hand.
        options: the diagnoses to choose from, by key; empty where there are none.
        chosen: the key that the doctor chose; None where no answer could be read.
    """

    id: str | int
    language: Language
    turns: tuple[Turn, ...]
    information: str | None = None
    options: dict[str, str] = {}
    answers: tuple[str, ...] = ()
    chosen: str | None = None


class LeftOut(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that is not scored, and why.

    Attributes:
        id: the case's id; of a record without one, its place in the file.
        metrics: which metrics lack it; empty means all.
        failed: the visit itself failed: the doctor, patient or endpoint gave no usable answer.
    """

    id: str | int
    problem: str
    metrics: tuple[str, ...] = ()
    failed: bool = False


class Unscorable(Exception):
    """A dialogue cannot be scored; the reader of the file leaves it out and says so."""

    def __init__(self, problem: str, *, failed: bool = False) -> None:
        self.problem, self.failed = problem, failed
        super().__init__(problem)


def unusable_answer(trace: Trace) -> str | None:
    """Returns what was wrong where the visit failed by an answer of the doctor that could not be used, else None."""
    failure = trace.last(Failed)
    if failure is None or failure.who is not Role.DOCTOR or not failure.answered:
        return None
    return f"the doctor's answer could not be used: {failure.error}"


def from_trace(trace: Trace, case: Case | None = None, *, chosen: str | None = None) -> Dialogue:
    """Reads the dialogue of a visit.

    The opening is a turn of its own, in which the doctor says nothing, or greets. What the examiner reads out belongs
    to the turn that asked for it. What the patient says to a conclusion is a courtesy, and no part of the dialogue; a
    doctor's last words without a reply are a conclusion, whatever they are. Without the case, all that is known of the
    patient is not at hand. The key that was `chosen` stands by default in the trace: the doctor's choice, or where it
    reported instead, the option whose text is the name of the report's likeliest diagnosis.

    Raises:
        Unscorable: the visit failed or broke off, holds no dialogue, or the patient gave no state; says which.
    """
    opened, ended, revealed = trace.last(Opened), trace.last(Ended), trace.last(Revealed)
    if opened is None or ended is None:
        raise Unscorable("the trace breaks off before the end of the visit", failed=True)
    if ended.reason is End.FAILED:
        failure = trace.last(Failed)
        raise Unscorable(f"the visit failed: {failure.error if failure else 'unknown'}", failed=True)
    turns = tuple(_turns(trace))
    if not turns:
        raise Unscorable("the dialogue is empty" + (": the doctor read the record in one step" * opened.one_step))
    question = revealed.question if revealed else None
    options = question.options if question else {}
    return Dialogue(
        id=opened.case,
        language=opened.presentation.language,
        turns=turns,
        information=information_of(case) if case is not None else None,
        options=dict(options),
        answers=revealed.answers if revealed is not None else (),
        chosen=chosen if chosen is not None else _choice(trace, options),
    )


def _choice(trace: Trace, options: dict[str, str]) -> str | None:
    if (choice := trace.last(Chosen)) is not None:
        return choice.answer
    reported = trace.last(Reported)
    if reported is None or not reported.report.diagnoses:
        return None
    return chosen_by_name(reported.report.diagnoses[0].name, options)


def _turns(trace: Trace) -> Iterable[Turn]:
    by_turn: dict[int, list[Said | Examined]] = {}
    for event in trace:
        if isinstance(event, Said | Examined):
            by_turn.setdefault(event.turn, []).append(event)
    for number, events in sorted(by_turn.items()):
        said = [event for event in events if isinstance(event, Said)]
        doctor = " ".join(event.text for event in said if event.who is Role.DOCTOR)
        replies = [event for event in said if event.who is Role.PATIENT]
        state = State.OPENING if number == 0 else replies[-1].state if replies else State.CONCLUSION
        if state is None:
            raise Unscorable(f"the patient's reply in turn {number} has no state; there are {STATES}")
        heard = (e.text for e in events if isinstance(e, Examined) or e.who is Role.PATIENT)
        yield Turn(doctor, state, "" if state is State.CONCLUSION else " ".join(heard))


def information_of(case: Case) -> str:
    """Returns all that is known of a case's patient, in the order of a record: complaint, history, findings.

    Where the source has it as one text it is that text, as AIE measures by it.
    """
    record = case.record
    if record.vignette:
        return record.vignette
    language = record.presentation.language
    present = record.history.present
    # A vignette begins with its complaint in words of its own; said twice, it would count twice.
    parts = [] if present.strip() else [record.presentation.complaint]
    parts += [text for _, text in record.history.sections()] + read_out(record.findings, language)
    stop, blank = ("。", "") if language == "zh" else (".", " ")
    stripped = [part.strip() for part in parts if part.strip()]
    return blank.join(part if part[-1] in ".。!！?？" else part + stop for part in stripped)
