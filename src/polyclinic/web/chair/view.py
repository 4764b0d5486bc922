"""The view of a visit that a player gets before its end: the presentation, what was said and found, never the truth.

It is written field by field, not made from the case or the trace, so that nothing else is sent by accident.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polyclinic.cases.pictures import is_address
from polyclinic.cases.record import Finding, limits_of, side_of
from polyclinic.events import Event, Examined, Said
from polyclinic.metrics.points import HINT_COSTS
from polyclinic.players.human.advice import Rung
from polyclinic.players.player import Purpose
from polyclinic.web.chair.visits import Sitting


def shown_results(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Returns all results of a visit, in the order in which they were first measured.

    `low` and `high` are the ends of the reference range, if known; each value has the doctor's turn in which it came.
    """
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    examined = [event for event in events if isinstance(event, Examined)]
    for event in examined:
        for finding in event.findings:
            low, high = limits_of(finding)
            names = {name: getattr(finding, name) for name in ("examination", "item", "reference")}
            result = {**names, "unit": finding.printed_unit, "low": low, "high": high, "values": []}
            result = found.setdefault((finding.examination, finding.item, finding.unit), result)
            result["values"].append(_value(event.turn, finding))
    return list(found.values())


def _value(turn: int, finding: Finding) -> dict[str, Any]:
    if isinstance(finding.value, str):
        return {"turn": turn, "value": finding.value, "number": None, "side": None}
    low, high = limits_of(finding)
    side = None if low is None and high is None else side_of(finding.value, low, high)
    return {"turn": turn, "value": finding.value_text, "number": finding.value, "side": side}


def view(sitting: Sitting) -> dict[str, Any]:
    """Returns the visit as far as it has come.

    `moves` is the number of moves so far, which the next one is sent with; `next_hint` the next hint at this place.
    """
    events = [event for event in sitting.trace if isinstance(event, Said | Examined)]
    now = {given.hint.rung for given in sitting.hints if given.turn == sitting.turn}
    rung = next((rung for rung in Rung if rung not in now), None) if sitting.played.hints else None
    missing = [name for event in events if isinstance(event, Examined) for name in event.not_recorded]
    return {
        "id": sitting.id,
        "phase": _phase(sitting),
        "problem": sitting.problem,
        "moves": len(sitting.moves),
        "patient": sitting.case.presentation,
        # Neither the file of a picture nor its address is sent: both may name the disease.
        "pictures": [
            {"number": number, "here": not is_address(one.url)}
            for number, one in enumerate(sitting.case.attachments, start=1)
        ],
        "max_turns": sitting.played.max_turns,
        "turns_left": sitting.turns_left,
        "lines": [_line(event) for event in events],
        "results": shown_results(sitting.trace),
        "not_recorded": list(dict.fromkeys(missing)),
        "differential": sitting.notes,
        "hints": sitting.hints,
        "next_hint": rung,
        "hint_cost": 0 if rung is None else HINT_COSTS[rung],
        "undo": sitting.played.undo,
        "taken_back": sitting.taken_back,
        "with_examiner": sitting.case.setting == "ward",
    }


def _phase(sitting: Sitting) -> str:
    if sitting.is_over:
        return "over"
    if sitting.problem:
        return "failed"
    return "report" if sitting.purpose is Purpose.REPORT else "talk"


def _line(event: Said | Examined) -> dict[str, Any]:
    if isinstance(event, Said):
        return {"turn": event.turn, "who": event.who.value, "to": event.to.value, "text": event.text}
    return {"turn": event.turn, "who": "examiner", "to": "doctor", "text": event.text}
