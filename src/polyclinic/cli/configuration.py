"""The configuration of a command: `--config FILE.toml` and `--set KEY=VALUE`.

`--config FOLDER` takes the configuration of a run that was kept there; its arguments without a name are given again.

A later source overrides an earlier one: default, protocol, files in their order, `--set`, command line.

    seed = 3                 # an option
    doctor = ["rules"]

    [models]                 # settings, by section
    timeout = 30
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cyclopts import App, Argument, ArgumentCollection, Token

from polyclinic.errors import UserError, meant
from polyclinic.files import read_toml
from polyclinic.settings import section_of

CONFIG, SET = "--config", "--set"
_READ_DATABASES = ("results",)
"""Groups of commands that take the address of a database themselves."""

_OF_ONE_RUN = ("config", "sets", "out", "reuse", "json", "dry_run")
"""Options that another run does not take from the configuration of a run that was kept."""

_METHODS = "method-settings"
"""The key of commands that set methods, whose keys are all that are not the command's, such as `medagents.rounds`."""


class Value(NamedTuple):
    """A value of a configuration, and the place it was read from."""

    value: Any
    place: str


def apply(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Fills the options that the command line leaves out, from the files and settings that it names."""
    del app
    for one in arguments:
        _read_places(one, commands[0] if commands else "")
    known = {key_of(one): one for one in arguments if one.names and one.names[0].startswith("--")}
    for key, one in known.items():
        if one.tokens and section_of(one.parameter) is not None:
            section, _, name = key.rpartition(".")
            in_file = f"'{name}' under [{section}] in a {CONFIG} file"
            raise UserError(f"{one.name} is a setting now: {SET} {key}=VALUE, or {in_file}")
    for key, (value, place) in _given(known).items():
        argument = known.get(key)
        if argument is None:
            _refuse(key, place, known, " ".join(commands))
        elif not argument.tokens:
            _fill(argument, key, value, place)


def words_of(arguments: ArgumentCollection, command: str, options: Mapping[str, Any], place: str) -> list[str]:
    """Returns options by name as words of a command line; `place` is named in errors."""
    known = {key_of(one): one for one in arguments if one.names and one.names[0].startswith("--")}
    by_name = {key.rpartition(".")[2]: key for key in known}
    words: list[str] = []
    for option, value in options.items():
        name = option.replace("_", "-")
        key = name if name in known else by_name.get(name, name)
        if key not in known:
            _refuse(key, place, known, command)
        for one in () if value is None or value is False or value in ("", []) else _listed(value):
            if section_of(known[key].parameter) is not None:
                words += [SET, f"{key}={text_of(one)}"]
            else:
                words += [f"--{key}"] if one is True else [f"--{key}", text_of(one)]
    return words


def _read_places(argument: Argument, command: str) -> None:
    """Refuses blank names of files, and puts a folder in the place of results in a database, `URL#17`."""
    shown = str(argument.parameter.metavar or argument.name)
    is_place = argument.hint is not bool and ("Path" in str(argument.hint) or shown.startswith(("FILE", "DIR")))
    for number, token in enumerate(argument.tokens):
        if is_place and not token.value.strip():
            or_not = f", or leave {argument.name} out" if argument.name.startswith("-") else ""
            raise UserError(f"{argument.name} is given a blank name; give one{or_not}")
        takes_one = "URL" in shown or argument.name in (SET, "--out") or command in _READ_DATABASES
        if token.value.startswith("postgres") and not takes_one:
            from polyclinic.run.storing import fetched  # noqa: PLC0415 - only for a database

            argument.tokens[number] = token.evolve(value=str(fetched(token.value)))


def key_of(argument: Argument) -> str:
    """Returns the key of an option in a configuration, such as `seed` or `models.timeout`."""
    name, section = argument.name.removeprefix("--"), section_of(argument.parameter)
    return name if not section else f"{section}.{name}"


def _given(known: Mapping[str, Argument]) -> dict[str, Value]:
    """Returns the values of all files and settings by key, the last of each key."""
    found: dict[str, Value] = {}
    of_methods: list[str] = []
    sections = {one.rpartition(".")[0] for one in known} - {""}
    for key, value, place in _named(known):
        name = key.replace("_", "-")
        if name in (CONFIG[2:], SET[2:]):
            raise UserError(f"{place}: {key} is for the command line only")
        if name not in known and _METHODS in known and name.rpartition(".")[0] not in sections:
            of_methods.append(f"{key}={text_of(value)}")
        elif name in found and found[name].place == place and name in known and known[name].token_count()[1]:
            found[name] = Value([*_listed(found[name].value), *_listed(value)], place)  # a repeated --set
        else:
            found[name] = Value(value, place)
    if of_methods:
        found[_METHODS] = Value(of_methods, SET)
    return found


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _named(known: Mapping[str, Argument]) -> Iterator[tuple[str, Any, str]]:
    """Yields each key with its value and its place: of the files in their order, then of `--set`."""
    for token in known[CONFIG[2:]].tokens if CONFIG[2:] in known else ():
        path = Path(token.value)
        if path.is_dir() or path.suffix == ".json":
            yield from _recorded(path, known)
            continue
        for key, value in _flat(read_toml(path)):
            yield key, value, _place(path, key)
    for token in known[SET[2:]].tokens if SET[2:] in known else ():
        key, equals, text = token.value.partition("=")
        if not equals and _METHODS in known and key != _METHODS:
            raise UserError(f"{SET} {token.value}: needs KEY=VALUE")
        if not equals or not key.strip():
            raise UserError(f"{SET} {token.value}: needs SECTION.KEY=VALUE, such as models.timeout=30")
        yield key.strip(), _read(text), f"{SET} {key.strip()}"


def _recorded(path: Path, known: Mapping[str, Argument]) -> Iterator[tuple[str, Any, str]]:
    """Yields the options of a run that was kept, from its folder or its `results.json`."""
    from polyclinic.results.folder import RECORD, read_record  # noqa: PLC0415 - --help must not wait for it

    folder = path if path.is_dir() else path.parent
    by_name = {key.rpartition(".")[2].replace("-", "_"): key for key in known}
    for name, value in read_record(folder).configuration.items():
        if name in by_name and name not in _OF_ONE_RUN and value not in (None, []):
            yield by_name[name], value, str(folder / RECORD)


def _read(text: str) -> Any:
    """Returns lists as TOML reads them; anything else is text."""
    try:
        found = tomllib.loads(f"value = {text}")["value"] if text.startswith("[") else text
    except tomllib.TOMLDecodeError:
        return text
    return found


def _flat(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the values of nested tables, each with its dotted key."""
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _place(path: Path, key: str) -> str:
    """Returns FILE:LINE of a key; the file alone if its line is not found."""
    section = ""
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if heading := re.match(r"\s*\[([^\]]+)\]", line):
            section = f"{heading[1].strip()}."
        elif (found := re.match(r'\s*"?([\w.-]+)"?\s*=', line)) and f"{section}{found[1]}" == key:
            return f"{path}:{number}"
    return str(path)


def _refuse(key: str, place: str, known: Mapping[str, Argument], command: str) -> None:
    name = key.rpartition(".")[2]
    near = meant(key, known) or meant(key, [one for one in known if one.rpartition(".")[2] == name])
    raise UserError(f"{place}: no key {key}{near}; 'polyclinic config show {command}' lists all keys")


def _fill(argument: Argument, key: str, value: Any, place: str) -> None:
    """Gives an argument a value as the command line would."""
    values = _listed(value)
    if len(values) != 1 and argument.token_count() == (1, False):
        raise UserError(f"{place}: {key} takes one value, and {len(value)} came")
    for number, one in enumerate(values):
        if isinstance(one, dict | list):
            raise UserError(f"{place}: {key} is a value, not a table")
        argument.append(Token(keyword=key, value=text_of(one), source=place, index=number))


def text_of(value: Any) -> str:
    """Returns a value as it is written on the command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)
