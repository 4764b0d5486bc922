"""Reads files of dialogues: traces of ours, and the layout that aie-saps published its dialogues in."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from polyclinic.cases.case import Case
from polyclinic.cases.loaders.choices import read_keys, read_options
from polyclinic.cases.loaders.reader import Element, read_elements
from polyclinic.errors import BadInput
from polyclinic.events import Convened, Opened, State, Trace
from polyclinic.language.language import language_of
from polyclinic.metrics.dialogue import STATES, Dialogue, LeftOut, Turn, Unscorable, from_trace

_RECORDED = frozenset({"history", "raw_data", "eval_results"})
_CODES = frozenset(map(str, State))
_SHOWN = 8


def read_dialogues(
    path: str | Path, *, cases: Mapping[str, Case] | None = None
) -> tuple[list[Dialogue], list[LeftOut]]:
    """Reads the dialogues of a file, in its order, and what of it cannot be scored; the first record tells the layout.

    It is a trace of ours, or what aie-saps published. All that is known of the patient stands not in a trace but in
    the cases, given by id.

    Raises:
        BadInput: the file cannot be read, or is in neither layout.
    """
    path = Path(path)
    dialogues: list[Dialogue] = []
    left_out: list[LeftOut] = []
    first: Element | None = None
    n = unlike = 0
    for element in read_elements(path):
        n += 1
        if first is None:
            first = element
            if _is_event(element):
                return _read_traces(path, cases or {})
        id: str | int = f"{element.part} {element.number}"
        try:
            record = element.fields()
            if isinstance(named := record.get("id"), str | int) and not isinstance(named, bool):
                id = named
            if not _RECORDED & record.keys():
                unlike += 1
            dialogues.append(from_recorded(record, id))
        except BadInput as error:
            unlike += 1
            left_out.append(LeftOut(id, error.problem))
        except Unscorable as error:
            left_out.append(LeftOut(id, error.problem, failed=error.failed))
    if first is not None and unlike == n:
        keys = ", ".join(map(repr, list(first.fields())[:_SHOWN])) or "none"
        raise first.bad(
            f"neither a trace nor a recorded dialogue by the keys that came: {keys}; a trace begins with an 'opened' "
            "event, a recorded dialogue has 'history' and 'raw_data'"
        )
    return dialogues, left_out


def _is_event(element: Element) -> bool:
    try:
        return "event" in element.fields()
    except BadInput:
        return False


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


def from_recorded(record: Mapping[str, Any], id: str | int) -> Dialogue:
    """Reads a dialogue in the layout of aie-saps' published results.

    It has `history` with `doctor`, `state` and `patient`; `raw_data` with `question`, `options` and `answer_idx`;
    `diagnosis`, the key that was chosen.

    Raises:
        Unscorable: no turns, or a turn without words or without one of the ten states; names the turn.
    """
    history = record.get("history")
    if not isinstance(history, list) or not history:
        raise Unscorable("the dialogue is empty: 'history' holds no turns")
    turns = tuple(_read_turn(turn, number) for number, turn in enumerate(history, start=1))
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
        turns=turns,
        information=information,
        options=options,
        answers=read_keys(raw.get("answer_idx"), options),
        chosen=chosen.strip() if isinstance(chosen, str) else None,
    )


def _read_turn(turn: Any, number: int) -> Turn:
    if not isinstance(turn, dict):
        raise Unscorable(f"turn {number} is not an object with 'doctor', 'state' and 'patient'")
    doctor, patient, state = turn.get("doctor"), turn.get("patient", ""), turn.get("state")
    if not isinstance(doctor, str) or not isinstance(patient, str | None):
        raise Unscorable(f"turn {number} has no text under {'doctor' if not isinstance(doctor, str) else 'patient'!r}")
    if state is None or state == "":
        raise Unscorable(f"turn {number} has no state; there are {STATES}")
    if not isinstance(state, str) or state not in _CODES:
        raise Unscorable(f"turn {number} has the unknown state {str(state)[:40]!r}; there are {STATES}")
    return Turn(doctor, State(state), patient or "")
