"""The results, recordings and journals in some folders, each under an id that is not a path."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from polyclinic.hospital.record.recorded import RUN
from polyclinic.models.journal import APPLICATION
from polyclinic.results.folder import RECORD
from polyclinic.web.refused import NotFound

Holds = Literal["evaluation", "hospital", "learning", "recording", "journal"]
RecordingKind = Literal["visits", "outcomes", "meetings"]

SUMMARY = "summary.json"
LEARNING = "evolve.json"
_DEPTH = 4  # folders below one that was given
_LOOKED = 20_000  # entries of folders that are looked at
_MOST = 2_000  # holdings that are shown
_BEGIN = 65_536  # bytes that are read to tell what a file is
_UNFIT = re.compile(r"[^\w.-]+")


class Recording(NamedTuple):
    """A file of recordings; its name is the path below the folder that was given."""

    name: str
    path: Path
    kind: RecordingKind


class Holding(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that a run left, or a file of recordings or of a journal."""

    id: str  # fit for an address and for the name of a file
    name: str  # below the folder that was given
    holds: Holds
    path: Path
    changed: float  # when, in seconds since 1970
    files: tuple[Recording, ...] = ()


class Holdings:
    """The contents of some folders, looked for again whenever they are listed. Some folders are left out."""

    def __init__(self, folders: Sequence[Path], *, without: Sequence[Path] = ()) -> None:
        self._folders = tuple(dict.fromkeys(folder.resolve() for folder in folders))
        self._without = frozenset(folder.resolve() for folder in without)
        self._found: dict[str, Holding] = {}

    def look(self) -> dict[str, Holding]:
        """Returns all holdings, by id."""
        found: dict[str, Holding] = {}
        taken: set[str] = set()
        for folder in self._folders:
            for path, holds, files in _below(folder, self._without):
                if len(found) >= _MOST:
                    break
                name = folder.name if path == folder else path.relative_to(folder).as_posix()
                # Some file systems do not tell upper from lower case.
                plain = _UNFIT.sub("-", name).strip(".-") or "results"
                id, number = plain, 2
                while id.lower() in taken:
                    id, number = f"{plain}--{number}", number + 1
                taken.add(id.lower())
                changed = 0.0
                for file in (path, path / RUN, path / f"{RUN}-wal", path / RECORD):
                    with suppress(OSError):
                        changed = max(changed, file.stat().st_mtime)
                named = tuple(Recording(one.relative_to(folder).as_posix(), one, kind) for one, kind in files)
                found[id] = Holding(id=id, name=name, holds=holds, path=path, changed=changed, files=named)
        self._found = found
        return found

    def known(self) -> dict[str, Holding]:
        """Returns the holdings of the last look."""
        return self._found or self.look()

    def holding(self, id: str) -> Holding:
        """Returns the holding with an id."""
        if id not in self._found and id not in self.look():
            raise NotFound("there is nothing of that name here")
        return self._found[id]


def unused_name(name: str, taken: Container[str], numbered: str = "{name}-{number}") -> str:
    """Returns a name, with a number if it is taken."""
    number, free = 2, name
    while free in taken:
        free, number = numbered.format(name=name, number=number), number + 1
    return free


_Found = tuple[Path, Holds, list[tuple[Path, RecordingKind]]]


def _below(folder: Path, without: Collection[Path]) -> Iterator[_Found]:
    """Yields the holdings in a folder and those below it; links, which may lead anywhere, are left out."""
    line, looked = [(folder, 0)], 0
    while line and looked < _LOOKED:
        path, depth = line.pop(0)
        entries = _entries(path)
        looked += len(entries) + 1
        names = {one.name for one in entries}
        kinds: dict[Holds, set[str]] = {"hospital": {RUN}, "learning": {LEARNING}, "evaluation": {RECORD, SUMMARY}}
        holds = next((kind for kind, marks in kinds.items() if marks & names), None)
        files = [(one, kind) for one in entries if (kind := recording_kind(one)) is not None]
        if holds is not None:
            yield path, holds, files
        else:
            yield from ((one, "recording", [(one, kind)]) for one, kind in files)
        # SQLite keeps the number of the application at a fixed place.
        journals = [one for one in entries if one.name != RUN and _begin(one)[68:72] == APPLICATION.to_bytes(4, "big")]
        yield from ((one, "journal", []) for one in journals)
        if depth < _DEPTH:
            line += [(one, depth + 1) for one in entries if one.is_dir() and one not in without]


def _entries(path: Path) -> list[Path]:
    """Returns what lies in a folder; a link may lead anywhere, and is left out."""
    try:
        return sorted(one for one in path.iterdir() if not one.name.startswith(".") and not one.is_symlink())
    except OSError:
        return []


def recording_kind(path: Path) -> RecordingKind | None:
    """Returns what a file records, by its first line; None where it is no recording."""
    if path.suffix != ".jsonl":
        return None
    begin = _begin(path)
    if begin.startswith((b'{"event":"opened"', b'{"event":"convened"')):
        return "visits"
    if not begin.startswith(b'{"id":'):
        return None
    if b'"outcome":' in begin:
        return "outcomes"
    return "meetings" if b'"record":' in begin else None


def _begin(path: Path) -> bytes:
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(_BEGIN)
    except OSError:
        return b""
