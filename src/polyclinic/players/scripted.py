"""The scripted mind: answers from a list, a table or a function. For tests, and for players recorded elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from polyclinic.errors import ScriptError
from polyclinic.players.player import Ask, DoctorTurn, PatientTurn, Purpose

Script = Iterable[object] | Mapping[str, Iterable[object]] | Callable[[Ask[Any], Any], object]


class Scripted:
    """Answers what its script says.

    Args:
        script: answers in the order in which they are asked for; or, by purpose (`speak`, `report`, ...), a list each;
            or a function of (ask, role). A text stands for a turn that says it; a dict or an object for the answer.
        name: how it is called in traces.
    """

    def __init__(self, script: Script, *, name: str = "scripted") -> None:
        self._name = name
        self._function = script if callable(script) else None
        self._answers: dict[str, list[object]] = {}
        if isinstance(script, Mapping):
            self._answers = {str(purpose): list(answers) for purpose, answers in script.items()}
        elif not callable(script):
            self._answers = {"": list(script)}
        self._asked: dict[str, int] = {}

    @property
    def name(self) -> str:
        """How it is called in traces."""
        return self._name

    async def answer(self, ask: Ask[Any], role: object) -> object:
        """Answers the next thing of the script.

        Raises:
            ScriptError: the script is spent, or holds nothing for this purpose.
        """
        if self._function is not None:
            return _turn(ask, self._function(ask, role))
        key = "" if "" in self._answers else str(ask.purpose)
        asked = self._asked.get(key, 0)
        answers = self._answers.get(key)
        if answers is None:
            held = ", ".join(sorted(self._answers)) or "nothing"
            raise ScriptError(f"asked to {ask.purpose}, and the script holds answers for {held} only")
        if asked >= len(answers):
            raise ScriptError(f"asked to {ask.purpose}, and the script of {len(answers)} answers is spent")
        self._asked[key] = asked + 1
        return _turn(ask, answers[asked])


def _turn(ask: Ask[Any], answer: object) -> object:
    if isinstance(answer, str) and ask.purpose is Purpose.SPEAK:
        return DoctorTurn(say=answer)
    if isinstance(answer, str) and ask.purpose in (Purpose.OPEN, Purpose.REPLY):
        return PatientTurn(say=answer)
    return answer
