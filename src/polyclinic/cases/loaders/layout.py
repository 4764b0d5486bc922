"""What a layout of case files declares of itself.

A module of this folder that has `LAYOUTS` adds them to those that are read; nothing else has to be changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from polyclinic.cases.case import Case


class Layout(NamedTuple):
    """A layout: how it is called, recognised, read and written."""

    name: str
    signs: frozenset[str]  # a record with any of these keys is in this layout; no two layouts share one
    load: Callable[..., Case]  # makes a case of a record and its number in the file, from 1
    write: Callable[[Case], dict[str, Any]] | None = None
    keys_once: bool = False  # an object in which a key stands twice is refused
    needs_folder: bool = False  # `load` gets the folder of the file as `beside`
