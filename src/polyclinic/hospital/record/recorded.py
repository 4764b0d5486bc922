"""Reading a run on disk: its log, its state at any time, its episodes; also while it goes on."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import NO_JSON
from polyclinic.hospital.record.account import encode, log_hash
from polyclinic.hospital.record.episodes import Episode
from polyclinic.hospital.record.happenings import Happening, What
from polyclinic.hospital.record.run_file import RUN, seal_name, take
from polyclinic.hospital.record.world import World, decode
from polyclinic.seals import seal
from polyclinic.sqlite_file import read_errors

_WHAT = msgspec.json.Decoder(What)
_EPISODE = msgspec.json.Decoder(Episode)
_DAMAGE = (msgspec.DecodeError, zlib.error, ValueError, TypeError)
_AT_ONCE = 1000  # rows held at a time


class RecordedRun:
    """A run on disk, to be read. Use it with `with`.

    Args:
        folder: the run's.

    Raises:
        BadInput: there is no run, one of another format, or something else; or it cannot be read.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._connection = take(self.folder, write=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    @property
    def configuration(self) -> dict[str, Any]:
        """What the run was started with."""
        return self._document("configuration") or {}

    @property
    def package(self) -> str:
        """The version of polyclinic that began the run."""
        return (self._about("package") or b"").decode(errors="replace")

    @property
    def summary(self) -> dict[str, Any] | None:
        """What the run said at its end; None while it has not come to one."""
        return self._document("summary")

    def __len__(self) -> int:
        return int(self._query("SELECT coalesce(max(seq) + 1, 0) FROM happenings")[0][0])

    def happenings(self, *, begin: int = 0, end: int | None = None) -> Iterator[Happening]:
        """Yields happenings in order, a bounded number of them in memory.

        Args:
            begin: number of the first.
            end: number of the one after the last; None for all that there are when they are reached.

        Raises:
            BadInput: a row is damaged.
        """
        hashed = log_hash()
        for seq, t, who, what in self._rows(begin, end):
            happening = self._happening(seq, t, who, what)
            hashed.update(encode(happening) + b"\n")
            yield happening
        summary = self.summary if begin == 0 and end is None else None
        if summary is not None and summary.get("log_hash", "") not in ("", hashed.hexdigest()):
            raise BadInput("the log is not the one with which the run ended: it is damaged", path=self.folder / RUN)

    def rows(self, begin: int, n: int) -> list[tuple[int, int, str, bytes]]:
        """Returns up to so many happenings as they are stored: number, time, to whom, and as JSON what."""
        return list(self._rows(begin, begin + min(n, _AT_ONCE)))

    def happenings_of(self, who: str) -> Iterator[Happening]:
        """Yields what happened to one resident, or member of the staff, in order.

        Raises:
            BadInput: a row is damaged.
        """
        for row in self._query("SELECT seq, t, who, what FROM happenings WHERE who = ? ORDER BY seq", who):
            yield self._happening(*row)

    def seek(self, t: int) -> World:
        """Returns the hospital as it is at a time, after all that happens at that very second.

        Raises:
            BadInput: a row is damaged.
        """
        found = self._query("SELECT world FROM snapshots WHERE t <= ? ORDER BY seq DESC LIMIT 1", t)
        try:
            world = decode(found[0][0]) if found else World()
        except NO_JSON as error:
            raise BadInput(f"a snapshot is damaged ({error})", path=self.folder / RUN) from None
        for row in self._rows(world.seq + 1, None, until=t):
            world.apply(self._happening(*row))
        world.advance(t)
        return world

    def episode(self, key: str) -> Episode | None:
        """Returns the medical part of a visit; None where it is not stored."""
        found = self._query("SELECT episode FROM episodes WHERE key = ?", key)
        return self._unpack(key, found[0][0]) if found else None

    def episode_keys(self) -> list[str]:
        """Returns the keys of all episodes, in order."""
        return [key for (key,) in self._query("SELECT key FROM episodes ORDER BY key")]

    def episodes(self) -> Iterator[Episode]:
        """Yields all episodes, by their keys."""
        after = ""
        while rows := self._query("SELECT key, episode FROM episodes WHERE key > ? ORDER BY key LIMIT 50", after):
            for key, packed in rows:
                yield self._unpack(key, packed)
            after = rows[-1][0]

    def episodes_of(self, illness: str) -> list[Episode]:
        """Returns the medical parts of all visits of an illness that are stored, by their keys.

        Raises:
            BadInput: a row is damaged.
        """
        query = "SELECT key, episode FROM episodes WHERE key >= ? AND key < ? ORDER BY key"
        found = self._query(query, illness, f"{illness}\x7f")
        return [self._unpack(key, packed) for key, packed in found if not key[len(illness) :][:1].isdigit()]

    def _rows(self, begin: int, end: int | None, *, until: int | None = None) -> Iterator[tuple[int, int, str, bytes]]:
        # In pieces, as a query that stays open would keep the run that goes on from tidying its file.
        last = "" if until is None else f" AND t <= {int(until)}"
        while end is None or begin < end:
            some = _AT_ONCE if end is None else min(_AT_ONCE, end - begin)
            rows = self._query(
                f"SELECT seq, t, who, what FROM happenings WHERE seq >= ? AND seq < ?{last} ORDER BY seq",  # noqa: S608
                begin,
                begin + some,
            )
            yield from rows
            if len(rows) < some:
                return
            begin += some

    def _happening(self, seq: int, t: int, who: str, what: bytes) -> Happening:
        try:
            return Happening(seq=seq, t=t, who=who, what=_WHAT.decode(what))
        except _DAMAGE as error:
            raise BadInput(f"happening {seq} is damaged ({error})", path=self.folder / RUN) from None

    def _unpack(self, key: str, packed: bytes) -> Episode:
        try:
            return unpack(packed)
        except _DAMAGE as error:
            raise BadInput(f"episode {key} is damaged ({error})", path=self.folder / RUN) from None

    def _document(self, name: str) -> dict[str, Any] | None:
        value = self._about(name)
        if value is None:
            return None
        try:
            found = msgspec.json.decode(value, type=dict[str, Any])
            if self._about(seal_name(name)) not in (None, seal(value)):
                raise ValueError("it is not what was stored")
        except _DAMAGE as error:
            raise BadInput(f"its {name} is damaged ({error})", path=self.folder / RUN) from None
        return found

    def _about(self, name: str) -> bytes | None:
        found = self._query("SELECT value FROM about WHERE name = ?", name)
        return (
            str(found[0][0]).encode()
            if found and not isinstance(found[0][0], bytes)
            else found[0][0]
            if found
            else None
        )

    def _query(self, query: str, *values: object) -> list[Any]:
        with read_errors(self.folder / RUN):
            return self._connection.execute(query, values).fetchall()


def pack(episode: Episode) -> bytes:
    """Returns an episode as it is stored: compressed, as its traces repeat themselves."""
    return zlib.compress(msgspec.json.encode(episode), 1)


def unpack(packed: bytes) -> Episode:
    """Returns the episode that `pack` packed."""
    return _EPISODE.decode(zlib.decompress(packed))
