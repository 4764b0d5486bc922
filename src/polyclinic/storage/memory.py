"""Memories that earlier versions kept in the tables of a store; they are copied from there.

A folder of an earlier version may hold but a file that says where its memory is: `memory.store`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import write_text
from polyclinic.opened_files import read_at_once
from polyclinic.seals import seal
from polyclinic.storage.server import opened_store, plain, read_address

POINTER = "memory.store"
READING = "reading.store"
"""The same for what a doctor has read, which is a memory of its own, `NAME/read`."""

_NAMES = "SELECT name FROM {s}.memories ORDER BY name"
_ABOUT = "SELECT about FROM {s}.memories WHERE name = %s"
_ENTRIES = "SELECT kind, task, entry, vector, seal FROM {s}.entries WHERE memory = %s ORDER BY n"
_NOTES = 'SELECT patients, what, came FROM {s}.practice WHERE memory = %s ORDER BY patients, what COLLATE "C"'


class MemoryPlace(msgspec.Struct, frozen=True):
    """Where a memory is: the store's address without a password, and the memory's name in it."""

    store: str
    memory: str


def point(folder: Path, store: str, memory: str, pointer: str = POINTER) -> None:
    """Says in a folder that its memory is in a store, under a name."""
    place = MemoryPlace(read_address(store).kept, plain(memory))
    # What is kept of an address has no password: libpq looks for it there.
    os.environ.update(read_address(store).secrets)
    write_text(folder / pointer, msgspec.json.encode(place).decode() + "\n")


def pointers_there(store: str, memory: str) -> list[str]:
    """Returns which files point to what a store has of a memory's name: of patients, of documents, or both."""
    address = read_address(store)
    with opened_store(address, make=False) as server:
        names = [name for (name,) in server.rows(_NAMES)]
    found = [pointer for pointer, name in ((POINTER, memory), (READING, f"{memory}/read")) if plain(name) in names]
    if not found:
        there = ", ".join(dict.fromkeys(name.removesuffix("/read") for name in names)) or "none"
        raise BadInput(f"{address.shown}: no memory {memory!r}; there are: {there}")
    return found


def read_memory(path: Path) -> tuple[bytes, list[tuple[str, str, bytes, bytes]], list[tuple[int, str, bytes]]]:
    """Returns what the memory that a file points to was made with, its entries and its notes."""
    try:
        place = msgspec.json.decode(read_at_once(path), type=MemoryPlace)
    except (BadInput, msgspec.MsgspecError) as error:
        raise BadInput(f"does not say where a memory is ({error})", path=path) from None
    address, entries = read_address(place.store), list[Any]()
    with opened_store(address, make=False) as server:
        if not (found := server.rows(_ABOUT, place.memory)):
            raise BadInput(f"{address.shown}: there is no memory {place.memory!r}", path=path)
        for kind, task, entry, vector, sealed in server.rows(_ENTRIES, place.memory):
            if seal(b"%s %s %d " % (kind.encode(), task.encode(), len(entry)) + entry + vector) != sealed:
                raise BadInput("the memory is damaged: it is not what was stored", path=path)
            entries.append((kind, task, entry, vector))
        return found[0][0], entries, server.rows(_NOTES, place.memory)
