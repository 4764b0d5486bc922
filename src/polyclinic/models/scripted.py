"""The scripted provider: answers that were written down before. It raises on what was not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import msgspec

from polyclinic.errors import BadInput, ScriptError
from polyclinic.files import check_file, decode
from polyclinic.models.answers import Completion
from polyclinic.models.model import Answer, AskOptions, Messages, Reply
from polyclinic.models.provider import Provider, Said
from polyclinic.models.schema import Form
from polyclinic.opened_files import read_at_once

Script = Sequence[Any] | Mapping[str, Any] | Callable[[Said], Any]

_NOTHING = object()


class Scripted(Provider):
    """A model that says what its script says; `ScriptError` where that holds nothing.

    Args:
        script: a list (said in order), a mapping from the text of the last message, or a function of the messages as
            (role, what was said). Text is said as it is, an exception is raised, anything else is said as JSON.
        name: its name in results.
        repairs: as in `ProviderOptions`; each takes another entry of a list.
    """

    def __init__(self, script: Script, *, name: str = "scripted", repairs: int = 0) -> None:
        self.name, self.repairs, self.asked = name, repairs, 0
        self._script = script if callable(script) or isinstance(script, Mapping) else iter(script)

    @classmethod
    def read(cls, path: str | Path, *, repairs: int = 0) -> Scripted:
        """Reads a script from a JSON file that holds a list or an object; another is `BadInput`."""
        path = Path(path)
        check_file(path)
        try:
            script = msgspec.json.decode(decode(read_at_once(path), path=path), type=list[Any] | dict[str, Any])
        except (msgspec.DecodeError, RecursionError) as error:
            raise BadInput(f"a script is a JSON list or object ({error})", path=path) from None
        return cls(script, name=f"scripted/{path.name}", repairs=repairs)

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Asks, and counts the questions; see `Model.ask`."""
        self.asked += 1
        return await super().ask(messages, answer=answer, **options)

    async def complete(self, said: Said, form: Form | None, options: AskOptions) -> Completion:
        """Answers from the script; see `Provider.complete`."""
        purpose = f" ({options['purpose']})" if options.get("purpose") else ""
        where = f"{self.name}, question {self.asked}{purpose}"
        last = said[-1][1] if said else ""
        text = last if isinstance(last, str) else "\n".join(part.text for part in last if hasattr(part, "text"))
        if isinstance(self._script, Iterator):
            line = next(self._script, _NOTHING)
        elif isinstance(self._script, Mapping):
            line = self._script.get(text, _NOTHING)
        else:
            line = self._script(said)
        if line is _NOTHING or (line is None and callable(self._script)):
            spent = isinstance(self._script, Iterator)
            problem = "the script is spent; it was asked" if spent else "the script has no answer to"
            raise ScriptError(f"{where}: {problem}: {text[:200]!r}")
        if isinstance(line, BaseException):
            raise line
        return Completion(line if isinstance(line, str) else msgspec.json.encode(line).decode())
