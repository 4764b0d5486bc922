"""Practice by a model behind a slow endpoint: how near it comes to the ideal, and whether faults lose anything.

The endpoint answers what the form allows, the same for the same question; it knows no medicine. What is possible at
best: calls x latency / patients at once. With faults, a tenth of the requests fails, and the memory must be the same.
"""

import asyncio
import contextlib
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from polyclinic.benchmarks.evolution.patients import practice_patients
from polyclinic.benchmarks.evolution.practice import Practice
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.memory.case_words import DIMENSIONS, CaseWordsEmbedder
from polyclinic.memory.memory import About, entries_of, open_memory
from polyclinic.methods.medagent_zero_practice import MedAgentZero
from polyclinic.models.session import ModelOptions, open_session
from polyclinic.testing.endpoint import Endpoint
from polyclinic.testing.faults import ENDPOINT_FAULTS

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
                calls, learnt, _ = await _practise(endpoint, Path(folder), some, test, batch, at_once)
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        ideal = calls * LATENCY / batch
        wanted = f" (wanted: {SHARE_WANTED} %)" if batch > 1 else ""
        most = "as many questions at once as it bears" if at_once is None else f"at most {at_once} questions at once"
        print(
            f"a model that answers after {1000 * LATENCY:.0f} ms, batches of {batch}, {most}: {len(some)} patients, "
            f"{calls:,} calls, {len(learnt):,} entries, {wall:.1f} s; calls x latency / batch is {ideal:.1f} s: "
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


async def _practise(endpoint, folder, train, test, batch, at_once=None):
    """Returns how many calls were made, what is remembered, and the curve."""
    options = ModelOptions(base_url=endpoint.url, concurrency=at_once)
    about = About(embedder="case-words", dimensions=DIMENSIONS, knowledge="8 diseases")
    with contextlib.ExitStack() as stack:
        async with open_session([MODEL], options, journal=folder / "answers.sqlite", run="bench") as session:
            memory = stack.enter_context(open_memory(folder, about))
            models = partial(session.metered, MODEL, role="doctor", persistent=True)
            learner = MedAgentZero(MODEL, lambda episode: models(episode=episode))
            practice = Practice(learner, memory, CaseWordsEmbedder())
            points = await practice.run(train, test, batch=batch, test_every=len(train))
            return session.ledger.total.calls, list(entries_of(memory)), points


if __name__ == "__main__":
    sys.exit(run())
