"""What methods remember on an exam: which of them do, how much comes to mind, and the memory that it comes from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from polyclinic.errors import UserError
from polyclinic.evaluations.memory_knowledge import say_other_knowledge
from polyclinic.memory.library import asked_for, memory_embedder
from polyclinic.memory.memory import snapshot_of
from polyclinic.memory.opening import open_what_is_remembered
from polyclinic.memory.options import MemoryOptions
from polyclinic.memory.remembering import ExamMemory
from polyclinic.methods.table import ChosenMethod
from polyclinic.models.session import ModelSettings, open_models
from polyclinic.terminal.screen import note, plain

REMEMBERS = "medagent_zero"
"""The method that goes by a memory."""


def remembering(chosen: Sequence[ChosenMethod], memory: MemoryOptions) -> list[ChosenMethod]:
    """Returns the methods with how much comes to mind, where the options say that."""
    if any(one.name == REMEMBERS for one in chosen) and memory.memory is None:
        raise UserError(f"{REMEMBERS} goes by what was learnt; name it with --memory DIR")
    if memory.memory is not None and all(one.name != REMEMBERS for one in chosen):
        raise UserError(f"--memory has no effect without a method that remembers; give --method {REMEMBERS}")
    given = {"records": memory.k_records, "experience": memory.k_experience}
    known = {key: k for key, k in given.items() if k is not None}
    return [
        msgspec.structs.replace(one, settings={**known, **one.settings}) if one.name == REMEMBERS else one
        for one in chosen
    ]


@asynccontextmanager
async def open_exam_memory(memory: MemoryOptions, models: ModelSettings) -> AsyncIterator[ExamMemory | None]:
    """Opens what is remembered on an exam, and says how much it is; None where no memory is named.

    Vectors of an endpoint are asked for as the models are.
    """
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(open_what_is_remembered(memory))
        if opened is None:
            yield None
            return
        reading = opened.reading
        asked = [] if reading is None else asked_for(reading.about.embedder)
        session = await stack.enter_async_context(open_models(asked, models))
        embedder = None if reading is None else memory_embedder(reading.about.embedder, session)
        made = ExamMemory(opened.memory, reading, embedder=embedder, source=opened.source)
        records, principles = made.counts
        told = f"{opened.source}: {records:,} records of documents, {principles:,} principles from patients"
        if not records:
            folder, _ = snapshot_of(opened.folder)
            told += f"; polyclinic memory read {folder} --corpus NAME --doctor MODEL adds records"
        note(plain(told))
        say_other_knowledge(memory)
        yield made
