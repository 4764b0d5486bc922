"""A person as the nurse, at the terminal: one patient after the other, whatever else goes on at once.

What is shown goes to standard error and the answers come from standard input, so that a run's results stay by
themselves on standard output.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from polyclinic.errors import ScriptError
from polyclinic.language.language import Language
from polyclinic.players.language_model.mind import describe
from polyclinic.players.player import Ask, Purpose, Triage, Urgency
from polyclinic.players.roles.nurse import Nurse

_ACUITIES: dict[str, Urgency] = {"e": "emergency", "u": "urgent", "r": "routine"}

_SAYS: dict[Language, dict[str, str]] = {
    "en": {
        "comes": "Somebody comes to you: {who}",
        "ask": "Department and urgency (e emergency, u urgent, r routine), such as 1 r: ",
        "wrong": "That is no answer: a number from 1 to {n} and one of e, u, r.",
        "reason": "as a person judged it",
    },
    "zh": {
        "comes": "有人来就诊：{who}",
        "ask": "科室和紧急程度（e 危重，u 紧急，r 普通），例如 1 r：",
        "wrong": "无法识别：请输入1到{n}的数字，以及e、u、r之一。",
        "reason": "由人判断",
    },
}


class HumanNurse:
    """A mind for `Nurse`; one for a whole run, as there is one person.

    Args:
        read: waits for the next line; "" where there is none any more. Standard input by default.
        show: shows a text. Standard error by default.
    """

    name = "human"

    def __init__(
        self, read: Callable[[], Awaitable[str]] | None = None, show: Callable[[str], None] | None = None
    ) -> None:
        self._read, self._show = read or _Terminal().read, show or _show
        self._free: asyncio.Lock | None = None

    async def answer(self, ask: Ask[Any], role: Nurse) -> object:
        """Asks the person, until the answer is one.

        Raises:
            ScriptError: it is asked for something else, or nobody answers any more.
        """
        if ask.purpose is not Purpose.TRIAGE:
            raise ScriptError(f"the nurse triages; it was asked to {ask.purpose}")
        if self._free is None:
            self._free = asyncio.Lock()
        async with self._free:
            return await self._triage(list(ask.among), role)

    async def _triage(self, departments: list[str], role: Nurse) -> Triage:
        say = _SAYS[role.presentation.language]
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


class _Terminal:
    """Standard input, read without holding up what else goes on."""

    def __init__(self) -> None:
        self._reader: asyncio.StreamReader | None = None
        self._is_file = False

    async def read(self) -> str:
        """Returns the next line; "" at the end."""
        if self._reader is None and not self._is_file:
            await self._open()
        if self._reader is None:
            return sys.stdin.readline()
        return (await self._reader.readline()).decode(errors="replace")

    async def _open(self) -> None:
        reader = asyncio.StreamReader()
        try:
            await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        except ValueError:
            # A file answers at once; only pipes and terminals can be waited for.
            self._is_file = True
        else:
            self._reader = reader
