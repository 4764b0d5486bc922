"""Opening a memory for doctors who go by it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from polyclinic.memory.case_words import CaseWordsEmbedder
from polyclinic.memory.memory import About, open_memory
from polyclinic.memory.options import MemoryOptions
from polyclinic.memory.remembering import Recollection
from polyclinic.retrieval.embedders import Embedder, built_in


def embedder_of(about: About) -> Embedder:
    """Returns the embedder that made the vectors of a memory.

    Raises:
        MissingExtra: it is not installed.
        UserError: it is an endpoint's, or none of ours.
    """
    return CaseWordsEmbedder() if about.embedder == CaseWordsEmbedder.name else built_in(about.embedder)


@asynccontextmanager
async def open_recollection(options: MemoryOptions) -> AsyncIterator[Recollection | None]:
    """Opens what doctors remember, as long as it is needed; None where no memory is named.

    Raises:
        BadInput: there is no such memory, or it cannot be read.
        MissingExtra: what made its vectors is not installed.
    """
    if options.memory is None:
        yield None
        return
    records, experience = options.wanted()
    with open_memory(options.memory) as memory:
        source = options.memory.name
        yield Recollection(memory, embedder_of(memory.about), records=records, experience=experience, source=source)
