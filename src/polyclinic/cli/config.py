"""`polyclinic config show`: the keys that a command reads from configuration files, and the papers' protocols."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from cyclopts import Parameter
from rich.console import Console

from polyclinic.cli.calling import add_own
from polyclinic.cli.commands import APP, COMMANDS
from polyclinic.cli.configuration import CONFIG, SET, key_of, text_of
from polyclinic.errors import UserError, meant
from polyclinic.plugins import names_file
from polyclinic.protocols.following import named_protocol, protocol_text, setting_rows
from polyclinic.protocols.papers import PAPERS, PaperProtocol
from polyclinic.settings import section_of
from polyclinic.terminal.screen import console, present, print_json
from polyclinic.terminal.tables import Column, table, table_of


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
    found = []
    for one in named:
        option, default = section_of(one.parameter) is None, one.field_info.default
        if one.name not in (CONFIG, SET) and (one.show or not option):
            default = None if default is one.field_info.empty else default
            told = " ".join((one.parameter.help or "").split())
            found.append(ConfigurationKey(key_of(one), default, told, option, several=one.token_count()[1]))
    return sorted(found, key=lambda one: one.key.rpartition(".")[0])


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
    if layout and name is not None:
        sys.stdout.write(protocol_text(name))
    elif name is not None:
        present(named_protocol(name), _show, json=json)
    else:
        every = [named_protocol(one) for one in PAPERS]
        if json:
            print_json([{"name": one.name, "paper": one.paper, "commands": one.commands} for one in every])
        else:
            columns: dict[str, Column] = {
                "protocol": "name",
                "paper": "paper",
                "commands": lambda one: ", ".join(one.commands),
            }
            console().print(table_of(None, every, columns, left=3))


def _show(screen: Console, protocol: PaperProtocol[Any]) -> None:
    screen.print(protocol.paper, style="bold")
    screen.print(f"held by: {', '.join(protocol.commands)}\n")
    roles = ((role, one.models, one.section) for role, one in protocol.roles.items())
    screen.print(table("who played in the paper", ("role", "models", "section"), roles, left=3), "")
    rows = setting_rows(protocol)
    columns: dict[str, Column] = {
        "setting": lambda one: one.name.removeprefix("methods.").replace(".", " "),  # narrow screens break at blanks
        "--protocol paper": "paper",
        "ours": lambda one: one.ours or "as the paper",
        "section": "section",
    }
    screen.print(table_of("what is set", rows, columns, left=4))
    ours = [(f"{one.name} ({one.ours})", one.why) for one in rows if one.ours and one.why]
    differs = [(one.what, one.why) for one in protocol.differs]
    for title, points in (("Ours is other, and why", ours), ("With --protocol paper this still differs", differs)):
        if points:
            screen.print(f"\n{title}", style="bold")
        for what, why in dict.fromkeys(points):
            screen.print(f"- {what}: {why}")
