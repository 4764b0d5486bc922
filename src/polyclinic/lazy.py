"""Public names of a room, imported when they are asked for: `--help` must not wait for what it does not need."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Returns the `__getattr__` of a package (PEP 562).

    Args:
        package: its `__name__`.
        homes: for each module, of its own or by its whole name, the names that are taken from there, with spaces
            between them.
    """
    owners = {name: module for module, names in homes.items() for name in names.split()}

    def __getattr__(name: str) -> object:  # noqa: N807
        if name not in owners:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = owners[name]
        return getattr(importlib.import_module(home if home.startswith("polyclinic.") else f"{package}.{home}"), name)

    return __getattr__
