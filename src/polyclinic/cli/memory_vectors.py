"""The vectors of what is remembered, made anew by an embedder, which may be an endpoint that costs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from polyclinic.cli.evaluation import goes_on
from polyclinic.cli.options import KeptOptions
from polyclinic.errors import RunStopped
from polyclinic.memory.embedding import asked_for
from polyclinic.models.embeddings import BATCH
from polyclinic.retrieval.embedders import Embedder
from polyclinic.stopping import is_stopped
from polyclinic.tasks import interruptible, run_numbered
from polyclinic.terminal.tables import counted


async def vectors_of(texts: Sequence[str], embedder: Embedder, kept: KeptOptions, what: str) -> NDArray[np.float32]:
    """Returns a vector of each text.

    Raises:
        RunStopped: it was stopped; says how many there are, and how the work of `what` goes on.
    """
    # Whoever is here makes them all at once; an endpoint is asked a batch at a time, so that what is over is known.
    at_once = BATCH if asked_for(embedder.name) else max(len(texts), 1)
    parts = [[("", text) for text in texts[first : first + at_once]] for first in range(0, len(texts), at_once)]
    with interruptible(is_stopped):
        made, stopped = await run_numbered(partial(embedder.passages, part) for part in parts)
    if isinstance(stopped, RunStopped):
        over = sum(len(parts[number]) for number in made)
        told = f"{stopped}; {over:,} of {counted(len(texts), 'vector')} are made, and nothing is written"
        raise goes_on(type(stopped)(told), kept, what)
    if stopped is not None:
        raise stopped
    return np.concatenate([made[number] for number in range(len(parts))]) if parts else np.zeros((0, 0), np.float32)
