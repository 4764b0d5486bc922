"""The view of a visit that a player gets before its end: the presentation, what was said and found, never the truth.

It is written field by field, not made from the case or the trace, so that nothing else is sent by accident.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polyclinic.cases.pictures import is_address
from polyclinic.cases.record import limits_of, side_of
from polyclinic.events import Event, Examined, Role, Said
from polyclinic.metrics.points import HINT_COSTS
from polyclinic.players.human.advice import Rung
from polyclinic.players.player import Purpose
from polyclinic.web.chair.visits import Sitting


def shown_results(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Returns the results of a visit by item, each value with the doctor's turn, and the reference range if known."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    examined = [event for event in events if isinstance(event, Examined)]
    for event in examined:
        for finding in event.findings:
            low, high = limits_of(finding)
            names = {name: getattr(finding, name) for name in ("examination", "item", "reference")}
            result = {**names, "unit": finding.printed_unit, "low": low, "high": high, "values": []}
            result = found.setdefault((finding.examination, finding.item, finding.unit), result)
            number = None if isinstance(finding.value, str) else finding.value
            side = None if number is None or (low is None and high is None) else side_of(number, low, high)
            told = {"turn": event.turn, "value": finding.value_text, "number": number, "side": side}
            result["values"].append(told)
    return list(found.values())


def view(sitting: Sitting) -> dict[str, Any]:
    """Returns the visit as far as it has come; `moves` is sent with the next move."""
    events = [event for event in sitting.trace if isinstance(event, Said | Examined)]
    now = {given.hint.rung for given in sitting.hints if given.turn == sitting.turn}
    rung = next((rung for rung in Rung if rung not in now), None) if sitting.played.hints else None
    phases = {
        "over": sitting.is_over,
        "failed": sitting.problem,
        "report": sitting.purpose is Purpose.REPORT,
        "talk": True,
    }
    missing = [name for event in events if isinstance(event, Examined) for name in event.not_recorded]
    return {
        "id": sitting.id,
        "phase": next(name for name, is_so in phases.items() if is_so),
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
        "lines": [
            {"turn": event.turn, "who": who, "to": to, "text": event.text}
            for event in events
            for who, to in [(event.who, event.to) if isinstance(event, Said) else (Role.EXAMINER, Role.DOCTOR)]
        ],
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
