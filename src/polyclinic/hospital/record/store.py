"""Writes a run to disk, so that `kill -9` at any moment loses only work that is computed again.

A run that goes on is simulated again from its start: stored episodes are not computed twice, answers of models come
from their journal, and every happening is compared with the stored one until the end of the stored log. A difference
ends the run.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import sqlite3
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import msgspec

from polyclinic import __version__
from polyclinic.errors import BadInput, PolyclinicError, UserError
from polyclinic.files import make_folder, write_text
from polyclinic.hospital.record.account import Account, encode
from polyclinic.hospital.record.episodes import Compute, Episode, EpisodeRequest, untold
from polyclinic.hospital.record.happenings import Happening, clock
from polyclinic.hospital.record.recorded import (
    LOCK,
    RUN,
    SUMMARY,
    CannotResume,
    NotStored,
    RecordedRun,
    answers_file,
    lock,
    make,
    not_stored,
    pack,
    take,
    unlock,
)
from polyclinic.sqlite_file import GroupWriter

SNAPSHOT_EVERY = 2_000
"""Happenings from one snapshot of the world to the next."""

_ADD = "INSERT INTO happenings VALUES (?, ?, ?, ?)"
# What is computed again is there already, and is the same.
_SNAPSHOT = "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)"
_KEEP = "INSERT OR REPLACE INTO episodes VALUES (?, ?)"
_ABOUT = "INSERT OR REPLACE INTO about VALUES (?, ?)"
_GATHER = 0.05  # seconds in which rows come together before they are committed


_OURS = tuple(f"{name}{end}" for name in (RUN, LOCK, "calls.sqlite") for end in ("", "-wal", "-shm", "-journal"))


class Store:
    """A run that is being written. Made by `create` or `open`; a sink of happenings; use it with `with`."""

    def __init__(self, folder: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        self.folder = folder
        self._held = lock(folder)
        try:
            connection = connect()
            self._read = RecordedRun(folder)
        except BaseException:
            unlock(folder, self._held)
            raise
        self._happenings = 0
        self._last = -math.inf
        self._stored = len(self._read)
        self._resumes = self._stored > 0 or self._read.summary is not None or bool(self._read.episode_keys())
        self._ahead: deque[Happening] = deque()
        self._waiting: dict[str, Episode] = {}  # kept, and perhaps not committed
        self._writer = GroupWriter(
            connection, named=lambda error: not_stored(error, folder), name="polyclinic-store", gather=_GATHER
        )

    @classmethod
    def create(cls, folder: str | Path, configuration: Mapping[str, Any]) -> Self:
        """Begins a run in a folder that is empty, or is made."""
        folder = Path(folder)
        make_folder(folder)
        others = sorted(path.name for path in folder.iterdir() if path.name not in (*_OURS, "private"))
        if others and not (folder / RUN).exists():
            raise BadInput(f"the folder holds something else ({others[0]}); name an empty or a new one", path=folder)
        return cls(folder, lambda: make(folder, msgspec.json.encode(configuration)))

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Takes up a run that is there."""
        folder = Path(folder)
        take(folder, write=False).close()
        return cls(folder, lambda: take(folder, write=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
            return
        # What went wrong first is what is told.
        with contextlib.suppress(PolyclinicError):
            self.close()
        if issubclass(kind, UserError) and not self._happenings and not self._resumes:
            # The run was refused before anything happened in it.
            for name in _OURS:
                (self.folder / name).unlink(missing_ok=True)
            shutil.rmtree(self.folder / "private", ignore_errors=True)
            with contextlib.suppress(OSError):
                self.folder.rmdir()

    @property
    def configuration(self) -> dict[str, Any]:
        """What the run was begun with."""
        return self._read.configuration

    @property
    def summary(self) -> dict[str, Any] | None:
        """What the run said at its end; None where it has not come to one."""
        return self._read.summary

    @property
    def calls(self) -> Path:
        """The file for the journal of model calls (`polyclinic.models.journal.Journal`)."""
        path = answers_file(self.folder)
        make_folder(path.parent)
        return path

    def add(self, happening: Happening, account: Account) -> None:
        """Stores the next happening, or compares it where the run had come that far before."""
        if happening.seq != self._happenings or happening.t < self._last:
            raise ValueError(f"happening {happening.seq} at {happening.t} s is not the next one")
        self._last = happening.t
        self._happenings += 1
        if happening.seq < self._stored:
            if not self._ahead:
                end = min(self._stored, happening.seq + 1_000)
                self._ahead.extend(self._read.happenings(begin=happening.seq, end=end))
            if self._ahead.popleft() != happening:
                how = f"happening {happening.seq} ({clock(happening.t)}) is another than the one stored"
                raise CannotResume(self._differs(how))
        else:
            self._writer.put([(_ADD, (happening.seq, happening.t, happening.who, encode(happening.what)))])
        if self._happenings % SNAPSHOT_EVERY == 0:
            self._writer.put([(_SNAPSHOT, (happening.seq, happening.t, account.world.encode()))])

    def episode(self, key: str) -> Episode | None:
        """Returns the medical part of a visit as it was computed before; None where it was not."""
        waiting = self._waiting.get(key)
        if waiting is not None or not self._resumes:
            return waiting
        return self._read.episode(key)

    def keep(self, episode: Episode) -> None:
        """Stores the medical part of a visit."""
        self._resumes = True
        self._waiting[episode.key] = episode
        self._writer.put([(_KEEP, (episode.key, pack(episode)))], lambda *_: self._waiting.pop(episode.key, None))

    def remember(self, compute: Compute) -> Compute:
        """Returns the same computation of episodes, which takes from the run what is stored and stores the rest.

        Dialogues stay on disk: the episode is returned without its traces.
        """

        async def remembered(request: EpisodeRequest) -> Episode:
            episode = self.episode(request.key)
            if episode is None:
                episode = await compute(request)
                self.keep(episode)
            return untold(episode)

        return remembered

    def flush(self) -> None:
        """Returns when all is committed."""
        self._writer.flush()

    def finish(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        """Ends the run: stores its summary, also as `summary.json`, with the log's length."""
        if self._happenings < self._stored:
            how = f"it ends after {self._happenings} happenings, and {self._stored} are stored"
            raise CannotResume(self._differs(how))
        whole = {**summary, "happenings": self._happenings}
        text = msgspec.json.encode(whole)
        self.flush()
        try:
            write_text(self.folder / SUMMARY, msgspec.json.format(text, indent=2).decode() + "\n")
        except BadInput as error:
            raise NotStored(str(error)) from None
        # After the file, so that a run whose summary is stored has it in both places.
        self._writer.put([(_ABOUT, ("summary", text))])
        self.flush()
        return whole

    def close(self) -> None:
        """Stores what waits, and lets the run go."""
        try:
            # The reader first: the last connection moves the write-ahead log into the file, and must be able to write.
            self._read.close()
            self._writer.close()
        finally:
            unlock(self.folder, self._held)

    def _differs(self, how: str) -> str:
        by = self._read.package
        versions = f"begun by polyclinic {by}, taken up by {__version__}" if by != __version__ else "the same version"
        return (
            f"{self.folder}: the run cannot be resumed because code or configuration changed ({versions}): {how}; "
            "start it anew in another folder"
        )
