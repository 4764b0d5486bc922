"""What the command line says, in one line, of words that it cannot take: what came, what is allowed, what to do."""

from __future__ import annotations

from cyclopts import (
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

from polyclinic.errors import meant

_KINDS = {int: "a whole number", float: "a number", bool: "no value"}


def complaint(error: CycloptsError) -> str:
    """Returns the one line."""
    where = " ".join(("polyclinic", *(error.command_chain or ())))
    return f"{_problem(error)}; see '{where} --help'"


def _problem(error: CycloptsError) -> str:
    name = error.argument.name if error.argument is not None else ""
    tokens = error.argument.tokens if error.argument is not None else []
    match error:
        case UnknownCommandError() if error.app is not None and error.unused_tokens:
            there = [command for command in error.app if not command.startswith("-")]
            came = error.unused_tokens[0]
            return f"no command {came!r}{meant(came, there)}; there are {', '.join(there)}"
        case UnknownOptionError():
            came = (error.token.keyword or error.token.value).partition("=")[0]
            there = [name for one in error.argument_collection for name in one.names]
            return f"no option {came}{meant(came, there)}"
        case UnusedCliTokensError():
            return f"nothing takes {', '.join(map(repr, error.unused_tokens or ()))}"
        case ConsumeMultipleError():
            return f"{name} needs a value"
        case MissingArgumentError():
            strange = next((word for word in error.unused_tokens or () if word.startswith("--")), None)
            if strange is not None and error.app is not None and not tokens and not error.keyword:
                names = [name for one in error.app.assemble_argument_collection() for name in one.names]
                return f"no option {strange.partition('=')[0]}{meant(strange.partition('=')[0], names)}"
            return f"{name} needs a value" if tokens or error.keyword else f"{name} is missing"
        case RepeatArgumentError():
            return f"{error.token.keyword} is given more than once"
        case ValidationError() if tokens:
            return f"{name} {tokens[0].value}; allowed: {error.exception_message}"
        case CoercionError() if error.token is not None and error.argument is not None:
            choices = error.argument.get_choices()
            allowed = ", ".join(choices) if choices else _KINDS.get(error.target_type or str)
            if allowed is not None:
                near = meant(error.token.value, choices or ())
                return f"{name} {error.token.value}{near}; allowed: {allowed}"
    return str(error).rstrip(".")
