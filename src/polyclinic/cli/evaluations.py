"""The commands of the evaluations, each made of its declaration."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import MISSING, fields
from functools import wraps
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import Annotated, Any

from cyclopts import Parameter

from polyclinic.errors import PolyclinicError, UserError, in_short
from polyclinic.evaluations.evaluation import Evaluation, find_evaluation
from polyclinic.run.options import RUN, RunOptions

DECLARATIONS = {
    "aie": "polyclinic.evaluations.aie.declaration:AIE",
    "exam": "polyclinic.evaluations.exams.declaration:EXAM",
    "examiner": "polyclinic.evaluations.examiner.declaration:EXAMINER",
    "mvme": "polyclinic.evaluations.mvme.declaration:MVME",
    "patient_simulator": "polyclinic.evaluations.patient_simulator.declaration:PATIENT_SIMULATOR",
    "reliability": "polyclinic.evaluations.reliability.declaration:RELIABILITY",
    "tor": "polyclinic.evaluations.tor.declaration:TOR",
}
"""Our evaluations, by name."""


def command_of(evaluation: Evaluation[Any, Any]) -> Callable[..., Awaitable[None]]:
    """Returns the command that runs an evaluation with its options."""

    async def of_options(*, options: Any, run: RunOptions = RUN) -> None:
        from polyclinic.evaluations.evaluation import evaluate  # noqa: PLC0415 - not needed for --help

        await evaluate(evaluation, options, run)

    async def of_arguments(acted_on: Any, *, options: Any, run: RunOptions = RUN) -> None:
        from polyclinic.evaluations.evaluation import evaluate  # noqa: PLC0415 - not needed for --help

        await evaluate(evaluation, options, run, acted_on=acted_on)

    command: Any = of_options if evaluation.acted_on is None else of_arguments
    required = (f for f in fields(evaluation.options) if f.default is MISSING and f.default_factory is MISSING)
    if next(required, None) is None:
        command.__kwdefaults__ = {**(command.__kwdefaults__ or {}), "options": evaluation.options()}
    command.__annotations__["acted_on"] = Annotated[evaluation.acted_on, Parameter(name="*")]
    command.__annotations__["options"] = Annotated[evaluation.options, Parameter(name="*")]
    command.__annotations__["run"] = RunOptions
    command.__name__ = evaluation.name.replace("-", "_")
    return command  # type: ignore[no-any-return]


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
    if name not in DECLARATIONS:
        raise AttributeError(f"no evaluation {name!r}")
    module, _, attribute = DECLARATIONS[name].partition(":")
    return command_of(getattr(import_module(module), attribute))
