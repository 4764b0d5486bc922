"""What can be judged: the traces and outcomes in the folders that are served, each under a name that is no path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from polyclinic.errors import UserError

_DEPTH = 3  # folders below one that was given
_MOST = 300
_LOOKED = 5_000
_BEGIN = 65_536  # bytes that are read to tell what a file is

Kind = Literal["traces", "outcomes"]


class NoSuchMaterial(UserError):
    """No file of that name is offered."""

    status = 404


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """A file that can be judged."""

    name: str
    kind: Kind


PLAYED = "played visits"
"""All visits that people played here, as one."""


class MaterialShelf:
    """The files in some folders; looked for anew whenever they are listed.

    Args:
        practice: the folder that keeps what is played here, all of which is offered together.
    """

    def __init__(self, folders: Sequence[Path], practice: Path) -> None:
        self._folders = tuple(dict.fromkeys(folder.resolve() for folder in folders))
        self._practice = practice.resolve()

    def listed(self) -> list[Material]:
        """Returns what is there."""
        played = [Material(name=PLAYED, kind="traces")] if self._played() else []
        return [*(Material(name=name, kind=kind) for name, (_, kind) in self._look().items()), *played]

    def _played(self) -> list[Path]:
        return sorted(one for one in (self._practice / "visits").glob("*.trace.jsonl") if one.is_file())

    def paths(self, names: Sequence[str]) -> list[Path]:
        """Returns the files of these names.

        Raises:
            NoSuchMaterial: one of them is not offered.
        """
        found = self._look()
        if missing := [name for name in names if name not in found and name != PLAYED]:
            raise NoSuchMaterial(f"{missing[0][:80]!r} is not among what can be judged here")
        return [path for name in names for path in ([found[name][0]] if name in found else self._played())]

    def _look(self) -> dict[str, tuple[Path, Kind]]:
        found: dict[str, tuple[Path, Kind]] = {}
        for number, folder in enumerate(self._folders):
            for path in _files(folder, self._practice):
                kind = kind_of(path)
                name = path.relative_to(folder).as_posix()
                name = f"{number + 1}/{name}" if name in found else name
                if kind is not None and len(found) < _MOST:
                    found[name] = path, kind
        return found


def _files(folder: Path, without: Path) -> Iterator[Path]:
    looked = 0
    line = [(folder, 0)]
    while line and looked < _LOOKED:
        path, depth = line.pop(0)
        try:
            entries = sorted(one for one in path.iterdir() if not one.name.startswith(".") and not one.is_symlink())
        except OSError:
            continue
        for one in entries:
            looked += 1
            if one.is_dir() and depth < _DEPTH and one != without:
                line.append((one, depth + 1))
            elif one.suffix == ".jsonl" and one.is_file():
                yield one


def kind_of(path: Path) -> Kind | None:
    """Returns what a file holds, by its first line."""
    try:
        with path.open("rb") as file:
            begin = file.readline(_BEGIN)
    except OSError:
        return None
    if begin.startswith((b'{"event":"opened"', b'{"event":"convened"')):
        return "traces"
    return "outcomes" if begin.startswith(b'{"id":') and b'"outcome":' in begin else None
