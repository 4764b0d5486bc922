"""The commands of the evaluations, each made of its declaration."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import MISSING, fields
from importlib import import_module
from typing import Annotated, Any

from cyclopts import Parameter

from polyclinic.evaluations.evaluation import Evaluation
from polyclinic.run.options import RUN, RunOptions

DECLARATIONS = {
    "aie": "polyclinic.evaluations.aie.declaration:AIE",
    "examiner": "polyclinic.evaluations.examiner.declaration:EXAMINER",
    "mvme": "polyclinic.evaluations.mvme.declaration:MVME",
    "patient_simulator": "polyclinic.evaluations.patient_simulator.declaration:PATIENT_SIMULATOR",
    "reliability": "polyclinic.evaluations.reliability.declaration:RELIABILITY",
}
"""Our evaluations, by name."""


def command_of(evaluation: Evaluation[Any, Any]) -> Callable[..., Awaitable[None]]:
    """Returns the command that runs an evaluation with its options."""

    async def command(*, options: Any, run: RunOptions = RUN) -> None:
        from polyclinic.evaluations.runner import evaluate  # noqa: PLC0415 - not needed for --help

        await evaluate(evaluation, options, run)

    required = (f for f in fields(evaluation.options) if f.default is MISSING and f.default_factory is MISSING)
    if next(required, None) is None:
        command.__kwdefaults__ = {**(command.__kwdefaults__ or {}), "options": evaluation.options()}
    command.__annotations__["options"] = Annotated[evaluation.options, Parameter(name="*")]
    command.__annotations__["run"] = RunOptions
    command.__name__ = evaluation.name.replace("-", "_")
    return command


def __getattr__(name: str) -> object:
    """Returns the command of an evaluation by its name, so that only the one that runs is imported."""
    if name not in DECLARATIONS:
        raise AttributeError(f"no evaluation {name!r}")
    module, _, attribute = DECLARATIONS[name].partition(":")
    return command_of(getattr(import_module(module), attribute))
