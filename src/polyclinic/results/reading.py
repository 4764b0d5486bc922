"""Folders of results: where they are, and what stands in them, those of earlier versions too."""

from __future__ import annotations

import atexit
import functools
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic.errors import BadInput, UserError
from polyclinic.files import no_folder
from polyclinic.results.folder import (
    CALLS,
    ITEMS,
    RECORD,
    ItemRow,
    RunRecord,
    read_items,
    read_record,
)
from polyclinic.storage.server import is_store

STUDY = "study run"
"""The kind of a folder that gathers what several runs of a plan came to."""

_RUNS = "runs"  # of a study, in its folder
_DEEPEST = 3  # folders below the one that is named


class RunResults(NamedTuple):
    """One folder: what was run, and its items; `name` is what it is called where it stands in a store, `#17`."""

    folder: Path
    record: RunRecord
    rows: Sequence[ItemRow]
    name: str = ""

    @property
    def called(self) -> str:
        """What it is called where it is named: its folder, or its number in a store."""
        return self.name or str(self.folder)

    @property
    def measures(self) -> list[str]:
        """The measures that items have values of, the chief one first."""
        named = [one.name for one in self.record.measures]
        found = dict.fromkeys(name for row in self.rows for name in row.values)
        return [*(name for name in named if name in found), *(name for name in found if name not in named)]


def read_results(*paths: Path | str) -> list[RunResults]:
    """Reads the results in folders, in those below a folder that has none itself, and in stores.

    A store is named by its address, `postgresql://HOST/DATABASE`, which means all that is in it, or with `#17` behind.
    """
    if not paths:
        raise UserError("name one or more folders of results, such as --out of a run made")
    found: dict[Path, RunResults] = {}
    for path in paths:
        if isinstance(path, str) and is_store(path):
            found |= {one.folder: one for one in _stored(path)}
        else:
            found |= {folder: _read(folder) for folder in _found(Path(path)) if folder not in found}
    return list(found.values())


def runs_of_study(results: RunResults) -> list[RunResults]:
    """Returns the runs of a study, with what the paper prints beside the first; anything else, and one alone, as it is.

    A study whose runs do not lie in its folder any more, as in a store, is as it is too.
    """
    folders = sorted(path for path in results.folder.glob(f"{_RUNS}/*") if (path / RECORD).is_file())
    if results.record.kind != STUDY or not folders or results.name:
        return [results]
    runs = [_read(folder) for folder in folders]
    first = msgspec.structs.replace(runs[0].record, published=results.record.published)
    return [runs[0]._replace(record=first), *runs[1:]]


def _stored(text: str) -> Iterator[RunResults]:
    from polyclinic.storage.results import StoredFolders, fetch_folders  # noqa: PLC0415 - for those who share a store

    wanted = StoredFolders.read(text)
    for number, folder in fetch_folders(wanted, _scratch_of(text), (RECORD, ITEMS, CALLS)):
        try:
            yield _read(folder)._replace(name=f"#{number}")
        except BadInput as problem:
            raise BadInput(f"{wanted.address.shown}#{number}: {problem.problem}") from None


def fetch(text: str) -> list[Path]:
    """Returns temporary folders with the results in a database, `postgresql://HOST/DATABASE#17`."""
    from polyclinic.storage.results import StoredFolders, fetch_folders  # noqa: PLC0415 - for those who share a store

    return [folder for _, folder in fetch_folders(StoredFolders.read(text), _scratch_of(f"{text} whole"))]


def is_fetched(folder: Path) -> bool:
    """Whether a folder is one of `fetch`, and nobody will find what is written there."""
    return _scratch.cache_info().currsize > 0 and folder.is_relative_to(_scratch())


def _scratch_of(text: str) -> Path:
    scratch = _scratch() / hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    scratch.mkdir(exist_ok=True)
    return scratch


@functools.cache
def _scratch() -> Path:
    """Returns a folder that lasts as long as this process."""
    folder = tempfile.TemporaryDirectory(prefix="polyclinic-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _found(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        raise BadInput(f"{no_folder(path)}; name one that --out made", path=path)
    if _holds(path):
        yield path
        return
    below = sorted(one for one in _below(path, _DEEPEST) if _holds(one))
    if not below:
        raise BadInput(
            "there are no results here, nor in the folders below; a run with --out FOLDER writes them "
            "when it ends; if it was stopped, give the same command again",
            path=path,
        )
    yield from below


def _below(path: Path, depth: int) -> Iterator[Path]:
    for one in path.iterdir():
        if one.is_dir() and not one.name.startswith("."):
            yield one
            if depth > 1 and not _holds(one):
                yield from _below(one, depth - 1)


def _holds(folder: Path) -> bool:
    return (folder / RECORD).is_file()


def _read(folder: Path) -> RunResults:
    return RunResults(folder, read_record(folder), read_items(folder))
