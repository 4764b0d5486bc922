"""`--store`: what comes of a command is kept in a database that several machines share."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from polyclinic.results.folder import RunRecord, read_record
from polyclinic.stores.address import read_address
from polyclinic.terminal.screen import note

_OF_THIS_COMMAND = frozenset(
    "api_key_env concurrency csv json max_cost max_tokens on out price requests_per_minute store timeout "
    "tokens_per_minute wait_for_server".split()
)
"""Options that nothing of the results comes from."""


@contextmanager
def results_folder(out: Path | None, store: str | None) -> Iterator[Path | None]:
    """Yields the folder for results, one that goes away where they are kept in a store alone; None for nowhere."""
    if out is not None or store is None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="polyclinic-") as scratch:
        yield Path(scratch)


def keep_results(store: str | None, folder: Path | None) -> None:
    """Keeps a folder of results in the store, and says under which number; nothing where there is none.

    Raises:
        BadInput: the store cannot be reached or used.
    """
    if store is None or folder is None:
        return
    from polyclinic.stores.results import keep_folder  # noqa: PLC0415 - for those who share a store

    address, record = read_address(store), read_record(folder)
    number = keep_folder(address, folder, kind=record.kind, made_of=_digest(record), stopped=bool(record.stopped))
    note(f"Kept as #{number} in {address.shown}. Next: polyclinic results show 'URL#{number}', with the URL of --store")


def _digest(record: RunRecord) -> bytes:
    """Returns what is the same for the same run begun twice."""
    options = {name: value for name, value in record.configuration.items() if name not in _OF_THIS_COMMAND}
    made_of = record.kind, options, [file.sha256 for file in record.data]
    return hashlib.blake2b(msgspec.json.encode(made_of, order="sorted"), digest_size=16).digest()
