"""Many processes that open one new file at once: one makes it, the others take it, and all of them can write."""

import asyncio
import multiprocessing
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.attack import Tried
from polyclinic.memory.entries import AskedTask, ClinicalTask, Experience
from polyclinic.memory.memory import About, New, open_memory
from polyclinic.models.journal import Journal
from polyclinic.models.scripted import Scripted
from polyclinic.retrieval.corpus import Corpus
from polyclinic.retrieval.store import NewPassage

PROCESSES = 8
_PATIENCE = 60.0


def races(seed: int, n: int) -> list[Tried]:
    """Has eight processes open one new journal, corpus and memory at once, n times each, and write into it."""
    del seed  # what comes first is the system's
    kinds: dict[str, tuple[Callable[[Path, int], None], Callable[[Path], int]]] = {
        "journal": (_answer, _answers),
        "corpus": (_add, _passages),
        "memory": (_remember, _remembered),
    }
    context, tried = multiprocessing.get_context("fork"), []
    with tempfile.TemporaryDirectory() as folder, context.Pool(PROCESSES) as pool:
        manager = context.Manager()
        for what, (write, count) in kinds.items():
            failed = []
            for number in range(n):
                place, gate = Path(folder) / f"{what}-{number}", manager.Barrier(PROCESSES)
                place.mkdir()
                said = pool.starmap(_at_once, [(gate, write, place, one) for one in range(PROCESSES)], chunksize=1)
                problems = [one for one in said if one]
                if not problems and (found := count(place)) != PROCESSES:
                    problems = [f"{found} of {PROCESSES} are kept"]
                failed += [f"try {number}: {problem}" for problem in problems[:1]]
                shutil.rmtree(place)
            tried.append(Tried(f"{PROCESSES} processes open one new {what}", n, tuple(failed)))
        manager.shutdown()
    return tried


def _at_once(gate: object, write: Callable[[Path, int], None], place: Path, number: int) -> str:
    gate.wait(_PATIENCE)
    try:
        write(place, number)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    return ""


def _answer(place: Path, number: int) -> None:
    async def ask() -> None:
        async with Journal(place / "calls.sqlite") as journal:
            await journal.wrap(Scripted(["yes"]), episode=str(number)).ask("Is it so?")

    asyncio.run(ask())


def _answers(place: Path) -> int:
    async def stored() -> int:
        asked = Scripted(["no"] * PROCESSES)
        async with Journal(place / "calls.sqlite") as journal:
            said = [(await journal.wrap(asked, episode=str(n)).ask("Is it so?")).text for n in range(PROCESSES)]
        return said.count("yes")

    return asyncio.run(stored())


def _add(place: Path, number: int) -> None:
    with Corpus(place / "friends") as corpus:
        corpus.add([NewPassage(str(number), "Gout", f"gout {random.random()}")])


def _passages(place: Path) -> int:
    with Corpus(place / "friends") as corpus:
        return len(corpus.find("gout", 2 * PROCESSES))


_ABOUT = About(embedder="none", dimensions=2, knowledge="none")


def _remember(place: Path, number: int) -> None:
    asked = AskedTask(case=str(number), number=number, query="", options=())
    lesson = Experience(asked=asked, before="a", after="b", right=(), principle="wait")
    with open_memory(place, _ABOUT) as memory:
        memory.commit([New(ClinicalTask.DIAGNOSIS, lesson, np.ones(2, dtype=np.float32))])


def _remembered(place: Path) -> int:
    with open_memory(place, _ABOUT) as memory:
        return len(memory.experience[ClinicalTask.DIAGNOSIS].entries)
