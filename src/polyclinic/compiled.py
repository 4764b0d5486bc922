"""Tables that take long to make from files of the package: shipped, and read while their sources are the same."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")

_PACKAGE = Path(__file__).parent


class _Shipped(msgspec.Struct):
    """The content of a shipped file: a hash of the sources, and the encoded table."""

    sources: bytes
    table: bytes


class Compiled(Generic[T]):
    """A table, the file that ships it, its sources, and the function that makes it from them.

    A source that changed is noticed at once, and the table is made anew; `make docs` writes the file again.
    """

    def __init__(self, file: Path, kind: Any, *, sources: Callable[[], Sequence[Path]], make: Callable[[], T]) -> None:
        self.file, self._kind, self._sources, self.make = file, kind, sources, make

    @functools.cached_property
    def table(self) -> T:
        """The table, from the shipped file where its sources are those it was made from."""
        try:
            shipped = msgspec.msgpack.decode(self.file.read_bytes(), type=_Shipped)
        except (OSError, msgspec.DecodeError):  # a checkout without the file, or with half of it, can do without
            return self.make()
        if shipped.sources != self._sum():
            return self.make()
        table: T = msgspec.msgpack.decode(shipped.table, type=self._kind)
        return table

    def encode(self) -> bytes:
        """Returns the content of the file for the sources as they are."""
        return msgspec.msgpack.encode(_Shipped(self._sum(), msgspec.msgpack.encode(plain(self.make()))))

    def _sum(self) -> bytes:
        files = self._sources()
        names = "\n".join(file.relative_to(_PACKAGE).as_posix() for file in files).encode()
        return hashlib.blake2b(b"\0".join((names, *(file.read_bytes() for file in files))), digest_size=16).digest()


def plain(value: Any) -> Any:
    """Returns a table as dicts, lists, texts and numbers, the same in every process: a set is a sorted list."""
    if isinstance(value, msgspec.Struct):
        return {field.encode_name: plain(getattr(value, field.name)) for field in msgspec.structs.fields(value)}
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return sorted(value) if isinstance(value, set | frozenset) else value
