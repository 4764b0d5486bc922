"""A person as the patient: sees what the patient knows, and says what it says."""

from __future__ import annotations

import functools
from functools import partial
from pathlib import Path
from typing import Any

from polyclinic.errors import ScriptError
from polyclinic.events import Examined, Role, Said
from polyclinic.language.language import Language
from polyclinic.players.human.desk import Desk, LineTakenBack, ShownBefore, without_sign
from polyclinic.players.language_model.mind import describe, known_lines
from polyclinic.players.player import Ask, PatientTurn, Purpose
from polyclinic.players.roles.patient import Patient
from polyclinic.yaml_files import read_yaml

_COMMANDS = ("undo", "leave", "to examiner", "go")


class HumanPatient:
    """A mind for the `Patient` of one visit; the `seat` names the role in the visit."""

    name = "human"

    def __init__(self, desk: Desk, seat: str) -> None:
        self._desk, self._seat = desk, seat
        self._told = ShownBefore(desk, seat)
        self._shown = 0
        self._knows_who_it_is = False

    async def answer(self, ask: Ask[Any], role: Patient) -> PatientTurn:
        """Asks the person, until something is said.

        Raises:
            PersonLeft: the person goes, to come back, or nobody answers any more.
            LineTakenBack: the person takes back the last line.
        """
        if ask.purpose not in (Purpose.OPEN, Purpose.REPLY):
            raise ScriptError(f"a person at the terminal cannot be asked to {ask.purpose}")
        say = _says()[role.presentation.language]
        async with self._desk.at(self._seat):
            again = self._desk.is_playing_again(self._seat)
            show = partial(self._told.show, quiet=again)
            if not self._knows_who_it_is:
                show("\n" + say["are"].format(who=describe(role.presentation)))
                for line in known_lines(role.history, role.findings, role.presentation.language):
                    show(f"  {line}")
                show(say["help"])
            self._knows_who_it_is = True
            for event in role.seen[self._shown :]:
                if isinstance(event, Said) and event.to is Role.PATIENT:
                    show(f"{say[event.who.value]}: {event.text}")
                elif isinstance(event, Examined):
                    show(f"{say['examiner']}: {event.text}")
            self._shown = len(role.seen)
            while True:
                if (turn := await self._turn(say)) is not None:
                    return turn

    async def _turn(self, say: dict[str, str]) -> PatientTurn | None:
        again = self._desk.is_playing_again(self._seat)
        objection = partial(_unclear, say=say)
        if not again:
            self._told.catch_up()
        line = await self._desk.heard(self._seat, say["you"], objection)
        command, _, rest = line.removeprefix("/").partition(" ") if line.startswith("/") else ("", "", line)
        if command in ("undo", say["undo"]):
            raise LineTakenBack(line, self._seat)
        if command in ("leave", say["leave"]):
            raise self._desk.left()
        if again:
            self._told.typed(say["you"], line)
        else:
            self._desk.keep(self._seat, line)
        rest = rest.strip()
        if command in ("examiner", say["to examiner"]):
            return PatientTurn(rest or say["request"], to="examiner")
        if command in ("go", say["go"]):
            return PatientTurn(rest or say["goodbye"], leave=True)
        return None if command or not rest else PatientTurn(rest)


def _unclear(line: str, *, say: dict[str, str]) -> str:
    """Returns what is said of a line that says nothing and is no command; "" where it does or is one."""
    if not line.startswith("/"):
        return without_sign(line, say, _COMMANDS) if line else say["help"]
    command = line.removeprefix("/").partition(" ")[0]
    known = {"undo", "leave", "examiner", "go", say["undo"], say["leave"], say["to examiner"], say["go"]}
    return "" if command in known else say["help"]


@functools.cache
def _says() -> dict[Language, dict[str, str]]:
    return read_yaml(Path(__file__).with_suffix(".yaml"), dict[Language, dict[str, str]])
