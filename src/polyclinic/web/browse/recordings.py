"""Files of recordings, a record at a time: visits of many lines, outcomes and meetings of one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from polyclinic.files import NO_JSON
from polyclinic.web.browse.holdings import NothingHere, RecordingKind

_HELD = 16  # files whose index is kept
_LONGEST = 64 << 20  # bytes of one record that are read
_NEW_VISIT = (b'{"event":"opened"', b'{"event":"convened"')


class Place(NamedTuple):
    """Where a record stands: its first line, from 1, and where that begins and the record ends, in bytes."""

    line: int
    begin: int
    end: int


class _Head(msgspec.Struct):
    """What a list says of a record."""

    id: str = ""
    case: str = ""
    minds: dict[str, str] = {}
    doctors: tuple[str, ...] = ()
    doctor: int = 0
    key: msgspec.Raw | tuple[str, ...] = ()
    right: bool | None = None


class RecordingFile:
    """One file, with the places of its records."""

    def __init__(self, path: Path, kind: RecordingKind) -> None:
        self.path, self.kind = path, kind
        self.places = list(_places(path, kind))
        self._at = {place.line: number for number, place in enumerate(self.places)}

    def begins(self, line: int) -> bool:
        """Whether a record begins at a line."""
        return line in self._at

    def number(self, line: int) -> int:
        """Returns which of the records stands at a line.

        Raises:
            NothingHere: none begins there.
        """
        if line not in self._at:
            raise NothingHere("no record begins there")
        return self._at[line]

    def lines(self, place: Place) -> list[bytes]:
        """Returns the lines of a record."""
        with self.path.open("rb") as file:
            file.seek(place.begin)
            return file.read(min(place.end - place.begin, _LONGEST)).splitlines()

    def read(self, place: Place) -> list[dict[str, Any]]:
        """Returns a record: the events of a visit, or one document.

        Raises:
            NothingHere: it is damaged.
        """
        try:
            return [msgspec.json.decode(line, type=dict[str, Any]) for line in self.lines(place) if line]
        except NO_JSON as error:
            raise NothingHere(f"line {place.line} is damaged: {error}") from None

    def listed(self, place: Place) -> dict[str, Any]:
        """Returns what a list says of a record."""
        with self.path.open("rb") as file:
            file.seek(place.begin)
            first = file.readline(_LONGEST)
        try:
            head = msgspec.json.decode(first, type=_Head)
        except NO_JSON:
            return {"line": place.line, "item": "?", "who": ""}
        who = head.minds.get("doctor", "") or ", ".join(head.doctors)
        return {"line": place.line, "item": head.id or head.case, "who": who, "right": head.right}


def _places(path: Path, kind: RecordingKind) -> Iterator[Place]:
    begin = at = line = first = 0
    with path.open("rb") as file:
        for text in file:
            line += 1
            if kind != "visits" or text.startswith(_NEW_VISIT):
                if at > begin:
                    yield Place(first, begin, at)
                begin, first = at, line
            at += len(text)
    if at > begin:
        yield Place(first, begin, at)


class RecordingFiles:
    """Opened files: those that were asked for last, anew where they have changed."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[Path, int, int], RecordingFile] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, path: Path, kind: RecordingKind) -> RecordingFile:
        """Returns a file.

        Raises:
            NothingHere: it is gone.
        """
        with self._lock:
            try:
                state = path.stat()
                key = path, state.st_mtime_ns, state.st_size
                if key not in self._held:
                    self._held[key] = RecordingFile(path, kind)
            except OSError as error:
                raise NothingHere(f"the file cannot be read ({error.strerror})") from None
            self._held.move_to_end(key)
            while len(self._held) > _HELD:
                self._held.popitem(last=False)
            return self._held[key]
