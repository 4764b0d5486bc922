"""Folders of jobs that outlive whoever gave the job, so that what was answered for a command that was killed is found.

A worker's process stores each answer before it uses it, and goes on for a moment when its command is gone. Its folder
lies on the machine where it ran, below the cache of the user:

    polyclinic/parts/KEPT/RANDOM/{job,lock,...}

`KEPT` names the command: the same when it is given again. The process holds `lock` for as long as it lives.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from polyclinic.errors import UserError
from polyclinic.models.journal_parts import JournalRow, rows_of
from polyclinic.user_folders import cache_folder

_JOB, _LOCK = "job", "lock"
_MOMENT = 0.05  # seconds between two looks
_OLD = 14 * 86_400.0  # seconds after which nobody gives the command again


class _LeftJob(msgspec.Struct):
    """What stands in the file `job`."""

    name: str
    tails: str


def name_of(place: Path) -> str:
    """Returns what names a command that goes on from what it keeps in that place of this machine."""
    return hashlib.blake2b(repr((socket.gethostname(), str(place.resolve()))).encode(), digest_size=16).hexdigest()


def make_kept_folder(kept: str, *, name: str, tails: str) -> Path:
    """Makes a folder for a job of that name, whose answers stand in the files of the pattern `tails`."""
    forget_old()
    parent = _folder(kept)
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.utime(parent)
    folder = Path(tempfile.mkdtemp(dir=parent))
    (folder / _JOB).write_bytes(msgspec.json.encode(_LeftJob(name, tails)))
    return folder


@contextmanager
def locked(folder: Path) -> Iterator[tuple[int, ...]]:
    """Yields a lock, for the process that has the folder to inherit: it is held until that has ended."""
    file = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        _take(file)
        yield () if sys.platform == "win32" else (file,)
    finally:
        os.close(file)


def left_answers(kept: str, within: float) -> dict[str, list[JournalRow]]:
    """Returns what was answered for a command whose workers were not heard to their end, by the name of the job.

    Its processes may still be there, and are waited for.

    Raises:
        UserError: they are still there after so many seconds.
    """
    until, found = time.monotonic() + within, dict[str, list[JournalRow]]()
    for folder in _folder(kept).glob("*/"):
        try:
            told = msgspec.json.decode((folder / _JOB).read_bytes(), type=_LeftJob)
        except (OSError, msgspec.MsgspecError):
            continue  # it had not begun
        while not _is_free(folder):
            if time.monotonic() > until:
                raise UserError("the same command is under way already; wait for its end, or stop it")
            time.sleep(_MOMENT)
        found.setdefault(told.name, []).extend(rows_of(sorted(folder.glob(told.tails))))
    return found


def forget_left(kept: str) -> None:
    """Removes all that was kept for a command."""
    shutil.rmtree(_folder(kept), ignore_errors=True)


def forget_old() -> None:
    """Removes what was kept for commands that nobody gave again."""
    for folder in _folder("").glob("*/"):
        try:
            if time.time() - folder.stat().st_mtime > _OLD:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue  # somebody else did


def _folder(kept: str) -> Path:
    return cache_folder() / "parts" / kept


def _is_free(folder: Path) -> bool:
    try:
        file = os.open(folder / _LOCK, os.O_RDWR)
    except OSError:
        return True
    try:
        return _take(file)
    finally:
        os.close(file)


def _take(file: int) -> bool:
    """Takes a lock, where the system has such; tells whether nobody else had it."""
    if sys.platform == "win32":
        return True
    import fcntl  # noqa: PLC0415 - not on every system

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
