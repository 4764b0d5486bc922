"""What the command and its workers send each other, as frames of pickled lists of messages.

Both ends are this program, started by the same command: a worker is trusted as the command itself is.
"""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from polyclinic.models.journal import Key
from polyclinic.models.ledger import KeptCall
from polyclinic.models.limits import WHOLE, Share
from polyclinic.models.model import Usage
from polyclinic.models.prompts import PromptRow

HEAD = 4
"""Bytes that hold the length of a frame."""


# To a worker.


@dataclass(frozen=True, slots=True)
class Open:
    """The first message: what to open, and the worker's share of the limits.

    Attributes:
        task: a pickled `Task`.
        goes_on: whether the journal may have answers.
        environment: variables such as keys of models.
    """

    task: bytes
    share: Share = WHOLE
    goes_on: bool = False
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Compute:
    """An item to compute."""

    number: int
    item: Any
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class Cancel:
    """An item that is not wanted any more."""

    number: int


@dataclass(frozen=True, slots=True)
class News:
    """Something that every worker has to know for the items that follow."""

    value: Any


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a `Question` of the worker; `value` is an exception if it `failed`."""

    number: int
    value: Any = None
    failed: bool = False


# From a worker.


@dataclass(frozen=True, slots=True)
class Opened:
    """Everything is open."""


@dataclass(frozen=True, slots=True)
class Done:
    """An item is computed; `value` is an exception if it `failed`. The number 0 is the opening itself."""

    number: int
    value: Any = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """Something that the command does for the worker, and answers; `item` is the number of the item it is for."""

    number: int
    item: int
    what: Find | Put | Admit


@dataclass(frozen=True, slots=True)
class Note:
    """Something that the command takes note of."""

    item: int
    what: Counted | Spent | Left


@dataclass(frozen=True, slots=True)
class Warned:
    """A warning for people."""

    line: str


@dataclass(frozen=True, slots=True)
class Find:
    """Look up the first of these calls that was answered."""

    keys: Sequence[Key]


@dataclass(frozen=True, slots=True)
class Put:
    """Store an answer, the last of the rows."""

    key: Key
    rows: Sequence[PromptRow]


@dataclass(frozen=True, slots=True)
class Admit:
    """May a question be asked within the budget?"""


@dataclass(frozen=True, slots=True)
class Spent:
    """What an answer cost."""

    usage: Usage | None
    attempts: int
    failed: bool


@dataclass(frozen=True, slots=True)
class Left:
    """A question that was admitted has been answered."""


@dataclass(frozen=True, slots=True)
class Counted:
    """One call, for the sums of the run; `key` is that of its answer in the journal, None if it has none."""

    call: KeptCall
    usage: Usage
    server: str = ""
    key: Key | None = None


class _Pickler(pickle.Pickler):
    """Leaves out the defaults of structs: what is written as JSON leaves out the very default alone, and no copy."""

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, msgspec.Struct):
            return NotImplemented
        defaults = _defaults_of(type(obj))
        values = {name: getattr(obj, name) for name in type(obj).__struct_fields__}
        return _made, (type(obj), {name: one for name, one in values.items() if one is not defaults.get(name, _NONE)})


_NONE = object()


@functools.lru_cache(maxsize=1024)
def _defaults_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    return {one.name: one.default for one in msgspec.structs.fields(struct) if one.default is not msgspec.NODEFAULT}


def _made(struct: type[msgspec.Struct], values: dict[str, Any]) -> msgspec.Struct:
    return struct(**values)


def frame(messages: Sequence[object]) -> bytes:
    """Returns messages as they are sent."""
    body = io.BytesIO()
    _Pickler(body, protocol=pickle.HIGHEST_PROTOCOL).dump(messages)
    return len(body.getbuffer()).to_bytes(HEAD) + body.getvalue()


def unframed(body: bytes) -> list[Any]:
    """Returns the messages of a frame, without its head."""
    messages: list[Any] = pickle.loads(body)  # noqa: S301 - from a process of our own
    return messages
