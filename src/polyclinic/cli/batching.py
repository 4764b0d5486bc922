"""Questions as batches (`--batch-api`): who may ask so, and where the ids of batches are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from polyclinic.cli.options import RunOptions
from polyclinic.errors import UserError
from polyclinic.methods.table import METHODS, ChosenMethod
from polyclinic.models.session import WHOLE

IN_ROUNDS = (
    "zero_shot",
    "few_shot",
    "chain_of_thought",
    "few_shot_chain_of_thought",
    "self_consistency",
    "few_shot_self_consistency",
    "medprompt",
)
"""The methods whose calls do not wait for one another, or do once or twice."""


def batches_beside(
    run: RunOptions, methods: Iterable[ChosenMethod], models: Sequence[str], *, wanted: bool
) -> Path | None:
    """Returns where the ids of batches are kept, where it is by batches that questions are to be asked.

    Raises:
        UserError: these methods, models or options cannot be asked so.
    """
    if not wanted:
        return None
    if talking := [one.name for one in methods if one.name in METHODS and one.name not in IN_ROUNDS]:
        raise UserError(
            f"{', '.join(talking)}: each call waits for the one before, and a batch may take a day; --batch-api is for "
            f"{', '.join(IN_ROUNDS)}, and methods of your own"
        )
    if others := [name for name in models if not name.startswith("direct/")]:
        raise UserError(f"{', '.join(others)}: only direct/ models are asked by batches; leave --batch-api out")
    if run.store is not None:
        raise UserError(
            "--batch-api keeps the batches' ids beside a journal's file: --journal FILE in place of --store"
        )
    if run.journal is None:
        raise UserError(
            "--batch-api goes on after days, from the journal and the batches' ids beside it: add --journal FILE"
        )
    if run.on is not None or run.part is not WHOLE:
        raise UserError("--batch-api and --on contradict: a batch is one request; leave --on out")
    return run.journal.with_name(f"{run.journal.name}.batches")
