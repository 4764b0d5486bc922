"""What the command line says, in one line, of words that it cannot take: what came, what is allowed, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

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

_KINDS = {int: "a whole number", float: "a number", bool: "no value"}
_NEAR = 0.7


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
            return f"no command {came!r}{_meant(came, there)}; there are {', '.join(there)}"
        case UnknownOptionError():
            came = error.token.keyword or error.token.value
            return f"no option {came}{_meant(came, [name for one in error.argument_collection for name in one.names])}"
        case UnusedCliTokensError():
            return f"nothing takes {', '.join(map(repr, error.unused_tokens or ()))}"
        case ConsumeMultipleError():
            return f"{name} needs a value"
        case MissingArgumentError():
            strange = next((word for word in error.unused_tokens or () if word.startswith("--")), None)
            if strange is not None and error.app is not None and not tokens and not error.keyword:
                names = [name for one in error.app.assemble_argument_collection() for name in one.names]
                return f"no option {strange.partition('=')[0]}{_meant(strange, names)}"
            return f"{name} needs a value" if tokens or error.keyword else f"{name} is missing"
        case RepeatArgumentError():
            return f"{error.token.keyword} is given more than once"
        case ValidationError() if tokens:
            return f"{name} {tokens[0].value}; allowed: {error.exception_message}"
        case CoercionError() if error.token is not None and error.argument is not None:
            choices = error.argument.get_choices()
            allowed = ", ".join(choices) if choices else _KINDS.get(error.target_type or str)
            if allowed is not None:
                return f"{name} {error.token.value}; allowed: {allowed}"
    return str(error).rstrip(".")


def _meant(came: str, there: Sequence[str]) -> str:
    near = get_close_matches(came.partition("=")[0], there, n=1, cutoff=_NEAR)
    return f" (did you mean {near[0]}?)" if near else ""
