"""`polyclinic protocols`: what the papers' experiments were, and in what ours are other."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console

from polyclinic.errors import UserError
from polyclinic.protocols.following import SettingRow, named_protocol, protocol_text, setting_rows
from polyclinic.protocols.papers import PAPERS, PaperProtocol
from polyclinic.run import options
from polyclinic.terminal.screen import console, plain, print_json
from polyclinic.terminal.tables import table


def show(
    name: Annotated[
        str | None, Parameter(help="A protocol, or a file of your own, FILE.yaml; without one, all are listed.")
    ] = None,
    /,
    *,
    layout: Annotated[
        Literal["yaml"] | None,
        Parameter(name="--format", help="Print the file itself, as a start for your own."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Shows a protocol, or lists all of them."""
    if layout and (json or name is None):
        raise UserError("--format yaml prints the file of one protocol; name one, and leave out --json")
    if name is None:
        _list(json=json)
        return
    protocol = named_protocol(name)
    if layout:
        sys.stdout.write(protocol_text(name))
    elif json:
        print_json(protocol)
    else:
        _show(console(), protocol)


def _list(*, json: bool) -> None:
    every = [named_protocol(name) for name in PAPERS]
    if json:
        print_json([{"name": one.name, "paper": one.paper, "commands": one.commands} for one in every])
        return
    rows = ((one.name, one.paper, ", ".join(one.commands)) for one in every)
    console().print(table(None, ("protocol", "paper", "commands"), rows, left=3))


def _show(screen: Console, protocol: PaperProtocol[Any]) -> None:
    screen.print(protocol.paper, style="bold")
    screen.print(f"held by: {', '.join(protocol.commands)}\n")
    roles = ((role, one.models, one.section) for role, one in protocol.roles.items())
    screen.print(table("who played in the paper", ("role", "models", "section"), roles, left=3), "")
    rows = setting_rows(protocol)
    # A narrow screen breaks names at spaces.
    names = [one.name.removeprefix("methods.").replace(".", " ") for one in rows]
    cells = ((n, one.paper, one.ours or "as the paper", one.section) for n, one in zip(names, rows, strict=True))
    screen.print(table("what is set", ("setting", "--protocol paper", "ours", "section"), cells, left=4))
    _points(screen, "Ours is other, and why", [(_changed(one), one.why) for one in rows if one.ours and one.why])
    _points(screen, "With --protocol paper this still differs", [(one.what, one.why) for one in protocol.differs])


def _changed(row: SettingRow) -> str:
    return f"{row.name} ({row.ours})"


def _points(screen: Console, title: str, points: list[tuple[str, str]]) -> None:
    if points:
        screen.print(f"\n{title}", style="bold")
    for what, why in dict.fromkeys(points):
        screen.print(plain(f"- {what}: {why}"))
