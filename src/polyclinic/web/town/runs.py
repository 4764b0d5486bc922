"""Runs that are open to be shown. Each is opened once for all who look, and anew where another stands in its place."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import msgspec

from polyclinic.errors import BadInput, UserError
from polyclinic.files import NO_JSON
from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.record.recorded import RUN, RecordedRun, is_locked
from polyclinic.web.serving import NoSuchRun, Shelf
from polyclinic.web.town.course import RunCourse
from polyclinic.web.town.map import map_of

_HIDDEN = frozenset({"case", "disease", "severity", "cause", "right", "recognised"})
_ALSO = {"fell ill": frozenset({"department"}), "got worse waiting": frozenset({"level"})}

T = TypeVar("T")


def without_truth(fields: Mapping[str, T], what: str = "") -> dict[str, T]:
    """Returns the fields of something that happened, without those that tell what is so.

    Args:
        fields: by name.
        what: its tag, as the log has it; "" for a visit in one line.
    """
    also = _ALSO.get(what, frozenset())
    return {
        name: value
        for name, value in fields.items()
        if name not in _HIDDEN and name not in also and not name.startswith("right_")
    }


ROWS = 500
"""Happenings in a block: what is whole never changes, and is encoded once for all who look."""

_OPEN = 12  # runs
_BLOCKS = 64  # encoded, of all runs

_Key = tuple[int, int]
_ROWS = msgspec.json.Decoder(list[tuple[int, int, str, dict[str, msgspec.Raw]]])
_encode = msgspec.json.Encoder().encode


class Block(msgspec.Struct, frozen=True):
    """Happenings that follow one another."""

    rows: bytes  # `[[number, time, to whom, what], ...]`, as JSON, without what is so
    begin: int  # number of the first
    end: int  # of the one after the last


class ShownRun:
    """A run that is open, read by everybody who looks."""

    def __init__(self, id: str, folder: Path) -> None:
        self.id, self.folder = id, folder
        self.key = _key(folder)
        self.recorded = RecordedRun(folder)
        # Somebody may read it still when it is not among the last ones any more: closed when nobody has it.
        weakref.finalize(self, self.recorded.close)
        self.course = RunCourse()
        self._over = False
        self._map: dict[str, Any] | None = None
        self._blocks: OrderedDict[int, Block] = OrderedDict()
        self._lock = Lock()

    @property
    def over(self) -> bool:
        """Whether the run has come to its end."""
        # What has ended stays so; its summary is not read for everybody who asks.
        self._over = self._over or self.recorded.summary is not None
        return self._over

    @property
    def stopped(self) -> bool:
        """Whether nobody is at the run, although it has not come to its end."""
        # Asked in this order: a run that ends between the two is over.
        return not is_locked(self.folder) and not self.over

    def block(self, begin: int, n: int = ROWS) -> Block:
        """Returns the happenings from a number on, at most so many, and none beyond the end of a whole block.

        Raises:
            BadInput: a row is damaged.
        """
        whole = begin - begin % ROWS
        with self._lock:
            known = self._blocks.get(begin)
        if known is not None and known.end - known.begin <= n:
            return known
        rows = self.recorded.rows(begin, min(n, whole + ROWS - begin))
        block = Block(self._encoded(rows), begin, begin + len(rows))
        if len(rows) == ROWS:
            with self._lock:
                self._blocks[begin] = block
                while len(self._blocks) > _BLOCKS:
                    self._blocks.popitem(last=False)
        return block

    def map(self) -> dict[str, Any]:
        """Returns the map of its hospital.

        Raises:
            UserError: the run does not say what its hospital is.
        """
        if self._map is None:
            self._map = map_of(self.hospital)
        return self._map

    @property
    def hospital(self) -> Hospital:
        """The hospital, as its file described it.

        Raises:
            UserError: the run does not say.
        """
        try:
            return msgspec.convert(self.recorded.configuration.get("hospital"), Hospital, strict=False)
        except msgspec.ValidationError as error:
            raise UserError(f"the run's hospital cannot be read by this version: {error}") from None

    def end(self) -> tuple[int, int]:
        """Returns how many happenings there are so far, and the time of the last, in seconds; 0 where there is none."""
        n = len(self.recorded)
        last = self.recorded.rows(n - 1, 1) if n else []
        return n, last[0][1] if last else 0

    def _encoded(self, rows: list[tuple[int, int, str, bytes]]) -> bytes:
        told = b"[%s]" % b",".join(
            b"[%d,%d,%s,%s]" % (seq, t, msgspec.json.encode(who), what) for seq, t, who, what in rows
        )
        try:
            # Looked at here, so that a damaged row is named and not met with in somebody's browser.
            found = _ROWS.decode(told)
        except NO_JSON as error:
            raise BadInput(f"one of the happenings {rows[0][0]} to {rows[-1][0]} is damaged ({error})") from None
        return _encode([(seq, t, who, without_truth(what, _tag(what))) for seq, t, who, what in found])


class Runs:
    """Those of a shelf that are open: the last few that somebody looked at."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._open: OrderedDict[str, ShownRun] = OrderedDict()
        self._lock = Lock()

    def __call__(self, id: str) -> ShownRun:
        """Returns a run by its id.

        Raises:
            NoSuchRun: there is none of that id.
            BadInput: it cannot be read.
        """
        with self._lock:
            folder = self._shelf.folder(id)
            found = self._open.pop(id, None)
            if found is not None and found.key != _key(folder):
                found = None
            if found is None:
                found = ShownRun(id, folder)
            self._open[id] = found
            while len(self._open) > _OPEN:
                self._open.popitem(last=False)
            return found

    def close(self) -> None:
        """Lets all go."""
        with self._lock:
            self._open.clear()


def _tag(what: dict[str, msgspec.Raw]) -> str:
    return bytes(what.get("what", b"")).decode(errors="replace").strip('"')


def _key(folder: Path) -> _Key:
    """Returns what tells a run from another that has taken its place."""
    try:
        found = (folder / RUN).stat()
    except OSError:
        raise NoSuchRun("the run is not there any more") from None
    return found.st_dev, found.st_ino
