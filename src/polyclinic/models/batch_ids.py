"""Where the ids of batches are kept: in a file beside the journal, a line each, or in a store that machines share."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Protocol

from polyclinic.opened_files import read_at_once
from polyclinic.stores.address import is_store, read_address


class BatchIds(Protocol):
    """Lines that say which batches there are."""

    async def read(self) -> list[bytes]:
        """Returns all lines, in the order in which they were added; raises BadInput where they cannot be read."""

    async def add(self, line: bytes) -> None:
        """Returns when a line is kept for good; raises BadInput or OSError where it cannot be."""

    async def close(self) -> None:
        """Frees what was used."""


class BatchIdsFile:
    """Lines of a file, made where there is none."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self) -> list[bytes]:
        """Returns its lines; one that was half written when a run was killed is among them."""
        return read_at_once(self._path).splitlines() if self._path.exists() else []

    async def add(self, line: bytes) -> None:
        """Returns when the line is on the disk."""
        await asyncio.to_thread(self._append, line)

    async def close(self) -> None:
        """Does nothing: the file is open only while a line is added."""

    def _append(self, line: bytes) -> None:
        with self._path.open("ab") as file:
            file.write(b"\n" * (file.tell() > 0) + line)
            file.flush()
            os.fsync(file.fileno())


def batch_ids(where: Path | str, run: str) -> BatchIds:
    """Returns where the ids of a run's batches are kept: a file, or a store by its address.

    Raises:
        MissingExtra: what reaches a store is not installed.
    """
    if is_store(where):
        from polyclinic.stores.batch_ids import StoreBatchIds  # noqa: PLC0415 - for those who share a store

        return StoreBatchIds(read_address(str(where)), run)
    return BatchIdsFile(Path(where))
