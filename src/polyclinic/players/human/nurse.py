"""A person as the nurse, at the desk: one patient after the other, whatever else goes on at once.

What is shown goes to standard error and the answers come from standard input, so that a run's results stay by
themselves on standard output.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from polyclinic.cases.record import read_out
from polyclinic.errors import ScriptError
from polyclinic.knowledge.acuity import Level
from polyclinic.players.human.desk import Desk, DeskSeat
from polyclinic.players.language_model.mind import describe
from polyclinic.players.player import Ask, Purpose, Triage, Urgency
from polyclinic.players.roles.staff import Nurse

_HELP = ("/help", "help", "/帮助", "帮助", "?", "？", "/?")
_ACUITIES: dict[str, Urgency] = {"e": "emergency", "u": "urgent", "r": "routine"}
_LEVELS: dict[str, Level] = {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5}


class HumanNurse:
    """A mind for the `Nurse` who receives one patient.

    Args:
        desk: where the person sits, which is one for a whole run.
        seat: names the patient's visit.
    """

    name = "human"

    def __init__(self, desk: Desk, seat: str) -> None:
        self._desk, self._place = desk, DeskSeat(desk, seat, Path(__file__).with_suffix(".yaml"), ("undo", "leave"))

    async def answer(self, ask: Ask[Any], role: Nurse) -> object:
        """Asks the person, until the answer is a judgement or a question to the patient."""
        if ask.purpose is not Purpose.TRIAGE:
            raise ScriptError(f"the nurse triages; it was asked to {ask.purpose}")
        async with self._place.taken() as goes_on:
            triage = await self._triage(list(ask.among), role, goes_on=goes_on)
            if triage.ask:
                self._desk.wait_for_answer()
            else:
                self._desk.stand_up()
            return triage

    async def _triage(self, departments: list[str], role: Nurse, *, goes_on: bool) -> Triage:
        language = role.presentation.language
        say, left, show = self._place.says(language), role.questions_left(), self._place.show
        names = [f"{number} {role.departments.get(id, id)}" for number, id in enumerate(departments, start=1)]
        told = [say["told"].format(asked=asked, told=answered) for asked, answered in role.exchanges()]
        if goes_on:
            show(told[-1])
        else:
            show("\n" + say["comes"].format(who=describe(role.presentation)))
            for line in (*read_out(role.vital_signs(), language), *told, "  ".join(names)):
                show(line)
        while True:
            if self._desk.is_first("how the nurse answers"):
                prompt = (say["may ask"].format(left=left) if left > 0 else "") + say["ask"]
            else:
                prompt = say["asked" if left > 0 else "asked last"].format(left=left)
            line, command = await self._place.read(
                prompt, say, lambda _: "", is_answer=lambda line: line.casefold() not in _HELP
            )
            if command in _HELP or line.casefold() in _HELP:
                show(say["help"])
                continue
            if left > 0 and line.endswith(("?", "？")):
                # What stands beside a question counts for nothing: it is asked again before it could.
                return Triage(departments[0], "emergency", say["reason"], ask=line)
            words = line.casefold().split()
            if len(words) == 2 and words[0].isdecimal() and 1 <= int(words[0]) <= len(departments):
                department = departments[int(words[0]) - 1]
                if words[1] in _ACUITIES:
                    return Triage(department, _ACUITIES[words[1]], say["reason"])
                if words[1] in _LEVELS:
                    return Triage.at(_LEVELS[words[1]], department, say["reason"])
            show(say["wrong"].format(n=len(departments)))
