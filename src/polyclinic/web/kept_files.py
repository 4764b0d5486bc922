"""Files that are read when the server begins: one that is damaged takes nothing but itself away."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from polyclinic.errors import BadInput
from polyclinic.opened_files import check_regular

MOST_BYTES = 128 * 2**20
"""Of one file."""

T = TypeVar("T")
_log = logging.getLogger("uvicorn")


def read_all(paths: Iterable[Path], read: Callable[[Path], T]) -> tuple[list[T], dict[Path, BadInput]]:
    """Reads files in the order of their names; what is wrong with one is said on the terminal.

    Returns:
        What stands in those that can be read, and what is wrong with the others.
    """
    there: list[T] = []
    damaged: dict[Path, BadInput] = {}
    for path in sorted(paths):
        try:
            check_regular(path, most=MOST_BYTES)
            there.append(read(path))
        except BadInput as error:
            _log.warning("left out: %s", error)
            damaged[path] = error
    return there, damaged
