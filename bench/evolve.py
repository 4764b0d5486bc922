"""Practice by a model behind a slow endpoint: how near it comes to the ideal, and whether faults lose anything.

The endpoint answers what the form allows, the same for the same question; it knows no medicine. Nobody can be
quicker than, batch by batch, its calls x latency / questions at once, and its longest chain of questions about one
patient, of which each waits for the one before it: the next batch needs what this one taught. So it is of the tests.
With faults, a tenth of the requests fails, and the memory must be the same.
"""

import asyncio
import contextlib
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from polyclinic.evaluations.evolution.patients import practice_patients
from polyclinic.evaluations.evolution.practice import Practice
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.memory.library import DIMENSIONS, CaseWordsEmbedder
from polyclinic.memory.memory import About, open_memory
from polyclinic.memory.options import NEAREST
from polyclinic.memory.recall import PRACTICE
from polyclinic.methods.medagent_zero_practice import MedAgentZero
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import journal_of, open_models
from polyclinic.models.settings import ModelSettings
from polyclinic.testing.endpoint import ENDPOINT_FAULTS, Endpoint

MODEL = "direct/test"
TRAIN, TEST = 512, 16
BATCH, FEW_ALONE = 64, 4
LATENCY, SHARE_WANTED = 0.5, 80
FAULTY, FAULTS = 64, 0.1
KINDS = tuple(kind for kind in ENDPOINT_FAULTS if kind not in {"hang", "429-after", "429-date"})
"""Of the endpoint alone, and none that only takes time."""


def run() -> None:
    knowledge = read_knowledge().select("respiratory")
    patients = list(generate(knowledge, n=TRAIN + TEST, seed=1))
    train, test = (practice_patients(some, knowledge) for some in (patients[:TRAIN], patients[TRAIN:]))
    asyncio.run(_fast(train, test[:1]))
    asyncio.run(_faulty(train[:FAULTY], test))


async def _fast(train, test):
    for batch, at_once in ((BATCH, None), (BATCH, BATCH), (1, None)):
        some = train if batch > 1 else train[:FEW_ALONE]
        async with Endpoint(latency=LATENCY) as endpoint:
            with tempfile.TemporaryDirectory() as folder:
                cpu, wall = time.process_time(), time.perf_counter()
                asked = Counter()
                calls, learnt, _ = await _practise(endpoint, Path(folder), some, test, batch, at_once, asked)
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        ideal = LATENCY * _ideal(asked, some, batch, at_once)
        wanted = f" (wanted: {SHARE_WANTED} %)" if batch > 1 else ""
        most = "as many questions at once as it bears" if at_once is None else f"at most {at_once} questions at once"
        print(
            f"a model that answers after {1000 * LATENCY:.0f} ms, batches of {batch}, {most}: {len(some)} patients, "
            f"{calls:,} calls, {len(learnt):,} entries, {wall:.1f} s; ideal {ideal:.1f} s: "
            f"{100 * ideal / wall:.0f} %{wanted}; {cpu:.1f} s of CPU, the endpoint's included",
            flush=True,
        )


async def _faulty(train, test):
    kept = []
    for faults in (0.0, FAULTS):
        async with Endpoint(faults=faults, kinds=KINDS) as endpoint:
            with tempfile.TemporaryDirectory() as folder:
                calls, entries, points = await _practise(endpoint, Path(folder), train, test, 8)
                before, met = endpoint.requests, sum(endpoint.met.values())
                _, again, _ = await _practise(endpoint, Path(folder), train, test, 8)
        kept.append((entries, points))
        print(
            f"{100 * faults:.0f} % faults: {calls:,} calls, {met:,} of {before:,} requests failed, {len(entries):,} "
            f"entries; practised again: {endpoint.requests - before} requests, "
            f"{'the same' if again == entries else 'ANOTHER MEMORY'}",
            flush=True,
        )
    print("the same memory and the same curve with faults" if kept[0] == kept[1] else "FAULTS CHANGED THE MEMORY")


def _ideal(asked, train, batch, at_once):
    """Returns how many calls long each batch and each test must be, one after the other, and all of them together.

    Args:
        asked: how many calls there were of each episode.
        train: who was treated, in batches of so many.
        batch: see `train`.
        at_once: calls at the same time, at most; None for any number.
    """
    batch_of = {patient.case.id: n // batch for n, patient in enumerate(train)}
    chains, lessons, calls = Counter(), Counter(), Counter()
    for episode, n in asked.items():
        # The tasks of a patient come one after the other, and what is learnt of each stands by itself.
        case, _, which = episode.partition("/")
        when, what = which.partition(" ")[2].rsplit(", ", 1)
        part = batch_of[case] if when == PRACTICE else when
        calls[part] += n
        if what == "lesson":
            lessons[part, case] = max(lessons[part, case], n)
        else:
            chains[part, case] += n
    longest = {part: max(n + lessons[one] for one, n in chains.items() if one[0] == part) for part in calls}
    return sum(max(longest[part], n / (at_once or n)) for part, n in calls.items())


class _Asked:
    """Counts the questions of an episode."""

    def __init__(self, model, episode, asked):
        self._model, self._episode, self._asked = model, episode, asked

    def __getattr__(self, name):
        return getattr(self._model, name)

    async def ask(self, messages, *, answer=None, **options):
        self._asked[self._episode] += 1
        return await self._model.ask(messages, answer=answer, **options)


async def _practise(endpoint, folder, train, test, batch, at_once=None, asked=None):
    """Returns how many calls were made, what is remembered, and the curve; counts in `asked` those of each episode."""
    asked = Counter() if asked is None else asked
    options = ModelSettings(base_url=endpoint.url, concurrency=at_once)
    about = About(embedder="case-words", dimensions=DIMENSIONS, knowledge="8 diseases")
    with contextlib.ExitStack() as stack:
        async with open_models([MODEL], options, journal=journal_of(folder / "answers.sqlite", run="bench")) as session:
            memory = stack.enter_context(open_memory(folder, about))

            def model(episode):
                return _Asked(session.model(MODEL, Asker("doctor", episode), repeating=True), episode, asked)

            practice = Practice(MedAgentZero(model), memory, CaseWordsEmbedder(), wanted=(NEAREST, NEAREST))
            points = await practice.run(train, test, batch=batch, test_every=len(train))
            return session.ledger.total.calls, [new[:2] for new in memory.news()], points


if __name__ == "__main__":
    sys.exit(run())
