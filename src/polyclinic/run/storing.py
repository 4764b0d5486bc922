"""`--store`: what comes of a command is kept in a database that several machines share."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from polyclinic.errors import UserError
from polyclinic.files import make_folder, write_text
from polyclinic.models.ledger import Ledger
from polyclinic.models.session import ModelSettings
from polyclinic.run.options import KeptOptions
from polyclinic.storage.server import is_store, read_address
from polyclinic.terminal.screen import note

if TYPE_CHECKING:
    from polyclinic.results.folder import RunRecord

_OF_THIS_COMMAND = frozenset(
    "api_key_env concurrency csv json cost_budget token_budget on out price requests_per_minute store timeout "
    "tokens_per_minute wait_for_server".split()
)
"""Options that nothing of the results comes from."""

DOCUMENT = "document.json"
"""What a command prints with `--json`, where it writes no folder of results."""

_PAGES = "its --out is a page or a table made of results, which are kept where they were made"
_SHEETS = "its --out are sheets, which people fill in and send back, or what was read of those"

WITHOUT_STORE: Mapping[str, str] = {
    "replay": _PAGES,
    "report": _PAGES,
    "results compare": _PAGES,
    "results show": _PAGES,
    "verdicts export": _SHEETS,
    "verdicts import": _SHEETS,
    "models check": "it asks whether models answer, and keeps nothing",
    "serve": "what is played, judged and taught there lies in its folder, to which one server at a time writes",
    "memory show": "its --out is a copy of a memory for other tools; the memory may be in a store",
}
"""Commands that write, and keep nothing in a store; each with its reason."""

_STORED = re.compile(r"(?P<store>postgres(?:ql)?://[^#]*#\d+)(?:/(?P<file>[^/]+))?")
_READ_STORES = ("results", "memory")
"""Commands that are told a store's address themselves."""

_STORE_OPTION = "--store"

_PART_OF_STUDY: ContextVar[bool] = ContextVar("part of a study", default=False)


@contextmanager
def kept_by_study() -> Iterator[None]:
    """While it lasts, what comes of commands is kept in no store: whoever runs them keeps the whole."""
    before = _PART_OF_STUDY.set(True)
    try:
        yield
    finally:
        _PART_OF_STUDY.reset(before)


@contextmanager
def results_folder(out: Path | None, store: str | None) -> Iterator[Path | None]:
    """Yields the folder for results, one that goes away where they are kept in a store alone; None for nowhere."""
    if out is not None or store is None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="polyclinic-") as scratch:
        yield Path(scratch)


def keep_results(store: str | None, folder: Path | None, *, may_lack: Sequence[str] = ()) -> None:
    """Keeps a folder of results in the store, and says under which number; nothing where there is none.

    Args:
        store: its address.
        folder: the results.
        may_lack: files that are left out where they are too large for a store.

    Raises:
        BadInput: the store cannot be reached or used.
    """
    if store is None or folder is None or _PART_OF_STUDY.get():
        return
    from polyclinic.results.folder import read_record  # noqa: PLC0415 - for those who share a store
    from polyclinic.storage.results import keep_folder  # noqa: PLC0415

    address, record = read_address(store), read_record(folder)
    kept = keep_folder(
        address,
        folder,
        kind=record.kind,
        made_of=_digest(record),
        stopped=bool(record.stopped or record.failed),
        may_lack=may_lack,
    )
    if kept.left:
        note(f"Too large for a store, and only in {folder}: {', '.join(kept.left)}")
    where = f"#{kept.number} in {address.shown}"
    note(f"Kept as {where}. Next: polyclinic results show 'URL#{kept.number}', with the URL of --store")


def keep_outcome(
    kept: KeptOptions,
    document: object,
    *,
    models: ModelSettings,
    ledger: Ledger | None = None,
    seed: int = 0,
    files: Sequence[Path | None] = (),
    stopped: object = None,
) -> None:
    """Keeps what came of a command that writes no folder of results; nothing where no store is named.

    Args:
        kept: where.
        document: what `--json` prints.
        models: how models were asked.
        ledger: what they cost.
        seed: of the command.
        files: that it wrote.
        stopped: what ended it before its end.

    Raises:
        BadInput: the store cannot be reached or used.
    """
    with results_folder(None, kept.store) as folder:
        if folder is None:
            return
        from polyclinic.run.provenance import write_results  # noqa: PLC0415 - for those who share a store

        write_text(folder / DOCUMENT, msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n")
        written = [file for file in files if file is not None and file.is_file()]
        for file in written:
            shutil.copyfile(file, folder / file.name)
        write_results(
            folder,
            (),
            (),
            seed=seed,
            models=models,
            ledger=ledger or Ledger(),
            stopped="" if stopped is None else str(stopped),
            files=[DOCUMENT, *(file.name for file in written)],
        )
        keep_results(kept.store, folder)


def place_memory(folder: Path, store: str | None, pointers: Sequence[str], *, dry_run: bool = False) -> None:
    """Says in a folder that its memory is in a store, before anything is remembered; nothing where none is named.

    Args:
        folder: of the memory; made where there is none.
        store: its address.
        pointers: what is remembered, by the files that point to it; see `polyclinic.storage.memory`.
        dry_run: leaves it at a look at the address.

    Raises:
        UserError: the folder has a memory of its own, or one in another store.
        BadInput: the store cannot be reached, or has a memory of that name.
    """
    if store is None:
        return
    read_address(store)
    if dry_run:
        return
    # With these comes what reaches a server.
    from polyclinic.storage.memory import check_not_there, name_in_store, password_of, point  # noqa: PLC0415

    new = [pointer for pointer in pointers if not (folder / pointer).is_file()]
    for pointer in new:
        if (folder / pointer).with_suffix(".sqlite").is_file():
            raise UserError(f"{folder} was begun without --store; leave it out, or name another folder")
        check_not_there(store, name_in_store(folder, pointer))
    for pointer in pointers:
        if pointer not in new:
            password_of(folder, store, pointer)
    make_folder(folder, parents=True)
    for pointer in new:
        point(folder, store, name_in_store(folder, pointer), pointer)


def with_fetched(words: Sequence[str]) -> list[str]:
    """Returns the words of a command, with folders in the place of results in stores, `URL#17` or `URL#17/FILE`.

    Raises:
        UserError: an address stands in the place of a file, or the results have no such file.
        BadInput: the store cannot be reached, or has no such results.
    """
    if words and words[0] in _READ_STORES:
        return list(words)
    return [_fetched(word, before) for before, word in pairwise(["", *words])]


def _fetched(word: str, before: str) -> str:
    option, sign, value = word.partition("=") if word.startswith("--") else ("", "", word)
    if not is_store(value) or _STORE_OPTION in (option, before):
        return word
    found = _STORED.fullmatch(value)
    if found is None:
        raise UserError(
            "an address of a database stands where a file or a folder belongs; results in a store are named by "
            "address and number, URL#17, or a file of theirs, URL#17/FILE; where a command keeps, it is --store URL"
        )
    from polyclinic.results.reading import fetch  # noqa: PLC0415 - for those who share a store

    (folder,) = fetch(found["store"])
    if found["file"] is None:
        return f"{option}{sign}{folder}"
    if not (folder / found["file"]).is_file():
        there = ", ".join(sorted(path.name for path in folder.iterdir()))
        number = found["store"].rpartition("#")[2]
        raise UserError(f"#{number} has no file {found['file']}; it has: {there}")
    return f"{option}{sign}{folder / found['file']}"


def _digest(record: RunRecord) -> bytes:
    """Returns what is the same for the same run begun twice."""
    options = {name: value for name, value in record.configuration.items() if name not in _OF_THIS_COMMAND}
    made_of = record.kind, options, [file.sha256 for file in record.data]
    return hashlib.blake2b(msgspec.json.encode(made_of, order="sorted"), digest_size=16).digest()
