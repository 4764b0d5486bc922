"""The command that runs: its name, its words, the value of every option, and the files that it reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from polyclinic.cases.shipped import shipped_path
from polyclinic.models.settings import ASIDE

_NOT_READ = ("out", "reuse", "html", "figures", "session", "memory")
"""Options whose files are written, or that name a folder that changes."""

_CASE_FILES = ("cases", "train", "test")
"""Options that name a case file, or cases that come with the package."""

_HIDDEN = ("invocation", "shared_answers")


def alters_answers(name: str, before: Any, now: Any) -> bool:
    """Whether a run that was begun with one value of an option cannot be resumed with another.

    Servers stand in for one another: one of the first has to be among those of now.
    """
    if name == "base_url":
        first, others = (set([one] if isinstance(one, str) else one or ()) for one in (before, now))
        return bool(first and others) and first.isdisjoint(others)
    return name not in ASIDE and before != now


class Invocation(NamedTuple):
    """A command: its name, its words, its options, and the files that it reads; an empty one if Python calls it."""

    kind: str = ""
    words: Sequence[str] = ()
    options: dict[str, Any] = {}  # noqa: RUF012 - a field of a tuple
    files: dict[str, Path] = {}  # noqa: RUF012


NOT_INVOKED = Invocation()


def invocation_of(kind: str, words: Sequence[str], arguments: Mapping[str, Any]) -> Invocation:
    """Returns a command from its name, its words, and the arguments of its function."""
    made = Invocation(kind, words, {}, {})
    for name, value in arguments.items():
        _take(name, value, made)
    return made


def _take(name: str, value: Any, made: Invocation) -> None:
    """Puts an option, or those of a group, among the others."""
    if name in _HIDDEN:
        return
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            _take(field.name, getattr(value, field.name), made)
        return
    paths = value if isinstance(value, list | tuple) else [value]
    for number, one in enumerate(paths):
        path = shipped_path(one) if name in _CASE_FILES and isinstance(one, str) else one
        path = Path(one) if name == "protocol" and Path(one).is_file() else path
        if isinstance(path, Path) and name not in _NOT_READ and path.exists():
            made.files[name if number == 0 else f"{name}-{number + 1}"] = path
    made.options[name] = _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
