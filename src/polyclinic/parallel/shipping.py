"""Files that a task names, sent to workers on machines that may not have them."""

from __future__ import annotations

import dataclasses
import io
import os
import pickle
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from polyclinic.errors import UserError
from polyclinic.models.settings import ModelSettings

MOST = 256 << 20  # bytes of a file that travels with a task; a larger one has to be where the workers run

_AROUND = re.compile(r"(?P<before>(?:\w+:)?)(?P<path>[^#]+?)(?P<after>(?::\w+|#.*)?)")
"""`scripted:FILE`, `FILE.py:NAME`, `FILE#ID`."""


class Shipped(NamedTuple):
    """A word that names a file, with what is in it; `before` and `after` are what stands around the path."""

    path: str
    content: bytes
    before: str = ""
    after: str = ""
    is_path: bool = False


def shipped(word: str | Path) -> Shipped | None:
    """Returns the file that a word names, if any; a UserError if it is too large to travel."""
    readings = [("", str(word), "")]
    if found := _AROUND.fullmatch(str(word)):
        before, path, after = found.groups()
        readings += [(before, path, after), ("", before + path, after)]
    for before, name, after in readings:
        path = Path(name)
        try:
            if not name or not path.is_file():
                continue
            if path.stat().st_size > MOST:
                raise UserError(
                    f"{path} is larger than the {MOST >> 20} MiB that travel with a part; put it on "
                    "every machine under one path that begins with /, or take fewer cases"
                )
            return Shipped(str(path.resolve()), path.read_bytes(), before, after, isinstance(word, Path))
        except OSError:
            continue
    return None


def packed(task: object) -> bytes:
    """Returns a pickled task with the files that the fields of its dataclasses name."""
    out = io.BytesIO()
    _Packer(out, {id(value) for value in _values(task) if isinstance(value, str | Path)}).dump(task)
    return out.getvalue()


def unpacked(task: bytes, folder: Path | None = None) -> Any:
    """Returns a task, with its files where they lie on this machine, or else in a folder."""
    return _Unpacker(io.BytesIO(task), folder).load()


def keys_of(settings: ModelSettings) -> dict[str, str]:
    """Returns the variables that hold keys of models, for machines that do not have them."""
    said = settings.said
    named = {settings.api_key_env} | {one.api_key_env for one in (*said.models.values(), *said.roles.values())}
    return {name: key for name, key in os.environ.items() if name.endswith("_API_KEY") or name in named}


class _Packer(pickle.Pickler):
    def __init__(self, out: io.BytesIO, named: set[int]) -> None:
        super().__init__(out, protocol=pickle.HIGHEST_PROTOCOL)
        self._named = named

    def persistent_id(self, obj: Any) -> Shipped | None:
        return shipped(obj) if id(obj) in self._named else None


class _Unpacker(pickle.Unpickler):
    def __init__(self, data: io.BytesIO, folder: Path | None) -> None:
        super().__init__(data)
        self._folder = folder

    def persistent_load(self, pid: Shipped) -> str | Path:
        there = Path(pid.path)
        if not there.is_file() or there.read_bytes() != pid.content:
            there = Path(tempfile.mkdtemp(prefix="polyclinic-", dir=self._folder)) / there.name
            there.write_bytes(pid.content)
        return there if pid.is_path else f"{pid.before}{there}{pid.after}"


def _values(value: object) -> Iterator[object]:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields: Any = [getattr(value, field.name) for field in dataclasses.fields(value)]
    elif isinstance(value, msgspec.Struct):
        fields = [getattr(value, name) for name in value.__struct_fields__]
    else:
        fields = value
    if not isinstance(fields, list | tuple):
        yield value
        return
    for one in fields:
        yield from _values(one)
