"""Binding commands to their options: from a command line, or from a mapping."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from cyclopts import (
    Argument,
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    Token,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)
from cyclopts.exceptions import ConsumeMultipleError

from polyclinic.cli.commands import APP, COMMANDS
from polyclinic.cli.configuration import SET, key_of, words_of
from polyclinic.errors import UserError, meant
from polyclinic.settings import section_of
from polyclinic.stopping import begin, run

if TYPE_CHECKING:
    from rich.console import Console

    from polyclinic.models.journal import KeptAnswers
    from polyclinic.run.invocation import Invocation


_HELP = frozenset(("--help", "-h", "--version"))


class BoundCommand(NamedTuple):
    """A command with the value of every option."""

    name: str
    words: Sequence[str]
    function: Callable[..., object]
    bound: inspect.BoundArguments

    @property
    def invocation(self) -> Invocation:
        """Its name, words and options, and the files that it reads."""
        from polyclinic.run.invocation import invocation_of  # noqa: PLC0415 - --help must not wait for it

        return invocation_of(self.name, self.words, self.bound.arguments)

    def __call__(self, answers: KeptAnswers | None = None) -> object:
        """Runs the command, and returns its result; as part of a study it keeps its answers in `answers`."""
        begin()
        arguments = self.bound.arguments
        for name, value in arguments.items():
            if name == "invocation":
                arguments[name] = self.invocation
            elif hasattr(value, "invocation"):
                arguments[name] = replace(value, invocation=self.invocation, shared_answers=answers)
        result = self.function(*self.bound.args, **self.bound.kwargs)
        return run(result) if inspect.iscoroutine(result) else result


def parse(words: Sequence[str], console: Console | None = None) -> BoundCommand:
    """Returns the command of a command line; its help is printed on a console."""
    add_own(words)
    function, bound, _ = APP.parse_args(words, exit_on_error=False, print_error=False, console=console)
    if _HELP.isdisjoint(words):
        bound.apply_defaults()
    two = " ".join(words[:2])
    name = two if two in COMMANDS or two.startswith("eval ") else words[0] if words else ""
    return BoundCommand(name, words, function, bound)


def bind(command: str, options: Mapping[str, Any], place: str) -> BoundCommand:
    """Returns a command with options by name, as a configuration file holds them.

    Args:
        command: its name, such as "eval aie".
        options: the values; None, False and "" leave an option out.
        place: named in errors.
    """
    words = command.split()
    add_own(words)
    app = APP.parse_commands(words)[1][-1]
    if app.default_command is None:
        raise UserError(f"{place}: no command {command!r}")
    return parse([*words, *words_of(app.assemble_argument_collection(), command, options, place)])


def add_own(words: Sequence[str]) -> None:
    """Adds the command of a user's evaluation, if that is what the words call."""
    if [*words[:1]] != ["eval"] or len(words) == 1 or words[1].startswith("-") or f"eval {words[1]}" in COMMANDS:
        return
    from polyclinic.cli.evaluations import own_command  # noqa: PLC0415 - only for names that are not ours

    if (command := own_command(words[1])) is not None:
        if words[1] in APP["eval"]:
            del APP["eval"][words[1]]  # it may be another file of this name by now
        APP["eval"].command(command, name=words[1])


_LONGEST = 80  # characters that are shown of a value
_KINDS = {int: "a whole number", float: "a number", bool: "no value"}


def complaint(error: CycloptsError) -> str:
    """Returns the one line."""
    where = " ".join(("polyclinic", *(error.command_chain or ())))
    return f"{_problem(error)}; see '{where} --help'"


def _problem(error: CycloptsError) -> str:
    name, tokens = ("", []) if error.argument is None else (_shown_name(error.argument), error.argument.tokens)
    match error:
        case UnknownCommandError() if error.app is not None and error.unused_tokens:
            there = [command for command in error.app if not command.startswith("-")]
            came = error.unused_tokens[0]
            typed = [*(error.command_chain or ()), *error.unused_tokens]
            commands = moved()["commands"]
            if old := next((words for n in (2, 1) if (words := " ".join(typed[:n])) in commands), ""):
                return f"'{old}' is gone; use polyclinic {commands[old]}"
            return f"no command {came!r}{meant(came, there)}; there are {', '.join(there)}"
        case UnknownOptionError():
            came = (error.token.keyword or error.token.value).partition("=")[0]
            return _no_option(error, came, error.argument_collection)
        case UnusedCliTokensError():
            return f"nothing takes {', '.join(map(repr, error.unused_tokens or ()))}"
        case ConsumeMultipleError():
            return f"{name} needs a value"
        case MissingArgumentError():
            strange = next((word for word in error.unused_tokens or () if word.startswith("--")), None)
            if strange is not None and error.app is not None and not tokens and not error.keyword:
                return _no_option(error, strange.partition("=")[0], error.app.assemble_argument_collection())
            return f"{name} needs a value" if tokens or error.keyword else f"{name} is missing"
        case RepeatArgumentError():
            return f"{error.token.keyword} is given more than once"
        case ValidationError() if tokens:
            return f"{_place(tokens[0])}{name} {_came(tokens[0].value)}; allowed: {error.exception_message}"
        case CoercionError() if error.token is not None and error.argument is not None:
            choices = error.argument.get_choices()
            allowed = ", ".join(choices) if choices else _KINDS.get(error.target_type or str)
            if choices and int in get_args(error.argument.hint):
                allowed = f"{allowed}, or {_KINDS[int]}"
            if allowed is not None:
                near = meant(error.token.value, choices or ())
                return f"{_place(error.token)}{name} {_came(error.token.value)}{near}; allowed: {allowed}"
    return str(error).rstrip(".")


def _shown_name(argument: Argument) -> str:
    """Returns the name of an option, or the key of a setting."""
    return argument.name if not section_of(argument.parameter) else key_of(argument)


def _place(token: Token) -> str:
    """Returns the file and line that a value was read from; "" on the command line."""
    return "" if token.source in ("", "cli") or token.source.startswith(SET) else f"{token.source}: "


def _no_option(error: CycloptsError, came: str, arguments: Iterable[Argument]) -> str:
    """Returns what replaces an old option, or that there is none and which may be meant."""
    # The dashes that all have make none alike.
    shown = {
        name[2:]: name if section_of(one.parameter) is None else f"{SET} {key_of(one)}=VALUE"
        for one in arguments
        for name in one.names
        if name.startswith("--")
    }
    near = meant(came.removeprefix("--"), shown)
    for name, whole in shown.items():
        near = near.replace(f"mean {name}?", f"mean {whole}?")
    names = moved()
    new = names["options"].get(" ".join(error.command_chain or ()), {}).get(came) or names["everywhere"].get(came)
    return f"no option {came}{near}" if new is None else f"{came} is gone; use {new}"


def moved() -> dict[str, Any]:
    """Returns what replaces old commands, options of all commands, and options of one command."""
    from polyclinic.yaml_files import read_yaml  # noqa: PLC0415 - only for what is wrong

    return read_yaml(Path(__file__).with_name("moved.yaml"), dict[str, Any])


def _came(value: str) -> str:
    """Returns what came, so that one sees it: what is blank or goes on for ever too."""
    shown = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    return shown if shown.strip() == shown != "" else repr(shown)
