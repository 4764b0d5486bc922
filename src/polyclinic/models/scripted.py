"""The scripted door: answers that were written down before. It raises on what was not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from polyclinic.errors import BadInput, ScriptError
from polyclinic.files import check_file, decode
from polyclinic.models.answers import Completion, ask_until_read
from polyclinic.models.model import Answer, Messages, Reply
from polyclinic.models.schema import Form

Script = Sequence[Any] | Mapping[str, Any] | Callable[[list[tuple[str, Any]]], Any]


class Scripted:
    """A model that says what its script says.

    Args:
        script: a list (said in order), a mapping from the text of the last message, or a function of the messages as
            (role, what was said). Text is said as it is, an exception is raised, anything else is said as JSON.
        name: its name in results.
        repairs: how often an answer that cannot be read is asked for again; each time takes another entry of a list.

    Raises:
        ScriptError: when asked for what the script does not hold.
    """

    def __init__(self, script: Script, *, name: str = "scripted", repairs: int = 0) -> None:
        self.name = name
        self._script: Mapping[str, Any] | Callable[[list[tuple[str, Any]]], Any] | None = None
        self._lines: Iterator[Any] = iter(())
        if callable(script) or isinstance(script, Mapping):
            self._script = script
        else:
            self._lines = iter(list(script))
        self._repairs = repairs
        self.asked = 0

    @classmethod
    def read(cls, path: Path, *, repairs: int = 0) -> Scripted:
        """Reads a script from a JSON file that holds a list or an object.

        Raises:
            BadInput: the file cannot be read, or holds something else.
        """
        check_file(path)
        try:
            script = msgspec.json.decode(decode(path.read_bytes(), path=path), type=list[Any] | dict[str, Any])
        except msgspec.DecodeError as error:
            raise BadInput(f"a script is a JSON list or object ({error})", path=path) from None
        return cls(script, name=f"scripted/{path.name}", repairs=repairs)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def ask(
        self,
        messages: Messages,
        *,
        answer: Answer = None,
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        reasoning: str | None = None,
        seed: int | None = None,
        purpose: str = "",
    ) -> Reply:
        """Answers from the script; see `Model.ask`."""
        del temperature, top_p, max_tokens, reasoning, seed
        self.asked += 1
        number = self.asked

        async def complete(said: list[tuple[str, Any]], _: Form | None) -> Completion:
            line = self._line(said, f"{self.name}, question {number}{f' ({purpose})' if purpose else ''}")
            if isinstance(line, BaseException):
                raise line
            return Completion(line if isinstance(line, str) else msgspec.json.encode(line).decode())

        return await ask_until_read(complete, messages, answer, repairs=self._repairs)

    def _line(self, said: list[tuple[str, Any]], where: str) -> Any:
        if self._script is None:
            try:
                return next(self._lines)
            except StopIteration:
                raise ScriptError(f"{where}: the script is spent; it was asked: {_shown(said)}") from None
        if callable(self._script):
            line = self._script(said)
            if line is None:
                raise ScriptError(f"{where}: the script has no answer to: {_shown(said)}")
            return line
        text = _text(said)
        if text not in self._script:
            raise ScriptError(f"{where}: the script has no answer to: {_shown(said)}")
        return self._script[text]


def _text(said: list[tuple[str, Any]]) -> str:
    last = said[-1][1] if said else ""
    return last if isinstance(last, str) else "\n".join(part.text for part in last if hasattr(part, "text"))


def _shown(said: list[tuple[str, Any]]) -> str:
    return repr(_text(said)[:200])
