"""What commands that ask models have in common where they declare no evaluation: each hands its options to a `Run`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from polyclinic.errors import RunStopped
from polyclinic.evaluations.evaluation import check_judge
from polyclinic.models.ledger import Ledger
from polyclinic.results.output import Output
from polyclinic.run.options import RunOptions
from polyclinic.run.run import Run, resumable, resume_hint

__all__ = ["finish", "goes_on", "judge_of", "make_results_folder", "saying_how_it_goes_on", "underway", "within_budget"]

saying_how_it_goes_on = resumable
goes_on = resume_hint


def judge_of(name: str | None, *, option: str = "--judge") -> list[str]:
    """Returns the models to open for a judge, none if there is none; a UserError if it is not a model."""
    check_judge(name, option=option)
    return [] if name is None else [name]


@contextmanager
def within_budget(run: RunOptions, what: str = "evaluation") -> Iterator[None]:
    """Makes the folder for the results; if the budget is spent, adds to the error how to resume."""
    Run(run).make_folder()
    with resumable(run, what):
        yield


def make_results_folder(run: RunOptions) -> None:
    """Makes the folder for the results, if there is to be one; see `Run.make_folder`."""
    Run(run).make_folder()


def underway(
    what: str, total: int, run: RunOptions, *, quiet: bool = False
) -> AbstractContextManager[Callable[[], None]]:
    """Shows how far it is; see `Run.progress`."""
    return Run(run).progress(what, total, quiet=quiet)


def finish(
    output: Output,
    run: RunOptions,
    ledger: Ledger,
    *,
    purposes: bool = True,
    stopped: RunStopped | None = None,
    failure: str = "",
    what: str = "evaluation",
) -> None:
    """Writes and prints the results; see `Run.finish`."""
    ending = Run(run, what=what)
    ending.stopped = stopped
    ending.finish(output, ledger, purposes=purposes, failure=failure)
