"""`polyclinic memory link`: a folder for a memory that is in a store, so that this machine uses it too."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.cli.options import DIR
from polyclinic.errors import UserError
from polyclinic.files import make_empty_folder
from polyclinic.memory.memory import has_memory, open_memory
from polyclinic.memory.reading import has_read, open_reading
from polyclinic.terminal.screen import note


def link(
    where: Annotated[str, Parameter(metavar="URL#NAME", help="The store's address, and the memory's name behind it.")],
    /,
    *,
    out: Annotated[Path, DIR, Parameter(help="The new folder.")],
) -> None:
    """Makes a folder that says where a memory is."""
    from polyclinic.stores.memory import POINTER, point, pointers_there  # noqa: PLC0415 - for those who share a store

    store, sign, name = where.rpartition("#")
    if not sign or not name:
        raise UserError("a memory in a store is named postgresql://HOST/DATABASE#NAME; evolve --store says its name")
    pointers = pointers_there(store, name)
    make_empty_folder(out)
    for pointer in pointers:
        point(out, store, name if pointer == POINTER else f"{name}/read", pointer)
    n = 0
    if has_memory(out):
        with open_memory(out) as memory:
            n += sum(len(one) for kind in (memory.records, memory.experience) for one in kind.values())
    if has_read(out):
        with open_reading(out) as library:
            n += len(library)
    note(f"{n:,} entries, which stay where they are: {out}. Next: polyclinic memory show {out}")
