"""A person as the nurse, at the terminal: one patient after the other, whatever else goes on at once.

What is shown goes to standard error and the answers come from standard input, so that a run's results stay by
themselves on standard output.
"""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from polyclinic.cases.record import read_out
from polyclinic.errors import ScriptError
from polyclinic.knowledge.acuity import Level
from polyclinic.language.language import Language
from polyclinic.players.language_model.mind import describe
from polyclinic.players.player import Ask, Purpose, Triage, Urgency
from polyclinic.players.roles.nurse import Nurse
from polyclinic.terminal.typed import TypedLines
from polyclinic.yaml_files import read_yaml

_ACUITIES: dict[str, Urgency] = {"e": "emergency", "u": "urgent", "r": "routine"}
_LEVELS: dict[str, Level] = {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5}


class HumanNurse:
    """A mind for `Nurse`; one for a whole run, as there is one person.

    `read` waits for the next line, and gives "" where there is none any more.
    """

    name = "human"

    def __init__(
        self, read: Callable[[], Awaitable[str]] | None = None, show: Callable[[str], None] | None = None
    ) -> None:
        self._read, self._show = read or TypedLines().read, show or _show
        self._free = asyncio.Lock()
        self._before: Nurse | None = None

    async def answer(self, ask: Ask[Any], role: Nurse) -> object:
        """Asks the person, until the answer is a judgement or a question to the patient.

        Raises:
            ScriptError: nobody answers any more.
        """
        if ask.purpose is not Purpose.TRIAGE:
            raise ScriptError(f"the nurse triages; it was asked to {ask.purpose}")
        async with self._free:
            return await self._triage(list(ask.among), role)

    async def _triage(self, departments: list[str], role: Nurse) -> Triage:
        language = role.presentation.language
        say, left = _says()[language], role.questions_left()
        names = [f"{number} {role.departments.get(id, id)}" for number, id in enumerate(departments, start=1)]
        told = [say["told"].format(asked=asked, told=answered) for asked, answered in role.exchanges()]
        if self._before is role:
            self._show(told[-1] + "\n")
        else:
            # Somebody else may have come while this patient answered.
            self._before = role
            self._show("\n" + say["comes"].format(who=describe(role.presentation)) + "\n")
            if measured := "\n".join(read_out(role.vital_signs(), language)):
                self._show(measured + "\n")
            self._show("".join(f"{line}\n" for line in told) + "  ".join(names) + "\n")
        while True:
            self._show((say["may ask"].format(left=left) if left > 0 else "") + say["ask"])
            line = await self._read()
            if not line:
                raise ScriptError("nobody answers at the terminal any more")
            if left > 0 and line.strip().endswith(("?", "？")):
                # What stands beside a question counts for nothing: it is asked again before it could.
                return Triage(departments[0], "emergency", say["reason"], ask=line.strip())
            words = line.casefold().split()
            if len(words) == 2 and words[0].isdecimal() and 1 <= int(words[0]) <= len(departments):
                department = departments[int(words[0]) - 1]
                if words[1] in _ACUITIES:
                    return Triage(department, _ACUITIES[words[1]], say["reason"])
                if words[1] in _LEVELS:
                    return Triage.at(_LEVELS[words[1]], department, say["reason"])
            self._show(say["wrong"].format(n=len(departments)) + "\n")


def _show(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


@functools.cache
def _says() -> dict[Language, dict[str, str]]:
    return read_yaml(Path(__file__).with_suffix(".yaml"), dict[Language, dict[str, str]])
