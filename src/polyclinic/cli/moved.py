"""Commands and options that have other names now: an old one is answered with one line that names the new one."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from polyclinic.yaml_files import read_yaml


class MovedNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What replaces each old command, each old option of all commands, and each old option of one command."""

    commands: Mapping[str, str]
    everywhere: Mapping[str, str]
    options: Mapping[str, Mapping[str, str]]


@functools.cache
def moved_names() -> MovedNames:
    """Returns all of them."""
    return read_yaml(Path(__file__).with_name("moved.yaml"), MovedNames)


def moved_command(words: Sequence[str]) -> str | None:
    """Returns the line for words that begin with an old command."""
    commands = moved_names().commands
    old = next((name for n in (2, 1) if (name := " ".join(words[:n])) in commands), None)
    return None if old is None else f"'{old}' is gone; use polyclinic {commands[old]}"


def moved_option(command: Sequence[str], option: str) -> str | None:
    """Returns the line for an old option of a command."""
    moved = moved_names()
    new = moved.options.get(" ".join(command), {}).get(option) or moved.everywhere.get(option)
    return None if new is None else f"{option} is gone; use {new}"
