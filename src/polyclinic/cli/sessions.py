"""The model that judges recorded work, opened as the options of a command say."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from polyclinic.evaluations.evaluation import check_judge
from polyclinic.models.ledger import Ledger
from polyclinic.models.model import Model
from polyclinic.models.pipeline import Asker
from polyclinic.run.batching import check_batches
from polyclinic.run.run import Run, resumable
from polyclinic.run.storing import check_place


@asynccontextmanager
async def judge_session(
    run: Run, judge: str | None, *, named: str, episode: str, option: str = "--judge", batch_api: bool = False
) -> AsyncIterator[tuple[Model | None, Ledger]]:
    """Opens a judge, with the ledger of its calls; None if rules judge.

    `named` is the name of the run among kept answers; answers of other names are not found.
    """
    batches = check_batches(run.config, [judge], wanted=batch_api)
    check_place(run.config)
    if judge is None:
        yield None, Ledger()
        return
    check_judge(judge, option=option)
    with resumable(run.config, run.what):
        async with run.session([judge], named=named, batches=batches) as session:
            yield session.model(judge, Asker("judge", episode)), session.ledger
