"""`--dry-run` of any command that asks models: an estimate of its calls, tokens and cost."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from rich.console import Console
from rich.text import Text

from polyclinic.errors import UserError
from polyclinic.models.dry_run import ASSUMED, DryRunOver, ExpectedCalls, ExpectedRun
from polyclinic.terminal.figures import AT_LEAST, at_least, number
from polyclinic.terminal.screen import console, plain, print_json
from polyclinic.terminal.tables import counted, table

Place = TypeVar("Place", Path, Path | None)


@contextmanager
def scratch(folder: Place, *, dry_run: bool) -> Iterator[Place]:
    """Yields the folder that a command writes to; in a dry run a copy of it, which is deleted."""
    if folder is None or not dry_run:
        yield folder
        return
    with TemporaryDirectory() as within:
        copy = Path(within) / folder.name
        if folder.is_dir():
            shutil.copytree(folder, copy)
        yield copy


def estimate(command: Callable[[], object], *, json: bool) -> object:
    """Runs a command without its output, and prints what a real run is expected to take."""
    try:
        with redirect_stdout(io.StringIO()):
            ended = command()
    except DryRunOver as over:
        if json:
            print_json(over.expected)
        else:
            show_expected(console(), over.expected)
        return 0
    raise UserError(f"--dry-run has no effect here: nothing is asked that could cost anything ({ended or 'done'})")


def show_expected(screen: Console, expected: ExpectedRun) -> None:
    """Prints what is expected, by role and purpose."""
    if not expected.calls:
        screen.print("No model is asked: it costs nothing.")
        return
    money = expected.cost is not None

    def sums(one: ExpectedCalls | ExpectedRun) -> list[Text | str]:
        counts: list[Text | str] = [number(n, ",") for n in (one.calls, one.tokens_in, one.tokens_out)]
        return [*counts, at_least(one.cost, ".4f", more=one.unpriced)] if money else counts

    shown = table("expected", ("role", "purpose", "calls", "tokens in", "tokens out", *["cost"] * money), left=2)
    for one in expected.by:
        shown.add_row(Text(plain(one.role)), Text(plain(one.purpose)), *sums(one))
    shown.add_section()
    shown.add_row("all", "", *sums(expected))
    screen.print(shown)
    if money and expected.unpriced:
        screen.print(f"{AT_LEAST}: {counted(expected.unpriced, 'call')} would take tokens that have no price")
    for limit in expected.beyond:
        screen.print(f"{limit} would stop the run before its end", style="yellow")
    told = (
        f"No model was asked and nothing was written. Each answer is taken as {ASSUMED} tokens. Made-up votes seldom "
        "agree and made-up dialogues seldom end early, so this is near the most that the run can take."
    )
    if not money:
        told += " models.price IN,OUT, or price in models.model-file, adds the cost."
    screen.print(told, style="dim")
