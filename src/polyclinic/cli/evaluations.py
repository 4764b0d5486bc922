"""The commands of the evaluations, each made of its declaration."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import MISSING, fields
from functools import wraps
from inspect import Parameter as Taken
from inspect import Signature
from pathlib import Path
from traceback import extract_tb
from typing import Annotated, Any

from cyclopts import Parameter

from polyclinic.errors import PolyclinicError, UserError, in_short
from polyclinic.evaluations.declared import DECLARATIONS, declaration
from polyclinic.evaluations.evaluation import Evaluation, evaluate, find_evaluation
from polyclinic.run.options import RUN, RunOptions


def command_of(evaluation: Evaluation[Any, Any]) -> Callable[..., Awaitable[None]]:
    """Returns the command that runs an evaluation with its options."""

    async def command(*acted_on: Any, options: Any, run: RunOptions = RUN) -> None:
        await evaluate(evaluation, options, run, acted_on=acted_on[0] if acted_on else None)

    of_all = Parameter(name="*")
    required = any(f.default is MISSING and f.default_factory is MISSING for f in fields(evaluation.options))
    taken = [
        Taken(
            "options",
            Taken.KEYWORD_ONLY,
            annotation=Annotated[evaluation.options, of_all],
            default=Taken.empty if required else evaluation.options(),
        ),
        Taken("run", Taken.KEYWORD_ONLY, annotation=RunOptions, default=RUN),
    ]
    if (arguments := evaluation.acted_on) is not None:
        annotation: Any = Annotated[arguments, of_all]
        taken.insert(0, Taken("acted_on", Taken.POSITIONAL_OR_KEYWORD, annotation=annotation))
    command.__signature__ = Signature(taken)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in taken}
    command.__name__ = evaluation.name.replace("-", "_")
    return command


def own_command(name: str) -> Callable[..., Awaitable[None]] | None:
    """Returns the command of a user's evaluation; None if there is none of this name."""
    declared = find_evaluation(name)
    if declared is None:
        return None
    command = command_of(declared)

    @wraps(command)
    async def guarded(*args: Any, **options: Any) -> None:
        try:
            await command(*args, **options)
        except PolyclinicError:
            raise
        except Exception as error:
            file = Path(name.rpartition(":")[0]).name
            lines = [one.lineno for one in extract_tb(error.__traceback__) if Path(one.filename).name == file]
            place = f" ({file}:{lines[-1]})" if lines else ""
            raise UserError(f"{name}: {in_short(error)}{place}") from error

    guarded.__doc__ = declared.help
    return guarded


def __getattr__(name: str) -> object:
    """Returns the command of an evaluation by its name, so that only the one that runs is imported."""
    if (declared := name.replace("_", "-")) not in DECLARATIONS:
        raise AttributeError(f"no evaluation {name!r}")
    return command_of(declaration(declared))
