"""`polyclinic config show`: the keys that a command reads from configuration files."""

from __future__ import annotations

import sys
from typing import Annotated, Any, NamedTuple

import msgspec
from cyclopts import Argument, Parameter

from polyclinic.cli.calling import add_own
from polyclinic.cli.commands import APP, COMMANDS
from polyclinic.cli.configuration import CONFIG, SET, key_of, text_of
from polyclinic.errors import UserError, meant
from polyclinic.plugins import names_file
from polyclinic.settings import section_of
from polyclinic.terminal.screen import print_json


class ConfigurationKey(NamedTuple):
    """One key of the configuration of a command; an option that takes `several` values takes a list."""

    key: str
    default: Any
    help: str
    option: bool
    several: bool = False


def keys_of(command: str) -> list[ConfigurationKey]:
    """Returns the keys of a command: its options, then its settings by section.

    Raises:
        UserError: there is no such command, or it has no configuration.
    """
    add_own(command.split())
    if command not in COMMANDS and not names_file(command):
        raise UserError(f"no command {command!r}{meant(command, COMMANDS)}; 'polyclinic --help' lists them")
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
    command: Annotated[str, Parameter(help="The command, such as 'eval aie'.")],
    /,
    *,
    json: Annotated[bool, Parameter(help="Print one JSON document.")] = False,
) -> None:
    """Prints every key that a command reads, as a TOML file in which all is commented out."""
    keys = keys_of(" ".join(command.split()))
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
