"""What a player receives before the end: the presentation, what was said and found, and nothing of the truth.

It is written field by field, not made from the case or the trace, so that nothing else is sent by accident.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from polyclinic.cases.pictures import is_address
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding
from polyclinic.evaluations.visit_score import NotedDifferential
from polyclinic.events import Event, Examined, Said
from polyclinic.metrics.points import HINT_COSTS
from polyclinic.metrics.reasoning import Side, reference_ends, side_of
from polyclinic.players.human.advice import Rung
from polyclinic.players.player import Purpose
from polyclinic.web.chair.visits import GivenHint, Sitting


class ResultAt(msgspec.Struct, frozen=True, kw_only=True):
    """A value, and the doctor's turn in which it came."""

    turn: int
    value: str
    number: float | None = None
    side: Side | None = None


class ShownResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at, and every value of it; `low` and `high` are the ends of its reference range, where known."""

    examination: str
    item: str
    unit: str
    reference: str
    low: float | None
    high: float | None
    values: tuple[ResultAt, ...]


def shown_results(events: Iterable[Event]) -> list[ShownResult]:
    """Returns all results of a visit, in the order in which they were first measured."""
    found: dict[tuple[str, str, str], tuple[Finding, list[ResultAt]]] = {}
    for event in events:
        if isinstance(event, Examined):
            for finding in event.findings:
                _, values = found.setdefault((finding.examination, finding.item, finding.unit), (finding, []))
                values.append(_at(event.turn, finding))
    return [
        ShownResult(
            examination=first.examination,
            item=first.item,
            unit=first.printed_unit,
            reference=first.reference,
            low=reference_ends(first.reference)[0],
            high=reference_ends(first.reference)[1],
            values=tuple(values),
        )
        for first, values in found.values()
    ]


def _at(turn: int, finding: Finding) -> ResultAt:
    if isinstance(finding.value, str):
        return ResultAt(turn=turn, value=finding.value)
    low, high = reference_ends(finding.reference)
    side = None if low is None and high is None else side_of(finding.value, low, high)
    return ResultAt(turn=turn, value=finding.value_text, number=finding.value, side=side)


Phase = Literal["talk", "report", "over", "failed"]


class SpokenLine(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was said, or read out by the examiner."""

    turn: int
    who: str
    to: str
    text: str


class CasePicture(msgspec.Struct, frozen=True, kw_only=True):
    """A picture that belongs to the case: `here` where it can be asked for, else it lies at an address elsewhere.

    Neither its file nor its address is sent: both may name the disease.
    """

    number: int
    here: bool


class SittingView(msgspec.Struct, frozen=True, kw_only=True):
    """A visit as far as it has come.

    Attributes:
        moves: how many were made; the next one is sent with this number.
        next_hint: what the next hint at this place would be; None where there is none.
        hint_cost: points that it costs.
        not_recorded: what was ordered, but is not in the record.
    """

    id: str
    phase: Phase
    problem: str
    moves: int
    patient: Presentation
    pictures: tuple[CasePicture, ...]
    max_turns: int
    turns_left: int
    lines: tuple[SpokenLine, ...]
    results: tuple[ShownResult, ...]
    not_recorded: tuple[str, ...]
    differential: tuple[NotedDifferential, ...]
    hints: tuple[GivenHint, ...]
    next_hint: Rung | None
    hint_cost: int
    undo: bool
    taken_back: int
    with_examiner: bool


def view(sitting: Sitting) -> SittingView:
    """Returns what the player may see."""
    said = [event for event in sitting.trace if isinstance(event, Said | Examined)]
    now = {given.hint.rung for given in sitting.hints if given.turn == sitting.turn}
    rung = next((rung for rung in Rung if rung not in now), None) if sitting.played.hints else None
    missing = [name for event in said if isinstance(event, Examined) for name in event.not_recorded]
    return SittingView(
        id=sitting.id,
        phase=_phase(sitting),
        problem=sitting.problem,
        moves=len(sitting.moves),
        patient=sitting.case.presentation,
        pictures=tuple(
            CasePicture(number=number, here=not is_address(one.url))
            for number, one in enumerate(sitting.case.attachments, start=1)
        ),
        max_turns=sitting.played.max_turns,
        turns_left=sitting.turns_left,
        lines=tuple(_line(event) for event in said),
        results=tuple(shown_results(sitting.trace)),
        not_recorded=tuple(dict.fromkeys(missing)),
        differential=tuple(sitting.notes),
        hints=tuple(sitting.hints),
        next_hint=rung,
        hint_cost=0 if rung is None else HINT_COSTS[rung],
        undo=sitting.played.undo,
        taken_back=sitting.taken_back,
        with_examiner=sitting.case.setting == "ward",
    )


def _phase(sitting: Sitting) -> Phase:
    if sitting.is_over:
        return "over"
    if sitting.problem:
        return "failed"
    return "report" if sitting.purpose is Purpose.REPORT else "talk"


def _line(event: Said | Examined) -> SpokenLine:
    if isinstance(event, Said):
        return SpokenLine(turn=event.turn, who=event.who.value, to=event.to.value, text=event.text)
    return SpokenLine(turn=event.turn, who="examiner", to="doctor", text=event.text)
