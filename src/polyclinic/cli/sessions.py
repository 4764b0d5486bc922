"""The models that a command asks, opened as its options say."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple

from polyclinic.evaluations.evaluation import check_judge
from polyclinic.models.ledger import Ledger
from polyclinic.models.model import Model
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import Session, journal_of, open_models
from polyclinic.run.options import RunOptions
from polyclinic.run.run import resumable
from polyclinic.run.storing import answers_of, check_place
from polyclinic.terminal.screen import console, note
from polyclinic.terminal.usage import show_usage


def session_of(
    run: RunOptions, names: Iterable[str], *, named: str, batches: bool = False
) -> AbstractAsyncContextManager[Session]:
    """Returns what opens the models with the journal, seed and part of the run; with `batches`, asked by batches.

    `named` names the run in the journal, where answers of other names are not found.
    """
    return open_models(
        names,
        run.models,
        journal=journal_of(answers_of(run), run=named),
        seed=run.seed,
        batches=batches,
        report=note,
    )


class AskedJudge(NamedTuple):
    """A model that judges, and what its calls come to."""

    model: Model
    ledger: Ledger


@asynccontextmanager
async def open_judge(
    judge: str,
    run: RunOptions,
    *,
    named: str,
    episode: str,
    what: str,
    option: str = "--judge",
    batches: bool = False,
) -> AsyncIterator[AskedJudge]:
    """Opens the model that judges what was recorded, for the work of `what`, and then prints what it cost.

    `named` is as `session_of` has it, `option` the one that names the judge.
    """
    check_judge(judge, option=option)
    check_place(run, dry_run=run.models.dry_run)
    with resumable(run, what):
        async with session_of(run, [judge], named=named, batches=batches) as session:
            yield AskedJudge(session.model(judge, Asker("judge", episode)), session.ledger)
    if not run.json:
        show_usage(console(sys.stderr), session.ledger, purposes=False)
