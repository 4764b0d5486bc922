"""`polyclinic config show`: the keys that a command reads from configuration files, and the papers' protocols."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from cyclopts import Argument, Parameter
from rich.console import Console

from polyclinic.cli.calling import add_own
from polyclinic.cli.commands import APP, COMMANDS
from polyclinic.cli.configuration import CONFIG, SET, key_of, text_of
from polyclinic.errors import UserError, meant
from polyclinic.plugins import names_file
from polyclinic.protocols.following import SettingRow, named_protocol, protocol_text, setting_rows
from polyclinic.protocols.papers import PAPERS, PaperProtocol
from polyclinic.settings import section_of
from polyclinic.terminal.screen import console, print_json
from polyclinic.terminal.tables import table


class ConfigurationKey(NamedTuple):
    """One key of the configuration of a command; an option that takes `several` values takes a list."""

    key: str
    default: Any
    help: str
    option: bool
    several: bool = False


def keys_of(command: str) -> list[ConfigurationKey]:
    """Returns the keys of a command: its options, then its settings by section."""
    add_own(command.split())
    if command not in COMMANDS and not names_file(command):
        near = meant(command, [*COMMANDS, *PAPERS])
        raise UserError(f"no command and no protocol {command!r}{near}; 'polyclinic --help' lists commands")
    arguments = APP.parse_commands(command.split())[1][-1].assemble_argument_collection(parse_docstring=True)
    named = [one for one in arguments if one.names and one.names[0].startswith("--")]
    if not any(one.name == CONFIG for one in named):
        raise UserError(f"'polyclinic {command}' reads no configuration: all of it is in 'polyclinic {command} --help'")
    found = [
        ConfigurationKey(
            key_of(one),
            _default(one),
            " ".join((one.parameter.help or "").split()),
            _is_option(one),
            several=one.token_count()[1],
        )
        for one in named
        if one.name not in (CONFIG, SET) and (one.show or not _is_option(one))
    ]
    return sorted(found, key=lambda one: one.key.rpartition(".")[0])


def _is_option(argument: Argument) -> bool:
    return section_of(argument.parameter) is None


def _default(argument: Argument) -> Any:
    default = argument.field_info.default
    return None if default is argument.field_info.empty else default


def show(
    *words: Annotated[str, Parameter(name="NAME")],
    layout: Annotated[Literal["yaml"] | None, Parameter(name="--format")] = None,
    json: bool = False,
) -> None:
    """Prints every key that a command reads, as a TOML file with all keys commented out; or a protocol.

    Args:
        words: A command, such as eval aie, a paper's protocol, such as aie, or one of your own, FILE.yaml; without one,
            the protocols are listed.
        layout: Print the file of a protocol itself, as a start for your own.
        json: Print one JSON document.
    """
    name = " ".join(" ".join(words).split()) or None
    if name is None or name in PAPERS or name.endswith((".yaml", ".yml")):
        _show_protocol(name, layout, json=json)
        return
    if layout is not None:
        raise UserError("--format yaml prints the file of a protocol; name one")
    keys = keys_of(name)
    if json:
        print_json([{**one._asdict(), "default": msgspec.to_builtins(one.default, enc_hook=str)} for one in keys])
        return
    section = ""
    for one in keys:
        above, _, name = one.key.rpartition(".")
        if above != section:
            sys.stdout.write(f"\n[{above}]\n")
            section = above
        sys.stdout.write(f"# {name} = {_toml(one.default)}{'  # ' + one.help if one.help else ''}\n")


def _toml(value: Any) -> str:
    if value is None:
        return ""
    plain = msgspec.to_builtins(value, enc_hook=str)
    return text_of(plain) if isinstance(plain, bool | int | float) else msgspec.json.encode(plain).decode()


def _show_protocol(name: str | None, layout: str | None, *, json: bool) -> None:
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
        screen.print(f"- {what}: {why}")
