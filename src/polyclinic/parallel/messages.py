"""What the command and its workers send each other, as frames of pickled lists of messages.

Both ends are this program, started by the same command: a worker is trusted as the command itself is.
"""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from polyclinic.models.limits import WHOLE, Share

HEAD = 4  # bytes that hold the length of a frame

Verb = Literal["find", "put", "admit", "count", "spend", "release"]
"""What a worker has the command do; see the methods of `Holder`."""


# To a worker.


class Open(NamedTuple):
    """The first message: what to open, and the worker's share of the limits."""

    task: bytes  # a pickled `Task`
    share: Share = WHOLE
    goes_on: bool = False  # whether the journal may have answers
    environment: Mapping[str, str] = {}  # variables such as keys of models


class Compute(NamedTuple):
    """An item to compute."""

    number: int
    item: Any
    goes_on: bool = False


class Cancel(NamedTuple):
    """An item that is not wanted any more."""

    number: int


class News(NamedTuple):
    """Something that every worker has to know for the items that follow."""

    value: Any


class Answered(NamedTuple):
    """The answer to a `Question`; `value` is an exception if it `failed`."""

    number: int
    value: Any = None
    failed: bool = False


# From a worker.


class Done(NamedTuple):
    """An item is computed; `value` is an exception if it `failed`. The number 0 is the opening itself."""

    number: int
    value: Any = None
    failed: bool = False


class Question(NamedTuple):
    """Something that the command does for an item, and answers unless the number is 0."""

    number: int
    item: int
    verb: Verb
    given: tuple[Any, ...]


class Warned(NamedTuple):
    """A warning for people."""

    line: str


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
