"""`--dry-run` of any command that asks models: an estimate of its calls, tokens and cost."""

from __future__ import annotations

import dataclasses
import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.text import Text

from polyclinic.cli.calling import BoundCommand
from polyclinic.errors import UserError
from polyclinic.models.dry_run import ASSUMED, DryRunOver, ExpectedCalls, ExpectedRun
from polyclinic.terminal.figures import AT_LEAST, money, number
from polyclinic.terminal.screen import present
from polyclinic.terminal.tables import counted, table

_WRITTEN = ("folder", "out")
"""Arguments that name a folder to which a command writes."""

_SWITCHED_OFF = {"on": None, "live": False}
_CHANGED = (*_WRITTEN, *_SWITCHED_OFF)


@contextmanager
def _elsewhere(command: BoundCommand) -> Iterator[None]:
    """Has a command compute in this process, and write to a temporary copy of its folder."""
    arguments = command.bound.arguments
    with TemporaryDirectory() as scratch:

        def changed(name: str, value: Any) -> Any:
            if name in _WRITTEN and value is not None:
                copy = Path(scratch) / (value.name if isinstance(value, Path) else "database")
                if isinstance(value, Path) and value.is_dir():
                    shutil.copytree(value, copy)
                return copy
            return _SWITCHED_OFF.get(name, value)

        for name, value in arguments.items():
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
                new = {field: changed(field, one) for field, one in fields.items() if field in _CHANGED}
                arguments[name] = dataclasses.replace(value, **new) if new else value
            elif name in _CHANGED:
                arguments[name] = changed(name, value)
        yield


def rehearse(command: BoundCommand) -> DryRunOver:
    """Runs a command without its output, and returns its expected calls."""
    replicas = command.bound.arguments.get("replicas", 1)
    if str(getattr(replicas, "replicas", replicas)) != "1":
        raise UserError("--dry-run estimates one replica; leave out --replicas, and multiply")
    try:
        with _elsewhere(command), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            ended = command()
    except DryRunOver as over:
        return over
    raise UserError(f"--dry-run has no effect here: nothing is asked that could cost anything ({ended or 'done'})")


def estimate(command: BoundCommand, *, json: bool) -> int:
    """Prints the expected calls, tokens and cost of a command."""
    present(rehearse(command).expected, show_expected, json=json)
    return 0


def show_expected(screen: Console, expected: ExpectedRun) -> None:
    """Prints what is expected, by role and purpose."""
    if not expected.calls:
        screen.print("No model is asked: it costs nothing.")
        return
    priced = expected.cost is not None

    def sums(one: ExpectedCalls | ExpectedRun) -> list[Text | str]:
        counts: list[Text | str] = [number(n, ",") for n in (one.calls, one.tokens_in, one.tokens_out)]
        return [*counts, money(one.cost, one.unpriced)] if priced else counts

    shown = table("expected", ("role", "purpose", "calls", "tokens in", "tokens out", *["cost"] * priced), left=2)
    for one in expected.by:
        shown.add_row(Text(one.role), Text(one.purpose), *sums(one))
    shown.add_section()
    shown.add_row("all", "", *sums(expected))
    screen.print(shown)
    if priced and expected.unpriced:
        screen.print(f"{AT_LEAST}: {counted(expected.unpriced, 'call')} would take tokens that have no price")
    for limit in expected.beyond:
        screen.print(f"{limit} would stop the run before its end", style="yellow")
    told = (
        f"No model was asked and nothing was written. Each answer is taken as {ASSUMED} tokens. Made-up votes seldom "
        "agree and made-up dialogues seldom end early, so this is near the most that the run can take."
    )
    if not priced:
        told += " models.price IN,OUT, or price in models.model-file, adds the cost."
    screen.print(told, style="dim")
