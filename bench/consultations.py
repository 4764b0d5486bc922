"""A thousand consultations of the rules minds on one core, and how right their doctor is beside the ceiling."""

import asyncio
import os
import resource
import statistics
import time
from collections.abc import Sequence

from polyclinic.cases.case import Case
from polyclinic.events import Examined
from polyclinic.generation.ceiling import measure, wilson
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.metrics.accuracy import Verdict, verdict
from polyclinic.players.minds import Minds
from polyclinic.visits.visit import Visit, see

VISITS = 1000
SECONDS_ALLOWED = {"respiratory": 6.0, "all": 12.0}
DRAWN, SECONDS_TO_DRAW = 10_000, 15.0
LEAST_LOOKED_AT = 0.85
SEED = 20_261


def run() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for diseases in ("respiratory", "all"):
        _consult(diseases)
    _draw()


def _draw() -> None:
    knowledge = read_knowledge()
    cpu = time.process_time()
    for _ in generate(knowledge, n=DRAWN, seed=SEED):
        pass
    print(f"{DRAWN} patients drawn: {time.process_time() - cpu:.2f} s CPU (allowed: {SECONDS_TO_DRAW:.0f} s)")


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
    allowed = SECONDS_ALLOWED[diseases]
    print(f"{VISITS} consultations on one core: {cpu:.2f} s CPU, {wall:.2f} s wall (allowed: {allowed:.0f} s)")
    print(f"memory at the peak: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    print(f"turns a visit: {statistics.mean(v.turns for v in visits):.2f} (limit 10)")
    print(f"rules doctor right: {100 * right / VISITS:.1f} % ({low:.1f}-{high:.1f}); no diagnosis: {none}")
    print(
        f"exact reader of all findings right: {ceiling.percent:.1f} %, held probable {ceiling.stated:.1f} %; "
        f"of the history alone: {ceiling.steps[0].percent:.1f} %"
    )
    _looked_at(cases, visits, knowledge)


def _looked_at(cases: Sequence[Case], visits: Sequence[Visit], knowledge: Knowledge) -> None:
    """Prints in how many right diagnoses everything was done that the diagnosis needs, and of which diseases in few.

    What somebody of the patient's age or sex cannot have done is not needed: no pregnancy test at sixty.
    """
    done: dict[str, list[bool]] = {}
    names = {e.id: set(e.names()) for e in knowledge.examinations.values()}
    for case, visit in zip(cases, visits, strict=True):
        disease = knowledge.disease_named(visit.truth.diagnoses[0].name)
        if disease is None or verdict(visit.report, visit.truth, knowledge) is not Verdict.RIGHT:
            continue
        examined = {f.examination for e in visit.trace if isinstance(e, Examined) for f in e.findings}
        who = case.presentation
        needed = [e for e in disease.indicated.needed if knowledge.examinations[e].possible(who.age, who.sex)]
        if needed:
            done.setdefault(disease.id, []).append(all(names[e] & examined for e in needed))
    shares = {id: statistics.mean(of) for id, of in done.items()}
    few = sorted(f"{id} {100 * share:.0f} %" for id, share in shares.items() if share < LEAST_LOOKED_AT)
    everywhere = statistics.mean(one for of in done.values() for one in of)
    below = ", ".join(few) or "none"
    print(f"of right diagnoses with all done that they need: {100 * everywhere:.1f} %; below 85 %: {below}")
