"""A person in the doctor's chair, whose moves come from a page: the same visit as at the terminal, without lines."""

from __future__ import annotations

from typing import Any, Protocol

from polyclinic.errors import ScriptError
from polyclinic.players.human.advice import Adviser
from polyclinic.players.human.doctor import doctor_says
from polyclinic.players.human.moves import ConcludeMove, HintMove, NoteMove, OrderMove, ReportMove, SayMove
from polyclinic.players.player import Ask, DoctorTurn, Purpose
from polyclinic.players.roles.doctor import Doctor

MoveNow = SayMove | OrderMove | ConcludeMove | ReportMove | NoteMove | HintMove
"""A move that is the doctor's to make where it sits."""


class Chair(Protocol):
    """Where a person sits; only moves that fit the purpose come from it."""

    async def next(self, purpose: Purpose, role: Doctor) -> MoveNow:
        """Waits for the next move."""

    async def advise(self, adviser: Adviser, move: HintMove, role: Doctor) -> None:
        """Has a hint told."""


class SeatedDoctor:
    """A mind for the `Doctor` of one visit, by the moves that come from a chair."""

    name = "human"

    def __init__(self, chair: Chair, adviser: Adviser) -> None:
        self._chair, self._adviser = chair, adviser

    async def answer(self, ask: Ask[Any], role: Doctor) -> object:
        """Waits for the move that answers."""
        if ask.purpose not in (Purpose.SPEAK, Purpose.REPORT):
            raise ScriptError(f"a person in the doctor's chair cannot be asked to {ask.purpose}")
        say = doctor_says(role.presentation.language)
        while True:
            match await self._chair.next(ask.purpose, role):
                case SayMove(text=text):
                    return DoctorTurn(text)
                case OrderMove(names=names):
                    return DoctorTurn(say["please"].format(names=say["and"].join(names)))
                case ConcludeMove(text=text):
                    return DoctorTurn(text or say["thanks"], conclude=True)
                case ReportMove() as move:
                    return move.report
                case HintMove() as move:
                    await self._chair.advise(self._adviser, move, role)
