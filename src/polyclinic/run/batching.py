"""Questions as batches (`models.batch-api`): who may ask so, and where the ids of batches are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polyclinic.errors import UserError
from polyclinic.methods.table import METHODS, ChosenMethod
from polyclinic.players.mind_names import model_of
from polyclinic.run.options import KeptOptions

DIALOGUE = "visits are dialogues: each turn waits for the one before, and a batch may take a day"


def check_batches(
    kept: KeptOptions,
    asked: Sequence[str | None],
    *,
    wanted: bool,
    methods: Iterable[ChosenMethod] = (),
    talking: bool = False,
) -> bool:
    """Returns whether the models are asked by batches; a UserError if they are wanted and not possible."""
    if not wanted:
        return False
    if talking:
        raise UserError(f"models.batch-api: {DIALOGUE}; mvme.one-step has none, or leave models.batch-api out")
    if waiting := [one.name for one in methods if one.name in METHODS and not METHODS[one.name].in_batches]:
        possible = (name for name, method in METHODS.items() if method.in_batches)
        raise UserError(
            f"{', '.join(waiting)}: each call waits for the one before, and a batch may take a day; models.batch-api "
            f"is for {', '.join(possible)}, and methods of your own"
        )
    models = [name for name in map(model_of, filter(None, asked)) if name is not None]
    if not models:
        raise UserError("models.batch-api has no effect where no model is asked; leave it out")
    if others := [name for name in models if not name.startswith("direct/")]:
        raise UserError(f"{', '.join(others)}: only direct/ models are asked by batches; leave models.batch-api out")
    if kept.out is None:
        raise UserError(
            "models.batch-api goes on after days, from the answers and the batches' ids that are kept: add --out FOLDER"
        )
    return True
