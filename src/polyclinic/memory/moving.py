"""A memory that was made in a file, and is to be in a store: a practice that was held elsewhere comes home so."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec

from polyclinic.memory.memory import FILE, open_memory_file
from polyclinic.stores.memory import open_store_memory, point

_AT_ONCE = 2_000  # entries in one commit


def move_to_store(folder: Path, store: str, name: str) -> None:
    """Puts the memory of a folder into a store, and says in the folder where it is.

    Cut off at any moment it is begun again, and nothing is there twice.

    Args:
        folder: of a memory in a file.
        store: the store's address.
        name: of the memory there.

    Raises:
        BadInput: the memory or the store cannot be used, or another memory has the name.
    """
    with open_memory_file(folder) as (about, kept):
        rows, notes = list(kept.entries()), list(kept.notes())
    with tempfile.TemporaryDirectory(prefix="polyclinic-") as place:
        point(Path(place), store, name)
        with open_store_memory(Path(place), msgspec.json.encode(about)) as (stored, _):
            for begin in range(0, len(rows), _AT_ONCE):
                stored.commit(rows[begin : begin + _AT_ONCE], ())
            stored.commit((), notes)
    point(folder, store, name)
    for ending in ("", "-wal", "-shm"):
        (folder / f"{FILE}{ending}").unlink(missing_ok=True)
