"""Where a run is kept: in a folder, with the answers of models in `private/`, or in a database."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from polyclinic.errors import BadInput, UserError
from polyclinic.files import check_new_folder, make_folder, write_json
from polyclinic.fingerprints import others
from polyclinic.models.journal import KeptAnswers
from polyclinic.models.settings import ASIDE
from polyclinic.run.invocation import Invocation, alters_answers
from polyclinic.run.options import ANSWERS, PRIVATE, BesideFile, KeptOptions
from polyclinic.storage.server import is_store, read_address
from polyclinic.terminal.screen import note

if TYPE_CHECKING:
    from polyclinic.results.folder import RunRecord

_STORED = re.compile(r"(?P<store>postgres(?:ql)?://[^#]*#\d+)(?:/(?P<file>[^/]+)|(?P<snapshot>@\d+))?")
_ANEW = "name another --out, or move that away"
_PAGE = "report.html"
"""What `polyclinic report` writes into the folder of a run."""
_BEGUN = "configuration.json"
"""Beside the answers of a run: the options with which it was begun."""


def check_place(kept: KeptOptions) -> None:
    """Checks that a run can be kept where its options say; makes nothing.

    Results of the same command may be there: they are replaced when this run has written its own.
    """
    folder = kept.folder
    check_database(kept)
    if folder is None:
        return
    from polyclinic.results.folder import part_in, read_record  # noqa: PLC0415 - not needed for --help

    part = part_in(folder, kept.invocation.kind) if folder.is_dir() else frozenset()
    check_new_folder(folder, besides={PRIVATE, *part, _PAGE} if part else {PRIVATE})
    if part:
        check_same(read_record(folder), kept.invocation, folder)
    else:
        _check_begun(kept, folder)


def _check_begun(kept: KeptOptions, place: Path) -> None:
    """Checks that the answers beside an output are of the same options."""
    if kept.private is not None and (begun := kept.private / _BEGUN).is_file():
        from polyclinic.results.folder import decoded  # noqa: PLC0415 - only for a run that was begun

        _check_options(decoded(begun, dict[str, Any], "the configuration of a run"), kept.invocation, place)


def check_database(kept: KeptOptions) -> None:
    """Checks that the database of a run, if it has one, can be reached and written to."""
    if kept.database is not None:
        from polyclinic.storage.results import check_store  # noqa: PLC0415 - only for a database

        check_store(read_address(kept.database))


def check_same(record: RunRecord, this: Invocation, folder: Path) -> None:
    """Checks that the results in a folder are those of a command, and of what it reads."""
    from polyclinic.results.provenance import data_files, made_of, own_code  # noqa: PLC0415 - only of earlier results

    _check_options(record.configuration, this, folder, {one.option for one in record.data})
    for one in record.data:
        path = this.files.get(one.option)
        if path is not None and one.sha256 not in {file.sha256 for file in data_files({one.option: path})}:
            raise BadInput(f"{path} has changed since this was run; {_ANEW}", path=folder)
    for code in record.code:
        if (own := own_code({code.option: code.name})) and code.sha256 not in ("", own[0].sha256):
            raise BadInput(f"the code of {code.name} has changed since this was run; {_ANEW}", path=folder)
    if changed := others({name: record.versions[name] for name in made_of() if name in record.versions}, made_of()):
        raise BadInput(f"was run with another version of {' and '.join(changed)}; {_ANEW}", path=folder)


def _check_options(before: Mapping[str, Any], this: Invocation, folder: Path, files: Collection[str] = ()) -> None:
    from polyclinic.results.provenance import without_secrets  # noqa: PLC0415 - only of earlier results

    for name, value in without_secrets(this.options).items():
        if name not in files and alters_answers(name, before.get(name, value), value):
            option = f"--{name.replace('_', '-')}"
            was, now = (_shown(option, one) for one in (before[name], value))
            raise BadInput(f"was run {was}, and is now {now}; {_ANEW}", path=folder)


def _shown(option: str, value: Any) -> str:
    """Returns an option as it is written on the command line: 'with --limit 3', 'without --limit'."""
    if value is None or value is False or value == []:
        return f"without {option}"
    if value is True:
        return f"with {option}"
    return f"with {option} {' '.join(map(str, value)) if isinstance(value, list | tuple) else value}"


def answers_of(kept: KeptOptions) -> KeptAnswers | None:
    """Returns where the answers of a run are kept, and from where they are taken; None if neither.

    The folder is made with the first answer, so that a command that is refused before leaves nothing.
    """
    if kept.shared_answers is not None or (kept.out is None and kept.reuse is None):
        return kept.shared_answers
    reuse: Path | str | None = kept.reuse
    if reuse is not None and not is_store(str(reuse)):
        reuse = answers_beside(Path(reuse))
        if not reuse.is_file():
            raise BadInput("holds no answers of another run", path=Path(str(kept.reuse)))
    if (private := kept.private) is None:
        return KeptAnswers(kept.database, reuse)
    # A file that is written again may be of other options.
    is_new = isinstance(kept, BesideFile) and kept.folder is not None and kept.folder.is_file()
    if isinstance(kept, BesideFile) and not is_new:
        _check_begun(kept, Path(str(kept.out)))

    def begin() -> None:
        from polyclinic.results.provenance import without_secrets  # noqa: PLC0415 - only with a first answer

        make_folder(private, parents=True)
        if kept.invocation.kind and (is_new or not (private / _BEGUN).is_file()):
            write_json(private / _BEGUN, without_secrets(kept.invocation.options))

    return KeptAnswers(private / ANSWERS, reuse, begin)


def answers_beside(place: Path) -> Path:
    """Returns the file of answers of a folder, or of a file; a file of answers is one itself."""
    if not place.is_file():
        return place / PRIVATE / ANSWERS
    beside = place.with_name(f"{place.name}.{PRIVATE}") / ANSWERS
    return beside if beside.is_file() else place


@contextmanager
def results_folder(kept: KeptOptions) -> Iterator[Path | None]:
    """Yields the folder for results, a temporary one if they are kept in a database; None for none."""
    if kept.database is None:
        yield kept.folder
        return
    with tempfile.TemporaryDirectory(prefix="polyclinic-") as scratch:
        yield Path(scratch)


def keep_results(database: str | None, folder: Path, *, may_lack: Sequence[str] = ()) -> None:
    """Keeps a folder of results in a database, if one is named; files that `may_lack` may be too large."""
    if database is None:
        return
    from polyclinic.results.folder import read_record  # noqa: PLC0415 - only for a database
    from polyclinic.storage.results import keep_folder  # noqa: PLC0415

    address, record = read_address(database), read_record(folder)
    number, left = keep_folder(
        address,
        folder,
        kind=record.kind,
        made_of=_digest(record),
        stopped=bool(record.stopped or record.failed),
        may_lack=may_lack,
    )
    if left:
        note(f"Too large for a database, and only in {folder}: {', '.join(left)}")
    where = f"#{number} in {address.shown}"
    note(f"Kept as {where}. Next: polyclinic results show 'URL#{number}', with the URL of --out")


def fetched(address: str) -> Path:
    """Returns a temporary folder with the results that an address names, `URL#17`, or the file of `URL#17/FILE`.

    `URL#17@2000` is the memory in them after 2,000 patients.
    """
    found = _STORED.fullmatch(address)
    if found is None:
        raise UserError(
            "the address of a database is no file or folder; results in a database are named by address and number, "
            "URL#17, or a file of theirs, URL#17/FILE; a command that keeps a run takes --out URL"
        )
    from polyclinic.results.folder import fetch  # noqa: PLC0415 - only for a database

    (folder,) = fetch(found["store"])
    if found["file"] is None:
        return folder.with_name(f"{folder.name}{found['snapshot'] or ''}")
    if not (folder / found["file"]).is_file():
        there = ", ".join(sorted(path.name for path in folder.iterdir()))
        number = found["store"].rpartition("#")[2]
        raise UserError(f"#{number} has no file {found['file']}; it has: {there}")
    return folder / found["file"]


def _digest(record: RunRecord) -> bytes:
    """Returns what is the same for the same run begun twice."""
    options = {name: value for name, value in record.configuration.items() if name not in ASIDE}
    made_of = record.kind, options, [file.sha256 for file in record.data]
    return hashlib.blake2b(msgspec.json.encode(made_of, order="sorted"), digest_size=16).digest()
