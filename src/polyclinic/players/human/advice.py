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


class Adviser:
    """Gives hints in one visit; knows what the doctor knows, and nothing else."""

    def __init__(self, mind: Mind[Doctor]) -> None:
        self._mind = mind

    async def hint(self, rung: Rung, role: Doctor) -> Hint:
        """Returns a hint for what is known now."""
        if rung is Rung.DISEASES:
            report = REPORT.check(await self._mind.answer(REPORT, role))
            named = (*report.diagnoses, *report.differential)
            return Hint(rung=rung, diseases=named[:_DISEASES])
        turn = SPEAK.check(await self._mind.answer(SPEAK, role))
        if rung is Rung.TURN:
            return Hint(rung=rung, turn=turn.say, step="conclude" if turn.conclude else "")
        asks = turn.say.rstrip().endswith(("?", "？"))
        return Hint(rung=rung, step="conclude" if turn.conclude else "ask" if asks else "order")
