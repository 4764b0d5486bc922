"""What a doctor by rules would do, told to a person who plays, a rung of a ladder after the other."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from polyclinic.cases.report import Diagnosis
from polyclinic.players.player import REPORT, SPEAK, Mind
from polyclinic.players.roles.doctor import Doctor

_DISEASES = 3


class Rung(StrEnum):
    """How much a hint tells: what to do now, how, or what to think of."""

    STEP = "step"
    TURN = "turn"
    DISEASES = "diseases"


class Hint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A hint."""

    rung: Rung
    step: str = ""  # what to do next: `ask`, `order` or `conclude`
    turn: str = ""  # what the adviser would say
    diseases: tuple[Diagnosis, ...] = ()  # what it thinks of, the likeliest first


async def give_hint(adviser: Mind[Doctor], rung: Rung, role: Doctor) -> Hint:
    """Returns a hint of an adviser, who knows what the doctor knows now, and nothing else."""
    if rung is Rung.DISEASES:
        report = REPORT.check(await adviser.answer(REPORT, role))
        return Hint(rung=rung, diseases=(*report.diagnoses, *report.differential)[:_DISEASES])
    turn = SPEAK.check(await adviser.answer(SPEAK, role))
    if rung is Rung.TURN:
        return Hint(rung=rung, turn=turn.say, step="conclude" if turn.conclude else "")
    asks = turn.say.rstrip().endswith(("?", "？"))
    return Hint(rung=rung, step="conclude" if turn.conclude else "ask" if asks else "order")
