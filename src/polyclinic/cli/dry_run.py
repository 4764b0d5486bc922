"""`--dry-run` of any command that asks models: what it would take."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from contextlib import redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

from polyclinic.errors import UserError
from polyclinic.models.rehearsal import ASSUMED, DryRunOver, ExpectedRun
from polyclinic.terminal.figures import AT_LEAST, at_least, number
from polyclinic.terminal.screen import console, plain, print_json
from polyclinic.terminal.tables import counted, table

_MINUTE, _HOUR = 60, 3600


_SCRATCH: ContextVar[Path | None] = ContextVar("scratch", default=None)


def scratch(folder: Path) -> Path:
    """Returns the folder; in a dry run a copy of it that is thrown away."""
    within = _SCRATCH.get()
    if within is None:
        return folder
    copy = within / folder.name
    if folder.is_dir():
        shutil.copytree(folder, copy)
    return copy


def rehearse(command: Callable[[], object], *, json: bool) -> object:
    """Runs a command without its output, and prints what a real run is expected to take.

    Raises:
        UserError: the command asks no models.
    """
    try:
        with redirect_stdout(io.StringIO()), TemporaryDirectory() as thrown_away:
            before = _SCRATCH.set(Path(thrown_away))
            try:
                ended = command()
            finally:
                _SCRATCH.reset(before)
    except DryRunOver as over:
        if json:
            print_json(over.expected)
        else:
            show_forecast(console(), over.expected)
        return 0
    raise UserError(f"--dry-run has no effect here: nothing is asked that could cost anything ({ended or 'done'})")


def show_forecast(screen: Console, forecast: ExpectedRun) -> None:
    """Prints what is expected, by role and purpose."""
    if not forecast.calls:
        screen.print("No model is asked: it costs nothing.")
        return
    money = forecast.cost is not None
    columns = ("role", "purpose", "calls", "tokens in", "tokens out", *(["cost"] if money else []))
    shown = table("expected", columns, left=2)
    for one in forecast.by:
        names = (Text(plain(one.role)), Text(plain(one.purpose)))
        counts = (number(one.calls, ","), number(one.tokens_in, ","), number(one.tokens_out, ","))
        shown.add_row(*names, *counts, *([at_least(one.cost, ".4f", more=one.unpriced)] if money else []))
    shown.add_section()
    counts = (number(forecast.calls, ","), number(forecast.tokens_in, ","), number(forecast.tokens_out, ","))
    shown.add_row("all", "", *counts, *([at_least(forecast.cost, ".4f", more=forecast.unpriced)] if money else []))
    screen.print(shown)
    if money and forecast.unpriced:
        screen.print(f"{AT_LEAST}: {counted(forecast.unpriced, 'call')} would take tokens that have no price")
    how = f"{counted(forecast.in_a_row, 'call')} in a row; {forecast.at_once} at a time"
    screen.print(f"{how}: {duration(forecast.seconds)}" if forecast.seconds is not None else how)
    for limit in forecast.beyond:
        screen.print(f"{limit} would stop the run before its end", style="yellow")
    put = f"measured with {counted(forecast.piloted, 'question')} put to the model"
    lengths = put if forecast.piloted else f"taken as {ASSUMED} each"
    told = f"Answers were made up in the form that is wanted; their tokens are {lengths}. Nothing was written."
    if not forecast.piloted:
        told += (
            " Votes that are made up seldom agree, and dialogues seldom end early: the calls are nearly the most that "
            "there can be. --pilot 3 puts three questions of each purpose, and goes by the answers and their time."
        )
    if not money:
        told += " --price IN,OUT, or price in --model-file, says what it costs."
    screen.print(told, style="dim")


def duration(seconds: float) -> str:
    """Returns about how long something takes."""
    if seconds < 2 * _MINUTE:
        return f"about {max(seconds, 1):.0f} s"
    return f"about {seconds / _MINUTE:.0f} min" if seconds < 2 * _HOUR else f"about {seconds / _HOUR:.1f} h"
