"""What waits until it is needed: public names are imported when asked for, garbage is looked for seldom.

`--help` must not wait for what it does not need.
"""

from __future__ import annotations

import ast
import gc
import importlib
from collections.abc import Callable
from pathlib import Path


def lazily(package: str, file: str) -> tuple[Callable[[str], object], list[str]]:
    """Returns the `__getattr__` (PEP 562) and the `__all__` of a package.

    Both come from what it imports under `if TYPE_CHECKING`: there its public names are stated, once.

    Args:
        package: its `__name__`.
        file: its `__file__`.
    """
    homes = {
        alias.name: node.module
        for block in ast.parse(Path(file).read_bytes()).body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }

    def __getattr__(name: str) -> object:  # noqa: N807
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return __getattr__, sorted(homes)


def collect_seldom() -> None:
    """Has the interpreter look for garbage a tenth as often: what a program reads at its start it keeps to its end."""
    gc.set_threshold(10_000, 20, 20)
