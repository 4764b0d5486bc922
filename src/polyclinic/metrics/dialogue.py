"""A consultation as the conversation metrics read it: what was said, each turn with its state.

Made from a trace, or read from a file of traces or of recorded dialogues, also in the layout that aie-saps published.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.loaders.fields import read_keys, read_options
from polyclinic.cases.loaders.reader import read_elements
from polyclinic.cases.record import read_out
from polyclinic.errors import BadInput
from polyclinic.events import (
    Chosen,
    Convened,
    End,
    Ended,
    Examined,
    Failed,
    Opened,
    Reported,
    Revealed,
    Role,
    Said,
    State,
    Trace,
)
from polyclinic.language.language import Language, language_of
from polyclinic.metrics.accuracy import chosen_by_name

STATES = ", ".join(State)  # the ten codes, for saying which there are


class Turn(msgspec.Struct, frozen=True):
    """What the doctor said, what that was to the patient, and what came of it."""

    doctor: str  # empty in an opening that is the patient's alone
    state: State
    patient: str = ""  # the patient's reply, and the examiner's where the patient went there; empty without one


class Dialogue(msgspec.Struct, frozen=True, kw_only=True):
    """One consultation, ready to be scored."""

    id: str | int  # the case's id, as its file has it; dialogues of one id are repetitions of one case
    language: Language
    turns: tuple[Turn, ...]  # at least one, the opening first
    information: str | None = None  # all that is known of the patient; None where it is not at hand
    options: dict[str, str] = {}  # the diagnoses to choose from, by key; empty where there are none
    answers: tuple[str, ...] = ()
    chosen: str | None = None  # the key that the doctor chose; None where no answer could be read


class LeftOut(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that is not scored, and why."""

    id: str | int  # the case's id; of a record without one, its place in the file
    problem: str
    metrics: tuple[str, ...] = ()  # which metrics lack it; empty means all
    failed: bool = False  # the visit itself failed: the doctor, patient or endpoint gave no usable answer


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

    The opening is a turn of its own, in which the doctor says nothing, or greets. Results belong to the turn that asked
    for them. The patient's reply to a conclusion is not part of the dialogue; a doctor's last words without a reply are
    a conclusion. `information` needs the case. By default the `chosen` key is that of the trace: the doctor's choice,
    or the option named by the likeliest diagnosis of the report.
    """
    opened, ended, revealed = trace.last(Opened), trace.last(Ended), trace.last(Revealed)
    if opened is None or ended is None:
        raise Unscorable("the trace breaks off before the end of the visit", failed=True)
    if ended.reason is End.FAILED:
        failure = trace.last(Failed)
        raise Unscorable(f"the visit failed: {failure.error if failure else 'unknown'}", failed=True)
    by_turn: dict[int, list[Said | Examined]] = {}
    for event in trace:
        if isinstance(event, Said | Examined):
            by_turn.setdefault(event.turn, []).append(event)
    turns = []
    for number, events in sorted(by_turn.items()):
        said = [event for event in events if isinstance(event, Said)]
        doctor = " ".join(event.text for event in said if event.who is Role.DOCTOR)
        replies = [event for event in said if event.who is Role.PATIENT]
        state = State.OPENING if number == 0 else replies[-1].state if replies else State.CONCLUSION
        if state is None:
            raise Unscorable(f"the patient's reply in turn {number} has no state; there are {STATES}")
        heard = (e.text for e in events if isinstance(e, Examined) or e.who is Role.PATIENT)
        turns.append(Turn(doctor, state, "" if state is State.CONCLUSION else " ".join(heard)))
    if not turns:
        raise Unscorable("the dialogue is empty" + (": the doctor read the record in one step" * opened.one_step))
    question = revealed.question if revealed else None
    options = dict(question.options) if question else {}
    if chosen is None:
        reported = trace.last(Reported)
        if (choice := trace.last(Chosen)) is not None:
            chosen = choice.answer
        elif reported is not None and reported.report.diagnoses:
            chosen = chosen_by_name(reported.report.diagnoses[0].name, options)
    return Dialogue(
        id=opened.case,
        language=opened.presentation.language,
        turns=tuple(turns),
        information=information_of(case) if case is not None else None,
        options=options,
        answers=revealed.answers if revealed is not None else (),
        chosen=chosen,
    )


def information_of(case: Case) -> str:
    """Returns everything known about a patient as one text: complaint, history, findings, or the source's vignette."""
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


_RECORDED = frozenset({"history", "raw_data", "eval_results"})
_SHOWN = 8


def read_dialogues(
    path: str | Path, *, cases: Mapping[str, Case] | None = None
) -> tuple[list[Dialogue], list[LeftOut]]:
    """Reads the dialogues of a file, in order, and what cannot be scored.

    The file is a trace of ours, which needs its cases by id, or has the layout that aie-saps published.
    """
    path, first, unlike = Path(path), None, True
    dialogues: list[Dialogue] = []
    left_out: list[LeftOut] = []
    for element in read_elements(path):
        id: str | int = f"{element.part} {element.number}"
        record: dict[str, Any] = {}
        try:
            record = element.fields()
            if isinstance(named := record.get("id"), str | int) and not isinstance(named, bool):
                id = named
            if first is not None or "event" not in record:
                dialogues.append(from_recorded(record, id))
        except (BadInput, Unscorable) as error:
            left_out.append(LeftOut(id, error.problem, failed=isinstance(error, Unscorable) and error.failed))
        if first is None and "event" in record:
            return _read_traces(path, cases or {})
        first, unlike = first or element, unlike and not _RECORDED & record.keys()
    if first is not None and unlike:
        keys = ", ".join(map(repr, list(first.fields())[:_SHOWN])) or "none"
        raise first.bad(
            f"neither a trace nor a recorded dialogue by the keys that came: {keys}; a trace begins with an 'opened' "
            "event, a recorded dialogue has 'history' and 'raw_data'"
        )
    return dialogues, left_out


def _read_traces(path: Path, cases: Mapping[str, Case]) -> tuple[list[Dialogue], list[LeftOut]]:
    dialogues: list[Dialogue] = []
    left_out: list[LeftOut] = []
    bad: list[BadInput] = []
    for trace in Trace.read(path, bad=bad):
        if trace.last(Convened) is not None:
            continue  # A discussion is no dialogue with a patient; those of its doctors stand before it.
        opened = trace.last(Opened)
        id = opened.case if opened is not None else ""
        try:
            dialogues.append(from_trace(trace, cases.get(id)))
        except Unscorable as error:
            left_out.append(LeftOut(id, error.problem, failed=error.failed))
    if bad and not (dialogues or left_out):
        raise bad[0]
    left_out += (LeftOut(f"line {error.line}", error.problem) for error in bad)
    return dialogues, left_out


class _RecordedTurn(msgspec.Struct):
    doctor: str
    state: State
    patient: str | None = None


def from_recorded(record: Mapping[str, Any], id: str | int) -> Dialogue:
    """Reads a dialogue in the layout of aie-saps' published results: `history`, `raw_data` and `diagnosis`."""
    turns = []
    for number, recorded in enumerate(record.get("history") or (), start=1):
        try:
            turn = msgspec.convert(recorded, _RecordedTurn)
        except msgspec.ValidationError as error:
            raise Unscorable(f"turn {number}: {error}; a turn has 'doctor', 'state' ({STATES}) and 'patient'") from None
        turns.append(Turn(turn.doctor, turn.state, turn.patient or ""))
    if not turns:
        raise Unscorable("the dialogue is empty: 'history' holds no turns")
    raw = record.get("raw_data")
    raw = raw if isinstance(raw, dict) else {}
    information = raw.get("question")
    information = information if isinstance(information, str) and information.strip() else None
    options: dict[str, str] = {}
    with suppress(BadInput):
        options = read_options(raw.get("options"), "$.raw_data.options")
    chosen = record.get("diagnosis")
    return Dialogue(
        id=id,
        language=language_of([information] if information is not None else [turn.patient for turn in turns]),
        turns=tuple(turns),
        information=information,
        options=options,
        answers=read_keys(raw.get("answer_idx"), options),
        chosen=chosen.strip() if isinstance(chosen, str) else None,
    )
