"""A command that was refused before anything came of it leaves nothing behind.

Folders and journals are made early, so that a long run does not end at a place that cannot be written to. Where the
input turns out to be wrong after that, they would stand in the way of the same command, put right.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from cyclopts import CycloptsError

from polyclinic.errors import PolyclinicError, UserError
from polyclinic.run.words import value_of

_WORK = ("calls", "happenings", "episodes")
"""Tables whose rows are work: what models answered, and what was computed."""

_KNOWN = (*_WORK, "messages", "prompts", "snapshots", "about")
"""All tables of journals and of runs; a file with another is none of them."""

_LOCK, _DATABASE = ".lock", b"SQLite format 3\x00"


@contextmanager
def leaving_nothing(words: Sequence[str]) -> Iterator[None]:
    """Where the command of these words is refused, removes its --out and --journal, if they hold no work.

    A folder in which there was something before is left as it is. Where it is stopped, or fails, only folders that are
    empty go: an empty journal says that the command was begun, and that what its workers still have is wanted.
    """
    out, journal = (
        None if one is None else Path(one) for one in (value_of(words, "--out"), value_of(words, "--journal"))
    )
    new = out if out is not None and not _holds_something(out) else None
    there = new is not None and new.is_dir()
    journals = set() if journal is None else set(_journals(journal))
    try:
        yield
    except (PolyclinicError, CycloptsError, KeyboardInterrupt) as error:
        with suppress(OSError):
            refused = isinstance(error, UserError | CycloptsError)
            if refused and journal is not None:
                _remove_empty_journals(set(_journals(journal)) - journals)
            if new is not None and new.is_dir() and not new.is_symlink():
                _empty(new, refused=refused, keep=there)
        raise


def _holds_something(place: Path) -> bool:
    try:
        return place.is_dir() and any(place.iterdir())
    except OSError:
        return True


def _empty(folder: Path, *, refused: bool, keep: bool) -> None:
    """Removes a folder, or what is in it, if it holds no work; else, or of one that was not refused, empty folders."""
    if refused and not any(_is_work(path) for path in folder.rglob("*") if not path.is_dir()):
        shutil.rmtree(folder)
        if keep:
            folder.mkdir()
        return
    for place, _, _ in os.walk(folder, topdown=False):
        if not (keep and Path(place) == folder):
            with suppress(OSError):  # it is not empty
                Path(place).rmdir()


def _journals(journal: Path) -> list[Path]:
    return [journal] if journal.is_file() else []


def _remove_empty_journals(journals: set[Path]) -> None:
    for path in journals:
        if path.is_file() and not path.is_symlink() and not _is_work(path):
            for ending in ("", "-wal", "-shm"):
                path.with_name(path.name + ending).unlink(missing_ok=True)


def _is_work(path: Path) -> bool:
    """Whether a file is more than what a command prepares before it asks or computes anything."""
    from polyclinic.cli.evolve_folder import CONFIGURATION  # noqa: PLC0415 - for those who are refused

    if path.is_symlink():
        return True
    if path.name == CONFIGURATION:
        return False
    if path.name.endswith(("-wal", "-shm")):  # of the file that it is named after
        return not path.with_name(path.name[:-4]).is_file()
    if path.suffix == _LOCK:
        return _is_held(path)
    with path.open("rb") as file:
        begin = file.read(len(_DATABASE))
    if begin != _DATABASE:
        return bool(begin)
    try:
        with closing(sqlite3.connect(path, timeout=1)) as database:
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            return not tables <= {*_KNOWN} or any(
                database.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone()  # noqa: S608 - one of ours
                for name in tables & {*_WORK}
            )
    except sqlite3.Error:
        return True


def _is_held(lock: Path) -> bool:
    """Whether another process works there, which came a moment before."""
    from polyclinic.sqlite_file import locked  # noqa: PLC0415 - for those who are refused

    try:
        connection = locked(lock)
    except sqlite3.Error:
        return True
    if connection is None:
        return True
    connection.close()
    return False
