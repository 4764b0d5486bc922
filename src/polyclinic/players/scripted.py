"""The scripted mind: answers from a list, a table or a function. For tests, and for players recorded elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.errors import BadInput, ScriptError
from polyclinic.files import check_file, decode
from polyclinic.opened_files import read_at_once
from polyclinic.players.onward import NextStep
from polyclinic.players.own_mind import turn_of
from polyclinic.players.player import Ask, Purpose

Script = Iterable[object] | Mapping[str, Iterable[object]] | Callable[[Ask[Any], Any], object]


class ScriptedMind:
    """Answers what its script says.

    Args:
        script: answers in the order in which they are asked for; or, by purpose (`speak`, `report`, ...), a list each;
            or a function of (ask, role). A text stands for a turn that says it; a dict or an object for the answer. By
            purpose, a script without the next step of a hospital's patient concludes.
    """

    def __init__(self, script: Script, *, name: str = "scripted") -> None:
        self.name = name
        self._function = script if callable(script) else None
        listed = script if isinstance(script, Mapping) else {} if callable(script) else {"": script}
        self._answers = {str(purpose): list(answers) for purpose, answers in listed.items()}
        self._asked: Counter[str] = Counter()

    async def answer(self, ask: Ask[Any], role: object) -> object:
        """Answers the next thing of the script; `ScriptError` where it is spent, or holds nothing for this purpose."""
        if self._function is not None:
            return turn_of(ask, self._function(ask, role))
        key = "" if "" in self._answers else str(ask.purpose)
        asked = self._asked[key]
        answers = self._answers.get(key)
        if answers is None and ask.purpose is Purpose.NEXT_STEP:
            # Who wrote down a consultation alone has the patient treated where it is.
            return NextStep(reason="")
        if answers is None:
            held = ", ".join(sorted(self._answers)) or "nothing"
            raise ScriptError(f"asked to {ask.purpose}, and the script holds answers for {held} only")
        if asked >= len(answers):
            raise ScriptError(f"asked to {ask.purpose}, and the script of {len(answers)} answers is spent")
        self._asked[key] += 1
        said = turn_of(ask, answers[asked])
        return ask.read(said) if isinstance(said, msgspec.Struct) else said


def read_script(path: Path) -> Script:
    """Reads a script's file.

    Raises:
        BadInput: it is none.
    """
    check_file(path)
    problem = "a script is a JSON list of answers, or an object with such a list for each purpose (open, speak, ...)"
    try:
        return msgspec.json.decode(decode(read_at_once(path), path=path), type=list[Any] | dict[str, list[Any]])
    except msgspec.ValidationError:
        raise BadInput(problem, path=path) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadInput(f"{problem}; this is not JSON: {error}", path=path) from None
