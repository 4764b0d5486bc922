"""The file of a run, `run.sqlite`, and reading it: the log, the state at any time, episodes; also during the run.

    about        name="package" value=... ; name="configuration" value={...} ; name="summary" value={...}
    happenings   seq=17  t=29520  who="r00042"  what={"what":"queued",...}
    snapshots    seq=2000  t=...  world=<MessagePack>
    episodes     key="r00042-d3/1"  episode=<JSON, compressed>

The models' journal is a file of its own, `private/answers.sqlite`: two writers of one SQLite file would wait
for each other at every commit.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from polyclinic import __version__
from polyclinic.errors import BadInput, PolyclinicError, UserError
from polyclinic.files import no_folder, whole
from polyclinic.hospital.record.account import encode, log_hash
from polyclinic.hospital.record.episodes import Episode
from polyclinic.hospital.record.happenings import Happening, What
from polyclinic.hospital.record.world import World, decode
from polyclinic.sqlite_file import application, claim, connect, is_empty, locked, read_errors

RUN = "run.sqlite"
_EARLIER = "calls.sqlite"


def answers_file(folder: Path) -> Path:
    """Returns the file of what models answered in a run; earlier versions kept it beside the log."""
    return folder / _EARLIER if (folder / _EARLIER).is_file() else folder / "private" / "answers.sqlite"


LOCK = "run.lock"
SUMMARY = "summary.json"
TYPED = "typed.jsonl"  # lines of a person who plays

_LOOKS = 50  # attempts to take a lock that a process only looks at

FORMAT = 8
"""Number of the format; another is refused by name."""

APPLICATION = 0x706F6C72
"""Marks a SQLite file as a run of ours."""

_TABLES = """\
CREATE TABLE about (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE happenings (seq INTEGER PRIMARY KEY, t INTEGER NOT NULL, who TEXT NOT NULL, what BLOB NOT NULL);
CREATE TABLE snapshots (seq INTEGER PRIMARY KEY, t INTEGER NOT NULL, world BLOB NOT NULL);
CREATE TABLE episodes (key TEXT PRIMARY KEY, episode BLOB NOT NULL)"""


class CannotResume(UserError):
    """The run does not come out as it did before: the code, its data or the configuration is another."""


class NotStored(PolyclinicError):
    """What happened could not be written; what was committed before is whole, and the run can be taken up again."""


class DiskFull(NotStored):
    """There is no room left for the run."""


def is_run(folder: Path) -> bool:
    """Whether it is the folder of a run, or of runs that --replicas made."""
    return (folder / RUN).is_file() or (
        folder.is_dir() and any((one / RUN).is_file() for one in folder.iterdir() if one.is_dir())
    )


def has_begun(folder: Path) -> bool:
    """Whether a folder has a run, ended or not; one that was killed while its file was made has not begun."""
    path = folder / RUN
    if not path.is_file():
        return False
    with read_errors(path), closing(_read_only(path)) as connection:
        return not is_empty(connection)


def make(folder: Path, configuration: bytes) -> sqlite3.Connection:
    """Makes the file in a folder that holds no run, whole or not at all."""
    about = "INSERT INTO about VALUES (?, ?)"
    try:
        connection = connect(folder / RUN)
        if not is_empty(connection):
            connection.close()
            raise BadInput("there is a run here; name another folder", path=folder)
        statements = [(table,) for table in _TABLES.split(";")] + [(f"PRAGMA user_version = {FORMAT}",)]
        contents = [(about, "package", __version__.encode()), (about, "configuration", configuration)]
        claim(connection, APPLICATION, [*statements, *contents])
    except sqlite3.Error as error:
        raise not_stored(error, folder) from None
    return connection


def take(folder: Path, *, write: bool) -> sqlite3.Connection:
    """Opens the file of a run that is there."""
    path = folder / RUN
    if not path.is_file():
        runs = sorted((file.parent for file in folder.glob(f"seed-*/{RUN}")), key=lambda one: (len(one.name), one.name))
        if runs:
            several = f"{len(runs)} runs with --replicas ({runs[0].name} to {runs[-1].name})"
            raise BadInput(f"{several}; name one of them, such as {runs[0]}", path=folder)
        there = "a run's folder holds run.sqlite" if folder.is_dir() else no_folder(folder)
        raise BadInput(f"there is no run here ({there}); `polyclinic run --out` makes one", path=folder)
    try:
        connection = connect(path) if write else _read_only(path)
        try:
            _check(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise BadInput(f"cannot be used as a run ({error})", path=path) from None


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Refuses a file that is no run in our format."""
    if application(connection) != APPLICATION:
        if not is_empty(connection):
            raise BadInput("a SQLite file, but no run of polyclinic", path=path)
        raise BadInput("the run ended before it began; start it again with --out", path=path.parent)
    number = connection.execute("PRAGMA user_version").fetchone()[0]
    if number != FORMAT:
        by = connection.execute("SELECT CAST(value AS TEXT) FROM about WHERE name = 'package'").fetchone()
        problem = f"a run in format {number}, written by {f'polyclinic {by[0]}' if by else 'another version'}"
        raise BadInput(f"{problem}; polyclinic {__version__} reads format {FORMAT}", path=path.parent)


def lock(folder: Path) -> sqlite3.Connection:
    """Takes the run for this process; the system gives it back however the process ends.

    SQLite's own lock, on a file beside the run, holds on every system, and keeps no reader from the run.
    """
    try:
        for _ in range(_LOOKS):
            held = locked(folder / LOCK)
            if is_locked(folder):
                if held is not None:
                    return held
                break
            if held is not None:
                held.close()  # its last holder has just removed the file
    except sqlite3.Error as error:
        raise BadInput(f"cannot be written to ({error})", path=folder) from None
    raise BadInput("another process is at this run; wait for it, or name another folder", path=folder)


def unlock(folder: Path, held: sqlite3.Connection) -> None:
    """Gives the run back, and removes the lock's file."""
    with suppress(OSError):
        (folder / LOCK).unlink(missing_ok=True)
    held.close()


def is_locked(folder: Path) -> bool:
    """Whether a process is at the run now. Asking keeps no process from it."""
    try:
        uri = f"{(folder / LOCK).absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=0)) as connection:
            connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error as error:
        return bool(getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY)
    return False


def not_stored(error: sqlite3.Error, folder: Path) -> PolyclinicError:
    """Returns the error with a name for one of SQLite's while writing."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return DiskFull(f"{folder}: the disk is full; the run is kept up to here: make room; the same command resumes")
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN):
        return BadInput(f"cannot be used as a run ({error})", path=folder / RUN)
    return NotStored(f"{folder}: {RUN} cannot be written ({error}); when that is mended, the same command resumes")


def _read_only(path: Path) -> sqlite3.Connection:
    uri = path.absolute().as_uri()
    connection = sqlite3.connect(f"{uri}?mode=ro", uri=True, isolation_level=None, check_same_thread=False, timeout=10)
    try:
        connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        ahead = path.with_name(f"{path.name}-wal")
        if ahead.exists() and ahead.stat().st_size:
            raise
        # In a folder that may not be written to, SQLite cannot put its log of readers beside the file.
        return sqlite3.connect(f"{uri}?immutable=1", uri=True, isolation_level=None, check_same_thread=False)
    return connection


_WHAT = msgspec.json.Decoder(What)
_EPISODE = msgspec.json.Decoder(Episode)
_DOCUMENT = msgspec.json.Decoder(dict[str, Any])
T = TypeVar("T")
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
        # A reader leaves an empty log behind, as it may not write; whoever may takes it away, if no one else reads.
        path = self.folder / RUN
        ahead = path.with_name(f"{path.name}-wal")
        with suppress(OSError, sqlite3.Error):
            if not ahead.stat().st_size:
                with closing(sqlite3.connect(path, timeout=0)) as connection:
                    is_empty(connection)

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
        """Yields happenings in order, a bounded number of them in memory."""
        hashed = log_hash()
        for seq, t, who, what in self._rows(begin, end):
            happening = self._happening(seq, t, who, what)
            hashed.update(encode(happening) + b"\n")
            yield happening
        summary = self.summary if begin == 0 and end is None else None
        if summary is not None and summary.get("log_hash", "") not in ("", hashed.hexdigest()):
            raise BadInput("the log is not the one with which the run ended: it is damaged", path=self.folder / RUN)

    def export(self, path: str | Path) -> int:
        """Writes the log as JSON lines, whole or not at all; returns how many happenings were written.

        The BLAKE2b hash of the file with 16 bytes (`b2sum -l 128`) is the `log_hash` of the run.
        """
        n = 0
        with whole(Path(path)) as temporary, temporary.open("wb") as file:
            for n, happening in enumerate(self.happenings(), 1):  # noqa: B007
                file.write(encode(happening) + b"\n")
        return n

    def rows(self, begin: int, n: int) -> list[tuple[int, int, str, bytes]]:
        """Returns up to so many happenings as they are stored: number, time, to whom, and as JSON what."""
        return list(self._rows(begin, begin + min(n, _AT_ONCE)))

    def happenings_of(self, who: str) -> Iterator[Happening]:
        """Yields what happened to one resident, or member of the staff, in order."""
        for row in self._query("SELECT seq, t, who, what FROM happenings WHERE who = ? ORDER BY seq", who):
            yield self._happening(*row)

    def seek(self, t: int) -> World:
        """Returns the hospital as it is at a time, after all that happens at that very second."""
        found = self._query("SELECT world FROM snapshots WHERE t <= ? ORDER BY seq DESC LIMIT 1", t)
        world = self._decoded("the snapshot before", t, decode, found[0][0]) if found else World()
        for row in self._rows(world.seq + 1, None, until=t):
            world.apply(self._happening(*row))
        world.advance(t)
        return world

    def episode(self, key: str) -> Episode | None:
        """Returns the medical part of a visit; None where it is not stored."""
        found = self._query("SELECT episode FROM episodes WHERE key = ?", key)
        return self._decoded("episode", key, unpack, found[0][0]) if found else None

    def episode_keys(self) -> list[str]:
        """Returns the keys of all episodes, in order."""
        return [key for (key,) in self._query("SELECT key FROM episodes ORDER BY key")]

    def episodes_of(self, illness: str) -> list[Episode]:
        """Returns the medical parts of all visits of an illness that are stored, by their keys."""
        query = "SELECT key, episode FROM episodes WHERE key >= ? AND key < ? ORDER BY key"
        found = self._query(query, illness, f"{illness}\x7f")
        ours = [(key, packed) for key, packed in found if not key[len(illness) :][:1].isdigit()]
        return [self._decoded("episode", key, unpack, packed) for key, packed in ours]

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
        return Happening(seq=seq, t=t, who=who, what=self._decoded("happening", seq, _WHAT.decode, what))

    def _document(self, name: str) -> dict[str, Any] | None:
        value = self._about(name)
        return None if value is None else self._decoded("its", name, _DOCUMENT.decode, value)

    def _decoded(self, kind: str, name: object, decode: Callable[[bytes], T], stored: bytes) -> T:
        try:
            return decode(stored)
        except (msgspec.DecodeError, zlib.error, ValueError, TypeError, RecursionError) as error:
            raise BadInput(f"{kind} {name} is damaged ({error})", path=self.folder / RUN) from None

    def _about(self, name: str) -> bytes | None:
        found = self._query("SELECT value FROM about WHERE name = ?", name)
        value = found[0][0] if found else None
        return value if isinstance(value, bytes | None) else str(value).encode()

    def _query(self, query: str, *values: object) -> list[Any]:
        with read_errors(self.folder / RUN):
            return self._connection.execute(query, values).fetchall()


def pack(episode: Episode) -> bytes:
    """Returns an episode as it is stored: compressed, as its traces repeat themselves."""
    return zlib.compress(msgspec.json.encode(episode), 1)


def unpack(packed: bytes) -> Episode:
    """Returns the episode that `pack` packed."""
    return _EPISODE.decode(zlib.decompress(packed))
