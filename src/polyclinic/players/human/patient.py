"""A person as the patient: sees what the patient knows, and says what it says."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from polyclinic.errors import ScriptError
from polyclinic.events import Role
from polyclinic.players.human.desk import Desk, DeskSeat
from polyclinic.players.language_model.mind import describe, known_lines
from polyclinic.players.player import Ask, PatientTurn, Purpose
from polyclinic.players.roles.patient import Patient

_COMMANDS = ("undo", "leave", "to examiner", "go")


class HumanPatient:
    """A mind for the `Patient` of one visit; the `seat` names the role in the visit."""

    name = "human"

    def __init__(self, desk: Desk, seat: str) -> None:
        self._place = DeskSeat(desk, seat, Path(__file__).with_suffix(".yaml"), _COMMANDS)
        self._knows_who_it_is = False

    async def answer(self, ask: Ask[Any], role: Patient) -> PatientTurn:
        """Asks the person, until something is said."""
        if ask.purpose not in (Purpose.OPEN, Purpose.REPLY):
            raise ScriptError(f"a person at the terminal cannot be asked to {ask.purpose}")
        say = self._place.says(role.presentation.language)
        async with self._place.taken():
            show = self._place.show
            if not self._knows_who_it_is:
                show("\n" + say["are"].format(who=describe(role.presentation)))
                for line in known_lines(role.history, role.findings, role.presentation.language):
                    show(f"  {line}")
                show(say["help"])
            self._knows_who_it_is = True
            self._place.show_events(role, Role.PATIENT, say)
            while True:
                line, command = await self._place.read(say["you"], say, partial(self._unclear, say=say))
                if command == "to examiner":
                    return PatientTurn(line or say["request"], to="examiner")
                if command == "go":
                    return PatientTurn(line or say["goodbye"], leave=True)
                if line and not command:
                    return PatientTurn(line)

    def _unclear(self, line: str, *, say: dict[str, str]) -> str:
        """Returns what is said of a line that says nothing and is no command; "" if it does or is one."""
        if command := self._place.command(line)[1]:
            return "" if command in _COMMANDS else say["help"]
        return self._place.without_sign(line, say) if line else say["help"]
