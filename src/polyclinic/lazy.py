"""What waits until it is needed: public names are imported when asked for, garbage is looked for seldom.

`--help` must not wait for what it does not need; so this file imports what it needs where it is needed.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable


def lazily(package: str, file: str) -> Callable[[str], object]:
    """Returns the `__getattr__` (PEP 562) of a package, which has its `__all__` too.

    Both come from what it imports under `if TYPE_CHECKING`: there its public names are stated, once.
    """
    homes: dict[str, str] = {}

    def __getattr__(name: str) -> object:  # noqa: N807
        import importlib  # noqa: PLC0415

        if not homes:
            homes.update(_public(file))
        if name == "__all__":
            return sorted(homes)
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return __getattr__


def _public(file: str) -> dict[str, str]:
    """Returns where the public names of a package are."""
    import ast  # noqa: PLC0415

    with open(file, "rb") as source:  # noqa: PTH123
        blocks = ast.parse(source.read()).body
    return {
        alias.name: node.module
        for block in blocks
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }


def collect_seldom() -> None:
    """Has the interpreter look for garbage a tenth as often: what a program reads at its start it keeps to its end."""
    import gc  # noqa: PLC0415

    gc.set_threshold(10_000, 20, 20)
