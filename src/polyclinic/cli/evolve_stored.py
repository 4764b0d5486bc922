"""Several practices whose memories, answers and results are in a store: each under a name of its own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from polyclinic.cli.evolve_folder import CONFIGURATION, RESULTS
from polyclinic.cli.storing import keep_results
from polyclinic.errors import UserError
from polyclinic.memory.memory import FILE, is_stored
from polyclinic.memory.moving import move_to_store
from polyclinic.stores.memory import check_not_there, name_in_store, password_of, point


class ReplicaPlaces:
    """Where the practices of a folder are kept; does nothing where no store is named.

    Args:
        out: the folder that holds theirs.
        store: its address.
    """

    def __init__(self, out: Path, store: str | None) -> None:
        self._out, self._store = out, store

    def check(self, folders: Iterable[Path]) -> None:
        """Checks, before anything is written, that each can be kept in the store, or goes on there.

        Raises:
            UserError: one was begun without a store, or in another.
            BadInput: the store cannot be reached, or has a memory of that name.
        """
        if self._store is None:
            return
        for folder in folders:
            if is_stored(folder):
                password_of(folder, self._store)
            elif not (folder / CONFIGURATION).is_file():
                check_not_there(self._store, self._name(folder))
            elif (folder / FILE).is_file() and not (folder / RESULTS).is_file():
                raise UserError(f"{folder} was begun without --store; leave it out, or name another folder")

    def point(self, folder: Path) -> None:
        """Says in the folder of a practice where its memory is to be; one that was made elsewhere is put there.

        Raises:
            BadInput: the store cannot be reached, or has another memory of that name.
        """
        if self._store is None or is_stored(folder):
            return
        if (folder / FILE).is_file():
            move_to_store(folder, self._store, self._name(folder))
        else:
            point(folder, self._store, self._name(folder))

    def keep(self, folders: Iterable[Path]) -> None:
        """Keeps what came of each, under a number of its own.

        Raises:
            BadInput: the store cannot be reached or used.
        """
        for folder in folders:
            keep_results(self._store, folder)

    def _name(self, folder: Path) -> str:
        return f"{name_in_store(self._out)}/{folder.name}"
