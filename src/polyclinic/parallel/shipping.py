"""Files that a task names, sent to workers on machines that may not have them."""

from __future__ import annotations

import dataclasses
import io
import os
import pickle
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.errors import UserError
from polyclinic.models.session import ModelSettings


@dataclass(frozen=True)
class Shipped:
    """A word of a command that names a file, and what is in it, for a machine that may not have it.

    Attributes:
        path: where it lies on the machine that it comes from.
        content: of the file.
        before, after: what stands around the path in the word, as in `scripted:FILE` and `FILE.py:NAME`.
    """

    path: str
    content: bytes
    before: str = ""
    after: str = ""
    is_path: bool = False


MOST = 256 << 20
"""Bytes of a file that travels with a job; a larger one has to be where the job runs."""

_AROUND = re.compile(r"(?P<before>--[\w-]+=)?(?P<kind>\w+:)?(?P<path>[^#]+?)(?P<after>(?::\w+|#.*)?)")
"""`--option=scripted:FILE`, `FILE.py:NAME`, `FILE#ID`."""


def shipped(word: str) -> str | Shipped:
    """Returns a word of a command with the file that it names, where it names one; else as it is.

    Raises:
        UserError: the file is too large to travel.
    """
    for before, path, after in _readings(word):
        try:
            if not path or not Path(path).is_file():
                continue
            if Path(path).stat().st_size > MOST:
                raise UserError(
                    f"{path} is larger than the {MOST >> 20} MiB that travel with a part; put it on "
                    "every machine under one path that begins with /, or take fewer cases"
                )
            return Shipped(str(Path(path).resolve()), Path(path).read_bytes(), before, after)
        except OSError:
            continue
    return word


def _readings(word: str) -> list[tuple[str, str, str]]:
    found = _AROUND.fullmatch(word)
    whole = [("", word, "")]
    if found is None:
        return whole
    before, kind = found["before"] or "", found["kind"] or ""
    return [*whole, (before + kind, found["path"], found["after"]), (before, kind + found["path"], found["after"])]


def packed(task: object) -> bytes:
    """Returns a pickled task with the files that the fields of its dataclasses name.

    Raises:
        UserError: a file is too large to travel.
    """
    out = io.BytesIO()
    _Packer(out, {id(value) for value in _values(task) if isinstance(value, str | Path)}).dump(task)
    return out.getvalue()


def unpacked(task: bytes) -> Any:
    """Returns a task, with its files where they lie on this machine."""
    return _Unpacker(io.BytesIO(task)).load()


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
        if id(obj) not in self._named:
            return None
        one = shipped(str(obj))
        return None if isinstance(one, str) else dataclasses.replace(one, is_path=isinstance(obj, Path))


class _Unpacker(pickle.Unpickler):
    def persistent_load(self, pid: Shipped) -> str | Path:
        there = Path(pid.path)
        if not there.is_file() or there.read_bytes() != pid.content:
            there = Path(tempfile.mkdtemp(prefix="polyclinic-", dir=_folder())) / there.name
            there.write_bytes(pid.content)
        return there if pid.is_path else f"{pid.before}{there}{pid.after}"


def _folder() -> str:
    """Returns the folder of this worker, which goes away with it."""
    return os.environ.get(FOLDER, tempfile.gettempdir())


FOLDER = "POLYCLINIC_WORKER_FOLDER"
"""The variable that names the folder of a worker for files."""


def _values(value: object) -> Iterator[object]:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _values(getattr(value, field.name))
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _values(getattr(value, name))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _values(one)
    else:
        yield value
