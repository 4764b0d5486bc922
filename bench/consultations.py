"""A thousand consultations of the rules minds on one core, and how right their doctor is beside the ceiling."""

import asyncio
import os
import resource
import statistics
import time

from polyclinic.generation.ceiling import measure, wilson
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.accuracy import Verdict, verdict
from polyclinic.players.minds import Minds
from polyclinic.visits.visit import see

VISITS = 1000
SECONDS_ALLOWED = 8.0
SEED = 20_261


def run() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for diseases in ("respiratory", "all"):
        _consult(diseases)


def _consult(diseases: str) -> None:
    knowledge = read_knowledge().select(diseases)
    cases = list(generate(knowledge, n=VISITS, seed=SEED))
    minds = Minds(doctor="rules", patient="rules", knowledge=knowledge, seed=SEED)

    async def all_visits():
        return [await see(case, minds) for case in cases]

    asyncio.run(see(cases[0], minds))
    wall, cpu = time.perf_counter(), time.process_time()
    visits = asyncio.run(all_visits())
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    verdicts = [verdict(v.report, v.truth, knowledge) for v in visits]
    right = sum(v is Verdict.RIGHT for v in verdicts)
    none = sum(v is Verdict.NO_DIAGNOSIS for v in verdicts)
    low, high = wilson(right, VISITS)
    ceiling = measure(cases, knowledge)
    print(f"{diseases}: {len(knowledge.diseases)} diseases, {len(knowledge.symptoms)} symptoms")
    print(f"{VISITS} consultations on one core: {cpu:.2f} s CPU, {wall:.2f} s wall (allowed: {SECONDS_ALLOWED:.0f} s)")
    print(f"memory at the peak: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    print(f"turns a visit: {statistics.mean(v.turns for v in visits):.2f} (limit 10)")
    print(f"rules doctor right: {100 * right / VISITS:.1f} % ({low:.1f}-{high:.1f}); no diagnosis: {none}")
    print(f"Bayes reader of all findings right: {ceiling.percent:.1f} %")
