"""A command of ours is called by its words."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from cyclopts import (
    Argument,
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)
from cyclopts.exceptions import ConsumeMultipleError

from polyclinic.cli.commands import APP, COMMANDS
from polyclinic.cli.configuration import key_of
from polyclinic.errors import meant
from polyclinic.settings import section_of
from polyclinic.stopping import begin, run

if TYPE_CHECKING:
    from rich.console import Console

    from polyclinic.models.journal import KeptAnswers
    from polyclinic.run.invocation import Invocation


_HELP = frozenset(("--help", "-h", "--version"))


def check_words(words: Sequence[str]) -> Invocation:
    """Checks that words are those of a command, and does nothing but return what they say."""
    from polyclinic.run.invocation import invocation_of  # noqa: PLC0415 - --help must not wait for it

    bound = _parsed(words, None)[1]
    bound.apply_defaults()
    return invocation_of(_name(words), words, bound.arguments)


def call(
    words: Sequence[str],
    *,
    console: Console | None = None,
    answers: KeptAnswers | None = None,
) -> object:
    """Runs a command, with its help on a console, and returns what it gives back.

    Its answers are kept in `answers`, if it is part of a study.
    """
    command, bound = _parsed(words, console)
    begin()
    if not _HELP.isdisjoint(words):
        return command(*bound.args, **bound.kwargs)
    _record_invocation(_name(words), words, bound, answers)
    came = command(*bound.args, **bound.kwargs)
    return run(came) if inspect.iscoroutine(came) else came


def _record_invocation(
    kind: str, words: Sequence[str], bound: inspect.BoundArguments, answers: KeptAnswers | None
) -> None:
    """Puts the command and its options into the argument that says where its results are kept."""
    from polyclinic.run.invocation import invocation_of  # noqa: PLC0415 - --help must not wait for it

    bound.apply_defaults()
    for name, value in bound.arguments.items():
        if hasattr(value, "invocation"):
            made = invocation_of(kind, words, bound.arguments)
            bound.arguments[name] = replace(value, invocation=made, shared_answers=answers)


def _name(words: Sequence[str]) -> str:
    """Returns the name of the command, such as `eval aie`: the words that are in the table of commands."""
    two = " ".join(words[:2])
    return two if two in COMMANDS or two.startswith("eval ") else words[0] if words else ""


def add_own(words: Sequence[str]) -> None:
    """Adds the command of a user's evaluation, if that is what the words call."""
    if words[:1] != ["eval"] or len(words) == 1 or words[1].startswith("-") or f"eval {words[1]}" in COMMANDS:
        return
    from polyclinic.cli.evaluations import own_command  # noqa: PLC0415 - only for names that are not ours

    if (command := own_command(words[1])) is not None:
        if words[1] in APP["eval"]:
            del APP["eval"][words[1]]  # it may be another file of this name by now
        APP["eval"].command(command, name=words[1])


def _parsed(words: Sequence[str], console: Console | None) -> tuple[Callable[..., object], inspect.BoundArguments]:
    add_own([*words])
    command, bound, _ = APP.parse_args(words, exit_on_error=False, print_error=False, console=console)
    return command, bound


_LONGEST = 80  # characters that are shown of a value
_KINDS = {int: "a whole number", float: "a number", bool: "no value"}


def complaint(error: CycloptsError) -> str:
    """Returns the one line."""
    where = " ".join(("polyclinic", *(error.command_chain or ())))
    return f"{_problem(error)}; see '{where} --help'"


def _problem(error: CycloptsError) -> str:
    from polyclinic.cli.moved import moved_command, moved_option  # noqa: PLC0415 - only for what is wrong

    name = "" if error.argument is None else _shown_name(error.argument)
    tokens = error.argument.tokens if error.argument is not None else []
    match error:
        case UnknownCommandError() if error.app is not None and error.unused_tokens:
            there = [command for command in error.app if not command.startswith("-")]
            came = error.unused_tokens[0]
            if moved := moved_command([*(error.command_chain or ()), *error.unused_tokens]):
                return moved
            return f"no command {came!r}{meant(came, there)}; there are {', '.join(there)}"
        case UnknownOptionError():
            came = (error.token.keyword or error.token.value).partition("=")[0]
            there = [name for one in error.argument_collection for name in one.names]
            return moved_option(error.command_chain or (), came) or f"no option {came}{_meant_option(came, there)}"
        case UnusedCliTokensError():
            return f"nothing takes {', '.join(map(repr, error.unused_tokens or ()))}"
        case ConsumeMultipleError():
            return f"{name} needs a value"
        case MissingArgumentError():
            strange = next((word for word in error.unused_tokens or () if word.startswith("--")), None)
            if strange is not None and error.app is not None and not tokens and not error.keyword:
                names = [name for one in error.app.assemble_argument_collection() for name in one.names]
                came = strange.partition("=")[0]
                return moved_option(error.command_chain or (), came) or f"no option {came}{_meant_option(came, names)}"
            return f"{name} needs a value" if tokens or error.keyword else f"{name} is missing"
        case RepeatArgumentError():
            return f"{error.token.keyword} is given more than once"
        case ValidationError() if tokens:
            return f"{name} {_came(tokens[0].value)}; allowed: {error.exception_message}"
        case CoercionError() if error.token is not None and error.argument is not None:
            choices = error.argument.get_choices()
            allowed = ", ".join(choices) if choices else _KINDS.get(error.target_type or str)
            if choices and int in get_args(error.argument.hint):
                allowed = f"{allowed}, or {_KINDS[int]}"
            if allowed is not None:
                near = meant(error.token.value, choices or ())
                return f"{name} {_came(error.token.value)}{near}; allowed: {allowed}"
    return str(error).rstrip(".")


def _shown_name(argument: Argument) -> str:
    """Returns the name of an option, or the key of a setting."""
    return argument.name if not section_of(argument.parameter) else key_of(argument)


def _meant_option(came: str, there: Sequence[str]) -> str:
    """Returns the option that may be meant, as `meant` does; the dashes that all have make none alike."""
    bare = [name.removeprefix("--") for name in there if name.startswith("--")]
    return meant(came.removeprefix("--"), bare).replace("(did you mean ", "(did you mean --")


def _came(value: str) -> str:
    """Returns what came, so that one sees it: what is blank or goes on for ever too."""
    shown = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    return shown if shown.strip() == shown != "" else repr(shown)
