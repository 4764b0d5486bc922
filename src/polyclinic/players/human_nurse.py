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

from polyclinic.errors import ScriptError
from polyclinic.language.language import Language
from polyclinic.players.language_model.mind import describe
from polyclinic.players.player import Ask, Purpose, Triage, Urgency
from polyclinic.players.roles.nurse import Nurse
from polyclinic.terminal.typed import TypedLines
from polyclinic.yaml_files import read_yaml

_ACUITIES: dict[str, Urgency] = {"e": "emergency", "u": "urgent", "r": "routine"}


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

    async def answer(self, ask: Ask[Any], role: Nurse) -> object:
        """Asks the person, until the answer is one; `ScriptError` where nobody answers any more."""
        if ask.purpose is not Purpose.TRIAGE:
            raise ScriptError(f"the nurse triages; it was asked to {ask.purpose}")
        async with self._free:
            return await self._triage(list(ask.among), role)

    async def _triage(self, departments: list[str], role: Nurse) -> Triage:
        say = _says()[role.presentation.language]
        names = [f"{number} {role.departments.get(id, id)}" for number, id in enumerate(departments, start=1)]
        self._show("\n" + say["comes"].format(who=describe(role.presentation)) + "\n" + "  ".join(names) + "\n")
        while True:
            self._show(say["ask"])
            line = await self._read()
            if not line:
                raise ScriptError("nobody answers at the terminal any more")
            words = line.casefold().split()
            if len(words) == 2 and words[0].isdecimal() and words[1] in _ACUITIES:
                number = int(words[0])
                if 1 <= number <= len(departments):
                    return Triage(departments[number - 1], _ACUITIES[words[1]], say["reason"])
            self._show(say["wrong"].format(n=len(departments)) + "\n")


def _show(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


@functools.cache
def _says() -> dict[Language, dict[str, str]]:
    return read_yaml(Path(__file__).with_suffix(".yaml"), dict[Language, dict[str, str]])
