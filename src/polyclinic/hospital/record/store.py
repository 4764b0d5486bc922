"""Writing a run to disk, so that `kill -9` at any moment loses only what is computed again.

A run that is taken up again happens again from its start: episodes that are stored are not computed twice, what models
said comes from their journal, and every happening is compared with the one that is stored, until the log goes on where
it had ended. A difference ends the run.

    with Store.create(folder, configuration) as store:
        simulate(..., sinks=[store], compute=store.remember(compute))
        store.finish(summary)
"""

from __future__ import annotations

import contextlib
import math
import queue
import sqlite3
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import msgspec

from polyclinic import __version__
from polyclinic.errors import BadInput, PolyclinicError
from polyclinic.files import make_folder, write_text
from polyclinic.hospital.care.episodes import Compute, Episode, Request
from polyclinic.hospital.record.happenings import Happening
from polyclinic.hospital.record.log import Hash
from polyclinic.hospital.record.recorded import RecordedRun, pack
from polyclinic.hospital.record.run_file import (
    CALLS,
    LOCK,
    RUN,
    SUMMARY,
    CannotResume,
    NotStored,
    lock,
    make,
    not_stored,
    take,
)
from polyclinic.hospital.record.world import World, apply

SNAPSHOT_EVERY = 2_000
"""Happenings from one snapshot of the world to the next."""

_WAITING = 20_000  # rows that may wait for the disk; then whoever brings more waits too
_TOGETHER = 5_000  # rows committed at once, at most
_GATHER = 0.05  # seconds in which rows come together before they are committed

_encode = msgspec.json.Encoder(order="deterministic").encode


class Store:
    """A run that is being written. Made by `create` or `open`; a sink of happenings; use it with `with`."""

    def __init__(self, folder: Path, held: sqlite3.Connection, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self.world = World()
        self._held = held
        self._hash = Hash()
        self._last = -math.inf
        self._read = RecordedRun(folder)
        self._stored = len(self._read)
        self._resumes = self._stored > 0 or self._read.summary is not None or any(True for _ in self._read.episodes())
        self._ahead: deque[Happening] = deque()
        self._writer = _Writer(folder, connection)

    @classmethod
    def create(cls, folder: Path, configuration: Mapping[str, Any]) -> Self:
        """Begins a run in a folder that is empty, or is made.

        Args:
            folder: where to.
            configuration: everything that the run can be taken up with, as JSON; no key, and no path.

        Raises:
            BadInput: the folder holds a run or something else, or may not be written to.
            NotStored: there is no room.
        """
        make_folder(folder)
        ours = tuple(f"{name}{end}" for name in (RUN, LOCK, CALLS) for end in ("", "-wal", "-shm", "-journal"))
        others = sorted(path.name for path in folder.iterdir() if path.name not in ours)
        if others and not (folder / RUN).exists():
            raise BadInput(f"the folder holds something else ({others[0]}); name an empty or a new one", path=folder)
        held = lock(folder)
        return cls._start(folder, held, lambda: make(folder, msgspec.json.encode(configuration)))

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Takes up a run that is there.

        Raises:
            BadInput: there is none, one of another format, or something else; another process is at it.
        """
        take(folder, write=False).close()
        held = lock(folder)
        return cls._start(folder, held, lambda: take(folder, write=True))

    @classmethod
    def _start(cls, folder: Path, held: sqlite3.Connection, connect: Any) -> Self:
        try:
            return cls(folder, held, connect())
        except BaseException:
            held.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
            return
        # What went wrong first is what is told.
        with contextlib.suppress(PolyclinicError):
            self.close()

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
        return self.folder / CALLS

    @property
    def log_hash(self) -> str:
        """The hash of all happenings so far."""
        return self._hash.hex()

    def add(self, happening: Happening) -> None:
        """Stores the next happening, or compares it where the run had come that far before.

        Raises:
            CannotResume: another one is stored.
            NotStored: an earlier one could not be written.
        """
        if happening.seq != self.world.seq + 1 or happening.t < self._last:
            raise ValueError(f"happening {happening.seq} at {happening.t} s is not the next one")
        self._last = happening.t
        self._hash.add(happening)
        apply(self.world, happening)
        if happening.seq < self._stored:
            self._compare(happening)
        else:
            self._writer.put("happenings", (happening.seq, happening.t, happening.who, _encode(happening.what)))
        if (happening.seq + 1) % SNAPSHOT_EVERY == 0:
            self._writer.put("snapshots", (happening.seq, happening.t, self.world.encode()))

    def episode(self, key: str) -> Episode | None:
        """Returns the medical part of a visit as it was computed before; None where it was not."""
        waiting = self._writer.episodes.get(key)
        if waiting is not None or not self._resumes:
            return waiting
        return self._read.episode(key)

    def keep(self, episode: Episode) -> None:
        """Stores the medical part of a visit.

        Raises:
            NotStored: something earlier could not be written.
        """
        self._resumes = True
        self._writer.episodes[episode.key] = episode
        self._writer.put("episodes", (episode.key, episode))

    def remember(self, compute: Compute) -> Compute:
        """Returns the same computation of episodes, which takes from the run what is stored and stores the rest."""

        async def remembered(request: Request) -> Episode:
            episode = self.episode(request.key)
            if episode is None:
                episode = await compute(request)
                self.keep(episode)
            return episode

        return remembered

    def flush(self) -> None:
        """Returns when all is committed.

        Raises:
            NotStored: it could not be written.
        """
        self._writer.flush()

    def finish(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        """Ends the run: stores its summary, also as `summary.json`, with the log's hash and length.

        Raises:
            CannotResume: the run had come further before.
            NotStored: it could not be written.
        """
        here = self.world.seq + 1
        if here < self._stored:
            raise CannotResume(self._differs(f"it ends after {here} happenings, and {self._stored} are stored"))
        whole = {**summary, "happenings": here, "log_hash": self.log_hash}
        text = msgspec.json.encode(whole)
        self.flush()
        try:
            write_text(self.folder / SUMMARY, msgspec.json.format(text, indent=2).decode() + "\n")
        except BadInput as error:
            raise NotStored(str(error)) from None
        # After the file, so that a run whose summary is stored has it in both places.
        self._writer.put("about", ("summary", text))
        self.flush()
        return whole

    def close(self) -> None:
        """Stores what waits, and lets the run go.

        Raises:
            NotStored: something could not be written, and nobody was told so far.
        """
        try:
            # The reader first: whoever is last puts what is in the write-ahead log into the file, and must be able to.
            self._read.close()
            self._writer.close()
        finally:
            self._held.close()

    def _compare(self, happening: Happening) -> None:
        if not self._ahead:
            end = min(self._stored, happening.seq + 1_000)
            self._ahead.extend(self._read.happenings(begin=happening.seq, end=end))
        before = self._ahead.popleft()
        if before != happening:
            day, clock = divmod(happening.t, 24 * 60 * 60)
            at = f"day {day}, {clock // 3600:02}:{clock // 60 % 60:02}"
            raise CannotResume(self._differs(f"happening {happening.seq} ({at}) is another than the one stored"))

    def _differs(self, how: str) -> str:
        by = self._read.package
        versions = f"begun by polyclinic {by}, taken up by {__version__}" if by != __version__ else "the same version"
        return (
            f"{self.folder}: the run cannot be resumed because code or configuration changed ({versions}): {how}; "
            "start it anew in another folder"
        )


class _Writer:
    """A thread that commits rows in groups; after a failure it throws rows away, so that nobody hangs."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.episodes: dict[str, Episode] = {}
        self._folder, self._connection = folder, connection
        self._rows: queue.Queue[tuple[str, tuple[Any, ...]] | threading.Event | None] = queue.Queue(_WAITING)
        self._hurry = threading.Event()
        self._error: PolyclinicError | None = None
        self._told = False
        self._thread = threading.Thread(target=self._write, name="polyclinic-store", daemon=True)
        self._thread.start()

    def put(self, table: str, row: tuple[Any, ...]) -> None:
        self._tell()
        self._rows.put((table, row))

    def flush(self) -> None:
        done = threading.Event()
        self._rows.put(done)
        self._hurry.set()
        done.wait()
        self._tell()

    def close(self) -> None:
        if self._thread.is_alive():
            self._rows.put(None)
            self._hurry.set()
            self._thread.join()
            self._connection.close()
        if not self._told:
            self._tell()

    def _tell(self) -> None:
        if self._error is not None:
            self._told = True
            raise self._error

    def _write(self) -> None:
        going = True
        while going:
            batch = [self._rows.get()]
            self._hurry.wait(_GATHER)
            self._hurry.clear()
            with contextlib.suppress(queue.Empty):
                while len(batch) < _TOGETHER:
                    batch.append(self._rows.get_nowait())
            if self._error is None:
                self._commit([item for item in batch if isinstance(item, tuple)])
            for item in batch:
                if isinstance(item, threading.Event):
                    item.set()
            going = None not in batch

    def _commit(self, rows: list[tuple[str, tuple[Any, ...]]]) -> None:
        tables: dict[str, list[tuple[Any, ...]]] = {}
        for table, row in rows:
            tables.setdefault(table, []).append(row)
        kept = [row[0] for row in tables.get("episodes", [])]
        tables["episodes"] = [(key, pack(episode)) for key, episode in tables.get("episodes", [])]
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for table, some in tables.items():
                if some:
                    # Snapshots and episodes may be there already, and are the same.
                    how = "INSERT" if table == "happenings" else "INSERT OR REPLACE"
                    blanks = ", ".join("?" * len(some[0]))
                    self._connection.executemany(f"{how} INTO {table} VALUES ({blanks})", some)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._error = not_stored(error, self._folder)
            if self._connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
            return
        for key in kept:
            self.episodes.pop(key, None)
