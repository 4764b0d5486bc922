"""The models that a command asks, opened as its options say."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from polyclinic.evaluations.evaluation import check_judge
from polyclinic.models.ledger import Ledger
from polyclinic.models.model import Model
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import journal_of, open_models
from polyclinic.run.options import RunOptions
from polyclinic.run.run import resumable
from polyclinic.run.storing import answers_of, check_place
from polyclinic.terminal.screen import console, note
from polyclinic.terminal.usage import show_usage


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
) -> AsyncIterator[tuple[Model, Ledger]]:
    """Opens the model that judges recorded work, with the ledger of its calls; prints afterwards what it cost.

    `named` names the run among kept answers, where those of other names are not found; `option` names the judge.
    """
    check_judge(judge, option=option)
    check_place(run)
    with resumable(run, what):
        journal = journal_of(answers_of(run), run=named)
        opening = open_models([judge], run.models, journal=journal, seed=run.seed, batches=batches, report=note)
        async with opening as session:
            yield session.model(judge, Asker("judge", episode)), session.ledger
    if not run.json:
        show_usage(console(sys.stderr), session.ledger, purposes=False)
