"""A command of ours is called by its words."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from polyclinic.stopping import begin, run

if TYPE_CHECKING:
    from rich.console import Console


def check_words(words: Sequence[str]) -> None:
    """Checks that words are those of a command, and does nothing.

    Raises:
        CycloptsError: they are not.
    """
    _parsed(words, None)


def call(words: Sequence[str], *, console: Console | None = None) -> object:
    """Runs a command, with its help on a console, and returns what it gives back.

    Raises:
        CycloptsError: the words are none of a command.
        KeyboardInterrupt: it was stopped.
    """
    command, bound = _parsed(words, console)
    begin()
    came = command(*bound.args, **bound.kwargs)
    return run(came) if inspect.iscoroutine(came) else came


def _parsed(words: Sequence[str], console: Console | None) -> tuple[Callable[..., object], inspect.BoundArguments]:
    from polyclinic.cli.commands import APP  # noqa: PLC0415 - the table of commands knows by name who calls others

    command, bound, _ = APP.parse_args(words, exit_on_error=False, print_error=False, console=console)
    return command, bound
