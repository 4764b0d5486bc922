"""Results stand in their folder whole or not at all; what is over of a run that ended early lasts until then.

They are written into a folder beside, whose name says when it is whole; then its files take the old ones' places.
Whoever is killed before that leaves what was there, and whoever is killed while they do is helped on by the next run.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polyclinic.errors import BadInput
from polyclinic.results.folder import CALLS, ITEMS, RECORD, read_record
from polyclinic.seals import SUMS

_BEGUN, _WHOLE = ".results-begun", ".results-whole"


def part_in(folder: Path, kind: str) -> frozenset[str]:
    """Returns the files of what is over of a run of this kind that was stopped, or failed; none where there is none.

    Raises:
        BadInput: what a run was cannot be read, or the folder not be written to.
    """
    _go_on(folder)
    if not (folder / RECORD).is_file():
        return frozenset()
    record = read_record(folder)
    return _files(folder) if (record.stopped or record.failed) and record.kind == kind else frozenset()


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Yields where to write what then is put into a folder as a whole, in the place of what it holds of a run.

    Where it cannot be written whole, as on a disk that is full, nothing of it is left.

    Raises:
        BadInput: the folder cannot be written to.
    """
    begun = folder / _BEGUN
    try:
        shutil.rmtree(begun, ignore_errors=True)
        begun.mkdir(parents=True)
        yield begun
        begun.rename(folder / _WHOLE)
    except BadInput as error:
        if error.path is None or begun not in Path(error.path).parents:
            raise
        raise BadInput(error.problem, path=folder / Path(error.path).name) from None
    except OSError as error:
        raise BadInput(f"cannot be written to ({error.strerror or error})", path=folder) from None
    finally:
        shutil.rmtree(begun, ignore_errors=True)
    _go_on(folder)


def _files(folder: Path) -> frozenset[str]:
    names = (*read_record(folder).files, CALLS, ITEMS, RECORD, SUMS)
    return frozenset(name for name in names if Path(name).name == name and (folder / name).is_file())


def _go_on(folder: Path) -> None:
    """Puts what is whole where it belongs: the items first, the record and its sums last.

    As long as the items have not gone, nothing has, and what the old record names may still be taken away.
    """
    shutil.rmtree(folder / _BEGUN, ignore_errors=True)
    new = folder / _WHOLE
    if not new.is_dir():
        return
    try:
        last = (RECORD, SUMS)
        names = {one.name for one in new.iterdir()}
        if ITEMS in names and (folder / RECORD).is_file():
            for name in _files(folder) - names - set(last):
                (folder / name).unlink(missing_ok=True)
        for name in (one for one in (ITEMS, *sorted(names - {ITEMS, *last}), *last) if one in names):
            (new / name).replace(folder / name)
        new.rmdir()
    except OSError as error:
        raise BadInput(f"cannot be written to ({error.strerror or error})", path=folder) from None
